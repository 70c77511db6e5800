//! `OpenAI` Responses: calls are items of `output`, told apart by `call_id`; their own `id` correlates nothing.

use serde_json::{Value, json};

use super::{
    Format, Wire,
    arguments::{self, Misread},
    call::{Message, Reply, Unreadable, WireCall, in_order, text},
};

/// The format.
pub(super) struct Responses;

/// The items that are calls of the application's tools; what the provider runs itself is none.
const CALL: &str = "function_call";
const CUSTOM_CALL: &str = "custom_tool_call";

impl Format for Responses {
    fn message(&self, body: &Value) -> Result<Message, Unreadable> {
        let failed = body.get("error").filter(|error| !error.is_null());
        if let Some(error) = failed {
            return Err(Unreadable::failed(Wire::OpenAiResponses, error));
        }
        // One item alone; a message may stand there without its type.
        if body.get("type").is_some() || body.get("role").is_some() {
            return Ok(read(std::slice::from_ref(body), false));
        }
        let Some(items) = body.get("output").and_then(Value::as_array).or_else(|| body.as_array()) else {
            return Err(Unreadable::new(Wire::OpenAiResponses, "there is no `output` in it"));
        };
        Ok(read(items, text(body, "status") == "incomplete"))
    }

    fn conversation<'v>(&self, body: &'v Value) -> Option<&'v Vec<Value>> {
        body.get("input").and_then(Value::as_array)
    }

    fn is_models(&self, entry: &Value) -> bool {
        let kind = text(entry, "type");
        text(entry, "role") == "assistant" || ["reasoning"].contains(&kind) || kind.ends_with("_call")
    }

    fn answers(&self, replies: &[Reply<'_>]) -> Value {
        let answer = |reply: &Reply<'_>| {
            let kind = if reply.call.custom { "custom_tool_call_output" } else { "function_call_output" };
            json!({ "type": kind, "call_id": reply.call.correlate, "output": reply.text })
        };
        replies.iter().map(answer).collect()
    }

    fn push(&self, so_far: &mut Value, event: &Value) {
        let whole = ["completed", "incomplete", "failed"].contains(&text(so_far, "status"));
        match text(event, "type") {
            // Nothing comes after the whole.
            _ if whole => return,
            "response.completed" | "response.incomplete" | "response.failed" => {
                *so_far = event.get("response").cloned().unwrap_or_default();
                return;
            }
            "error" => {
                *so_far = json!({ "status": "failed", "error": event });
                return;
            }
            _ => {}
        }
        if so_far.is_null() {
            *so_far = json!({ "object": "response", "status": "in_progress", "output": [] });
        }
        let at = event.get("output_index").cloned().unwrap_or_default();
        let Some(items) = so_far.get_mut("output").and_then(Value::as_array_mut) else { return };
        let place = items.iter().position(|item| item["output_index"] == at);
        match (text(event, "type"), place) {
            ("response.output_item.added" | "response.output_item.done", place) => {
                let mut item = event.get("item").cloned().unwrap_or_default();
                if item.is_object() {
                    item["output_index"] = at;
                    match place.and_then(|place| items.get_mut(place)) {
                        Some(known) => *known = item,
                        None => items.push(item),
                    }
                }
            }
            ("response.function_call_arguments.delta", Some(place)) => {
                if let Some(item) = items.get_mut(place).filter(|item| item.is_object()) {
                    let so_far = text(item, "arguments").to_owned();
                    item["arguments"] = (so_far + text(event, "delta")).into();
                }
            }
            ("response.function_call_arguments.done", Some(place)) => {
                if let Some(item) = items.get_mut(place).filter(|item| item.is_object()) {
                    item["arguments"] = text(event, "arguments").into();
                }
            }
            _ => {}
        }
    }

    fn finish(&self, mut so_far: Value) -> Value {
        if text(&so_far, "status") == "in_progress" {
            so_far["status"] = "incomplete".into();
        }
        for item in so_far.get_mut("output").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(item) = item.as_object_mut() {
                item.remove("output_index");
            }
        }
        so_far
    }
}

fn read(items: &[Value], cut_off: bool) -> Message {
    let calls = items.iter().filter(|item| [CALL, CUSTOM_CALL].contains(&text(item, "type"))).map(|item| {
        let custom = text(item, "type") == CUSTOM_CALL;
        let cut_off = cut_off && text(item, "status") != "completed";
        let arguments = if custom {
            Err(Misread::NoObject { found: "a text" })
        } else {
            arguments::of_value(item.get("arguments"), cut_off)
        };
        WireCall { custom, ..WireCall::new(text(item, "name").to_owned(), item.get("call_id"), arguments) }
    });
    in_order(calls, cut_off)
}
