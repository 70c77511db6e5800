//! Tools in every form that the attribute takes, run for real: through the engine, over a ledger.
//!
//! It must not know how the macro expands; `idem-macros/tests/snapshots` shows that. What counts is what the outside
//! world saw, by business identifier, and what the caller was told.

mod bodies;
mod callers;
mod errors;
mod identity;
mod marks;
mod methods;
mod parameters;
mod recovery;
mod settings;

use std::fmt::Debug;

use idem_runtime::{AttemptRecord, Outcome, Refusal, RefusalKind, Success, Told};
use serde::{Deserialize, Serialize};

/// What most tools here are called with.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Order {
    id: String,
    cents: u64,
    reason: String,
}

impl Order {
    fn new(id: &str, cents: u64, reason: &str) -> Self {
        Self { id: id.to_owned(), cents, reason: reason.to_owned() }
    }
}

/// The circumstances of a success.
fn told<T: Debug>(outcome: Outcome<T>) -> (T, Told) {
    match outcome {
        Outcome::Succeeded(Success { value, told }) => (value, told),
        Outcome::Refused(refusal) => panic!("refused: {refusal}"),
    }
}

/// The result, of an attempt that ran for this call.
fn fresh<T: Debug>(outcome: Outcome<T>) -> T {
    let (value, told) = told(outcome);
    assert_eq!(told.replay, None, "{value:?} is a replay");
    value
}

/// The result, of an earlier call; and the source by which this one was recognised.
fn replayed<T: Debug>(outcome: Outcome<T>) -> (T, &'static str) {
    let (value, told) = told(outcome);
    let Some(replay) = told.replay else { panic!("{value:?} is no replay") };
    (value, replay.by)
}

/// Why there is no result.
fn refused<T: Debug>(outcome: Outcome<T>) -> Refusal {
    match outcome {
        Outcome::Refused(refusal) => refusal,
        Outcome::Succeeded(success) => panic!("not refused: {success:?}"),
    }
}

/// The parameters that differ.
fn drifted<T: Debug>(outcome: Outcome<T>) -> Vec<String> {
    let refusal = refused(outcome);
    match refusal.kind() {
        RefusalKind::Drift { parameters, .. } => parameters.clone(),
        other => panic!("no drift: {other:?}"),
    }
}

/// The key that a call's record carries.
fn key_of<T: Debug>(outcome: Outcome<T>) -> Vec<String> {
    AttemptRecord::key(&told(outcome).1.record)
}
