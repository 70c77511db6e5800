//! Messages as providers wrote them: parsed, dispatched, answered; and what came of them, counted by hand beforehand.
//!
//! `IDEM_RECORDED_DIR` names the folder; without it, it is the repository's own (`tests/recorded`, whose README has the form).

#![cfg(feature = "tools")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use idem_runtime::{
    ToolCall, ToolSet, Wire,
    toolset::{Message, Reply},
};
use idem_tests::world::{Setup, every_store};
use serde::Deserialize;
use serde_json::Value;

#[path = "recorded/tools.rs"]
mod tools;

/// What has to come of a set of files.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    /// Why, for readers.
    #[serde(default)]
    why: String,
    wire: String,
    calls: usize,
    #[serde(default)]
    effects: BTreeMap<String, usize>,
    #[serde(default)]
    errors: usize,
    #[serde(default)]
    unreadable: usize,
}

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded")
}

/// Every set of a folder: its name, and its files in order.
fn sets(folder: &Path) -> BTreeMap<String, Vec<PathBuf>> {
    let mut sets: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for provider in fs::read_dir(folder).expect("the recordings").map(|entry| entry.expect("an entry").path()) {
        if !provider.is_dir() {
            continue;
        }
        for file in fs::read_dir(&provider).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
            let set = name(&file).split('.').next().expect("a name").to_owned();
            sets.entry(format!("{}/{set}", name(&provider))).or_default().push(file);
        }
    }
    for files in sets.values_mut() {
        files.sort();
    }
    sets
}

fn wire(name: &str) -> Wire {
    Wire::ALL.into_iter().find(|wire| wire.name() == name).unwrap_or_else(|| panic!("no format is called {name}"))
}

/// The model's messages in a file, each with its turn; what a conversation tells begins at turn 0.
fn messages(wire: Wire, file: &Path, next: u64) -> Result<Vec<(u64, Message)>, String> {
    let text = fs::read_to_string(file).expect("a file");
    let name = file.to_str().expect("a name");
    let body = if name.contains(".stream.") || name.ends_with(".sse.txt") {
        wire.assemble(&text)
    } else {
        idem_runtime::toolset::parse(&text)
    };
    let body: Value = body.map_err(|error| error.to_string())?;
    let read = if wire != Wire::Mcp && (name.contains("request.") || name.contains(".messages.")) {
        wire.read_conversation(&body)
    } else {
        wire.read(&body).map(|message| vec![(next, message)])
    };
    read.map_err(|error| error.to_string())
}

/// What came of a set.
async fn play(setup: &Setup, tools: &ToolSet, wire: Wire, set: &str, files: &[PathBuf]) -> Counts {
    let before = setup.world.effects().len();
    let mut counts = Counts { wire: wire.name().to_owned(), ..Counts::default() };
    let mut next = 0;
    for file in files {
        let read = match messages(wire, file, next) {
            Ok(read) => read,
            Err(why) => {
                eprintln!("  {}: {why}", file.display());
                counts.unreadable += 1;
                continue;
            }
        };
        for (turn, message) in read {
            next = next.max(turn + 1);
            let context = setup.idem.call().tenant("acme").conversation(set).turn(turn);
            counts.calls += message.calls.len();
            counts.errors += answered(tools, wire, &message, &context).await;
            // Sent again, it is the same operations.
            let effects = setup.world.effects().len();
            answered(tools, wire, &message, &context).await;
            assert_eq!(setup.world.effects().len(), effects, "{set}: a message that was sent again had an effect");
        }
    }
    for effect in &setup.world.effects()[before..] {
        *counts.effects.entry(effect.clone()).or_default() += 1;
    }
    counts
}

/// Runs a message, and says how many of its answers are errors. Each call has one answer, which reads as its provider's.
async fn answered(tools: &ToolSet, wire: Wire, message: &Message, context: &ToolCall) -> usize {
    let answers = tools.run(message, context).await;
    assert_eq!(answers.len(), message.calls.len());
    let replies: Vec<Reply<'_>> = message
        .calls
        .iter()
        .zip(&answers)
        .map(|(call, answer)| Reply {
            call,
            text: &answer.text,
            structured: answer.result.as_ref(),
            is_error: answer.is_error,
        })
        .collect();
    let written = wire.answers(&replies).to_string();
    for call in &message.calls {
        if let Some(id) = call.id.as_deref().filter(|_| wire != Wire::Mcp) {
            let id = serde_json::to_string(id).expect("a text");
            assert!(written.contains(&id), "{} has no answer in {written}", call.name);
        }
    }
    answers.iter().filter(|answer| answer.is_error).count()
}

async fn check(folder: &Path, counts: &Path) {
    let expected: BTreeMap<String, Counts> =
        serde_json::from_str(&fs::read_to_string(counts).expect("counts")).expect("counts as the README says");
    let sets = sets(folder);
    let (named, found): (Vec<_>, Vec<_>) = (expected.keys().collect(), sets.keys().collect());
    assert_eq!(named, found, "each set has its counts");
    for setup in every_store().await {
        let tools = tools::set(&setup.world);
        let (mut calls, mut wrong) = (0, Vec::new());
        for (set, files) in &sets {
            let mut came = play(&setup, &tools, wire(&expected[set].wire), set, files).await;
            calls += came.calls;
            came.why.clone_from(&expected[set].why);
            if came != expected[set] {
                wrong.push(format!("{set}: {came:?}, and not {:?}", expected[set]));
            }
        }
        assert!(wrong.is_empty(), "{}: {}", setup.name(), wrong.join("\n"));
        eprintln!("{}: {} sets, {calls} calls, {} effects", setup.name(), sets.len(), setup.world.effects().len());
    }
}

#[tokio::test]
async fn the_repository_s_own_messages_come_to_what_was_counted() {
    check(&own(), &own().join("counts.json")).await;
}

#[tokio::test]
async fn recorded_messages_come_to_what_was_counted() {
    // Without the variable there is nothing beyond the repository's own.
    let Some(folder) = std::env::var_os("IDEM_RECORDED_DIR") else { return };
    check(Path::new(&folder), &own().join("counts-elsewhere.json")).await;
}
