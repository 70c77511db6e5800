//! What a tool call is, whoever wrote it.
//!
//! It must not know how a provider writes.

use std::fmt;

use serde_json::{Map, Value};

use super::{Wire, arguments::Misread};

/// One message of a model, as far as it calls tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Message {
    /// The calls, in the order in which they stand in the message.
    pub calls: Vec<WireCall>,
    /// Whether the message ended before the model did: calls without whole arguments did not mean to have none.
    pub cut_off: bool,
}

impl Message {
    /// Adds what stands in a further entry of the same message.
    pub(super) fn join(&mut self, more: Self) {
        self.cut_off |= more.cut_off;
        let before = self.calls.len();
        self.calls.extend(more.calls.into_iter().map(|call| WireCall { position: before + call.position, ..call }));
    }
}

/// One tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct WireCall {
    /// Its place among the calls of its message, from 0.
    pub position: usize,
    /// The id that the provider or its client gave it; `None` where it is absent or blank.
    pub id: Option<String>,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments, or why they cannot be read.
    pub arguments: Result<Map<String, Value>, Misread>,
    /// What an answer has to name to belong to this call, as it came: an id, or whatever the provider correlates by.
    pub(super) correlate: Value,
    /// Whether the provider wants the answer to a call whose input is free text.
    pub(super) custom: bool,
}

impl WireCall {
    pub(super) fn new(name: String, correlate: Option<&Value>, arguments: Result<Map<String, Value>, Misread>) -> Self {
        let correlate = correlate.cloned().unwrap_or(Value::Null);
        let id = correlate.as_str().filter(|id| !id.trim().is_empty()).map(str::to_owned);
        Self { position: 0, id, name, arguments, correlate, custom: false }
    }
}

/// Calls in the order in which they were found.
pub(super) fn in_order(calls: impl IntoIterator<Item = WireCall>, cut_off: bool) -> Message {
    let calls = calls.into_iter().enumerate();
    Message { calls: calls.map(|(position, call)| WireCall { position, ..call }).collect(), cut_off }
}

/// What a call is answered with.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// The call.
    pub call: &'a WireCall,
    /// What the model reads.
    pub text: &'a str,
    /// The result itself, for formats that carry one beside the text. An object, or it is left out.
    pub structured: Option<&'a Value>,
    /// Whether the text says why there is no result.
    pub is_error: bool,
}

/// A message that is none of its format. Nothing was run, and nothing reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    wire: Option<Wire>,
    why: String,
}

impl Unreadable {
    pub(super) fn new(wire: Wire, why: impl Into<String>) -> Self {
        Self { wire: Some(wire), why: why.into() }
    }

    pub(super) fn of_text(why: impl Into<String>) -> Self {
        Self { wire: None, why: why.into() }
    }

    /// A body in which the provider says that it failed.
    pub(super) fn failed(wire: Wire, error: &Value) -> Self {
        let words = error.get("message").and_then(Value::as_str).or_else(|| error.as_str());
        Self::new(wire, format!("the provider answered with an error: {}", words.unwrap_or("without words")))
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.wire {
            Some(wire) => write!(f, "read a message as {}: {}", wire.name(), self.why),
            None => write!(f, "read a message: {}", self.why),
        }
    }
}

impl std::error::Error for Unreadable {}

/// A text field of an object.
pub(super) fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The elements of a list; none where it is no list.
pub(super) fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
