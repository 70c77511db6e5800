//! `OpenAI` Chat Completions: `choices[0].message.tool_calls`, each with its arguments as a text.
//!
//! Mistral's and Ollama's formats are read by the same hands; what differs stands with them.

use serde_json::{Value, json};

use super::{
    Format, Wire, arguments,
    call::{Message, Reply, Unreadable, WireCall, in_order, list, text},
};

/// The format.
pub(super) struct Chat;

/// What `finish_reason` says of a message that ended before the model did; the last one is written by [`finish`].
const CUT_OFF: [&str; 4] = ["length", "model_length", "max_tokens", STREAM_ENDED];

/// Of a stream that ended without saying how.
const STREAM_ENDED: &str = "stream_ended";

impl Format for Chat {
    fn message(&self, body: &Value) -> Result<Message, Unreadable> {
        read(Wire::OpenAiChat, body)
    }

    fn conversation<'v>(&self, body: &'v Value) -> Option<&'v Vec<Value>> {
        body.get("messages").and_then(Value::as_array)
    }

    fn is_models(&self, entry: &Value) -> bool {
        text(entry, "role") == "assistant"
    }

    fn answers(&self, replies: &[Reply<'_>]) -> Value {
        let answer =
            |reply: &Reply<'_>| json!({ "role": "tool", "tool_call_id": reply.call.correlate, "content": reply.text });
        replies.iter().map(answer).collect()
    }

    fn push(&self, so_far: &mut Value, event: &Value) {
        push(so_far, event);
    }

    fn finish(&self, so_far: Value) -> Value {
        finish(so_far)
    }
}

/// A response, one of its choices, or the message itself.
pub(super) fn read(wire: Wire, body: &Value) -> Result<Message, Unreadable> {
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        return Err(Unreadable::failed(wire, error));
    }
    let choice = match list(body, "choices") {
        [] if body.get("choices").is_some() => return Err(Unreadable::new(wire, "`choices` is empty")),
        [] => body,
        [choice] => choice,
        _ => return Err(Unreadable::new(wire, "there is more than one choice: take one of them")),
    };
    let reason = ["finish_reason", "done_reason"].map(|field| text(choice, field));
    let cut_off = reason.iter().any(|reason| CUT_OFF.contains(reason));
    let message = choice.get("message").unwrap_or(choice);
    if !message.is_object() || (message.get("role").is_none() && message.get("tool_calls").is_none()) {
        return Err(Unreadable::new(wire, "there is no assistant's message in it"));
    }
    let calls = list(message, "tool_calls").iter().map(|call| one(call, cut_off));
    Ok(in_order(calls, cut_off))
}

fn one(call: &Value, cut_off: bool) -> WireCall {
    let (function, custom) = match (call.get("function"), call.get("custom")) {
        (None, Some(custom)) => (custom, true),
        (function, _) => (function.unwrap_or(&Value::Null), false),
    };
    let arguments = match function.get("input").filter(|_| custom) {
        Some(_) => Err(arguments::Misread::NoObject { found: "a text" }),
        None => arguments::of_value(function.get("arguments"), cut_off),
    };
    WireCall { custom, ..WireCall::new(text(function, "name").to_owned(), call.get("id"), arguments) }
}

/// `so_far` is the body as it will be: one choice, and the calls at the places that their pieces name.
pub(super) fn push(so_far: &mut Value, event: &Value) {
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        *so_far = json!({ "error": error });
    }
    if so_far.get("error").is_some() {
        return;
    }
    if so_far.is_null() {
        let message = json!({ "role": "assistant", "content": null, "tool_calls": [] });
        *so_far = json!({ "choices": [{ "index": 0, "message": message, "finish_reason": null }] });
    }
    let Some(choice) = list(event, "choices").iter().find(|choice| choice.get("index").is_none_or(|at| *at == 0))
    else {
        return;
    };
    let whole = &mut so_far["choices"][0];
    if let Some(reason) = choice.get("finish_reason").filter(|reason| reason.is_string()) {
        whole["finish_reason"] = reason.clone();
    }
    let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
    append(&mut whole["message"]["content"], text(delta, "content"));
    let Some(calls) = whole["message"]["tool_calls"].as_array_mut() else { return };
    for piece in list(delta, "tool_calls") {
        add(calls, piece);
    }
}

fn add(calls: &mut Vec<Value>, piece: &Value) {
    let id = text(piece, "id");
    // The place, or where none is told: a piece with another id begins a call, one without goes on with the last.
    let at = piece.get("index").and_then(Value::as_u64);
    let known = match at {
        Some(at) => calls.iter().position(|call| call["index"] == at),
        None if id.is_empty() => calls.len().checked_sub(1),
        None => calls.iter().position(|call| text(call, "id") == id),
    };
    let place = known.unwrap_or(calls.len());
    if place == calls.len() {
        calls.push(json!({ "type": "function", "function": { "name": "", "arguments": "" } }));
    }
    let Some(call) = calls.get_mut(place) else { return };
    if let Some(at) = at {
        call["index"] = at.into();
    }
    if !id.is_empty() {
        call["id"] = id.into();
    }
    let function = piece.get("function").unwrap_or(&Value::Null);
    let name = text(function, "name");
    // Some send the name with every piece.
    if text(&call["function"], "name") != name {
        append(&mut call["function"]["name"], name);
    }
    match function.get("arguments") {
        Some(Value::String(more)) => append(&mut call["function"]["arguments"], more),
        Some(whole) if !whole.is_null() => call["function"]["arguments"] = whole.clone(),
        _ => {}
    }
}

fn append(text: &mut Value, more: &str) {
    if more.is_empty() {
        return;
    }
    match text {
        Value::String(text) => text.push_str(more),
        none => *none = more.into(),
    }
}

/// A stream that broke off has not been whole.
pub(super) fn finish(mut so_far: Value) -> Value {
    if let Some(choice) = so_far.pointer_mut("/choices/0") {
        if choice["finish_reason"].is_null() {
            choice["finish_reason"] = STREAM_ENDED.into();
        }
        for call in
            choice["message"]["tool_calls"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut)
        {
            call.remove("index");
        }
    }
    so_far
}
