//! What the ledger keeps of one operation.
//!
//! Must not know how it is stored or who asks.

use std::sync::Arc;

use crate::{
    clock::Timestamp,
    id::{OperationId, Principal},
    identity::{Digest, Tool},
};

/// Where an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// An attempt holds the lease.
    InProgress,
    /// The effect happened.
    Succeeded,
    /// It is proved that nothing happened; another attempt may start.
    FailedRetryable,
    /// It is proved that nothing happened, and nothing ever will.
    FailedFinal,
    /// Whether the effect happened is not known.
    OutcomeUnknown,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::InProgress, Self::Succeeded, Self::FailedRetryable, Self::FailedFinal, Self::OutcomeUnknown];

    /// The state's name, as it stands in columns, logs and answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Succeeded => "succeeded",
            Self::FailedRetryable => "failed_retryable",
            Self::FailedFinal => "failed_final",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }

    /// The state with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether retention applies: the outcome is known and stays.
    pub const fn is_finished(self) -> bool {
        matches!(self, Self::Succeeded | Self::FailedFinal)
    }
}

/// A result or an error as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// What `bytes` are.
    pub kind: StoredKind,
    /// JSON or text, by kind.
    pub bytes: Arc<[u8]>,
}

/// What was stored of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredKind {
    /// A result, as JSON.
    Value,
    /// An error of the tool, as JSON.
    Error,
    /// An error's words.
    Text,
    /// A result that could not be stored; the bytes say why.
    NotHeld,
}

impl StoredKind {
    /// The number under which the ledger stores it.
    pub const fn code(self) -> u8 {
        match self {
            Self::Value => 0,
            Self::Error => 1,
            Self::Text => 2,
            Self::NotHeld => 3,
        }
    }

    /// The kind with this number.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Value),
            1 => Some(Self::Error),
            2 => Some(Self::Text),
            3 => Some(Self::NotHeld),
            _ => None,
        }
    }
}

/// One operation: one record, however many attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The store's own handle of the record; ascends with time, is never reused.
    pub row: i64,
    /// The operation's id.
    pub operation: OperationId,
    /// The tool as it was when the operation was first reserved.
    pub tool: Arc<Tool>,
    /// Who reserved it first.
    pub principal: Option<Principal>,
    /// Digest of the effect-bearing arguments; never changes.
    pub fingerprint: Digest,
    /// Eight bytes for each effect parameter.
    pub parts: Arc<[u8]>,
    /// Eight bytes for each content parameter of the attempt that ran.
    pub content: Arc<[u8]>,
    /// Where it stands.
    pub state: State,
    /// How many attempts were granted.
    pub attempt: u32,
    /// The fencing token of the last attempt.
    pub fence: i64,
    /// Until when the last attempt's owner may stay silent; set while in progress.
    pub lease_until: Option<Timestamp>,
    /// When its owner last renewed the lease.
    pub renewed_at: Option<Timestamp>,
    /// How often leases were renewed.
    pub renewals: u32,
    /// When it was first reserved.
    pub reserved_at: Timestamp,
    /// When it came to the state it is in, unless that is `in_progress`.
    pub settled_at: Option<Timestamp>,
    /// Until when a finished record answers with its result.
    pub retain_until: Option<Timestamp>,
    /// The provider's id of the effect.
    pub reference: Option<Arc<str>>,
    /// Evidence contradicts the outcome: somebody should look.
    pub review: bool,
    /// What is held of the outcome.
    pub stored: Option<Stored>,
}

impl Record {
    /// Whether a finished record's result may no longer be given.
    pub fn retention_ended(&self, now: Timestamp) -> bool {
        self.state.is_finished() && self.retain_until.is_some_and(|until| now >= until)
    }

    /// Whether an owner has been silent too long.
    pub fn lease_ended(&self, now: Timestamp) -> bool {
        self.state == State::InProgress && self.lease_until.is_none_or(|until| now >= until)
    }

    /// About how many bytes it takes in memory.
    pub(crate) fn weight(&self) -> usize {
        let held = self.stored.as_ref().map_or(0, |stored| stored.bytes.len());
        size_of::<Self>() + held + self.parts.len() + self.content.len() + 64
    }
}

/// An operation that was called with other arguments than it has, for review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drifted {
    /// The operation.
    pub operation: OperationId,
    /// The tool's name in the ledger.
    pub tool: String,
    /// The parameters that differed last; names, never values.
    pub parameters: Vec<String>,
    /// How often.
    pub count: u64,
    /// When last.
    pub last_at: Timestamp,
}
