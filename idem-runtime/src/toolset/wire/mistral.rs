//! Mistral chat completions: as `OpenAI`'s, and answers name their tool.

use serde_json::{Value, json};

use super::{
    Format, Wire,
    call::{Message, Reply, Unreadable},
    chat::{self, Chat},
};

/// The format.
pub(super) struct Mistral;

impl Format for Mistral {
    fn message(&self, body: &Value) -> Result<Message, Unreadable> {
        chat::read(Wire::Mistral, body)
    }

    fn conversation<'v>(&self, body: &'v Value) -> Option<&'v Vec<Value>> {
        Chat.conversation(body)
    }

    fn is_models(&self, entry: &Value) -> bool {
        Chat.is_models(entry)
    }

    fn answers(&self, replies: &[Reply<'_>]) -> Value {
        let answer = |reply: &Reply<'_>| {
            let Reply { call, text, .. } = reply;
            json!({ "role": "tool", "tool_call_id": call.correlate, "name": call.name, "content": text })
        };
        replies.iter().map(answer).collect()
    }

    fn push(&self, so_far: &mut Value, event: &Value) {
        chat::push(so_far, event);
    }

    fn finish(&self, so_far: Value) -> Value {
        chat::finish(so_far)
    }
}
