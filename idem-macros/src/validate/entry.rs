//! Whether a function stands beside the tool that makes it one of a tool set.
//!
//! It must not know how the function is written.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::GenericParam;

use crate::attribute::Attribute;
use crate::mistakes::Mistakes;
use crate::model::{Caller, Entry, Sibling};
use crate::signature::Item;
use crate::types;
use crate::words::REPEATS;

use super::parameters::Parameters;

/// Why there is no such function.
struct Obstacle {
    place: TokenStream,
    why: &'static str,
    help: &'static str,
}

/// The function, where a model's call says all that the tool needs, and the set can keep the rest. Where it cannot, that is a
/// mistake only for whoever asks for it.
pub(super) fn read(
    attribute: &Attribute,
    item: &Item,
    parameters: &Parameters,
    sibling: Sibling,
    caller: Option<&Caller>,
    mistakes: &mut Mistakes,
) -> Option<Entry> {
    let wanted = attribute.flag("entry", mistakes);
    let repeats = attribute.choice("repeats", REPEATS, mistakes).filter(|choice| *choice != REPEATS[0]);
    match obstacle(item, parameters, sibling, caller) {
        None => (wanted != Some(false)).then_some(Entry { repeats }),
        Some(Obstacle { place, why, help }) => {
            if wanted == Some(true) || repeats.is_some() {
                mistakes.on(place, format!("tool function `{}` cannot be one of a tool set: {why}", item.name), help);
            }
            None
        }
    }
}

fn obstacle(item: &Item, parameters: &Parameters, sibling: Sibling, caller: Option<&Caller>) -> Option<Obstacle> {
    let sig = &item.sig;
    let found = |place: &dyn ToTokens, why, help| Some(Obstacle { place: place.to_token_stream(), why, help });
    if sibling == Sibling::None {
        return found(
            &sig.ident,
            "nothing may stand beside it",
            "remove `outcome = false`, or guard a method with a visibility",
        );
    }
    if let Some(param) = sig.generics.params.iter().find(|param| !matches!(param, GenericParam::Lifetime(_))) {
        return found(param, "it is generic", "write a tool `fn` for each type");
    }
    if let Some(Caller::Expression(expression)) = caller {
        return found(expression, "its call comes from a framework's context", "write a parameter `call: &ToolCall`");
    }
    if let Some(receiver) = item.receiver.as_ref().filter(|receiver| !receiver.plain && !receiver.shared) {
        return found(&receiver.written, "a set keeps an `Arc` of the receiver", "write `&self`, or `self: Arc<Self>`");
    }
    if parameters.has_context() {
        return found(&sig.ident, "a parameter is a framework's context", "mark it `#[idem(state)]`");
    }
    for parameter in parameters.arguments() {
        if let Some(cfg) = parameter.cfgs.first() {
            return found(cfg, "a parameter exists under a condition only", "put the `#[cfg]` on two tool functions");
        }
    }
    for parameter in parameters.state() {
        let inner = types::shared(&parameter.ty).unwrap_or(&parameter.ty);
        if types::borrow(inner).is_some()
            || types::impl_trait(inner).is_some()
            || types::borrows_for_change(&parameter.ty)
        {
            return found(&parameter.ty, "its state borrows", "write `&T` or an owned type");
        }
    }
    parameters.stored().find(|parameter| !types::can_be_read(&parameter.ty)).and_then(|parameter| {
        found(
            &parameter.ty,
            "an argument borrows, or has a type without a name",
            "write an owned type, as `String` for `&str`",
        )
    })
}
