//! Amazon Bedrock Converse: `toolUse` blocks, answered by `toolResult` blocks with a status.

use serde_json::{Value, json};

use super::{
    Format, Wire, arguments,
    call::{Message, Reply, Unreadable, WireCall, in_order, list, text},
};

/// The format.
pub(super) struct Bedrock;

const CUT_OFF: &str = "max_tokens";

impl Format for Bedrock {
    fn message(&self, body: &Value) -> Result<Message, Unreadable> {
        let message = body.pointer("/output/message").or_else(|| body.get("message")).unwrap_or(body);
        if let Some(words) = message.as_str() {
            return Err(Unreadable::failed(Wire::Bedrock, &json!({ "message": words })));
        }
        if text(message, "role") != "assistant" {
            return Err(Unreadable::new(Wire::Bedrock, "there is no assistant's message in it"));
        }
        let cut_off = text(body, "stopReason") == CUT_OFF;
        let calls = list(message, "content").iter().filter_map(|block| block.get("toolUse"));
        let calls = calls.map(|call| {
            let arguments = arguments::of_value(call.get("input"), cut_off);
            WireCall::new(text(call, "name").to_owned(), call.get("toolUseId"), arguments)
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
            let status = if reply.is_error { "error" } else { "success" };
            let content = json!([{ "text": reply.text }]);
            json!({ "toolResult": { "toolUseId": reply.call.correlate, "content": content, "status": status } })
        });
        json!({ "role": "user", "content": blocks.collect::<Vec<_>>() })
    }

    /// Events as they are in JSON: an object with the event's name as its only field.
    fn push(&self, so_far: &mut Value, event: &Value) {
        if so_far.is_null() {
            *so_far = json!({ "output": { "message": { "role": "assistant", "content": [] } } });
        }
        if let Some(stop) = event.get("messageStop") {
            so_far["stopReason"] = stop.get("stopReason").cloned().unwrap_or_else(|| "end_turn".into());
        }
        let Some(blocks) = so_far.pointer_mut("/output/message/content").and_then(Value::as_array_mut) else { return };
        let begun = |event: &Value| event.get("contentBlockIndex").and_then(Value::as_u64);
        if let Some(start) = event.get("contentBlockStart") {
            if let Some(call) = start.pointer("/start/toolUse").filter(|call| call.is_object()) {
                let mut call = call.clone();
                call["input"] = "".into();
                blocks.push(json!({ "index": begun(start), "toolUse": call }));
            }
        } else if let Some(delta) = event.get("contentBlockDelta") {
            let at = json!(begun(delta));
            let known = blocks.iter_mut().find(|block| block["index"] == at);
            if let (Some(piece), Some(block)) = (delta.pointer("/delta/toolUse/input"), known) {
                let so_far = text(&block["toolUse"], "input").to_owned();
                block["toolUse"]["input"] = (so_far + piece.as_str().unwrap_or_default()).into();
            }
        }
    }

    fn finish(&self, mut so_far: Value) -> Value {
        if so_far.is_object() && so_far.get("stopReason").is_none() {
            so_far["stopReason"] = CUT_OFF.into();
        }
        let cut_off = text(&so_far, "stopReason") == CUT_OFF;
        let blocks = so_far.pointer_mut("/output/message/content").and_then(Value::as_array_mut);
        for block in blocks.into_iter().flatten() {
            if let Some(block) = block.as_object_mut() {
                block.remove("index");
            }
            if let Some(Value::String(input)) = block.pointer("/toolUse/input")
                && let Ok(input) = arguments::of_text(input, cut_off)
            {
                block["toolUse"]["input"] = Value::Object(input);
            }
        }
        so_far
    }
}
