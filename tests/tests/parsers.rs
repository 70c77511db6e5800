//! Whatever a provider or a model sends, nothing panics: any JSON, recorded messages that were damaged, any bytes.
//!
//! Seeds of failures are kept in `parsers/seeds.txt`, and tried first.

#![cfg(feature = "tools")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use idem_runtime::{
    Idem, ToolCall, ToolSet, Wire, idempotent, tool, tools,
    toolset::{Message, Reply, parse},
};
use idem_tests::tools::ToolError;
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
    test_runner::{Config, FileFailurePersistence, TestRunner},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

const CASES: u32 = 1_024;

fn check<S: Strategy>(strategy: &S, test: impl Fn(S::Value))
where
    S::Value: std::fmt::Debug,
{
    let seeds = FileFailurePersistence::Direct("tests/parsers/seeds.txt");
    let mut runner = TestRunner::new(Config {
        cases: CASES,
        failure_persistence: Some(Box::new(seeds)),
        source_file: Some(file!()),
        ..Config::default()
    });
    let result = runner.run(strategy, |value| {
        test(value);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}\n{runner}");
    }
}

/// The words of all formats: what looks right at one place stands at another.
const WORDS: [&str; 68] = [
    "add",
    "args",
    "arguments",
    "assistant",
    "call",
    "call_id",
    "candidates",
    "choices",
    "completed",
    "content",
    "content_block",
    "content_block_delta",
    "content_block_start",
    "contentBlockDelta",
    "contentBlockIndex",
    "contentBlockStart",
    "contents",
    "custom",
    "custom_tool_call",
    "delta",
    "done",
    "done_reason",
    "error",
    "finish_reason",
    "finishReason",
    "function",
    "function_call",
    "functionCall",
    "id",
    "incomplete",
    "index",
    "input",
    "input_json_delta",
    "item",
    "length",
    "max_tokens",
    "message",
    "message_delta",
    "message_start",
    "messages",
    "messageStop",
    "method",
    "_meta",
    "model",
    "name",
    "output",
    "output_index",
    "params",
    "partial_json",
    "parts",
    "response",
    "response.completed",
    "response.function_call_arguments.delta",
    "response.output_item.added",
    "response.output_item.done",
    "role",
    "start",
    "status",
    "stop_reason",
    "stopReason",
    "text",
    "text_delta",
    "tool_calls",
    "tool_use",
    "tools/call",
    "toolUse",
    "toolUseId",
    "type",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => select(&WORDS[..]).prop_map(str::to_owned),
        1 => select(&["", " ", "{}", "{\"x\": 1", "null", "\"", "\u{0}", "[[[", "1e999"][..]).prop_map(str::to_owned),
        1 => ".{0,6}",
    ]
}

/// Any JSON, made of the words that the formats look for.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_u64..3).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 5, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..4).prop_map(Value::from),
            2 => vec((text(), inner), 0..5).prop_map(|fields| fields.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// Everything that reads it, in every format; each call that is found is answered.
fn read(body: &Value) {
    for wire in Wire::ALL {
        let _ = wire.next_turn(body);
        let conversation = wire.read_conversation(body).into_iter().flatten().map(|(_, message)| message);
        for message in conversation.chain(wire.read(body)) {
            answer(wire, &message);
        }
    }
}

fn answer(wire: Wire, message: &Message) {
    for (place, call) in message.calls.iter().enumerate() {
        assert_eq!(call.position, place);
    }
    for structured in [None, Some(&json!(7)), Some(&json!({ "id": 1 }))] {
        let reply = |call| Reply { call, text: "done", structured, is_error: structured.is_none() };
        let replies: Vec<Reply<'_>> = message.calls.iter().map(reply).collect();
        let written = wire.answers(&replies);
        assert!(written.to_string().matches("done").count() >= replies.len(), "{written}");
    }
}

#[test]
fn any_json_is_read_or_refused() {
    check(&any_json(), |body| read(&body));
}

#[test]
fn any_events_are_put_together() {
    check(&vec(any_json(), 0..8), |events| {
        for wire in Wire::ALL {
            let mut assembler = wire.assembler();
            for event in &events {
                assembler.push(event);
            }
            read(&assembler.finish());
        }
    });
}

/// Events that only a provider in disorder sends, each of which was misread once.
#[test]
fn events_in_disorder_are_put_together() {
    let disorders = [
        json!([{ "type": "response.completed", "response": { "status": "completed", "output": [7, {}] } },
            { "type": "response.function_call_arguments.delta", "delta": "{" }]),
        json!([{ "type": "response.completed", "response": { "output": [7, [], "x"] } },
            { "type": "response.function_call_arguments.delta", "delta": "{" },
            { "type": "response.function_call_arguments.done", "arguments": "{}" }]),
        json!([{ "error": 1, "candidates": [7] }]),
        json!([{ "candidates": [{ "content": 7 }] }, { "candidates": 7, "error": { "candidates": [] } }]),
        json!([{ "type": "message_start", "message": 7 }, { "type": "message_delta", "delta": { "stop_reason": 7 } }]),
        json!([{ "type": "message_start", "message": {} }, { "type": "content_block_start", "content_block": 7 },
            { "type": "content_block_delta", "delta": { "type": "input_json_delta", "partial_json": "{" } }]),
        json!([{ "choices": [{ "delta": { "tool_calls": [7, { "function": { "arguments": [7] } },
            { "function": { "arguments": "x" } }] } }] }]),
        json!([{ "contentBlockStart": { "start": { "toolUse": {} } } }, { "contentBlockDelta": { "delta": { "toolUse": { "input": 7 } } } }]),
        json!([{ "error": 7, "message": 7 }, { "message": { "content": "x", "tool_calls": [7] }, "done": true }]),
    ];
    for events in disorders {
        for wire in Wire::ALL {
            let mut assembler = wire.assembler();
            for event in events.as_array().into_iter().flatten() {
                assembler.push(event);
            }
            read(&assembler.finish());
        }
    }
}

/// The repository's own recordings: each as it lies there.
fn recordings() -> Vec<Vec<u8>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("the recordings");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    };
    let mut files: Vec<PathBuf> =
        below(&own).iter().filter(|path| path.is_dir()).flat_map(|folder| below(folder)).collect();
    files.sort();
    assert!(files.len() > 20, "{files:?}");
    files.iter().map(|file| fs::read(file).expect("a recording")).collect()
}

/// One damage.
#[derive(Debug, Clone)]
enum Damage {
    CutAt(Index),
    Without(Index, usize),
    Twice(Index, usize),
    Byte(Index, u8),
    Word(Index, String),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<Index>().prop_map(Damage::CutAt),
        (any::<Index>(), 1_usize..40).prop_map(|(at, length)| Damage::Without(at, length)),
        (any::<Index>(), 1_usize..40).prop_map(|(at, length)| Damage::Twice(at, length)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        (any::<Index>(), text()).prop_map(|(at, word)| Damage::Word(at, word)),
    ]
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let end = |from: usize, length: usize, all: usize| (from + length).min(all);
        match self {
            Self::CutAt(at) => bytes.truncate(at.index(bytes.len())),
            Self::Without(at, length) => {
                let from = at.index(bytes.len());
                bytes.drain(from..end(from, *length, bytes.len()));
            }
            Self::Twice(at, length) => {
                let from = at.index(bytes.len());
                let piece = bytes[from..end(from, *length, bytes.len())].to_vec();
                bytes.splice(from..from, piece);
            }
            Self::Byte(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Self::Word(at, word) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, word.bytes());
            }
        }
    }
}

/// As a client has it: as a body, and as a stream of every format.
fn read_text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(body) = parse(&text) {
        read(&body);
    }
    for wire in Wire::ALL {
        if let Ok(body) = wire.assemble(&text) {
            read(&body);
        }
    }
}

#[test]
fn damaged_recordings_are_read_or_refused() {
    let recordings = recordings();
    for whole in &recordings {
        read_text(whole);
    }
    check(&(select(recordings), vec(damage(), 1..4)), |(mut bytes, damages)| {
        for damage in &damages {
            damage.apply(&mut bytes);
        }
        read_text(&bytes);
    });
}

#[test]
fn any_bytes_are_read_or_refused() {
    let lines = vec(prop_oneof![Just("data: ".to_owned()), Just("\n".to_owned()), text()], 0..12);
    check(&lines.prop_map(|lines| lines.concat().into_bytes()), |bytes| read_text(&bytes));
    check(&vec(any::<u8>(), 0..200), |bytes| read_text(&bytes));
}

/// A thing of every kind.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct Thing {
    name: Option<String>,
    id: u8,
    parts: Vec<i64>,
    text: char,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn add(_call: &ToolCall, input: Thing, index: i128, output: (bool, f32)) -> Result<usize, ToolError> {
    Ok(input.parts.len() + usize::from(output.0) + usize::from(index > 0))
}

#[tool(effect = "read")]
#[expect(clippy::unused_async, reason = "a tool is an async function, whatever it does")]
async fn call(args: Value, delta: Option<Thing>) -> Result<Value, ToolError> {
    Ok(json!([args, delta]))
}

#[test]
fn any_arguments_are_taken_or_refused() {
    let runtime = Runtime::new().expect("a runtime");
    let (idem, tools): (Idem, ToolSet) =
        (runtime.block_on(Idem::open("memory:")).expect("a ledger"), tools![add, call].expect("two names"));
    let fields = || vec((select(&["input", "index", "output", "args", "delta", "id"][..]), any_json()), 0..4);
    check(&(select(&["add", "call"][..]), fields(), any::<bool>()), |(name, fields, as_text)| {
        let fields: Map<String, Value> = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let arguments = if as_text { Value::Object(fields).to_string().into() } else { Value::Object(fields) };
        let block = json!({ "type": "tool_use", "id": "toolu_1", "name": name, "input": arguments });
        let message = json!({ "role": "assistant", "content": [block] });
        let context = idem.call().tenant("acme").conversation("c-1");
        let sent = runtime.block_on(tools.dispatch(Wire::Anthropic, &message, &context)).expect("answers");
        // A panic would be answered too, in these words.
        let answer = sent["content"][0]["content"].as_str().expect("a text");
        assert!(!answer.starts_with("Outcome unknown"), "{answer}");
    });
}
