//! Why a call has no result, in kinds to branch on and in words for the model.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use serde_json::{Map, Value, json};

use super::describe;
use crate::{clock::Timestamp, id::OperationId};

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
    /// The operation succeeded, but today's code cannot read the result; [`Refusal::raw_result`] has it.
    ResultUnreadable {
        /// The version of the tool's contract when it was recorded.
        recorded: u32,
        /// The version now.
        current: u32,
    },
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
            Self::ResultNotHeld | Self::ResultUnreadable { .. } => "succeeded_without_result",
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
            text.push_str(" Reason: ");
            text.push_str(&source.to_string());
            text.push('.');
        }
        if let Some(operation) = self.operation {
            text.push_str(" Operation: ");
            text.push_str(&operation.to_string());
            text.push('.');
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
            RefusalKind::ResultUnreadable { recorded, current } => format!(
                "Already done; its result was recorded by version {recorded} of the tool and cannot be read by version \
                 {current}. Nothing was done now. Do not call again."
            ),
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

impl From<Refusal> for String {
    /// What the model reads.
    fn from(refusal: Refusal) -> Self {
        refusal.to_model_text()
    }
}
