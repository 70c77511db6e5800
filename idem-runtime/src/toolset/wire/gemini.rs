//! Google Gemini: `functionCall` parts of `candidates[0].content`, mostly without an id; answered by `functionResponse` parts.

use serde_json::{Value, json};

use super::{
    Format, Wire, arguments,
    call::{Message, Reply, Unreadable, WireCall, in_order, list, text},
};

/// The format.
pub(super) struct Gemini;

impl Format for Gemini {
    fn message(&self, body: &Value) -> Result<Message, Unreadable> {
        let wrong = |why: &str| Unreadable::new(Wire::Gemini, why);
        if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
            return Err(Unreadable::failed(Wire::Gemini, error));
        }
        let candidate = match list(body, "candidates") {
            [] if body.get("candidates").is_some() => return Err(wrong("`candidates` is empty")),
            [] => body,
            [candidate] => candidate,
            _ => return Err(wrong("there is more than one candidate: take one of them")),
        };
        let reason = text(candidate, "finishReason");
        if reason == "MALFORMED_FUNCTION_CALL" {
            return Err(wrong(
                "the model's function call was malformed, and the provider kept it (`MALFORMED_FUNCTION_CALL`)",
            ));
        }
        let content = candidate.get("content").unwrap_or(candidate);
        // A candidate that was stopped has a content without parts, or none.
        if content.get("parts").is_none() && candidate.get("finishReason").is_none() {
            return Err(wrong("there is no content with parts in it"));
        }
        let cut_off = reason == "MAX_TOKENS";
        let calls = list(content, "parts").iter().filter_map(|part| part.get("functionCall"));
        let calls = calls.map(|call| {
            let arguments = arguments::of_value(call.get("args"), cut_off);
            WireCall::new(text(call, "name").to_owned(), call.get("id"), arguments)
        });
        Ok(in_order(calls, cut_off))
    }

    fn conversation<'v>(&self, body: &'v Value) -> Option<&'v Vec<Value>> {
        body.get("contents").and_then(Value::as_array)
    }

    fn is_models(&self, entry: &Value) -> bool {
        text(entry, "role") == "model"
    }

    fn answers(&self, replies: &[Reply<'_>]) -> Value {
        let parts = replies.iter().map(|reply| {
            let response = match reply.structured {
                _ if reply.is_error => json!({ "error": reply.text }),
                Some(result) => json!({ "output": result, "note": reply.text }),
                None => json!({ "output": reply.text }),
            };
            let mut answer = json!({ "name": reply.call.name, "response": response });
            if reply.call.id.is_some() {
                answer["id"] = reply.call.correlate.clone();
            }
            json!({ "functionResponse": answer })
        });
        json!({ "role": "user", "parts": parts.collect::<Vec<_>>() })
    }

    fn push(&self, so_far: &mut Value, event: &Value) {
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            *so_far = json!({ "error": error });
        }
        if so_far.get("error").is_some() {
            return;
        }
        if so_far.is_null() {
            *so_far = json!({ "candidates": [{ "content": { "role": "model", "parts": [] } }] });
        }
        let Some(candidate) = list(event, "candidates").first() else { return };
        let whole = &mut so_far["candidates"][0];
        if let Some(reason) = candidate.get("finishReason") {
            whole["finishReason"] = reason.clone();
        }
        let pieces = candidate.pointer("/content/parts").and_then(Value::as_array);
        if let Value::Array(parts) = &mut whole["content"]["parts"] {
            parts.extend(pieces.into_iter().flatten().cloned());
        }
    }

    fn finish(&self, mut so_far: Value) -> Value {
        // A call comes in one piece; what was still to come is not known.
        if let Some(candidate) = so_far.pointer_mut("/candidates/0")
            && candidate.get("finishReason").is_none()
        {
            candidate["finishReason"] = "OTHER".into();
        }
        so_far
    }
}
