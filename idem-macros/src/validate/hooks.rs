//! What the hooks of a tool (`validate`, `lookup`, `search`, and the next attempt of `retry`) ask of its parameters.
//!
//! It must not know what a hook is for.

use proc_macro2::Span;

use crate::attribute::{Argument, Attribute};
use crate::mistakes::Mistakes;
use crate::signature::{Item, Me, TakesSelf};

use super::parameters::Parameters;

/// A hook that was written, and where.
struct Hook {
    name: &'static str,
    place: Span,
}

/// Refuses what cannot be lent to the hooks, or not be handed to a second attempt.
pub(super) fn check(attribute: &Attribute, item: &Item, parameters: &Parameters, mistakes: &mut Mistakes) {
    let hooks = hooks(attribute);
    let Some(first) = hooks.first() else {
        return;
    };
    for parameter in parameters.arguments() {
        if let Some(cfg) = parameter.cfgs.first() {
            mistakes.on(
                cfg,
                format!("`{}` beside parameter `{}`, which exists under a condition only", first.name, parameter.name),
                "put the `#[cfg]` on two tool functions",
            );
        }
    }
    if let Some(receiver) = &item.receiver {
        for hook in &hooks {
            refuse_receiver(receiver, hook, mistakes);
        }
    }
}

fn hooks(attribute: &Attribute) -> Vec<Hook> {
    let steps = attribute.find("recover").and_then(Argument::as_list);
    let written = [
        ("validate", attribute.find("validate")),
        ("retry", attribute.find("retry")),
        ("lookup", steps.and_then(|steps| steps.find("lookup"))),
        ("search", steps.and_then(|steps| steps.find("search"))),
    ];
    let hook = |(name, argument): (&'static str, Option<&Argument>)| Some(Hook { name, place: argument?.name.span() });
    written.into_iter().filter_map(hook).collect()
}

fn refuse_receiver(receiver: &Me, hook: &Hook, mistakes: &mut Mistakes) {
    let name = hook.name;
    // `&mut self` and `mut self` are refused whatever the attribute says.
    let why = match receiver.takes {
        TakesSelf::ByValue => "`self` by value, which the body takes",
        TakesSelf::ByReference if name == "retry" && !receiver.plain => {
            "a `self` that a next attempt may not find again"
        }
        TakesSelf::ByReference | TakesSelf::ForChange | TakesSelf::MutableBinding => return,
    };
    mistakes.at(hook.place, format!("`{name}` beside {why}"), "write `&self`");
}
