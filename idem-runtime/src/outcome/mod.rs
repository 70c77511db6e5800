//! What a caller, and the model behind it, is told.
//!
//! Must not know how an outcome came about. Every answer says what is true now and what may be done next; none is
//! an error that invites another call.

mod bulk;
mod class;
pub mod http;
mod refusal;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

pub use bulk::{Bulk, BulkCounts, BulkItem, BulkState};
pub use class::{EffectError, ErrorClass};
pub use refusal::{Refusal, RefusalKind};

use crate::{
    call::{AttemptRecord, RepeatToken},
    clock::Timestamp,
    id::OperationId,
};

/// What became of a call.
#[derive(Debug, Clone)]
#[must_use = "an outcome says whether the effect happened"]
pub enum Outcome<T> {
    /// The effect happened, now or at an earlier call.
    Succeeded(Success<T>),
    /// There is no result to give; [`Refusal::kind`] says why.
    Refused(Refusal),
}

/// A result, and where it comes from.
#[derive(Debug, Clone)]
pub struct Success<T> {
    /// The result of the attempt that succeeded.
    pub value: T,
    /// Its circumstances.
    pub told: Told,
}

/// The circumstances of a success.
#[derive(Debug, Clone)]
pub struct Told {
    /// The operation.
    pub operation: OperationId,
    /// When the operation was first reserved.
    pub first_at: Timestamp,
    /// Which attempt succeeded, from 1.
    pub attempt: u32,
    /// Set when nothing was run for this call.
    pub replay: Option<Replay>,
    /// The provider's id of the effect.
    pub reference: Option<Arc<str>>,
    /// What the ledger holds of it.
    pub held: Held,
    /// The operation's key, to be carried by retries.
    pub record: Arc<AttemptRecord>,
}

/// How a call was recognised as a repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// The source that matched: `tool_call_id`, `args`, `template` or `operation_id`; `operation` where an attempt that did
    /// not know how it ended was told what had been proved meanwhile.
    pub by: &'static str,
    /// Content parameters that this call words differently; names, never values.
    pub reworded: Vec<String>,
    /// Set where equal arguments came under a new id: what a platform that means a second effect presents with the call
    /// ([`ToolCall::repeat`](crate::ToolCall::repeat)). Not in what the model reads.
    pub repeat: Option<RepeatToken>,
}

/// What the ledger holds of a success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// The result: repeats get it.
    Result,
    /// Only that it succeeded: repeats are told so, without a result. Says why.
    NoResult(String),
    /// Nothing yet: the ledger could not be written. Until it can, the operation reads as in progress, then as
    /// unknown. Says why.
    NotYet(String),
}

/// The fields that every answer has.
fn describe(fields: &mut Map<String, Value>, operation: Option<OperationId>, first_at: Option<Timestamp>) {
    if let Some(operation) = operation {
        fields.insert("operation".to_owned(), operation.to_string().into());
    }
    if let Some(first_at) = first_at {
        fields.insert("first_at".to_owned(), first_at.to_string().into());
    }
}

impl<T> Outcome<T> {
    /// The result, if there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Succeeded(success) => Some(&success.value),
            Self::Refused(_) => None,
        }
    }

    /// The operation, if the call got that far.
    pub fn operation(&self) -> Option<OperationId> {
        match self {
            Self::Succeeded(success) => Some(success.told.operation),
            Self::Refused(refusal) => refusal.operation(),
        }
    }

    /// Whether an earlier call's result was given and nothing was run now.
    pub fn is_replay(&self) -> bool {
        matches!(self, Self::Succeeded(success) if success.told.replay.is_some())
    }

    /// The result or the refusal.
    ///
    /// # Errors
    /// The [`Refusal`], when there is no result.
    pub fn into_result(self) -> Result<T, Refusal> {
        match self {
            Self::Succeeded(success) => Ok(success.value),
            Self::Refused(refusal) => Err(refusal),
        }
    }
}

impl<T: Serialize> Outcome<T> {
    /// What the model reads: the result as JSON, after one sentence if it is a repeat.
    pub fn to_model_text(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.to_model_text(),
            Self::Succeeded(Success { value, told }) => {
                let value = serde_json::to_string(value)
                    .unwrap_or_else(|error| format!("the result cannot be written as JSON: {error}"));
                match &told.replay {
                    None => value,
                    Some(_) => format!(
                        "Already done at {} (operation {}); nothing was done again. The result: {value}",
                        told.first_at, told.operation
                    ),
                }
            }
        }
    }

    /// The same as JSON: `outcome`, `operation`, and for a success `result`, `replayed`, `first_at`, `attempt`, and
    /// what there is of `reference` and `reworded`.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Refused(refusal) => refusal.to_json(),
            Self::Succeeded(Success { value, told }) => {
                let mut fields = Map::new();
                fields.insert("outcome".to_owned(), "succeeded".into());
                fields.insert("replayed".to_owned(), told.replay.is_some().into());
                fields.insert("attempt".to_owned(), told.attempt.into());
                describe(&mut fields, Some(told.operation), Some(told.first_at));
                if let Some(reference) = &told.reference {
                    fields.insert("reference".to_owned(), (**reference).into());
                }
                if let Some(Replay { reworded, .. }) = &told.replay
                    && !reworded.is_empty()
                {
                    fields.insert("reworded".to_owned(), json!(reworded));
                }
                match serde_json::to_value(value) {
                    Ok(value) => fields.insert("result".to_owned(), value),
                    Err(error) => fields.insert("result_error".to_owned(), error.to_string().into()),
                };
                Value::Object(fields)
            }
        }
    }
}
