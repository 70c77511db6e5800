//! The arguments that describe the tool: name, version, effect, times.
//!
//! It must not know scope, key and parameters.

use crate::attribute::Attribute;
use crate::duration::Length;
use crate::mistakes::Mistakes;
use crate::model::{Naming, Param, Recovery, Spec};
use crate::signature::{Item, description};
use crate::words::{AFTER_RETENTION, Choice, EFFECTS, ON_BUSY};

use super::identity::Identity;

/// The settings as they go into the description; `None` where the runtime's default holds.
#[derive(Debug)]
pub(super) struct Settings {
    name: Option<String>,
    version: Option<u32>,
    effect: Option<Choice>,
    counts: Option<String>,
    window: Option<Length>,
    retain: Option<Length>,
    lease: Option<Length>,
    after_retention: Option<Choice>,
    on_busy: Option<Choice>,
}

/// Reads and checks all of them, for a tool that has an effect.
pub(super) fn read(attribute: &Attribute, mistakes: &mut Mistakes) -> Option<Settings> {
    let before = mistakes.count();
    let settings = of_any(attribute, mistakes);
    let effect = settings.as_ref().and_then(|settings| settings.effect);
    if let (Some(text), true) = (attribute.find("effect"), effect.is_some_and(|effect| effect.word == "read")) {
        mistakes.on(
            text.place(),
            "a tool that only reads needs no guard: it has no effect that could be repeated",
            "write `#[tool(effect = \"read\")]`, or `effect = \"audited_read\"` when the reading itself counts",
        );
    }
    settings.filter(|_| mistakes.count() == before)
}

/// Reads and checks what any tool may say.
pub(super) fn of_any(attribute: &Attribute, mistakes: &mut Mistakes) -> Option<Settings> {
    let before = mistakes.count();
    let settings = Settings {
        name: attribute.wording("name", mistakes),
        version: attribute.number("version", 1, mistakes).filter(|version| *version != 1),
        effect: unless_default(attribute.choice("effect", EFFECTS, mistakes), EFFECTS),
        counts: attribute.wording("counts", mistakes),
        window: attribute.length("window", mistakes),
        retain: attribute.length("retain", mistakes),
        lease: attribute.length("lease", mistakes),
        after_retention: unless_default(
            attribute.choice("after_retention", AFTER_RETENTION, mistakes),
            AFTER_RETENTION,
        ),
        on_busy: unless_default(attribute.choice("on_busy", ON_BUSY, mistakes), ON_BUSY),
    };
    if let (Some(window), Some(retain), Some(text)) = (settings.window, settings.retain, attribute.find("window"))
        && window > retain
    {
        mistakes.on(
            text.place(),
            "`window` is longer than `retain`: what is no longer kept cannot be recognised",
            "write a `window` of at most `retain`",
        );
    }
    (mistakes.count() == before).then_some(settings)
}

/// The first of a table is what holds without a word.
fn unless_default(choice: Option<Choice>, choices: &[Choice]) -> Option<Choice> {
    choice.filter(|choice| *choice != choices[0])
}

impl Settings {
    /// The whole description.
    pub(super) fn into_spec(self, item: &Item, identity: Identity, params: Vec<Param>, recovery: Recovery) -> Spec {
        let naming = match (self.name, &item.receiver) {
            (Some(name), _) => Naming::Given(name),
            (None, Some(_)) => Naming::Method,
            (None, None) => Naming::Function,
        };
        Spec {
            function: item.name.clone(),
            naming,
            description: description(&item.attrs),
            version: self.version,
            effect: self.effect,
            counts: self.counts,
            scope: identity.scope,
            key: identity.key,
            params,
            window: self.window,
            retain: self.retain,
            lease: self.lease,
            after_retention: self.after_retention,
            on_busy: self.on_busy,
            resources: identity.resources,
            recovery,
        }
    }
}
