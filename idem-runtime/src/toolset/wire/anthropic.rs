//! Anthropic Messages: `tool_use` blocks, answered by `tool_result` blocks of one user's message.

use serde_json::{Map, Value, json};

use super::{
    Format, Wire, arguments,
    call::{Message, Reply, Unreadable, WireCall, in_order, list, text},
};

/// The format.
pub(super) struct Anthropic;

impl Format for Anthropic {
    fn message(&self, body: &Value) -> Result<Message, Unreadable> {
        if text(body, "type") == "error" {
            return Err(Unreadable::failed(Wire::Anthropic, body.get("error").unwrap_or(body)));
        }
        if text(body, "role") != "assistant" {
            return Err(Unreadable::new(Wire::Anthropic, "there is no assistant's message in it"));
        }
        let cut_off = ["max_tokens", "model_context_window_exceeded"].contains(&text(body, "stop_reason"));
        // What the provider runs itself is a `server_tool_use`.
        let calls = list(body, "content").iter().filter(|block| text(block, "type") == "tool_use");
        let calls = calls.map(|block| {
            let arguments = arguments::of_value(block.get("input"), cut_off);
            WireCall::new(text(block, "name").to_owned(), block.get("id"), arguments)
        });
        Ok(in_order(calls, cut_off))
    }

    fn conversation<'v>(&self, body: &'v Value) -> Option<&'v Vec<Value>> {
        body.get("messages").and_then(Value::as_array)
    }

    fn is_models(&self, entry: &Value) -> bool {
        text(entry, "role") == "assistant"
    }

    fn answers(&self, replies: &[Reply<'_>]) -> Value {
        let blocks = replies.iter().map(|reply| {
            let mut block =
                json!({ "type": "tool_result", "tool_use_id": reply.call.correlate, "content": reply.text });
            if reply.is_error {
                block["is_error"] = true.into();
            }
            block
        });
        json!({ "role": "user", "content": blocks.collect::<Vec<_>>() })
    }

    fn push(&self, so_far: &mut Value, event: &Value) {
        let at = usize::try_from(event.get("index").and_then(Value::as_u64).unwrap_or(0)).unwrap_or(usize::MAX);
        match text(event, "type") {
            "message_start" => {
                *so_far = event.get("message").cloned().unwrap_or_default();
                if so_far.is_object() {
                    so_far["content"] = json!([]);
                }
            }
            "error" => *so_far = event.clone(),
            "content_block_start" => {
                if let Some(blocks) = so_far.get_mut("content").and_then(Value::as_array_mut)
                    && at == blocks.len()
                {
                    let mut block = event.get("content_block").cloned().unwrap_or_default();
                    // The `{}` that it begins with means that the input is to come: none yet.
                    if block.get("input").and_then(Value::as_object).is_some_and(Map::is_empty) {
                        block["input"] = "".into();
                    }
                    blocks.push(block);
                }
            }
            "content_block_delta" => {
                let delta = event.get("delta").unwrap_or(&Value::Null);
                let Some(block) = so_far.get_mut("content").and_then(|blocks| blocks.get_mut(at)) else { return };
                match text(delta, "type") {
                    "input_json_delta" if block.is_object() => {
                        // The input is a text until all of it is there.
                        let so_far = text(block, "input").to_owned();
                        block["input"] = (so_far + text(delta, "partial_json")).into();
                    }
                    "text_delta" if block.is_object() => {
                        let so_far = text(block, "text").to_owned();
                        block["text"] = (so_far + text(delta, "text")).into();
                    }
                    _ => {}
                }
            }
            "message_delta" if so_far.is_object() => {
                if let Some(reason) = event.pointer("/delta/stop_reason") {
                    so_far["stop_reason"] = reason.clone();
                }
            }
            _ => {}
        }
    }

    fn finish(&self, mut so_far: Value) -> Value {
        if so_far.get("role").is_some() && so_far["stop_reason"].is_null() {
            so_far["stop_reason"] = "max_tokens".into();
        }
        let cut_off = text(&so_far, "stop_reason") == "max_tokens";
        for block in so_far.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
            // What cannot be read stays as it was written, for whoever reads it to say so.
            if let Some(Value::String(input)) = block.get("input")
                && let Ok(input) = arguments::of_text(input, cut_off)
            {
                block["input"] = Value::Object(input);
            }
        }
        so_far
    }
}
