//! What stands beside a tool for its own tests: the subject, which calls it as the harness likes, and the module of tests.
//!
//! Input: `harness = fixture` on `fn refund(call: &ToolCall, #[idem(state)] bank: &Bank, id: String)`. Output, under
//! `cfg(test)`: `fn __idem_refund_subject() -> Subject<Arc<Bank>, String> { Subject::new(spec, |call, bank, id| …) }` and
//! `suite!(refund_harness, super::__idem_refund_subject, fixture);`.
//! It must not know what is tested.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Meta, Path};

use super::{descriptor, kept, local, placed, private, spec};
use crate::model::{Caller, Harness, Input, InputRole, Standing, Tool};
use crate::signature::Parameter;
use crate::types::{self, TakesCall};

/// All of it, where the tool has the word.
pub(super) fn tokens(tool: &Tool) -> Option<TokenStream> {
    let harness = tool.harness.as_ref()?;
    let private = private(tool);
    let suite = harness.fixture.as_ref().map(|fixture| suite(&private, tool, fixture));
    // With the place of the word, so that a feature that is off is told there.
    let harnessed = placed(quote!(#private::harnessed), place(harness));
    let conditional: Vec<usize> =
        (0..tool.inputs.len()).filter(|&place| !tool.inputs[place].parameter.cfgs.is_empty()).collect();
    // Neither the types of a tuple nor the parts of its pattern can have conditions, so each combination has its own.
    let versions = (0..1_usize << conditional.len()).map(|version| {
        let absent: Vec<usize> = conditional
            .iter()
            .enumerate()
            .filter(|(bit, _)| version >> bit & 1 == 1)
            .map(|(_, &place)| place)
            .collect();
        let conditions =
            conditional.iter().map(|place| condition(&tool.inputs[*place].parameter, absent.contains(place)));
        let conditions = if conditional.is_empty() { quote!(test) } else { quote!(all(test #(, #conditions)*)) };
        let subject = subject(&private, &Version { tool, absent });
        let kept = kept(tool);
        quote! {
            #[cfg(#conditions)]
            #(#kept)*
            #harnessed! {
                #subject
                #suite
            }
        }
    });
    Some(versions.collect())
}

fn place(harness: &Harness) -> Span {
    Span::call_site().located_at(harness.span)
}

/// When a parameter is there, or is not.
fn condition(parameter: &Parameter, absent: bool) -> TokenStream {
    let all = parameter.cfgs.iter().map(|cfg| match &cfg.meta {
        Meta::List(list) => list.tokens.clone(),
        other => other.to_token_stream(),
    });
    if absent { quote!(not(all(#(#all),*))) } else { quote!(all(#(#all),*)) }
}

/// `suite!(…)`: the module that the fixture's tests stand in.
fn suite(private: &TokenStream, tool: &Tool, fixture: &Path) -> TokenStream {
    let (module, subject) = (module(&tool.sig.ident), function(&tool.sig.ident));
    let fixture = seen_from_inside(fixture);
    quote!(#private::suite!(#module, super::#subject, #fixture);)
}

/// The name of the module of tests.
pub(crate) fn module(tool: &Ident) -> Ident {
    format_ident!("{}_harness", tool)
}

/// The name of the function that gives the subject.
pub(crate) fn function(tool: &Ident) -> Ident {
    format_ident!("__idem_{}_subject", tool)
}

/// A path of the user's, as it is written in a module one floor below, which imports everything of theirs.
pub(crate) fn seen_from_inside(path: &Path) -> TokenStream {
    let first = path.segments.first().filter(|_| path.leading_colon.is_none()).map(|first| &first.ident);
    match first {
        Some(first) if first == "self" => {
            let above = Ident::new("super", first.span());
            let rest = path.segments.iter().skip(1);
            quote!(#above #(::#rest)*)
        }
        Some(first) if first == "super" => {
            let above = Ident::new("super", first.span());
            quote!(#above::#path)
        }
        _ => path.to_token_stream(),
    }
}

/// A tool where some of its parameters are not there.
struct Version<'t> {
    tool: &'t Tool,
    /// Their places among the tool's inputs.
    absent: Vec<usize>,
}

impl Version<'_> {
    /// The inputs that are there, up to a place.
    fn inputs(&self, end: usize) -> Vec<&Input> {
        let there = (0..end).filter(|place| !self.absent.contains(place));
        there.map(|place| &self.tool.inputs[place]).collect()
    }
}

/// `fn __idem_…_subject`.
fn subject(private: &TokenStream, version: &Version<'_>) -> TokenStream {
    let tool = version.tool;
    let (name, vis) = (function(&tool.sig.ident), &tool.vis);
    let inputs = version.inputs(tool.inputs.len());
    let held = descriptor::held(private, tool, inputs.iter().copied());
    let states = one(&held.iter().map(|held| &held.ty).collect::<Vec<_>>());
    let state_names: Vec<&Ident> = held.iter().map(|held| &held.name).collect();
    let state = one(&state_names);
    let arguments = inputs.iter().filter(|input| input.role == InputRole::Argument).map(|input| &input.parameter);
    let types = one(&arguments.clone().map(|parameter| &parameter.ty).collect::<Vec<_>>());
    let given = one(&arguments.map(|parameter| &parameter.ident).collect::<Vec<_>>());
    let call = local("__idem_call");
    let run = run(private, version, &call);
    let (spec, of) = (spec::used(tool), spec::of(tool));
    let bound = tool.descriptor.as_ref().map(|_| {
        let function = named(tool, &descriptor::function(tool));
        quote!(.tool(|#state| #function(#(#state_names),*)))
    });
    quote! {
        #[doc(hidden)]
        #[allow(dead_code, deprecated, clippy::all, clippy::pedantic, clippy::nursery, reason = "written by `#[idempotent]`")]
        #vis fn #name() -> #private::Subject<#states, #types> {
            #private::Subject::<#states, #types>::new(#spec, |#call, #state, #given| #private::Box::pin(#private::asked(async move { #run }))) #of #bound
        }
    }
}

/// The tool's call.
fn run(private: &TokenStream, version: &Version<'_>, call: &Ident) -> TokenStream {
    let tool = version.tool;
    let inputs = version.inputs(tool.inputs.len());
    let receiver = tool.receiver.iter().map(|receiver| {
        let me = local("this");
        if receiver.plain { quote!(&*#me) } else { quote!(#me) }
    });
    let given = inputs.iter().map(|input| {
        let (ident, ty) = (&input.parameter.ident, &input.parameter.ty);
        match (input.role, types::shared(ty)) {
            (InputRole::State, Some(_)) => quote!(&*#ident),
            (InputRole::Context, Some(_)) => quote!(&#ident),
            _ => quote!(#ident),
        }
    });
    let mut passed: Vec<TokenStream> = receiver.chain(given).collect();
    let function = named(tool, &tool.sig.ident);
    match &tool.caller {
        Caller::Parameter { takes, place, .. } => {
            let lent = match takes {
                TakesCall::ByReference => quote!(&#call),
                TakesCall::ByValue => quote!(#call),
            };
            let me = usize::from(tool.receiver.is_some());
            passed.insert(me + version.inputs(place - me).len(), lent);
            quote!(#function(#(#passed),*).await)
        }
        Caller::Expression(_) => {
            let made = inputs.iter().filter(|input| input.role == InputRole::Context).map(|input| {
                let (ident, ty) = (&input.parameter.ident, &input.parameter.ty);
                let ty = types::shared(ty).unwrap_or(ty);
                quote!(let #ident = <#ty as ::core::convert::From<_>>::from(::core::clone::Clone::clone(&#call));)
            });
            quote!(#(#made)* #function(#(#passed),*).await)
        }
        Caller::Current => quote!(#private::scope(#call, #function(#(#passed),*)).await),
    }
}

fn named(tool: &Tool, function: &Ident) -> TokenStream {
    match tool.standing {
        Standing::Free => quote!(#function),
        Standing::Method | Standing::Associated => quote!(Self::#function),
    }
}

/// `()` for none, the one alone, a tuple of several.
fn one(parts: &[impl ToTokens]) -> TokenStream {
    match parts {
        [part] => quote!(#part),
        parts => quote!((#(#parts),*)),
    }
}
