//! Scope, key and resources against the parameters: does every path lead somewhere, can the key tell two calls apart?
//!
//! It must not know the languages: it gets them read.

use crate::attribute::{Attribute, example};
use crate::key::{self, KeyWords, Part, Placed, Source};
use crate::mistakes::Mistakes;
use crate::model::{KeySource, Scope, Step, TemplatePart};
use crate::path::ValuePath;
use crate::scope::{self, ScopeWords};
use crate::signature::Item;

use super::parameters::{Parameters, Role};
use super::paths::Found;
use super::resources;

/// Scope, key and resources, and the values they need beside the arguments.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) scope: Scope,
    pub(super) key: Vec<KeySource>,
    pub(super) resources: Vec<Vec<TemplatePart>>,
    pub(super) parts: Vec<Step>,
}

/// Reads and checks all of it.
pub(super) fn read(
    attribute: &Attribute,
    item: &Item,
    parameters: &Parameters,
    mistakes: &mut Mistakes,
) -> Option<Identity> {
    let before = mistakes.count();
    let scope = read_scope(attribute, item, mistakes);
    let written = attribute.text("key", mistakes);
    let key = written.as_ref().map(|text| key::read(text, mistakes));
    let broken = key.is_none() && attribute.mentions("key");
    let mut parts = Parts { parameters, steps: Vec::new() };
    if let Some(scope) = &scope {
        for path in &scope.paths {
            parts.need(path, "the scope", true, mistakes);
        }
    }
    let sources = key.unwrap_or_else(|| default_key(attribute));
    refuse_repeated(&sources, mistakes);
    if !broken {
        refuse_empty_args(&sources, parameters, mistakes);
    }
    for placed in sources.iter().flatten() {
        parts.need_source(&placed.source, mistakes);
    }
    if scope.is_some() && mistakes.count() == before {
        refuse_idle_window(attribute, &sources, mistakes);
    }
    let resources = resources::read(attribute, &mut parts, mistakes);
    let steps = parts.steps;
    let scope = scope?;
    let paths = scope.paths.into_iter().map(|path| path.text).collect();
    (mistakes.count() == before).then(|| Identity {
        scope: Scope { kind: scope.kind, paths },
        key: sources.into_iter().map(together).collect(),
        resources,
        parts: steps,
    })
}

fn read_scope(attribute: &Attribute, item: &Item, mistakes: &mut Mistakes) -> Option<ScopeWords> {
    if !attribute.mentions("scope") {
        let message =
            format!("tool function `{}` has no scope: where are two equal calls the same operation?", item.name);
        mistakes.at(attribute.span(), message, format!("write `{}`", example("scope")));
    }
    let text = attribute.text("scope", mistakes)?;
    scope::read(&text, mistakes)
}

/// `tool_call_id|args`.
fn default_key(attribute: &Attribute) -> KeyWords {
    let placed = |source, text: &str| vec![Placed { source, span: attribute.span(), text: text.to_owned() }];
    vec![placed(Source::ToolCallId, "tool_call_id"), placed(Source::Args, "args")]
}

/// The values that scope, key and resources need beside whole arguments, each once.
pub(super) struct Parts<'p> {
    pub(super) parameters: &'p Parameters,
    steps: Vec<Step>,
}

impl Parts<'_> {
    pub(super) fn need(&mut self, path: &ValuePath, place: &str, braces: bool, mistakes: &mut Mistakes) {
        if let Some(Found::Below(steps)) = self.parameters.follow(path, place, braces, mistakes)
            && !self.steps.iter().any(|earlier| earlier.value.name == path.text)
        {
            self.steps.extend(steps);
        }
    }

    fn need_source(&mut self, source: &Source, mistakes: &mut Mistakes) {
        match source {
            Source::ToolCallId | Source::OperationId | Source::Args => {}
            Source::ArgsOf(paths) => paths.iter().for_each(|path| self.need(path, "`args(…)`", false, mistakes)),
            Source::Template(parts) => {
                for part in parts {
                    if let Part::Value(path) = part {
                        self.need(path, "a template", true, mistakes);
                    }
                }
            }
        }
    }
}

/// A source, or a whole alternative, that stands twice adds nothing: something else was meant.
fn refuse_repeated(key: &KeyWords, mistakes: &mut Mistakes) {
    let mut tell = |placed: &Placed| {
        let message = format!("source `{}` is given twice in the key", placed.text);
        mistakes.at(placed.span, message, format!("remove the second `{}`", placed.text));
    };
    let mut alternatives: Vec<Vec<&str>> = Vec::new();
    for together in key {
        let mut texts: Vec<&str> = Vec::new();
        for placed in together {
            if texts.contains(&placed.text.as_str()) {
                tell(placed);
            }
            texts.push(&placed.text);
        }
        texts.sort_unstable();
        if alternatives.contains(&texts) {
            together.iter().take(1).for_each(&mut tell);
        }
        alternatives.push(texts);
    }
    for paths in key.iter().flatten().filter_map(|placed| match &placed.source {
        Source::ArgsOf(paths) => Some(paths),
        _ => None,
    }) {
        for (index, path) in paths.iter().enumerate() {
            if paths[..index].iter().any(|earlier| earlier.text == path.text) {
                let message = format!("`{}` is given twice in `args(…)`", path.text);
                mistakes.at(path.span, message, format!("remove the second `{}`", path.text));
            }
        }
    }
}

fn refuse_empty_args(key: &KeyWords, parameters: &Parameters, mistakes: &mut Mistakes) {
    if !parameters.names(|role| role == Role::Effect).is_empty() {
        return;
    }
    for placed in key.iter().flatten().filter(|placed| matches!(placed.source, Source::Args)) {
        mistakes.at(
            placed.span,
            "key source `args` over no arguments would mean once per scope: every call would be the same operation",
            "write `key = \"tool_call_id\"`",
        );
    }
}

/// `window` bounds how long equal arguments mean the same intent, so there must be arguments in the key.
fn refuse_idle_window(attribute: &Attribute, key: &KeyWords, mistakes: &mut Mistakes) {
    let Some(window) = attribute.find("window") else {
        return;
    };
    let told = |placed: &Placed| matches!(placed.source, Source::Args | Source::ArgsOf(_));
    if !key.iter().flatten().any(told) {
        mistakes.at(
            window.name.span(),
            "`window` without arguments in the key: it bounds how long equal arguments mean the same intent",
            "write `key = \"tool_call_id|args\"`",
        );
    }
}

fn together(mut sources: Vec<Placed>) -> KeySource {
    if sources.len() == 1 {
        return source(sources.remove(0).source);
    }
    KeySource::All(sources.into_iter().map(|placed| source(placed.source)).collect())
}

fn source(written: Source) -> KeySource {
    match written {
        Source::ToolCallId => KeySource::ToolCallId,
        Source::OperationId => KeySource::OperationId,
        Source::Args => KeySource::Args,
        Source::ArgsOf(paths) => KeySource::ArgsOf(paths.into_iter().map(|path| path.text).collect()),
        Source::Template(parts) => KeySource::Template(
            parts
                .into_iter()
                .map(|part| match part {
                    Part::Text(text) => TemplatePart::Text(text),
                    Part::Value(path) => TemplatePart::Value(path.text),
                })
                .collect(),
        ),
    }
}
