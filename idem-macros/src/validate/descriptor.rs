//! Whether a function stands beside the tool that binds it to its state, and what that function can do.
//!
//! It must not know how the function is written.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{GenericParam, Generics, Token, TypeParamBound, WherePredicate};

use crate::mistakes::Mistakes;
use crate::model::{Caller, Descriptor, KeptArguments, Recovery, RecoveryStep, Resend, Sibling};
use crate::signature::{Item, Parameter};
use crate::types;

use super::parameters::{Parameters, Role};

/// The function's outline, where there is one: it stands where `…_outcome` may stand.
pub(super) fn read(
    item: &Item,
    parameters: &Parameters,
    recovery: &Recovery,
    sibling: Sibling,
    caller: Option<&Caller>,
    mistakes: &mut Mistakes,
) -> Option<Descriptor> {
    if recovery.steps.is_empty() || sibling == Sibling::None {
        return None;
    }
    for parameter in parameters.state() {
        refuse_state(item, parameter, mistakes);
    }
    let resend = match caller {
        Some(caller) if can_resend(item, parameters, recovery, caller) => Resend::Stored,
        _ => Resend::Never,
    };
    Some(Descriptor { generics: without_lifetimes(&item.sig.generics), resend })
}

/// The reconciler keeps the state for as long as it lives, so what borrows must be one reference, which it can share.
fn refuse_state(item: &Item, parameter: &Parameter, mistakes: &mut Mistakes) {
    let name = &parameter.name;
    if let Some(cfg) = parameter.cfgs.first() {
        let message = format!("`recover` beside state `{name}`, which exists under a condition only");
        mistakes.on(cfg, message, "put the `#[cfg]` on two tool functions");
    }
    let inner = types::shared(&parameter.ty).unwrap_or(&parameter.ty);
    if let Some(written) = types::borrow(inner) {
        let message = format!("state `{name}` borrows, so `{}_tool` cannot keep it for the reconciler", item.name);
        mistakes.on(written, message, "write `&T` or an owned type, or `outcome = false` for no such function");
    }
}

/// Whether everything that a call needs is stored, or held by the reconciler.
fn can_resend(item: &Item, parameters: &Parameters, recovery: &Recovery, caller: &Caller) -> bool {
    let key = recovery.steps.iter().any(|step| matches!(step, RecoveryStep::ProviderKey(_)));
    let hidden = |role| matches!(role, Role::Volatile | Role::Secret);
    recovery.arguments == KeptArguments::Stored
        && key
        && item.receiver.as_ref().is_none_or(|receiver| receiver.plain)
        && !matches!(caller, Caller::Expression(_))
        && !parameters.has(hidden)
        && parameters.left_out.is_empty()
        && parameters.stored().all(|parameter| types::can_be_read(&parameter.ty))
        && parameters.state().all(|parameter| !types::borrows_for_change(&parameter.ty))
}

/// Lifetimes are those of a call; what is said about types stays.
fn without_lifetimes(written: &Generics) -> Generics {
    let mut generics = written.clone();
    generics.params = written
        .params
        .iter()
        .filter(|param| !matches!(param, GenericParam::Lifetime(_)))
        .cloned()
        .map(|mut param| {
            if let GenericParam::Type(param) = &mut param {
                param.bounds = lasting(&param.bounds);
            }
            param
        })
        .collect();
    if let Some(clause) = &mut generics.where_clause {
        clause.predicates = std::mem::take(&mut clause.predicates)
            .into_iter()
            .filter_map(|predicate| match predicate {
                // `for<'x> &'x T: Trait` brings its own.
                WherePredicate::Type(predicate) if predicate.lifetimes.is_some() => {
                    Some(WherePredicate::Type(predicate))
                }
                WherePredicate::Type(mut predicate) if !names_lifetime(predicate.bounded_ty.to_token_stream()) => {
                    predicate.bounds = lasting(&predicate.bounds);
                    (!predicate.bounds.is_empty()).then_some(WherePredicate::Type(predicate))
                }
                _ => None,
            })
            .collect();
    }
    generics
}

fn lasting(bounds: &Punctuated<TypeParamBound, Token![+]>) -> Punctuated<TypeParamBound, Token![+]> {
    let own = |bound: &&TypeParamBound| match bound {
        // `for<'x> Fn(&'x T)` brings its own.
        TypeParamBound::Trait(bound) if bound.lifetimes.is_some() => true,
        other => !names_lifetime(other.to_token_stream()),
    };
    bounds.iter().filter(own).cloned().collect()
}

/// Whether a lifetime other than `'static` stands somewhere in it.
fn names_lifetime(tokens: TokenStream) -> bool {
    let mut quoted = false;
    tokens.into_iter().any(|token| {
        let name = std::mem::replace(&mut quoted, matches!(&token, TokenTree::Punct(sign) if sign.as_char() == '\''));
        match token {
            TokenTree::Ident(ident) => name && ident != "static",
            TokenTree::Group(group) => names_lifetime(group.stream()),
            _ => false,
        }
    })
}
