//! `…_tool`: the function beside the tool that binds it to its state, for the reconciler.
//!
//! Input: `async fn refund(&self, call: &ToolCall, id: String)`, `recover(lookup = Self::find)`.
//! Output: `fn refund_tool(this: Arc<Self>) -> BoundTool { Bound::new(policy, …, (this,)).lookup(|…| …).tool() }`.
//! It must not know how the tool is guarded.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use super::{call, hooks, kept, local, name_at, placed, private, sibling, spec};
use crate::model::{Caller, Descriptor, Input, InputRole, Resend, Standing, Tool};
use crate::types::{self, TakesCall};

/// The function, where there is a descriptor.
pub(super) fn tokens(tool: &Tool) -> Option<TokenStream> {
    tool.descriptor.as_ref().map(|descriptor| binding(&private(tool), tool, descriptor))
}

/// The function's name.
pub(super) fn function(tool: &Tool) -> Ident {
    format_ident!("{}_tool", tool.sig.ident)
}

/// `fn …_tool`.
fn binding(private: &TokenStream, tool: &Tool, descriptor: &Descriptor) -> TokenStream {
    let (kept, name, vis) = (kept(tool), function(tool), &tool.vis);
    let doc = format!(" The tool `{}` bound to its state, for `Idem::reconciler`.", tool.spec.function);
    let generics = &descriptor.generics;
    let (params, _, clause) = generics.split_for_impl();
    let params = (!generics.params.is_empty()).then(|| quote!(#params));
    let held = held(private, tool, tool.inputs.iter());
    let (names, types) = (held.iter().map(|held| &held.name), held.iter().map(|held| &held.ty));
    let values = names.clone();
    let passed: Vec<TokenStream> = held.iter().map(|held| held.lent.clone()).collect();
    let pattern = pattern(tool);
    let (policy, spec, of) = (call::policy(private, tool), spec::used(tool), spec::of(tool));
    let steps =
        tool.spec.recovery.steps.iter().filter_map(|step| hooks::asking(private, tool, step, &pattern, &passed));
    let resend = (descriptor.resend == Resend::Stored).then(|| resend(private, tool, &pattern));
    quote! {
        #[doc = #doc]
        #(#kept)*
        #[allow(dead_code, deprecated, clippy::all, clippy::pedantic, clippy::nursery, reason = "written by `#[idempotent]`")]
        #vis fn #name #params(#(#names: #types),*) -> #private::BoundTool #clause {
            #private::Bound::new(#policy, #spec, (#(#values,)*)) #of #(#steps)* #resend.tool()
        }
    }
}

/// Receiver or state, as the reconciler holds it.
pub(super) struct Held {
    pub(super) name: Ident,
    pub(super) ty: TokenStream,
    /// How a step is lent it.
    lent: TokenStream,
}

/// The receiver, and the states among these inputs.
pub(super) fn held<'t>(private: &TokenStream, tool: &Tool, inputs: impl Iterator<Item = &'t Input>) -> Vec<Held> {
    let me = local("__idem_self");
    let receiver = tool.receiver.iter().map(|receiver| {
        let place = Span::call_site().located_at(receiver.span);
        let lent = if receiver.plain { quote_spanned!(place=> &**#me) } else { quote!(#me) };
        Held { name: local("this"), ty: quote!(#private::Arc<Self>), lent }
    });
    let states = inputs.filter(|input| input.role == InputRole::State).map(|input| {
        let (name, ty) = (&input.parameter.ident, &input.parameter.ty);
        let place = Span::call_site().located_at(name.span());
        let (ty, lent) = match (types::shared(ty), types::as_reference(ty)) {
            (Some(shared), _) => (quote!(#private::Arc<#shared>), quote_spanned!(place=> &**#name)),
            (None, Some(_)) => (quote!(#ty), quote_spanned!(place=> *#name)),
            (None, None) => (quote!(#ty), quote!(#name)),
        };
        Held { name: name.clone(), ty, lent }
    });
    receiver.chain(states).collect()
}

fn states(tool: &Tool) -> impl Iterator<Item = &Input> {
    tool.inputs.iter().filter(|input| input.role == InputRole::State)
}

/// The state as it is lent.
fn pattern(tool: &Tool) -> TokenStream {
    let me = local("__idem_self");
    let receiver = tool.receiver.iter().map(|_| &me);
    let names = states(tool).map(|input| &input.parameter.ident);
    quote!((#(#receiver,)* #(#names,)*))
}

/// `.resend(…)`: the tool again, with the arguments that are stored.
fn resend(private: &TokenStream, tool: &Tool, lent: &TokenStream) -> TokenStream {
    let (attempt, arguments) = (local("__idem_call"), local("__idem_arguments"));
    let stored: Vec<&Input> = tool.inputs.iter().filter(|input| input.role != InputRole::State).collect();
    let taken = stored.iter().map(|input| {
        let parameter = &input.parameter;
        let (cfgs, ident, name) = (&parameter.cfgs, &parameter.ident, &parameter.name);
        // With the place of the type, so that one that cannot be read is told there.
        let place = Span::call_site().located_at(parameter.ty.span());
        let value = quote_spanned!(place=> #arguments.take(#name)?);
        quote!(#(#cfgs)* let #ident = #value;)
    });
    let given = if stored.is_empty() { quote!(_) } else { quote!(mut #arguments) };
    let name = &tool.sig.ident;
    let generics = sibling::turbofish(&tool.sig);
    let function = match tool.standing {
        Standing::Free => quote!(#name #generics),
        Standing::Method | Standing::Associated => quote!(Self::#name #generics),
    };
    let passed = passed(tool, &attempt);
    let run = quote!(#private::resent(#function(#(#passed),*)));
    let run = match tool.caller {
        Caller::Parameter { .. } => run,
        Caller::Expression(_) | Caller::Current => quote!(#private::scope(#attempt, #run)),
    };
    quote! {
        .resend(|#lent, #attempt, #given| #private::Box::pin(async move {
            #(#taken)*
            #run.await
        }))
    }
}

/// What the tool is called with, in the order of its parameters.
fn passed(tool: &Tool, attempt: &Ident) -> Vec<TokenStream> {
    let me = local("__idem_self");
    let receiver = tool.receiver.iter().map(|_| quote!(&**#me));
    let mut passed: Vec<TokenStream> = receiver.chain(tool.inputs.iter().map(given)).collect();
    if let Caller::Parameter { takes, place, .. } = &tool.caller {
        let call = match takes {
            TakesCall::ByReference => quote!(&#attempt),
            TakesCall::ByValue => quote!(#attempt),
        };
        passed.insert(*place, call);
    }
    passed
}

fn given(input: &Input) -> TokenStream {
    let (cfgs, ident, ty) = (&input.parameter.cfgs, &input.parameter.ident, &input.parameter.ty);
    match input.role {
        InputRole::Argument | InputRole::Context => quote!(#(#cfgs)* #ident),
        InputRole::State if types::shared(ty).is_some() => quote!(&**#ident),
        InputRole::State => {
            let place = Span::call_site().located_at(ty.span());
            let clone = placed(quote!(::core::clone::Clone::clone), place);
            let lent = name_at(ident, place);
            quote_spanned!(place=> #clone(#lent))
        }
    }
}
