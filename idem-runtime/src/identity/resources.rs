//! What an operation changes: digests of the resources that a tool names.
//!
//! Must not know when an operation succeeded. Two templates that come to the same pieces name the same resource,
//! whichever tool declares them, and whether a piece comes from an argument or from a result.

use std::sync::Arc;

use serde_json::Value;

use super::{
    arguments::Arguments,
    canonical::{Canonical, Presence},
    frame::{Digest, Frame, domain},
    unidentified::Unidentified,
};
use crate::{
    secret::IdentityKey,
    tool::{TemplatePart, ToolSpec},
};

/// The resources of one call: those that its arguments name, and the beginnings of those that its result will.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resources {
    pub(crate) known: Arc<[Digest]>,
    pending: Vec<Vec<Piece>>,
}

/// A piece of a resource whose name is not complete yet.
#[derive(Debug, Clone)]
enum Piece {
    Text(&'static str),
    Value(Box<[u8]>),
    Result(&'static str),
}

/// A result's piece larger than this names nothing.
const PIECE_BYTES_MAX: usize = 64 * 1024;

impl Resources {
    /// What the arguments of a call say.
    pub(crate) fn of_call(
        spec: &ToolSpec,
        arguments: &Arguments,
        key: Option<&IdentityKey>,
    ) -> Result<Self, Unidentified> {
        let mut resources = Self::default();
        let mut known = Vec::new();
        for template in spec.declared_resources() {
            let piece = |part: &TemplatePart| match *part {
                TemplatePart::Text(text) => Ok(Piece::Text(text)),
                TemplatePart::Result(path) => Ok(Piece::Result(path)),
                TemplatePart::Value(path) => match arguments.value(path) {
                    None => Err(Unidentified::NoResource { path }),
                    Some(value) => Ok(Piece::Value(value.into())),
                },
            };
            let pieces: Vec<Piece> = template.iter().map(piece).collect::<Result<_, _>>()?;
            match named(&pieces, None, key) {
                Some(digest) => known.push(digest),
                None => resources.pending.push(pieces),
            }
        }
        resources.known = known.into();
        Ok(resources)
    }

    /// What can be said without arguments: only a result will name something.
    pub(crate) fn of_result_alone(spec: &ToolSpec) -> Self {
        let pieces = |template: &&[TemplatePart]| {
            let piece = |part: &TemplatePart| match *part {
                TemplatePart::Text(text) => Some(Piece::Text(text)),
                TemplatePart::Result(path) => Some(Piece::Result(path)),
                TemplatePart::Value(_) => None,
            };
            template.iter().map(piece).collect()
        };
        Self { known: Arc::default(), pending: spec.declared_resources().iter().filter_map(pieces).collect() }
    }

    /// What the result adds, given as JSON. A piece that it does not have names nothing.
    pub(crate) fn of_result(&self, json: &[u8], key: Option<&IdentityKey>) -> Arc<[Digest]> {
        if self.pending.is_empty() {
            return Arc::default();
        }
        let Ok(result) = serde_json::from_slice::<Value>(json) else {
            return Arc::default();
        };
        self.pending.iter().filter_map(|pieces| named(pieces, Some(&result), key)).collect()
    }
}

/// The resource's digest, once every piece is there.
fn named(pieces: &[Piece], result: Option<&Value>, key: Option<&IdentityKey>) -> Option<Digest> {
    let mut frame = Frame::new(key, domain::RESOURCE);
    for piece in pieces {
        match piece {
            Piece::Text(text) => frame.optional(Some(text.as_bytes())),
            Piece::Value(bytes) => {
                frame.optional(None);
                frame.part(bytes);
            }
            Piece::Result(path) => {
                frame.optional(None);
                frame.part(&at(result?, path)?);
            }
        }
    }
    Some(frame.digest())
}

/// The canonical form of the value at `path`, unless there is none or it is empty.
fn at(result: &Value, path: &str) -> Option<Vec<u8>> {
    let steps = path.split('.').filter(|step| !step.is_empty());
    let value = steps.into_iter().try_fold(result, |value, step| match value {
        Value::Array(all) => all.get(step.parse::<usize>().ok()?),
        value => value.get(step),
    })?;
    if value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty()) {
        return None;
    }
    let mut canonical = Canonical::new(PIECE_BYTES_MAX);
    match canonical.write(value) {
        Ok(Presence::Given) => Some(canonical.bytes().to_vec()),
        Ok(Presence::Absent) | Err(_) => None,
    }
}
