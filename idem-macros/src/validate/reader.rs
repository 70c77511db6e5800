//! `#[tool]`: which tools need no ledger, and what may be said of one that needs none.
//!
//! It must not know what a guard does.

use super::identity::Identity;
use super::parameters::Parameters;
use super::{caller, entry, function, recovery, runtime, settings, sibling, standing};
use crate::attribute::Attribute;
use crate::mistakes::Mistakes;
use crate::model::{Home, Place, Receiver, Scope, Shown, Tool};
use crate::scope::ScopeKind;
use crate::signature::Item;
use crate::words::{EFFECTS, SCOPES};

/// What `#[tool]` makes of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It only reads: no guard.
    Reader,
    /// The same as `#[idempotent]`.
    Guarded,
}

/// What a tool with no guard may say of itself.
const OF_READERS: [&str; 6] = ["effect", "name", "version", "counts", "entry", "crate"];

/// Which kind it is; `None` after a mistake was told.
pub(crate) fn kind(attribute: &Attribute, item: &Item, mistakes: &mut Mistakes) -> Option<Kind> {
    let name = &item.name;
    // The word itself is checked where it is used.
    let effect = attribute.choice("effect", EFFECTS, &mut Mistakes::new());
    match (effect, attribute.mentions("scope")) {
        (Some(effect), _) if effect.word == "read" => Some(Kind::Reader),
        (_, true) => Some(Kind::Guarded),
        (None, false) if attribute.mentions("effect") => {
            attribute.choice("effect", EFFECTS, mistakes);
            None
        }
        (None, false) => {
            let message = format!("tool function `{name}` does not say whether it changes anything");
            mistakes.at(
                attribute.span(),
                message,
                "write `#[tool(effect = \"read\")]`, or `#[idempotent(scope = \"conversation\")]`",
            );
            None
        }
        (Some(effect), false) => {
            let message =
                format!("tool function `{name}` has an effect (`{}`), and no scope to guard it in", effect.word);
            let place = attribute.find("effect").map_or_else(|| attribute.span(), |argument| argument.name.span());
            mistakes.at(place, message, "add `scope = \"conversation\"`");
            None
        }
    }
}

/// The model of a tool that only reads.
pub(crate) fn reader(attribute: &Attribute, item: Item, mistakes: &mut Mistakes) -> Option<Tool> {
    for argument in attribute.arguments() {
        let word = argument.name.to_string();
        if !OF_READERS.contains(&word.as_str()) {
            let message = format!("`{word}` on a tool that only reads, which has no ledger");
            mistakes.at(argument.name.span(), message, format!("remove `{word}`"));
        }
    }
    let function = function::check(&item, mistakes);
    let parameters = Parameters::read(attribute, &item, None, mistakes);
    let caller = caller(None, &parameters, attribute, mistakes);
    let settings = settings::of_any(attribute, mistakes);
    let runtime = runtime(Home::Runtime, attribute, mistakes);
    let standing = standing(&item, std::iter::empty());
    let sibling = sibling(true, attribute, &item, standing);
    let entry = entry::read(attribute, &item, &parameters, sibling, caller.as_ref(), mistakes);
    let (function, settings, recovery) = (function?, settings?, recovery::read(attribute, mistakes)?);
    // Nobody asks: there is no ledger in which it would be one.
    let scope = Scope { kind: ScopeKind::Word(SCOPES[3]), paths: Vec::new() };
    let identity = Identity { scope, key: Vec::new(), resources: Vec::new(), parts: Vec::new() };
    Some(Tool {
        runtime,
        spec: settings.into_spec(&item, identity, parameters.described(), recovery),
        receiver: item.receiver.as_ref().map(Receiver::from),
        sig: item.named_signature(),
        attrs: item.attrs,
        vis: item.vis,
        shape: function.shape,
        result: function.result,
        caller: caller?,
        inputs: parameters.into_inputs(),
        steps: Vec::new(),
        place: Place::InPlace,
        validate: None,
        classify: None,
        refuse: None,
        standing,
        shown: Shown::Nobody,
        sibling,
        descriptor: None,
        harness: None,
        entry,
    })
}
