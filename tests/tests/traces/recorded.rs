//! Recorded runs of agents on an airline's tools: one line a call, in the order in which it was made.
//!
//! What a call is within its conversation (new, a wanted repeat, an accidental one, one whose id was used before) is said
//! here. Must not know how tools are guarded.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;
use serde_json::Value;

/// Names the folder whose traces are replayed; without it those of this repository are.
const FOLDER: &str = "IDEM_TRACES_DIR";

/// Repeats that were meant, of traces that do not say so themselves: conversation, message, position. The first books
/// again what was cancelled, the second goes back from economy to business, the third cancels again after an upgrade.
const WANTED: [(&str, u64, u64); 3] = [
    ("gpt-4o-airline.json#0/3", 42, 0),
    ("langchain_agent_airline_2025-11-26_00-37-06.json#10/0", 15, 2),
    ("qwen2.5:7b_airline_default_gpt-4.1-2025-04-14_1trials.json#7/0", 16, 1),
];

/// One call as it was recorded.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Line {
    pub(crate) conversation: String,
    /// Which response of the model it came in.
    pub(crate) message: u64,
    position: u64,
    pub(crate) id: String,
    pub(crate) tool: String,
    kind: String,
    pub(crate) args: Value,
    pub(crate) result_is_error: bool,
    /// The beginning of the tool's answer.
    pub(crate) result: String,
    #[serde(default)]
    wanted: bool,
}

/// What a call is to those before it in its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meant {
    /// No equal call has succeeded before.
    New,
    /// The agent wants it to happen again.
    Wanted,
    /// A model or a framework sends again what was done.
    Accidental,
}

/// A call that writes.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) line: Line,
    pub(crate) meant: Meant,
    /// The same tool had other arguments under this id before.
    pub(crate) collides: bool,
}

/// All writes, in order: conversation after conversation.
pub(crate) fn writes() -> Vec<Arc<Vec<Write>>> {
    let mut conversations: Vec<Vec<Write>> = Vec::new();
    let mut seen = Seen::default();
    for line in lines().into_iter().filter(|line| line.kind == "write") {
        if conversations.last().is_none_or(|last| last[0].line.conversation != line.conversation) {
            conversations.push(Vec::new());
            seen = Seen::default();
        }
        let write = seen.classify(line);
        conversations.last_mut().expect("one was just begun").push(write);
    }
    conversations.into_iter().map(Arc::new).collect()
}

/// What a conversation has had so far.
#[derive(Default)]
struct Seen {
    succeeded: HashSet<(String, String)>,
    ids: HashMap<(String, String), String>,
}

impl Seen {
    fn classify(&mut self, line: Line) -> Write {
        let arguments = sorted(&line.args).to_string();
        let place = (line.conversation.as_str(), line.message, line.position);
        let meant = match self.succeeded.contains(&(line.tool.clone(), arguments.clone())) {
            false => Meant::New,
            true if line.wanted || WANTED.contains(&place) => Meant::Wanted,
            true => Meant::Accidental,
        };
        if !line.result_is_error {
            self.succeeded.insert((line.tool.clone(), arguments.clone()));
        }
        let first = self.ids.entry((line.tool.clone(), line.id.clone())).or_insert_with(|| arguments.clone());
        let collides = *first != arguments;
        Write { line, meant, collides }
    }
}

/// The same with the keys of all objects in order: `serde_json` keeps the written one where another crate asks it to.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<&String, Value> = fields.iter().map(|(name, value)| (name, sorted(value))).collect();
            fields.into_iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

fn lines() -> Vec<Line> {
    let folder =
        std::env::var_os(FOLDER).map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("traces"), PathBuf::from);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("read {}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let read = |file: &PathBuf| fs::read_to_string(file).expect("a trace");
    let lines: Vec<Line> = files
        .iter()
        .flat_map(|file| read(file).lines().map(|line| serde_json::from_str(line).expect("a call")).collect::<Vec<_>>())
        .collect();
    assert!(!lines.is_empty(), "no traces in {}", folder.display());
    lines
}
