//! The error that tools under test fail with, and the tools that fresh processes call.
//!
//! Must not know which case is tested.

use std::{
    collections::{HashMap, HashSet},
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
};

use idem_runtime::{AttemptRecord, ErrorClass, Idem, Refusal, ToolCall, idempotent, prepare};
use serde_json::Value;

/// How a tool under test fails.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The call was refused.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// Nobody knows whether it happened.
    #[error("the provider timed out")]
    Timeout,
    /// It did not happen, and may be tried again.
    #[error("the provider is busy")]
    Busy,
    /// It did not happen and never will.
    #[error("the card was declined")]
    Declined,
}

impl ToolError {
    /// The refusal that it is.
    ///
    /// # Panics
    /// When it is none.
    pub fn refusal(&self) -> &Refusal {
        match self {
            Self::Refused(refusal) => refusal,
            other => panic!("no refusal: {other}"),
        }
    }
}

/// What each error says about the effect.
pub fn classify(error: &ToolError) -> ErrorClass {
    match error {
        ToolError::Busy => ErrorClass::Retryable,
        ToolError::Declined => ErrorClass::Final,
        ToolError::Refused(_) | ToolError::Timeout => ErrorClass::Unknown,
    }
}

/// An effect log that processes share: a file to which every effect appends a line.
#[derive(Debug, Clone)]
pub struct EffectFile(PathBuf);

impl EffectFile {
    /// The log at `path`; made when the first effect happens.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self(path.as_ref().to_owned())
    }

    /// Something happens, durably.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn effect(&self, what: &str) {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).expect("an effect log");
        file.write_all(format!("{what}\n").as_bytes()).expect("an effect");
        file.sync_all().expect("a durable effect");
    }

    /// Everything that happened.
    ///
    /// # Panics
    /// When the file cannot be read.
    pub fn effects(&self) -> Vec<String> {
        match std::fs::read_to_string(&self.0) {
            Ok(text) => text.lines().map(str::to_owned).collect(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => panic!("read the effect log: {error}"),
        }
    }

    /// How often this happened.
    pub fn count(&self, what: &str) -> usize {
        self.effects().iter().filter(|effect| *effect == what).count()
    }
}

/// Arguments whose order in memory is another in every process.
#[expect(clippy::implicit_hasher, reason = "the hasher that is seeded anew in every process is the one under test")]
#[idempotent(scope = "conversation", key = "args", name = "test.count")]
pub async fn count_up(
    call: &ToolCall,
    counts: HashMap<String, i64>,
    tags: HashSet<String>,
) -> Result<usize, ToolError> {
    Ok(counts.len() + tags.len())
}

/// A refund whose effect is a line in a file.
#[idempotent(scope = "conversation", key = "tool_call_id|args", name = "test.refund", classify = classify)]
pub async fn refund(
    call: &ToolCall,
    order_id: String,
    amount_cents: u64,
    #[idem(state)] bank: EffectFile,
) -> Result<String, ToolError> {
    bank.effect(&format!("refund {order_id} {amount_cents}"));
    match order_id.as_str() {
        "busy-at-first" if call.number() == 1 => Err(ToolError::Busy),
        "declined" => Err(ToolError::Declined),
        "timeout" => Err(ToolError::Timeout),
        _ => Ok(format!("refunded {order_id}")),
    }
}

/// What [`count_up`] is called with, inserted in the order of `seed`.
pub fn unordered(seed: usize) -> (HashMap<String, i64>, HashSet<String>) {
    let mut names = ["ape", "bee", "cat", "dog", "eel", "fox"];
    names.rotate_left(seed % 6);
    let counts = names.iter().map(|name| ((*name).to_owned(), i64::from(name.as_bytes()[0])));
    (counts.collect(), names.iter().map(|name| (*name).to_owned()).collect())
}

/// The first effect of a turn.
#[idempotent(scope = "workflow", key = "tool_call_id|args", name = "test.charge", on_busy = "tell")]
pub async fn charge(call: &ToolCall, round: usize, #[idem(state)] bank: EffectFile) -> Result<String, ToolError> {
    bank.effect(&format!("charge {round}"));
    Ok(format!("charged {round}"))
}

/// The second.
#[idempotent(scope = "workflow", key = "tool_call_id|args", name = "test.mark", on_busy = "tell")]
pub async fn mark(call: &ToolCall, round: usize, #[idem(state)] bank: EffectFile) -> Result<(), ToolError> {
    bank.effect(&format!("mark {round}"));
    Ok(())
}

/// The third: it happens, and no answer ever comes.
#[idempotent(scope = "workflow", key = "tool_call_id|args", name = "test.notify", on_busy = "tell")]
pub async fn notify(call: &ToolCall, round: usize, #[idem(state)] bank: EffectFile) -> Result<(), ToolError> {
    bank.effect(&format!("notify {round}"));
    std::future::pending().await
}

/// A call of a turn's tool, under an id that no other process gives it.
pub fn call_in_turn(idem: &Idem, round: usize, at: usize) -> ToolCall {
    let id = format!("call_{}_{at}", std::process::id());
    idem.call().tenant("acme").workflow(round.to_string()).tool_call_id(id).turn(u64::from(std::process::id()))
}

/// The records that a turn keeps as its checkpoint, made before anything of it is dispatched.
///
/// # Errors
/// The [`Refusal`] of a call that has no identity.
pub async fn checkpoint(idem: &Idem, bank: &EffectFile, round: usize) -> Result<[AttemptRecord; 3], Refusal> {
    Ok([
        prepare(charge(&call_in_turn(idem, round, 0), round, bank.clone())).await?,
        prepare(mark(&call_in_turn(idem, round, 1), round, bank.clone())).await?,
        prepare(notify(&call_in_turn(idem, round, 2), round, bank.clone())).await?,
    ])
}

/// A turn from its checkpoint; what each of its calls was told, as JSON.
///
/// # Panics
/// When the checkpoint does not hold three records.
pub async fn turn(idem: &Idem, bank: &EffectFile, round: usize, checkpoint: &[Value]) -> Vec<Value> {
    let call = |at: usize| {
        let record: AttemptRecord = serde_json::from_value(checkpoint[at].clone()).expect("a record");
        call_in_turn(idem, round, at).resume(record)
    };
    vec![
        charge_outcome(&call(0), round, bank.clone()).await.to_json(),
        mark_outcome(&call(1), round, bank.clone()).await.to_json(),
        notify_outcome(&call(2), round, bank.clone()).await.to_json(),
    ]
}
