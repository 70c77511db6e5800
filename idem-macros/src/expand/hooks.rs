//! What is called beside the body: the tool's own check, what asks the provider, and the next attempt's arguments.
//!
//! Input: `validate = check, recover(lookup = find)`. Output: `Hooks::new(policy, (self, bank, id,)).validate(|…| …).lookup(|…| …)`.
//! It must not know when a hook is called.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Path;
use syn::spanned::Spanned;

use super::{local, name_at, placed};
use crate::model::{Input, InputRole, RecoveryStep, Tool};
use crate::types;

/// All of them with the arguments that they are lent, where there is one.
pub(super) fn tokens(private: &TokenStream, tool: &Tool, policy: &TokenStream) -> Option<TokenStream> {
    let me = local("__idem_self");
    let validate = tool.validate.as_ref().map(|path| {
        let lent = every(tool, &quote!(#me));
        let passed = tool.receiver.iter().map(|_| &me).chain(names(tool));
        let checked = boxed(private, path, &quote!(#path(#(#passed),*)));
        quote!(.validate(|#lent| #checked))
    });
    let lent = lent_to_steps(tool, &me);
    let passed = passed_to_steps(tool, &me);
    let steps = tool.spec.recovery.steps.iter().filter_map(|step| asking(private, tool, step, &lent, &passed));
    let steps: Vec<TokenStream> = steps.collect();
    // A call that sent again under the provider's key, in vain, goes on with a look-up.
    let keyed = tool.spec.recovery.steps.iter().any(|step| matches!(step, RecoveryStep::ProviderKey(_)));
    let goes_on = tool.spec.recovery.retry.is_some() || (keyed && !steps.is_empty());
    let again = goes_on.then(|| again(private, tool, &me));
    if validate.is_none() && steps.is_empty() && again.is_none() {
        return None;
    }
    let receiver = tool.receiver.iter().map(|receiver| receiver.token);
    let names = names(tool);
    Some(quote! {
        #private::Hooks::new(#policy, (#(#receiver,)* #(#names,)*)) #validate #(#steps)* #again
    })
}

/// The arguments as the body takes them; it has `self` already.
pub(super) fn taken(tool: &Tool) -> TokenStream {
    every(tool, &quote!(_))
}

/// `.lookup(…)` or `.search(…)`; nothing for a step that is not a question.
pub(super) fn asking(
    private: &TokenStream,
    tool: &Tool,
    step: &RecoveryStep,
    lent: &TokenStream,
    passed: &[TokenStream],
) -> Option<TokenStream> {
    let (method, path) = match step {
        RecoveryStep::ProviderKey(_) => return None,
        RecoveryStep::Lookup(path) => (quote!(lookup), path),
        RecoveryStep::Search(path) => (quote!(search), path),
    };
    let operation = local("__idem_operation");
    let place = Span::call_site().located_at(path.span());
    let answered = placed(quote!(#private::answered), place);
    let given = name_at(&operation, place);
    // The result is named, so that the compiler can tell which verdict is wanted.
    let result = &tool.result;
    let wanted = quote!(<#result as #private::IsResult>::Ok);
    let asked = boxed(private, path, &quote_spanned!(place=> #answered::<#wanted, _>(#path(#(#passed,)* #given))));
    Some(quote!(.#method(|#lent, #operation| #asked)))
}

/// The future in a box, with the place of the function it is from, so that one that will not do is told there.
fn boxed(private: &TokenStream, path: &Path, future: &TokenStream) -> TokenStream {
    let place = Span::call_site().located_at(path.span());
    let pin = placed(quote!(#private::Box::pin), place);
    quote_spanned!(place=> #pin(#future))
}

/// The state; a step gets no other argument.
fn lent_to_steps(tool: &Tool, me: &Ident) -> TokenStream {
    let receiver = tool.receiver.iter().map(|_| me);
    let inputs = tool.inputs.iter().map(|input| match input.role {
        InputRole::State => name(input),
        InputRole::Argument | InputRole::Context => quote!(_),
    });
    quote!((#(#receiver,)* #(#inputs,)*))
}

/// A reference to the receiver and to each state: to what a parameter refers to, where it is a reference itself.
fn passed_to_steps(tool: &Tool, me: &Ident) -> Vec<TokenStream> {
    let receiver = tool.receiver.iter().map(|receiver| {
        if receiver.plain {
            let place = Span::call_site().located_at(receiver.span);
            quote_spanned!(place=> *#me)
        } else {
            quote!(#me)
        }
    });
    let state = tool.inputs.iter().filter(|input| input.role == InputRole::State).map(|input| {
        let ident = &input.parameter.ident;
        let place = Span::call_site().located_at(ident.span());
        match types::as_reference(&input.parameter.ty) {
            Some(reference) if reference.mutability.is_none() => quote_spanned!(place=> *#ident),
            _ => quote!(#ident),
        }
    });
    receiver.chain(state).collect()
}

/// The arguments of the next attempt, each with the place of its type, so that one that cannot be had again is told there.
fn again(private: &TokenStream, tool: &Tool, me: &Ident) -> TokenStream {
    let had = |ident: &Ident, place: Span| {
        let place = Span::call_site().located_at(place);
        let again = placed(quote!(#private::again), place);
        let lent = name_at(ident, place);
        quote_spanned!(place=> #again(#lent))
    };
    let receiver = tool.receiver.iter().map(|receiver| had(me, receiver.span));
    let inputs = tool.inputs.iter().map(|input| had(&input.parameter.ident, input.parameter.ty.span()));
    let lent = every(tool, &quote!(#me));
    quote!(.again(|#lent| (#(#receiver,)* #(#inputs,)*)))
}

/// A pattern of all arguments, the receiver under the given name.
fn every(tool: &Tool, me: &TokenStream) -> TokenStream {
    let receiver = tool.receiver.iter().map(|_| me);
    let names = names(tool);
    quote!((#(#receiver,)* #(#names,)*))
}

fn names(tool: &Tool) -> impl Iterator<Item = &Ident> {
    tool.inputs.iter().map(|input| &input.parameter.ident)
}

fn name(input: &Input) -> TokenStream {
    let ident = &input.parameter.ident;
    quote!(#ident)
}
