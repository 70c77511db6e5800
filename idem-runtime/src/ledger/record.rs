//! What the ledger keeps of one operation.
//!
//! Must not know how it is stored or who asks.

use std::{sync::Arc, time::Duration};

use super::{command::Reserve, transition::Standing};
use crate::{
    clock::Timestamp,
    id::{OperationId, Principal},
    identity::{Digest, Identity, Source, Tool},
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
    /// Somebody is finding out.
    Reconciling,
    /// Nobody could find out: a person has to decide.
    OperatorReview,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::InProgress,
        Self::Succeeded,
        Self::FailedRetryable,
        Self::FailedFinal,
        Self::OutcomeUnknown,
        Self::Reconciling,
        Self::OperatorReview,
    ];

    /// The state's name, as it stands in columns, logs and answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Succeeded => "succeeded",
            Self::FailedRetryable => "failed_retryable",
            Self::FailedFinal => "failed_final",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Reconciling => "reconciling",
            Self::OperatorReview => "operator_review",
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

    /// Whether nobody knows yet if the effect happened, and no attempt is running.
    pub const fn is_unsettled(self) -> bool {
        matches!(self, Self::OutcomeUnknown | Self::Reconciling | Self::OperatorReview)
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
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about an operation")]
pub struct Record {
    /// The store's own handle of the record; ascends with time, is never reused.
    pub row: i64,
    /// Counts the changes of the record: what a person or a reconciler decided on.
    pub version: u64,
    /// The operation's id.
    pub operation: OperationId,
    /// The tool as it was when the operation was first reserved.
    pub tool: Arc<Tool>,
    /// Who reserved it first.
    pub principal: Option<Principal>,
    /// The beginning of the digest of the tool call id under which it was first called; 0 where it had none.
    pub first_call: u64,
    /// The approval under which it was first called.
    pub approval: Option<Arc<str>>,
    /// Digest of the effect-bearing arguments; never changes.
    pub fingerprint: Digest,
    /// Eight bytes for each effect parameter.
    pub parts: Arc<[u8]>,
    /// Eight bytes for each content parameter of the attempt that ran.
    pub content: Arc<[u8]>,
    /// Where it stands.
    pub state: State,
    /// An earlier attempt may have had the effect: that a later one had none proves nothing.
    pub in_doubt: bool,
    /// The last attempt proved, late, that it had no effect.
    pub disproved: bool,
    /// How many attempts were granted.
    pub attempt: u32,
    /// The fencing token of the last attempt.
    pub fence: i64,
    /// What the call that holds the last attempt is told apart by; 0 where it does not say.
    pub nonce: u64,
    /// The fencing token of the last reconciliation; 0 before the first.
    pub reconcile_fence: i64,
    /// How many reconciliations began since the outcome became unknown.
    pub passes: u32,
    /// How many of them got an answer that could have told.
    pub answered: u32,
    /// Until when the owner of the last attempt, or of the reconciliation, may stay silent; set while there is one.
    pub lease_until: Option<Timestamp>,
    /// When its owner last renewed the lease.
    pub renewed_at: Option<Timestamp>,
    /// How often leases were renewed.
    pub renewals: u32,
    /// When it was first reserved.
    pub reserved_at: Timestamp,
    /// When it came to the state it is in, unless that is `in_progress`.
    pub settled_at: Option<Timestamp>,
    /// Since when nothing more of its last attempt was heard: from here the tool's `settles_in` counts.
    pub unknown_at: Option<Timestamp>,
    /// When a reconciler should ask next, or when the next attempt may start.
    pub next_at: Option<Timestamp>,
    /// The last fencing token that had been given when it finished; 0 where it changes no resource.
    pub settled_fence: i64,
    /// It names resources that it changes.
    pub has_resources: bool,
    /// How long it answers with its result once it is finished.
    pub retain: Duration,
    /// Until when a finished record answers with its result.
    pub retain_until: Option<Timestamp>,
    /// Success without a provider's reference is not success.
    pub needs_reference: bool,
    /// The provider's id of the effect.
    pub reference: Option<Arc<str>>,
    /// Evidence contradicts the outcome: somebody should look.
    pub review: bool,
    /// What is held of the outcome.
    pub stored: Option<Stored>,
}

impl Record {
    /// The record of a new operation whose first attempt is granted at `now`; its handle `row` is the attempt's fencing
    /// token.
    pub fn created(reserve: &Reserve, operation: OperationId, row: i64, now: Timestamp) -> Self {
        Self {
            row,
            version: 1,
            operation,
            tool: Arc::clone(&reserve.tool),
            principal: reserve.principal.clone(),
            first_call: first_call(&reserve.identities),
            approval: reserve.approval.clone(),
            fingerprint: reserve.fingerprint,
            parts: Arc::clone(&reserve.parts),
            content: Arc::clone(&reserve.content),
            state: State::InProgress,
            in_doubt: false,
            disproved: false,
            attempt: 1,
            fence: row,
            nonce: reserve.nonce,
            reconcile_fence: 0,
            passes: 0,
            answered: 0,
            lease_until: Some(now.after(reserve.lease)),
            renewed_at: None,
            renewals: 0,
            reserved_at: now,
            settled_at: None,
            unknown_at: None,
            next_at: None,
            settled_fence: 0,
            has_resources: !reserve.resources.is_empty(),
            retain: reserve.retain,
            retain_until: None,
            needs_reference: reserve.needs_reference,
            reference: None,
            review: false,
            stored: None,
        }
    }

    /// Whether a finished record's result may no longer be given.
    pub fn retention_ended(&self, now: Timestamp) -> bool {
        self.state.is_finished() && self.retain_until.is_some_and(|until| now >= until)
    }

    /// Whether the owner of an attempt, or of a reconciliation, has been silent too long.
    pub fn lease_ended(&self, now: Timestamp) -> bool {
        matches!(self.state, State::InProgress | State::Reconciling)
            && self.lease_until.is_none_or(|until| now >= until)
    }

    /// Until when the next attempt is to wait, if it is.
    pub fn pauses_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.next_at.filter(|until| self.state == State::FailedRetryable && now < *until)
    }

    /// What decides where it can go.
    pub const fn standing(&self) -> Standing {
        Standing { state: self.state, in_doubt: self.in_doubt }
    }

    /// About how many bytes it takes in memory.
    pub(crate) fn weight(&self) -> usize {
        let held = self.stored.as_ref().map_or(0, |stored| stored.bytes.len());
        size_of::<Self>() + held + self.parts.len() + self.content.len() + 64
    }
}

/// Tells the tool call ids of one operation apart.
pub fn first_call(identities: &[Identity]) -> u64 {
    let id = identities.iter().find(|identity| identity.source == Source::ToolCallId);
    id.and_then(|id| id.digest.first_chunk()).map_or(0, |beginning| u64::from_be_bytes(*beginning))
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
