//! What a model said, in the wire formats of OpenAI (chat completions) and Anthropic (messages).
//!
//! A transcript is an array of user messages and of the model's responses as the API returned them; an array of messages
//! as a request carries them is read too. The tool results between them are not in the file: the agent makes them while it
//! plays. Reading is tolerant of fields that it does not know, and strict about the calls. It must not run anything.

use std::{fs, path::Path};

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Whose format a transcript is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Chat completions: `tool_calls`, arguments as a JSON text, one `tool` message a result.
    OpenAi,
    /// Messages: `tool_use` blocks, arguments as an object, all results in one `user` message.
    Anthropic,
}

impl Format {
    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI",
            Self::Anthropic => "Anthropic",
        }
    }
}

/// One call of a tool that the model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The id that the provider gave the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, parsed.
    pub arguments: Value,
}

/// What the tool said to one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// What the model reads.
    pub text: String,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// One message, with the calls in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The message as it stands in the conversation.
    pub message: Value,
    /// The calls that the model asks for at once.
    pub calls: Vec<ToolUse>,
}

/// The conversation's script.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// Whose format it is in.
    pub format: Format,
    /// The messages, without the tool results.
    pub messages: Vec<Message>,
}

impl Transcript {
    /// Reads a file. The error names it, and the message in it that cannot be read.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let name = || format!("failed to read the transcript {}", path.display());
        let text = fs::read_to_string(path).with_context(name)?;
        Self::parse(&text).with_context(name)
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let whole: Value = serde_json::from_str(text).context("broken JSON")?;
        let Value::Array(parts) = whole else { bail!("expected an array of messages") };
        let mut messages = Vec::with_capacity(parts.len());
        let mut format = None;
        for (index, part) in parts.into_iter().enumerate() {
            let (found, message) = read_message(part).with_context(|| format!("message {index}"))?;
            if let Some(found) = found {
                let first = *format.get_or_insert(found);
                ensure!(first == found, "message {index}: two providers' formats in one conversation");
            }
            messages.push(message);
        }
        let format = format.context("expected at least one tool call")?;
        Ok(Self { format, messages })
    }
}

/// The messages that carry the results of one message's calls back to the model.
pub fn tool_result_messages(format: Format, results: &[ToolResult]) -> Vec<Value> {
    match format {
        Format::OpenAi => results
            .iter()
            .map(|result| json!({"role": "tool", "tool_call_id": result.id, "content": result.text}))
            .collect(),
        Format::Anthropic => {
            let block = |result: &ToolResult| {
                json!({
                    "type": "tool_result",
                    "tool_use_id": result.id,
                    "content": [{"type": "text", "text": result.text}],
                    "is_error": result.is_error,
                })
            };
            vec![json!({"role": "user", "content": results.iter().map(block).collect::<Vec<_>>()})]
        }
    }
}

/// Chat completions, as far as tools are concerned.
#[derive(Deserialize)]
struct OpenAiMessage {
    #[serde(default)]
    tool_calls: Option<Vec<OpenAiCall>>,
}

#[derive(Deserialize)]
struct OpenAiCall {
    id: String,
    function: OpenAiFunction,
}

#[derive(Deserialize)]
struct OpenAiFunction {
    name: String,
    arguments: String,
}

/// A block of an Anthropic message, as far as tools are concerned.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicBlock {
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    #[serde(other)]
    Other,
}

fn read_message(part: Value) -> anyhow::Result<(Option<Format>, Message)> {
    let message = match part.pointer("/choices/0/message") {
        Some(message) => message.clone(),
        None => part,
    };
    let role = message.get("role").and_then(Value::as_str).context("expected a `role`")?;
    if role != "assistant" {
        return Ok((None, Message { message, calls: Vec::new() }));
    }
    let (format, calls, message) = match message.get("content") {
        Some(Value::Array(blocks)) => {
            let calls = anthropic_calls(blocks)?;
            // The response's own id and usage are not part of the message that goes back to the API.
            (Format::Anthropic, calls, json!({"role": role, "content": blocks}))
        }
        _ => (Format::OpenAi, openai_calls(&message)?, message),
    };
    Ok(((!calls.is_empty()).then_some(format), Message { message, calls }))
}

fn openai_calls(message: &Value) -> anyhow::Result<Vec<ToolUse>> {
    let message = OpenAiMessage::deserialize(message)?;
    let read = |call: OpenAiCall| {
        let OpenAiFunction { name, arguments } = call.function;
        let arguments = serde_json::from_str(&arguments)
            .with_context(|| format!("the arguments of call `{}` are broken JSON", call.id))?;
        Ok(ToolUse { id: call.id, name, arguments })
    };
    message.tool_calls.unwrap_or_default().into_iter().map(read).collect()
}

fn anthropic_calls(blocks: &[Value]) -> anyhow::Result<Vec<ToolUse>> {
    let mut calls = Vec::new();
    for block in blocks {
        match AnthropicBlock::deserialize(block)? {
            AnthropicBlock::ToolUse { id, name, input } => {
                calls.push(ToolUse { id, name, arguments: input });
            }
            AnthropicBlock::Other => {}
        }
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENAI: &str = r#"[
        {"role": "user", "content": "Refund A-1"},
        {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": null, "refusal": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "send_refund", "arguments": "{\"order_id\": \"A-1\"}"}},
                {"id": "call_2", "type": "function", "function": {"name": "send_refund", "arguments": "{}"}}]}}]},
        {"role": "assistant", "content": "Done."}
    ]"#;

    const ANTHROPIC: &str = r#"[
        {"role": "user", "content": [{"type": "text", "text": "Refund A-1"}]},
        {"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
            {"type": "text", "text": "I will."},
            {"type": "tool_use", "id": "toolu_1", "name": "send_refund", "input": {"order_id": "A-1"}}]}
    ]"#;

    fn fails_with(text: &str, expected: &str) {
        let error = format!("{:#}", Transcript::parse(text).unwrap_err());
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }

    #[test]
    fn openai_arguments_are_a_json_text() {
        let read = Transcript::parse(OPENAI).unwrap();
        assert_eq!(read.format, Format::OpenAi);
        let calls: Vec<usize> = read.messages.iter().map(|message| message.calls.len()).collect();
        assert_eq!(calls, [0, 2, 0]);
        assert_eq!(read.messages[1].calls[0].arguments, json!({"order_id": "A-1"}));
        assert_eq!(read.messages[1].message["role"], "assistant");
    }

    #[test]
    fn anthropic_arguments_are_an_object() {
        let read = Transcript::parse(ANTHROPIC).unwrap();
        assert_eq!(read.format, Format::Anthropic);
        let expected =
            ToolUse { id: "toolu_1".to_owned(), name: "send_refund".to_owned(), arguments: json!({"order_id": "A-1"}) };
        assert_eq!(read.messages[1].calls, [expected]);
        let mut fields: Vec<&String> = read.messages[1].message.as_object().unwrap().keys().collect();
        fields.sort();
        assert_eq!(fields, ["content", "role"], "what the API takes back");
    }

    #[test]
    fn results_go_back_in_the_format_of_the_calls() {
        let result = |id: &str, is_error| ToolResult { id: id.to_owned(), text: "t".to_owned(), is_error };
        let results = [result("a", false), result("b", true)];
        assert_eq!(
            tool_result_messages(Format::OpenAi, &results),
            [
                json!({"role": "tool", "tool_call_id": "a", "content": "t"}),
                json!({"role": "tool", "tool_call_id": "b", "content": "t"}),
            ]
        );
        let text = json!([{"type": "text", "text": "t"}]);
        assert_eq!(
            tool_result_messages(Format::Anthropic, &results),
            [json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": text, "is_error": false},
                {"type": "tool_result", "tool_use_id": "b", "content": text, "is_error": true},
            ]})]
        );
    }

    #[test]
    fn what_cannot_be_read_is_said_in_one_line() {
        fails_with("[{", "broken JSON");
        fails_with("{}", "expected an array");
        fails_with(r#"[{"role": "user", "content": "hi"}]"#, "at least one tool call");
        fails_with(r#"[{"content": "hi"}]"#, "message 0: expected a `role`");
        fails_with(&OPENAI.replace(r"{}", "{"), "message 1: the arguments of call `call_2` are broken JSON");
        fails_with(&ANTHROPIC.replace(r#""name""#, r#""nom""#), "message 1: missing field `name`");
        let both = format!("{},{}", OPENAI.trim_end_matches([']', '\n', ' ']), &ANTHROPIC[1..]);
        fails_with(&both, "two providers' formats");
    }
}
