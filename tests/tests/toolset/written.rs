//! The formats by hand: what a provider would send, and what it finds in an answer.
//!
//! It must not use the formats under test: both sides are written out here once more.

use idem_runtime::Wire;
use serde_json::{Value, json};

/// A call as a test says it: id, name, and arguments as JSON text.
pub(super) type Call<'a> = (Option<&'a str>, &'a str, &'a str);

/// The formats whose messages hold any number of calls.
pub(super) const OF_MANY: [Wire; 7] = [
    Wire::OpenAiChat,
    Wire::OpenAiResponses,
    Wire::Anthropic,
    Wire::Gemini,
    Wire::Bedrock,
    Wire::Mistral,
    Wire::Ollama,
];

/// The response in which a model makes these calls. Arguments are a text where the format has a text.
pub(super) fn response(wire: Wire, calls: &[Call<'_>]) -> Value {
    let object = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into());
    let each = |write: &dyn Fn(&Call<'_>) -> Value| calls.iter().map(write).collect::<Vec<Value>>();
    let with_id = |mut call: Value, field: &str, id: Option<&str>| {
        if let Some(id) = id {
            call[field] = id.into();
        }
        call
    };
    match wire {
        Wire::OpenAiChat | Wire::Mistral => {
            let calls = each(&|(id, name, arguments)| {
                with_id(json!({ "type": "function", "function": { "name": name, "arguments": arguments } }), "id", *id)
            });
            let message = json!({ "role": "assistant", "content": null, "tool_calls": calls });
            json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": message }] })
        }
        Wire::Ollama => {
            let calls = each(&|(id, name, arguments)| {
                with_id(json!({ "function": { "name": name, "arguments": object(arguments) } }), "id", *id)
            });
            let message = json!({ "role": "assistant", "content": "", "tool_calls": calls });
            json!({ "message": message, "done": true, "done_reason": "stop" })
        }
        Wire::OpenAiResponses => {
            let mut items = vec![json!({ "type": "reasoning", "id": "rs_1", "summary": [] })];
            items.extend(each(&|(id, name, arguments)| {
                let item = json!({ "type": "function_call", "id": "fc_1", "name": name, "arguments": arguments });
                with_id(item, "call_id", *id)
            }));
            json!({ "object": "response", "status": "completed", "error": null, "output": items })
        }
        Wire::Anthropic => {
            let mut blocks = vec![json!({ "type": "text", "text": "I shall." })];
            blocks.extend(each(&|(id, name, arguments)| {
                with_id(json!({ "type": "tool_use", "name": name, "input": object(arguments) }), "id", *id)
            }));
            json!({ "type": "message", "role": "assistant", "content": blocks, "stop_reason": "tool_use" })
        }
        Wire::Gemini => {
            let mut parts = vec![json!({ "text": "I shall." })];
            parts.extend(each(&|(id, name, arguments)| {
                json!({ "functionCall": with_id(json!({ "name": name, "args": object(arguments) }), "id", *id) })
            }));
            json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }] })
        }
        Wire::Bedrock => {
            let blocks = each(&|(id, name, arguments)| {
                let call = json!({ "name": name, "input": object(arguments) });
                json!({ "toolUse": with_id(call, "toolUseId", *id) })
            });
            let message = json!({ "role": "assistant", "content": blocks });
            json!({ "output": { "message": message }, "stopReason": "tool_use" })
        }
        Wire::Mcp => {
            let [(id, name, arguments)] = calls else { panic!("a request makes one call") };
            let meta = with_id(json!({ "progressToken": 1 }), "agent-tool-call-request-id", *id);
            let params = json!({ "name": name, "arguments": object(arguments), "_meta": meta });
            json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params })
        }
        other => panic!("{} is not written here", other.name()),
    }
}

/// One answer as its provider finds it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    /// What correlates it with its call: an id, or the tool's name.
    pub(super) to: String,
    pub(super) text: String,
    /// `None` where the format has no flag.
    pub(super) is_error: Option<bool>,
}

/// The answers in what was sent to the provider.
pub(super) fn answers(wire: Wire, sent: &Value) -> Vec<Found> {
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text in {sent}")).to_owned();
    let list = |value: &Value| value.as_array().unwrap_or_else(|| panic!("no list in {sent}")).clone();
    match wire {
        Wire::OpenAiChat | Wire::Mistral | Wire::Ollama => {
            let found = list(sent).into_iter().map(|message| {
                assert_eq!(message["role"], "tool", "{sent}");
                let to = ["tool_call_id", "name", "tool_name"].into_iter().find_map(|field| message[field].as_str());
                Found { to: to.unwrap_or_default().to_owned(), text: text(&message["content"]), is_error: None }
            });
            found.collect()
        }
        Wire::OpenAiResponses => {
            let found = list(sent).into_iter().map(|item| {
                assert_eq!(item["type"], "function_call_output", "{sent}");
                let to = item["call_id"].as_str().unwrap_or_default().to_owned();
                Found { to, text: text(&item["output"]), is_error: None }
            });
            found.collect()
        }
        Wire::Anthropic => {
            assert_eq!(sent["role"], "user", "{sent}");
            let found = list(&sent["content"]).into_iter().map(|block| {
                assert_eq!(block["type"], "tool_result", "{sent}");
                let is_error = Some(block.get("is_error").is_some_and(|flag| *flag == true));
                let to = block["tool_use_id"].as_str().unwrap_or_default().to_owned();
                Found { to, text: text(&block["content"]), is_error }
            });
            found.collect()
        }
        Wire::Gemini => {
            assert_eq!(sent["role"], "user", "{sent}");
            let found = list(&sent["parts"]).into_iter().map(|part| {
                let answer = &part["functionResponse"];
                let to = answer.get("id").unwrap_or(&answer["name"]);
                let response = &answer["response"];
                let words = response.get("error").or_else(|| response.get("note")).unwrap_or(&response["output"]);
                Found { to: text(to), text: text(words), is_error: Some(response.get("error").is_some()) }
            });
            found.collect()
        }
        Wire::Bedrock => {
            assert_eq!(sent["role"], "user", "{sent}");
            let found = list(&sent["content"]).into_iter().map(|block| {
                let result = &block["toolResult"];
                let to = result["toolUseId"].as_str().unwrap_or_default().to_owned();
                let is_error = Some(result["status"] == "error");
                Found { to, text: text(&result["content"][0]["text"]), is_error }
            });
            found.collect()
        }
        Wire::Mcp => {
            assert_eq!((&sent["jsonrpc"], sent.get("error")), (&json!("2.0"), None), "{sent}");
            let result = &sent["result"];
            let words = text(&result["content"][0]["text"]);
            vec![Found { to: sent["id"].to_string(), text: words, is_error: result["isError"].as_bool() }]
        }
        other => panic!("{} is not read here", other.name()),
    }
}
