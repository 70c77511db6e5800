//! What happens when an attempt has failed or may have: the budget of retries, the chain of recovery, and what goes
//! with them.
//!
//! It must not know the parameters; what the hooks ask of them is `hooks`'.

use crate::attribute::{Argument, Attribute};
use crate::duration::{self, Length};
use crate::mistakes::Mistakes;
use crate::model::{KeptArguments, Recovery, RecoveryStep, Reference, Retry};
use crate::words::{ENDS, ON_UNKNOWN, REFERENCES};

/// What `retry` means where it does not say otherwise.
const DEFAULT: Retry = Retry { max: 3, base: nanoseconds(200_000_000), cap: seconds(5), deadline: seconds(30) };

/// A key that a provider forgets sooner says nothing by the time that anybody asks.
const SHORTEST_KEY: Length = seconds(60);

const fn seconds(seconds: u64) -> Length {
    Length { seconds, nanoseconds: 0 }
}

const fn nanoseconds(nanoseconds: u32) -> Length {
    Length { seconds: 0, nanoseconds }
}

/// Reads and checks all of it.
pub(super) fn read(attribute: &Attribute, mistakes: &mut Mistakes) -> Option<Recovery> {
    let before = mistakes.count();
    let retry = attribute.list("retry", mistakes).map(|list| retry(list, mistakes));
    if let Some(retry) = &retry {
        refuse_short_retention(attribute, retry, mistakes);
    }
    let steps = attribute.list("recover", mistakes).map(|list| steps(list, mistakes)).unwrap_or_default();
    let reference = attribute.word("reference", REFERENCES, mistakes);
    let arguments = attribute.flag("store_arguments", mistakes).unwrap_or_default();
    let recovery = Recovery {
        retry,
        steps,
        settles_in: attribute.length("settles_in", mistakes),
        reference: reference.map_or(Reference::Optional, |_| Reference::Required),
        on_unknown: attribute.choice("on_unknown", ON_UNKNOWN, mistakes),
        arguments: if arguments { KeptArguments::Stored } else { KeptArguments::No },
    };
    refuse_idle(attribute, &recovery, mistakes);
    (mistakes.count() == before).then_some(recovery)
}

fn retry(list: &Attribute, mistakes: &mut Mistakes) -> Retry {
    let before = mistakes.count();
    let retry = Retry {
        max: list.number("max", 2, mistakes).unwrap_or(DEFAULT.max),
        base: list.length("base", mistakes).unwrap_or(DEFAULT.base),
        cap: list.length("cap", mistakes).unwrap_or(DEFAULT.cap),
        deadline: list.length("deadline", mistakes).unwrap_or(DEFAULT.deadline),
    };
    if mistakes.count() == before {
        refuse_longer(list, ("base", retry.base), ("cap", retry.cap), mistakes);
        refuse_longer(list, ("cap", retry.cap), ("deadline", retry.deadline), mistakes);
    }
    retry
}

/// Told under the one that was written: the other may be the default.
fn refuse_longer(list: &Attribute, inner: (&str, Length), outer: (&str, Length), mistakes: &mut Mistakes) {
    let ((name, length), (limit, most)) = (inner, outer);
    if length <= most {
        return;
    }
    let message = format!("`{name}` ({}) is longer than `{limit}` ({})", duration::text(length), duration::text(most));
    let help = match (list.find(name), list.find(limit)) {
        (Some(argument), _) => (argument, format!("write `{name} = \"{}\"`", duration::text(most))),
        (None, Some(argument)) => (argument, format!("write `{limit} = \"{}\"`", duration::text(length))),
        (None, None) => return,
    };
    let (argument, help) = help;
    mistakes.on(argument.place(), message, help);
}

/// A retry that comes when the record is gone would find a stranger.
fn refuse_short_retention(attribute: &Attribute, retry: &Retry, mistakes: &mut Mistakes) {
    // What is wrong with the length itself is told where it is read.
    let written = attribute.find("retain").and_then(Argument::as_text);
    let retain = written.as_ref().and_then(|text| duration::read(text).ok());
    if let (Some(text), Some(retain)) = (written, retain)
        && retain < retry.deadline
    {
        let deadline = duration::text(retry.deadline);
        mistakes.at(
            text.span(),
            format!("`retain` is shorter than the `deadline` of `retry` ({deadline}): a retry would find no record"),
            format!("write `retain = \"{deadline}\"` or longer"),
        );
    }
}

fn steps(list: &Attribute, mistakes: &mut Mistakes) -> Vec<RecoveryStep> {
    if list.says_nothing() {
        mistakes.at(
            list.span(),
            "`recover` names no step: how is an unknown outcome to be settled?",
            "write `recover(provider_key = \"24h\", then = operator)`",
        );
    }
    list.word("then", ENDS, mistakes);
    let mut steps = Vec::new();
    let mut ended = false;
    for argument in list.arguments() {
        let name = argument.name.to_string();
        if ended {
            let message = format!("step `{name}` after `then`, which ends the chain");
            mistakes.at(argument.name.span(), message, "write `then = operator` last");
        }
        match name.as_str() {
            "provider_key" => steps.extend(provider_key(list, argument, mistakes).map(RecoveryStep::ProviderKey)),
            "lookup" => steps.extend(list.path("lookup", mistakes).map(RecoveryStep::Lookup)),
            "search" => steps.extend(list.path("search", mistakes).map(RecoveryStep::Search)),
            _ => ended = true,
        }
    }
    steps
}

fn provider_key(list: &Attribute, argument: &Argument, mistakes: &mut Mistakes) -> Option<Length> {
    let length = list.length("provider_key", mistakes)?;
    if length < SHORTEST_KEY {
        mistakes.on(
            argument.place(),
            "`provider_key` is shorter than `1m`: how long does the provider remember a key?",
            "write `provider_key = \"24h\"`",
        );
        return None;
    }
    Some(length)
}

/// What says something about steps that are not there.
fn refuse_idle(attribute: &Attribute, recovery: &Recovery, mistakes: &mut Mistakes) {
    // A step with a mistake in it is there all the same, and so may be one in what could not be read.
    let list = attribute.find("recover").and_then(Argument::as_list);
    let asks = list.is_some_and(|list| list.mentions("lookup") || list.mentions("search"));
    if asks || list.is_none() && attribute.mentions("recover") {
        return;
    }
    if let Some(argument) = attribute.find("settles_in") {
        mistakes.at(
            argument.name.span(),
            "`settles_in` without a lookup or a search: nothing asks the provider what happened",
            "write `recover(lookup = find_refund)`, or remove `settles_in`",
        );
    }
    if let (Some(argument), Some("reconcile")) =
        (attribute.find("on_unknown"), recovery.on_unknown.map(|choice| choice.word))
    {
        mistakes.on(
            argument.place(),
            "`on_unknown = \"reconcile\"` without a lookup or a search: nothing can be asked what happened",
            "write `recover(lookup = find_refund)`, or `on_unknown = \"tell\"`",
        );
    }
}
