//! The value of each source of a key, framed.

use std::sync::Arc;

use super::{
    arguments::Arguments,
    frame::{Digest, Frame},
    names::Source,
    unidentified::Unidentified,
};
use crate::{
    call::{CallContext, Turn},
    id,
    tool::{KeySource, TemplatePart},
};

/// Where the values of sources come from.
pub(super) struct Values<'a> {
    pub(super) call: &'a CallContext,
    pub(super) arguments: &'a Arguments,
    pub(super) fingerprint: &'a Digest,
    /// A tool call id equal to one of these was made up by a client that got none.
    pub(super) names: [&'a str; 2],
}

impl Values<'_> {
    /// Adds the source's kind and value to `frame`; `None` when the call does not have it.
    pub(super) fn add(&self, wanted: &KeySource, frame: &mut Frame) -> Result<Option<Source>, Unidentified> {
        match wanted {
            KeySource::ToolCallId => self.tool_call_id(frame),
            KeySource::OperationId => {
                let Some(given) = &self.call.operation_id else {
                    return Ok(None);
                };
                self.kind(b"operation_id", b"operation_id of an item", frame)?;
                frame.part(id::checked("operation id", given.clone())?.as_bytes());
                Ok(Some(Source::OperationId))
            }
            KeySource::Args => {
                frame.part(b"args");
                frame.part(self.fingerprint);
                Ok(Some(Source::Args))
            }
            KeySource::ArgsOf(paths) => {
                frame.part(b"args(..)");
                let mut paths = paths.to_vec();
                paths.sort_unstable();
                for path in paths {
                    frame.part(path.as_bytes());
                    frame.part(self.value(path)?);
                }
                Ok(Some(Source::Args))
            }
            KeySource::Template(parts) => {
                frame.part(b"template");
                for part in *parts {
                    match part {
                        TemplatePart::Text(text) => frame.optional(Some(text.as_bytes())),
                        // A key has no part of a result: the attribute refuses it.
                        TemplatePart::Value(path) | TemplatePart::Result(path) => {
                            frame.optional(None);
                            frame.part(self.value(path)?);
                        }
                    }
                }
                Ok(Some(Source::Template))
            }
            KeySource::All(all) => {
                frame.part(b"all");
                frame.number(all.len() as u64);
                let mut least_stable = Source::OperationId;
                for wanted in *all {
                    let Some(source) = self.add(wanted, frame)? else {
                        return Ok(None);
                    };
                    least_stable = least_stable.max(source);
                }
                Ok(Some(least_stable))
            }
        }
    }

    fn tool_call_id(&self, frame: &mut Frame) -> Result<Option<Source>, Unidentified> {
        let Some(given) = self.call.tool_call_id.as_ref().filter(|given| !given.trim().is_empty()) else {
            return Ok(None);
        };
        if self.names.contains(&&**given) {
            return Ok(None);
        }
        self.kind(b"tool_call_id", b"tool_call_id of an item", frame)?;
        frame.part(id::checked("tool call id", given.clone())?.as_bytes());
        match &self.call.turn {
            None => frame.number(0),
            Some(Turn::Index(index)) => {
                frame.number(1);
                frame.number(*index);
            }
            Some(Turn::Id(turn)) => {
                frame.number(2);
                frame.part(id::checked("turn", turn.clone())?.as_bytes());
            }
        }
        Ok(Some(Source::ToolCallId))
    }

    /// Adds the kind of an id: of the whole call's, or, with the child keys, of an item's.
    fn kind(&self, whole: &'static [u8], of_an_item: &'static [u8], frame: &mut Frame) -> Result<(), Unidentified> {
        if self.call.items.is_empty() {
            frame.part(whole);
            return Ok(());
        }
        frame.part(of_an_item);
        frame.number(self.call.items.len() as u64);
        for key in &self.call.items {
            frame.part(id::checked("item key", Arc::clone(key))?.as_bytes());
        }
        Ok(())
    }

    fn value(&self, path: &'static str) -> Result<&[u8], Unidentified> {
        self.arguments.value(path).ok_or(Unidentified::EmptyPart { path })
    }
}

/// The sources in words, for the refusal of a call that has none.
pub(super) fn wanted(sources: &[KeySource], between: &str) -> String {
    let name = |source: &KeySource| match source {
        KeySource::ToolCallId => "a tool call id".to_owned(),
        KeySource::OperationId => "an operation id".to_owned(),
        KeySource::Args | KeySource::ArgsOf(_) => "arguments".to_owned(),
        KeySource::Template(_) => "the values of its template".to_owned(),
        KeySource::All(all) => wanted(all, " and "),
    };
    sources.iter().map(name).collect::<Vec<_>>().join(between)
}
