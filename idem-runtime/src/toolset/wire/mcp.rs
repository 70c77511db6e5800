//! The Model Context Protocol's `tools/call`: one call a request, answered by one result.
//!
//! A JSON-RPC id counts requests of a connection and says nothing of a call. The model's id, where a host sends it, is a
//! field of `_meta`.

use serde_json::{Value, json};

use super::{
    Format, Wire, arguments,
    call::{Message, Reply, Unreadable, WireCall, in_order, text},
};

/// The format.
pub(super) struct Mcp;

/// Where hosts are known to put the model's id of the call.
const IDS: [&str; 3] = ["claudecode/toolUseId", "agent-tool-call-request-id", "callId"];

impl Format for Mcp {
    fn message(&self, body: &Value) -> Result<Message, Unreadable> {
        if text(body, "method") != "tools/call" {
            return Err(Unreadable::new(Wire::Mcp, "it is no `tools/call` request"));
        }
        let (Some(params), Some(id)) = (body.get("params"), body.get("id").filter(|id| !id.is_null())) else {
            return Err(Unreadable::new(Wire::Mcp, "it has no id or no `params`: there is nothing to answer"));
        };
        let mut call =
            WireCall::new(text(params, "name").to_owned(), None, arguments::of_value(params.get("arguments"), false));
        let meta = params.get("_meta").unwrap_or(&Value::Null);
        let named = IDS.iter().map(|field| text(meta, field)).find(|id| !id.trim().is_empty());
        call.id = named.map(str::to_owned);
        call.correlate = id.clone();
        Ok(in_order([call], false))
    }

    fn conversation<'v>(&self, _: &'v Value) -> Option<&'v Vec<Value>> {
        None
    }

    fn is_models(&self, entry: &Value) -> bool {
        text(entry, "method") == "tools/call"
    }

    /// The response to the request; a list of them for requests of more than one.
    fn answers(&self, replies: &[Reply<'_>]) -> Value {
        let mut answers = replies.iter().map(|reply| {
            let mut result = json!({ "content": [{ "type": "text", "text": reply.text }], "isError": reply.is_error });
            if let Some(structured) = reply.structured.filter(|structured| structured.is_object()) {
                result["structuredContent"] = structured.clone();
            }
            json!({ "jsonrpc": "2.0", "id": reply.call.correlate, "result": result })
        });
        match replies.len() {
            1 => answers.next().unwrap_or_default(),
            _ => answers.collect(),
        }
    }

    /// A request comes in one piece.
    fn push(&self, so_far: &mut Value, event: &Value) {
        if text(event, "method") == "tools/call" {
            *so_far = event.clone();
        }
    }

    fn finish(&self, so_far: Value) -> Value {
        so_far
    }
}
