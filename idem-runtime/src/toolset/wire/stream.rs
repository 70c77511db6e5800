//! Messages that come in pieces.
//!
//! It must not know the formats: each puts its own pieces together.

use std::fmt;

use serde_json::Value;

use super::{Format, call::Unreadable};

/// Puts a streamed message together: [`push`](Self::push) each event, then [`finish`](Self::finish).
pub struct Assembler {
    format: &'static dyn Format,
    so_far: Value,
}

impl fmt::Debug for Assembler {
    /// Without what the model wrote.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembler").finish_non_exhaustive()
    }
}

impl Assembler {
    pub(super) fn new(format: &'static dyn Format) -> Self {
        Self { format, so_far: Value::Null }
    }

    /// Takes the next event, as the JSON of its `data` line. Events that add nothing to the message are passed over.
    pub fn push(&mut self, event: &Value) {
        if event.is_object() {
            self.format.push(&mut self.so_far, event);
        }
    }

    /// The message as it would have come in one piece. A stream that broke off makes one that was cut off.
    pub fn finish(self) -> Value {
        self.format.finish(self.so_far)
    }
}

/// The events in a text of server-sent events, or of JSON lines.
pub(super) fn events(stream: &str) -> Result<Vec<Value>, Unreadable> {
    let mut events = Vec::new();
    let (mut data, mut fields) = (String::new(), false);
    for line in stream.lines().chain([""]) {
        // The recorder of one provider indents its first line.
        let line = line.trim_start_matches([' ', '\u{feff}']).trim_end();
        if let Some(more) = line.strip_prefix("data:") {
            fields = true;
            data.push_str(more.trim_start());
        } else if line.is_empty() {
            take(&mut data, &mut events)?;
        } else if line.starts_with('{') {
            take(&mut data, &mut events)?;
            data.push_str(line);
            take(&mut data, &mut events)?;
        } else if !fields && !["event:", "id:", "retry:", ":"].iter().any(|field| line.starts_with(field)) {
            return Err(Unreadable::of_text("the stream has a line that is neither an event nor JSON"));
        }
    }
    Ok(events)
}

fn take(data: &mut String, events: &mut Vec<Value>) -> Result<(), Unreadable> {
    let event = std::mem::take(data);
    if event.is_empty() || event == "[DONE]" {
        return Ok(());
    }
    let parsed = serde_json::from_str(&event);
    events.push(parsed.map_err(|error| Unreadable::of_text(format!("an event of the stream is no JSON: {error}")))?);
    Ok(())
}
