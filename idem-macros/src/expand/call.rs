//! The one call that a tool function becomes.
//!
//! Input: `{ BODY }`. Output: `Guard::new(&__IDEM_TOOL, call, { arguments }).detached(policy, body).await`.
//! It must not look into the body.

use proc_macro2::{Group, Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{ExprReference, Pat};

use super::{hooks, local, placed, private, spec};
use crate::model::{Caller, Place, Root, Step, Tells, Tool, Value};
use crate::signature::Parameter;
use crate::types::TakesCall;

/// The expression; its value is the function's.
pub(super) fn tokens(tool: &Tool, body: &Group) -> TokenStream {
    let private = private(tool);
    let caller = caller(&private, &tool.caller);
    let arguments = arguments(&private, &tool.steps);
    let of = spec::of(tool);
    let policy = policy(&private, tool);
    let attempt = local("__idem_call");
    let inside = inside(tool, &attempt, body);
    let run = match (hooks::tokens(&private, tool, &policy), tool.place) {
        (None, Place::Detached) => {
            quote!(.detached(#policy, move |#attempt| async move { #inside }))
        }
        (None, Place::InPlace) => {
            quote!(.in_place(#policy, move |#attempt| async move { #inside }))
        }
        (Some(hooks), place) => {
            let method = match place {
                Place::Detached => quote!(full),
                Place::InPlace => quote!(full_in_place),
            };
            let taken = hooks::taken(tool);
            quote!(.#method(#hooks, move |#attempt, #taken| async move { #inside }))
        }
    };
    let spec = spec::used(tool);
    quote!(#private::Guard::new(#spec, #caller, #arguments) #of #run.await)
}

fn caller(private: &TokenStream, caller: &Caller) -> TokenStream {
    match caller {
        Caller::Parameter { parameter, .. } => {
            let ident = &parameter.ident;
            quote!(#ident)
        }
        Caller::Expression(expression) => {
            // Built as syntax, so that parentheses appear where they are needed and only there.
            let lent = ExprReference {
                attrs: Vec::new(),
                and_token: syn::Token![&](Span::call_site()),
                mutability: None,
                expr: expression.clone(),
            };
            quote!(#private::source(#lent))
        }
        Caller::Current => quote!(#private::current()),
    }
}

/// A block, so that every borrow has ended before the body takes the arguments.
fn arguments(private: &TokenStream, steps: &[Step]) -> TokenStream {
    if steps.is_empty() {
        return quote!(#private::Arguments::new());
    }
    let arguments = local("__idem_args");
    let steps = steps.iter().map(|step| told(&arguments, step));
    quote! {
        {
            let mut #arguments = #private::Arguments::new();
            #(#steps)*
            #arguments
        }
    }
}

fn told(arguments: &Ident, step: &Step) -> TokenStream {
    let Step { cfgs, value, tells } = step;
    let name = &value.name;
    let lent = lent(value);
    let statement = match tells {
        Tells::Effect => quote!(#arguments.effect(#name, #lent);),
        Tells::EffectWithout(paths) => {
            quote!(#arguments.effect_without(#name, #lent, &[#(#paths),*]);)
        }
        Tells::Content => quote!(#arguments.content(#name, #lent);),
        Tells::Part => quote!(#arguments.part(#name, #lent);),
        Tells::Exists => quote!(let _ = #lent;),
    };
    quote!(#(#cfgs)* #statement)
}

fn lent(value: &Value) -> TokenStream {
    let Value { root, fields, span, .. } = value;
    let span = Span::call_site().located_at(*span);
    let root = match root {
        Root::Receiver(token) => quote!(#token),
        Root::Parameter(ident) => quote!(#ident),
    };
    quote_spanned!(span=> &#root #(.#fields)*)
}

/// What the tool says of its errors.
pub(super) fn policy(private: &TokenStream, tool: &Tool) -> TokenStream {
    let result = &tool.result;
    let classify = tool.classify.as_ref().map(|path| quote!(, classify = #path));
    let refuse = tool.refuse.as_ref().map(|path| quote!(, refuse = #path));
    // With the place of the type, so that a type that will not do is told there.
    let place = Span::call_site().located_at(result.span());
    let name = placed(quote!(#private::policy), place);
    quote_spanned!(place=> #name!(#result #classify #refuse))
}

/// What stands before the body, and the body.
fn inside(tool: &Tool, attempt: &Ident, body: &Group) -> TokenStream {
    let result = &tool.result;
    let never = local("__idem_never");
    // Braces that are the macro's, at their place: rustc (`unused_braces`) would ask the user to remove the others.
    let mut body = body.clone();
    body.set_span(body.span().resolved_at(Span::call_site()));
    let call = match &tool.caller {
        Caller::Parameter { parameter, .. } if is_wild(parameter) => None,
        Caller::Parameter { parameter, takes, .. } => {
            let ident = &parameter.ident;
            let pattern = parameter.pattern.as_ref().map_or_else(|| quote!(#ident), |pattern| quote!(#pattern));
            let value = match takes {
                TakesCall::ByReference => quote!(&#attempt),
                TakesCall::ByValue => quote!(#attempt),
            };
            Some(quote! {
                #[allow(unused_variables, clippy::no_effect_underscore_binding, clippy::shadow_unrelated, reason = "the guard uses it, the body need not")]
                let #pattern = #value;
            })
        }
        Caller::Expression(_) | Caller::Current => None,
    };
    let parameters = tool.inputs.iter().map(|input| &input.parameter);
    let bound = parameters.filter(|parameter| !is_wild(parameter)).filter_map(|parameter| {
        let (cfgs, ident, pattern) = (&parameter.cfgs, &parameter.ident, parameter.pattern.as_ref()?);
        let quiet = parameter
            .name
            .starts_with('_')
            .then(|| quote!(#[allow(clippy::no_effect_underscore_binding, reason = "the name is the user's")]));
        Some(quote!(#(#cfgs)* #quiet let #pattern = #ident;))
    });
    // The dead edge makes `?`, coercions and type errors those of the declared type (as in tracing-attributes).
    quote! {
        #[allow(unreachable_code, clippy::all, clippy::pedantic, reason = "only its type is wanted")]
        if false {
            let #never: #result = loop {};
            return #never;
        }
        #call
        #(#bound)*
        #body
    }
}

/// `_` binds nothing.
fn is_wild(parameter: &Parameter) -> bool {
    matches!(parameter.pattern, Some(Pat::Wild(_)))
}
