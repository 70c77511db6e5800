//! Messages that come in pieces: the same as in one, and never half of one.

use std::{fs, path::Path};

use idem_runtime::{
    Wire,
    toolset::{Message, WireCall},
};
use serde_json::{Value, json};

/// What the pieces come to: id, name and arguments.
fn calls(message: &Message) -> Vec<(Option<&str>, &str, Option<Value>)> {
    let one = |call: &'_ WireCall| call.arguments.clone().ok().map(Value::Object);
    message.calls.iter().map(|call| (call.id.as_deref(), &*call.name, one(call))).collect()
}

/// The streams of the repository's own recordings, and two calls that each of them makes here.
fn streams() -> Vec<(Wire, String)> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
    let read = |file: &str| fs::read_to_string(own.join(file)).expect("a recording");
    let gemini = [
        json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "I" }] } }] }),
        json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": " shall." },
            { "functionCall": { "name": "add", "args": { "x": 1, "y": 2 } } }] } }] }),
        json!({ "candidates": [{ "content": { "role": "model", "parts": [] }, "finishReason": "STOP" }] }),
    ];
    let gemini = gemini.map(|event| format!("data: {event}\r\n\r\n")).concat();
    let mistral = json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "tool_calls": [
        { "id": "vAKGXGFZD", "index": 0, "function": { "name": "add", "arguments": "{\"x\": 1, \"y\": 2}" } }] },
        "finish_reason": "tool_calls" }] });
    vec![
        (Wire::OpenAiChat, read("openai/pieces.stream.sse.txt")),
        (Wire::OpenAiResponses, read("openai-responses/pieces.stream.sse.txt")),
        (Wire::Anthropic, read("anthropic/pieces.stream.sse.txt")),
        (Wire::Bedrock, read("bedrock/pieces.stream.jsonl")),
        (Wire::Ollama, read("ollama/lines.stream.jsonl")),
        (Wire::Gemini, gemini),
        (Wire::Mistral, format!("data: {mistral}\n\ndata: [DONE]\n\n")),
    ]
}

#[test]
fn a_stream_that_breaks_off_has_no_call_that_was_not_whole() {
    for (wire, stream) in streams() {
        let whole = wire.read(&wire.assemble(&stream).expect("a stream")).expect("a message");
        let whole = calls(&whole);
        assert!(!whole.is_empty() && whole.iter().all(|(_, _, arguments)| arguments.is_some()), "{}", wire.name());
        let mut refused = 0;
        for (end, _) in stream.char_indices() {
            // Broken off inside of an event: what came before it is read, as a client would.
            let upto = stream[..end].rfind('\n').map_or("", |line| &stream[..=line]);
            let Ok(body) = wire.assemble(upto) else { continue };
            let Ok(message) = wire.read(&body) else { continue };
            for (at, call) in calls(&message).into_iter().enumerate() {
                match call.2 {
                    None => refused += 1,
                    Some(_) => assert_eq!(call, whole[at], "{} at {end}", wire.name()),
                }
            }
        }
        // Where a call comes in one piece, none is ever half.
        let in_pieces = [Wire::OpenAiChat, Wire::OpenAiResponses, Wire::Anthropic, Wire::Bedrock].contains(&wire);
        assert_eq!(refused > 0, in_pieces, "{}", wire.name());
    }
}

#[test]
fn pieces_are_joined_by_their_place_and_not_by_their_order() {
    let piece = |index: u64, id: Option<&str>, name: &str, arguments: &str| {
        json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [
            { "index": index, "id": id, "function": { "name": name, "arguments": arguments } }] } }] })
    };
    let mut assembler = Wire::OpenAiChat.assembler();
    for event in [
        piece(0, Some("call_a"), "add", ""),
        piece(1, Some("call_b"), "subtract", "{\"x\""),
        piece(0, None, "", "{\"x\": 1"),
        piece(1, None, "", ": 2}"),
        piece(0, None, "add", "}"),
        json!({ "choices": [{ "index": 1, "delta": { "tool_calls": [{ "index": 7, "function": { "name": "other" } }] } }] }),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
        json!({ "choices": [], "usage": {} }),
    ] {
        assembler.push(&event);
    }
    let message = Wire::OpenAiChat.read(&assembler.finish()).expect("a message");
    let expected =
        [(Some("call_a"), "add", Some(json!({ "x": 1 }))), (Some("call_b"), "subtract", Some(json!({ "x": 2 })))];
    assert_eq!(calls(&message), expected);
}

#[test]
fn an_error_in_the_stream_is_the_provider_s_error() {
    let streams = [
        (Wire::OpenAiChat, r#"data: {"error": {"message": "overloaded"}}"#),
        (Wire::OpenAiResponses, r#"data: {"type": "error", "code": "server_error", "message": "overloaded"}"#),
        (Wire::Anthropic, r#"data: {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}"#),
        (Wire::Gemini, r#"data: {"error": {"code": 503, "message": "overloaded"}, "candidates": [7]}"#),
        (Wire::Ollama, r#"{"error": "overloaded"}"#),
    ];
    for (wire, stream) in streams {
        let read = wire.read(&wire.assemble(stream).expect("a stream"));
        let told = read.expect_err("an error").to_string();
        assert!(told.contains("overloaded"), "{}: {told}", wire.name());
    }
    assert!(Wire::OpenAiChat.assemble("data: {\"choices\":").is_err());
    assert!(Wire::Ollama.assemble("<html>").is_err());
}
