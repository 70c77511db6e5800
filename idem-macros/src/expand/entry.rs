//! `…_entry`: the function beside the tool that makes it one of a tool set.
//!
//! Input: `async fn refund(&self, call: &ToolCall, id: String)`.
//! Output: `fn refund_entry(this: Arc<Self>) -> Entry { Entry::new(…, |schema| schema.argument::<String>("id", ""), …) }`, inside
//! of a macro of the runtime's, which drops it where the tool framework is switched off.
//! It must not know how the tool is guarded.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use super::{kept, local, name_at, placed, private, spec};
use crate::model::{Caller, Input, Standing, Tool};
use crate::types::{self, TakesCall};

/// The function, where there is one.
pub(super) fn tokens(tool: &Tool) -> Option<TokenStream> {
    let entry = tool.entry.as_ref()?;
    let name = format_ident!("{}_outcome", tool.sig.ident);
    let call = beside(tool, &name);
    let repeats = entry.repeats.map(|choice| {
        let (private, variant) = (private(tool), format_ident!("{}", choice.variant));
        quote!(.repeats(#private::Repeats::#variant))
    });
    let private = private(tool);
    let answer = |outcome: TokenStream| quote!(#private::Answer::of_outcome(&#outcome));
    let result = &tool.result;
    let told = quote!(<#result as #private::IsResult>::Ok: for<'__idem> #private::Tellable<'__idem>);
    Some(function(tool, &call, &told, answer, repeats.as_ref()))
}

/// The function of a tool that only reads: its call is the tool's own.
pub(super) fn of_reader(tool: &Tool) -> TokenStream {
    let (private, name, result) = (private(tool), &tool.sig.ident, &tool.result);
    let call = beside(tool, name);
    let told = quote!(#result: for<'__idem> #private::ToolResult<'__idem>);
    let answer = |result: TokenStream| quote!(#private::ToolResult::answer(#result));
    function(tool, &call, &told, answer, None)
}

/// A function that stands where the tool stands.
fn beside(tool: &Tool, name: &Ident) -> TokenStream {
    match tool.standing {
        Standing::Free => quote!(#name),
        Standing::Method | Standing::Associated => quote!(Self::#name),
    }
}

/// The function, given how the tool is called and what is made of its end.
fn function(
    tool: &Tool,
    call: &TokenStream,
    told_of: &TokenStream,
    answer: impl Fn(TokenStream) -> TokenStream,
    repeats: Option<&TokenStream>,
) -> TokenStream {
    let private = private(tool);
    let (name, vis) = (format_ident!("{}_entry", tool.sig.ident), &tool.vis);
    let doc = format!(" The tool `{}` for a `ToolSet`.", tool.spec.function);
    let kept = kept(tool);
    // Where others share the description, it has a function of its own; else this one has a copy.
    let (own, spec) = ((!spec::is_lent(tool)).then(|| spec::tokens(tool)), spec::used(tool));
    let held = held(&private, tool);
    let (names, types): (Vec<_>, Vec<_>) = held.iter().map(|held| (&held.name, &held.ty)).unzip();
    let told = || tool.inputs.iter().filter(|input| input.told);
    let bounds = told().map(|input| {
        let ty = &input.parameter.ty;
        let bound = placed(quote!(for<'__idem> #private::Described<'__idem>), Span::call_site().located_at(ty.span()));
        quote!(#ty: #bound)
    });
    let schema = told().map(|input| {
        let (ty, name) = (&input.parameter.ty, &input.parameter.name);
        let words = input.parameter.description.as_deref().unwrap_or_default();
        quote!(.argument::<#ty>(#name, #words))
    });
    let (schema_in, asked, given) = (local("__idem_schema"), local("__idem_call"), local("__idem_given"));
    let taken = told().map(|input| taken(input, &given));
    let passed = passed(tool, &asked);
    let run = quote!(#call(#(#passed),*));
    let run = match tool.caller {
        Caller::Parameter { .. } => quote!(#run.await),
        Caller::Expression(_) | Caller::Current => quote!(#private::scope(#asked, async move { #run.await }).await),
    };
    let answered = answer(run);
    quote! {
        #private::entry! {
            #[doc = #doc]
            #(#kept)*
            #[allow(dead_code, deprecated, unused_mut, unused_variables, clippy::all, clippy::pedantic, clippy::nursery, reason = "written by `#[idempotent]`")]
            #vis fn #name(#(#names: #types),*) -> #private::Entry
            where
                #(#bounds,)*
                #(#types: for<'__idem> #private::Kept<'__idem>,)*
                #told_of,
            {
                #own
                #private::Entry::new(
                    #spec,
                    ::core::concat!(::core::file!(), ":", ::core::line!()),
                    |#schema_in| #schema_in #(#schema)*,
                    move |#asked, mut #given| {
                        #(let #names = ::core::clone::Clone::clone(&#names);)*
                        #private::Box::pin(async move {
                            #(#taken)*
                            #answered
                        })
                    },
                )
                #repeats
            }
        }
    }
}

/// One argument as its type, or the end of the call.
fn taken(input: &Input, given: &Ident) -> TokenStream {
    let (ident, name, ty) = (&input.parameter.ident, &input.parameter.name, &input.parameter.ty);
    quote! {
        let #ident: #ty = match #given.take(#name) {
            ::core::result::Result::Ok(value) => value,
            ::core::result::Result::Err(answer) => return *answer,
        };
    }
}

/// What the set keeps: receiver, state, and secrets, which no model says.
struct Held {
    name: Ident,
    ty: TokenStream,
}

fn held(private: &TokenStream, tool: &Tool) -> Vec<Held> {
    let receiver = tool.receiver.iter().map(|_| Held { name: local("this"), ty: quote!(#private::Arc<Self>) });
    let inputs = tool.inputs.iter().filter(|input| !input.told).map(|input| {
        let (name, ty) = (&input.parameter.ident, &input.parameter.ty);
        let ty = types::shared(ty).map_or_else(|| quote!(#ty), |shared| quote!(#private::Arc<#shared>));
        Held { name: name.clone(), ty }
    });
    receiver.chain(inputs).collect()
}

/// What the tool is called with, in the order of its parameters.
fn passed(tool: &Tool, call: &Ident) -> Vec<TokenStream> {
    let this = local("this");
    let receiver = tool.receiver.iter().map(|me| if me.plain { quote!(&*#this) } else { quote!(#this) });
    let mut passed: Vec<TokenStream> = receiver.chain(tool.inputs.iter().map(one)).collect();
    if let Caller::Parameter { takes, place, .. } = &tool.caller {
        let call = match takes {
            TakesCall::ByReference => quote!(&#call),
            TakesCall::ByValue => quote!(#call),
        };
        passed.insert(*place, call);
    }
    passed
}

fn one(input: &Input) -> TokenStream {
    let (ident, ty) = (&input.parameter.ident, &input.parameter.ty);
    let place = Span::call_site().located_at(ty.span());
    let ident = name_at(ident, place);
    match types::shared(ty) {
        Some(_) if !input.told => quote_spanned!(place=> &*#ident),
        _ => quote!(#ident),
    }
}
