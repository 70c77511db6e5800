//! What a caller, and the model behind it, is told.
//!
//! Must not know how an outcome came about. Every answer says what is true now and what may be done next; none is
//! an error that invites another call.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{call::AttemptRecord, clock::Timestamp, id::OperationId};

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
    /// The source that matched: `tool_call_id`, `args`, `template` or `operation_id`.
    pub by: &'static str,
    /// Content parameters that this call words differently; names, never values.
    pub reworded: Vec<String>,
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

/// Why a call has no result, and what is true of its operation.
///
/// A function annotated with `#[idempotent]` returns it through its own error type: `From<Refusal>`, or the
/// attribute's `refuse = path`.
#[derive(Debug, Clone)]
pub struct Refusal {
    kind: RefusalKind,
    operation: Option<OperationId>,
    first_at: Option<Timestamp>,
    source: Option<Arc<dyn Error + Send + Sync>>,
    raw: Option<Arc<[u8]>>,
}

/// The kinds of refusals.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalKind {
    /// The call is incomplete or malformed. Nothing was reserved, nothing was run.
    Invalid,
    /// The tool's own `validate` said no. Nothing was reserved, nothing was run.
    Denied,
    /// The ledger did not answer. Nothing was run for this call.
    LedgerUnavailable,
    /// An attempt is running. Nothing was run for this call.
    InProgress {
        /// How long to wait before asking again.
        retry_after: Duration,
    },
    /// Whether the effect happened is not known; it must be found out, not tried again.
    Unknown,
    /// It is proved that nothing happened; the same call may be made again.
    FailedRetryable,
    /// It is proved that nothing happened, and the same call will never succeed.
    FailedFinal,
    /// The call names an operation whose effect-bearing arguments are others.
    Drift {
        /// The parameters that differ; names, never values.
        parameters: Vec<String>,
        /// The call was recognised by a bare tool call id, without a turn: the id itself is suspect.
        suspect_id: bool,
    },
    /// Two of the call's identities lead to two operations.
    Split {
        /// The other operation.
        other: OperationId,
    },
    /// The tool's contract changed since the operation was recorded, and with it the meaning of its arguments.
    ContractChanged {
        /// The contract's version then.
        recorded: u32,
        /// The contract's version now.
        current: u32,
    },
    /// Another principal's operation.
    OtherPrincipal,
    /// The operation finished, and its result is no longer held.
    RetentionEnded,
    /// The operation succeeded, but its result was never held.
    ResultNotHeld,
    /// The operation succeeded, but today's code cannot read the result.
    ResultUnreadable,
}

impl RefusalKind {
    /// The outcome's name, as the model sees it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Invalid => "invalid_call",
            Self::Denied => "denied",
            Self::LedgerUnavailable => "ledger_unavailable",
            Self::InProgress { .. } => "in_progress",
            Self::Unknown => "unknown_requires_reconciliation",
            Self::FailedRetryable => "failed_retryable",
            Self::FailedFinal => "failed_final",
            Self::Drift { .. } | Self::Split { .. } | Self::ContractChanged { .. } | Self::OtherPrincipal => {
                "rejected_key_conflict"
            }
            Self::RetentionEnded => "retention_ended",
            Self::ResultNotHeld | Self::ResultUnreadable => "succeeded_without_result",
        }
    }
}

impl Refusal {
    pub(crate) fn new(kind: RefusalKind) -> Self {
        Self { kind, operation: None, first_at: None, source: None, raw: None }
    }

    pub(crate) fn of(self, operation: OperationId) -> Self {
        Self { operation: Some(operation), ..self }
    }

    pub(crate) fn first_at(self, first_at: Timestamp) -> Self {
        Self { first_at: Some(first_at), ..self }
    }

    pub(crate) fn because(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: Some(Arc::from(source.into())), ..self }
    }

    pub(crate) fn with_raw(self, raw: Arc<[u8]>) -> Self {
        Self { raw: Some(raw), ..self }
    }

    /// Why there is no result.
    pub fn kind(&self) -> &RefusalKind {
        &self.kind
    }

    /// The operation, if there is one.
    pub fn operation(&self) -> Option<OperationId> {
        self.operation
    }

    /// The stored result that today's code cannot read, as JSON.
    pub fn raw_result(&self) -> Option<&[u8]> {
        self.raw.as_deref()
    }

    /// What the model reads: what is true, and what to do.
    pub fn to_model_text(&self) -> String {
        let mut text = self.what_is_true();
        if let Some(source) = &self.source {
            text.push_str(&format!(" Reason: {source}."));
        }
        if let Some(operation) = self.operation {
            text.push_str(&format!(" Operation: {operation}."));
        }
        text
    }

    /// The same as JSON: `outcome`, `message`, and what there is of `operation`, `first_at`, `retry_after_ms`,
    /// `parameters`.
    pub fn to_json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("outcome".to_owned(), self.kind.name().into());
        fields.insert("message".to_owned(), self.to_model_text().into());
        describe(&mut fields, self.operation, self.first_at);
        match &self.kind {
            RefusalKind::InProgress { retry_after } => {
                let millis = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX);
                fields.insert("retry_after_ms".to_owned(), millis.into());
            }
            RefusalKind::Drift { parameters, .. } => {
                fields.insert("parameters".to_owned(), json!(parameters));
            }
            _ => {}
        }
        Value::Object(fields)
    }

    fn what_is_true(&self) -> String {
        match &self.kind {
            RefusalKind::Invalid => "The call is not valid; nothing was done.".to_owned(),
            RefusalKind::Denied => "The tool refused the call before doing anything.".to_owned(),
            RefusalKind::LedgerUnavailable => {
                "Nothing was done: the record of earlier calls cannot be reached. Do not try another way.".to_owned()
            }
            RefusalKind::InProgress { retry_after } => format!(
                "Still running: an earlier call of the same operation has not finished. Do not call again now; ask \
                 again with the same call after {} s at the earliest.",
                retry_after.as_secs().max(1)
            ),
            RefusalKind::Unknown => {
                "Outcome unknown: the effect may have happened. Do not call again; it has to be checked first."
                    .to_owned()
            }
            RefusalKind::FailedRetryable => "Failed, and nothing happened. The same call may be made again.".to_owned(),
            RefusalKind::FailedFinal => {
                "Failed for good, and nothing happened. The same call will not succeed; do not call again.".to_owned()
            }
            RefusalKind::Drift { parameters, suspect_id } => drift_in_words(parameters, *suspect_id),
            RefusalKind::Split { other } => format!(
                "Conflict: the call's id and its arguments belong to two operations, this one and {other}. Nothing was \
                 done; it needs review. Do not call again."
            ),
            RefusalKind::ContractChanged { recorded, current } => format!(
                "Conflict: the tool's contract changed (from version {recorded} to {current}) since this operation \
                 was recorded. Nothing was done; it needs review. Do not call again."
            ),
            RefusalKind::OtherPrincipal => {
                "Conflict: this operation belongs to another caller. Nothing was done; it needs review. Do not call \
                 again."
                    .to_owned()
            }
            RefusalKind::RetentionEnded => {
                "Already finished earlier; its result is no longer held. Nothing was done now. Do not call again."
                    .to_owned()
            }
            RefusalKind::ResultNotHeld => {
                "Already done; its result was not held. Nothing was done now. Do not call again.".to_owned()
            }
            RefusalKind::ResultUnreadable => {
                "Already done; its recorded result cannot be read by this version. Nothing was done now. Do not call \
                 again."
                    .to_owned()
            }
        }
    }
}

fn drift_in_words(parameters: &[String], suspect_id: bool) -> String {
    let differ = if parameters.is_empty() { "the arguments".to_owned() } else { parameters.join(", ") };
    let mut text = format!(
        "Conflict: the call repeats an earlier one with other values ({differ}). Nothing was done; it needs review. Do \
         not call again under the same id."
    );
    if suspect_id {
        text.push_str(
            " Its tool call id came without a turn and may have been used twice: the caller has to name the turn.",
        );
    }
    text
}

fn describe(fields: &mut Map<String, Value>, operation: Option<OperationId>, first_at: Option<Timestamp>) {
    if let Some(operation) = operation {
        fields.insert("operation".to_owned(), operation.to_string().into());
    }
    if let Some(first_at) = first_at {
        fields.insert("first_at".to_owned(), first_at.to_string().into());
    }
}

impl fmt::Display for Refusal {
    /// One line for logs; what the model reads is [`to_model_text`](Self::to_model_text).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if let Some(operation) = self.operation {
            write!(f, " ({operation})")?;
        }
        match &self.kind {
            RefusalKind::Drift { parameters, .. } => write!(f, ": other values of {}", parameters.join(", "))?,
            RefusalKind::ContractChanged { recorded, current } => {
                write!(f, ": contract version {recorded} then, {current} now")?;
            }
            _ => {}
        }
        match &self.source {
            None => Ok(()),
            Some(source) => write!(f, ": {source}"),
        }
    }
}

impl Error for Refusal {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
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
            Self::Refused(refusal) => refusal.operation,
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

/// What an error of the tool says about the effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// It proves that nothing happened; another attempt may.
    Retryable,
    /// It proves that nothing happened, and no attempt will succeed.
    Final,
    /// It proves nothing. What an error is unless `classify` says otherwise.
    Unknown,
}

impl From<Refusal> for String {
    /// What the model reads.
    fn from(refusal: Refusal) -> Self {
        refusal.to_model_text()
    }
}
