//! Ollama's `/api/chat`: one message beside `done`, arguments as an object, and often no id to correlate by.

use serde_json::{Value, json};

use super::{
    Format, Wire,
    call::{Message, Reply, Unreadable, list, text},
    chat::{self, Chat},
};

/// The format.
pub(super) struct Ollama;

impl Format for Ollama {
    fn message(&self, body: &Value) -> Result<Message, Unreadable> {
        chat::read(Wire::Ollama, body)
    }

    fn conversation<'v>(&self, body: &'v Value) -> Option<&'v Vec<Value>> {
        Chat.conversation(body)
    }

    fn is_models(&self, entry: &Value) -> bool {
        Chat.is_models(entry)
    }

    fn answers(&self, replies: &[Reply<'_>]) -> Value {
        let answer = |reply: &Reply<'_>| {
            let mut answer = json!({ "role": "tool", "tool_name": reply.call.name, "content": reply.text });
            if reply.call.id.is_some() {
                answer["tool_call_id"] = reply.call.correlate.clone();
            }
            answer
        };
        replies.iter().map(answer).collect()
    }

    fn push(&self, so_far: &mut Value, event: &Value) {
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            *so_far = json!({ "error": error });
        }
        if so_far.get("error").is_some() {
            return;
        }
        if so_far.is_null() {
            *so_far = json!({ "message": { "role": "assistant", "content": "", "tool_calls": [] } });
        }
        let message = event.get("message").unwrap_or(&Value::Null);
        if let Value::String(content) = &mut so_far["message"]["content"] {
            content.push_str(text(message, "content"));
        }
        if let Value::Array(calls) = &mut so_far["message"]["tool_calls"] {
            calls.extend(list(message, "tool_calls").iter().cloned());
        }
        if event.get("done").and_then(Value::as_bool) == Some(true) {
            so_far["done"] = true.into();
            so_far["done_reason"] = event.get("done_reason").cloned().unwrap_or_else(|| "stop".into());
        }
    }

    fn finish(&self, mut so_far: Value) -> Value {
        // A call comes in one piece: what stands there is whole, even when more should have come.
        if so_far.is_object() && so_far.get("error").is_none() && so_far.get("done").is_none() {
            so_far["done"] = false.into();
        }
        so_far
    }
}
