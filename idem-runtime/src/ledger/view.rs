//! What is read of operations: everything about one, pages of many, and what needs a reconciler.
//!
//! Must not know who reads.

use std::sync::Arc;

use super::{
    command::{Alias, Link},
    record::{Record, State},
};
use crate::{clock::Timestamp, id::Tenant, identity::Digest};

/// Everything that is kept about one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// The record.
    pub record: Record,
    /// Its scope's kind.
    pub scope_kind: Arc<str>,
    /// The id that calls carry for its scope.
    pub scope_value: Option<Arc<str>>,
    /// Digest of the scope.
    pub scope: Digest,
    /// The identities that lead to it.
    pub identities: Vec<Alias>,
    /// Its attempts, in order.
    pub attempts: Vec<Tried>,
    /// What happened to it, in order. A first attempt that succeeded leaves no entry: the record says it all.
    pub history: Vec<Happened>,
    /// What somebody outside said, in order of arrival.
    pub evidence: Vec<Said>,
    /// The operations that it compensates or replaces.
    pub links: Vec<Link>,
    /// The operations that compensate or replace it: there `to` is the later operation.
    pub linked_from: Vec<Link>,
    /// The arguments as JSON, where the tool allows storing them.
    pub arguments: Option<Arc<[u8]>>,
}

/// One attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// Its number, from 1.
    pub number: u32,
    /// Its fencing token.
    pub fence: i64,
    /// When it was granted.
    pub started_at: Timestamp,
}

/// One entry of an operation's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// The version that the record came to by it.
    pub version: u64,
    /// When.
    pub at: Timestamp,
    /// During or after which attempt.
    pub attempt: u32,
    /// What: an [`Event`](super::Event)'s name, `step` with a recovery step's evidence, or `resolve_refused` for a person's
    /// decision that came too late.
    pub event: Arc<str>,
    /// The state afterwards.
    pub state: State,
    /// The person who did it, where one did.
    pub actor: Option<Arc<str>>,
    /// In words.
    pub detail: Option<Arc<str>>,
}

/// One piece of evidence from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Where it comes from.
    pub source: Arc<str>,
    /// The id of the event there.
    pub event: Arc<str>,
    /// `applied`, `not_applied` or `inconclusive`.
    pub finding: Arc<str>,
    /// The provider's id of the effect, where it says one.
    pub reference: Option<Arc<str>>,
    /// The person who says so, where one does.
    pub actor: Option<Arc<str>>,
    /// In words.
    pub words: Option<Arc<str>>,
    /// When it arrived.
    pub at: Timestamp,
}

/// Which of a tenant's operations to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// In one of these states; empty for any.
    pub states: Vec<State>,
    /// Only those whose evidence contradicts their outcome.
    pub in_review: bool,
    /// Only those that came to their state, or were reserved, before this instant.
    pub before: Option<Timestamp>,
    /// Behind this handle: where the last page ended.
    pub after: i64,
    /// At most so many.
    pub records_max: u32,
}

/// Where a walk over what needs a reconciler stands. Starts at its default: then it finds whatever was in flight when a
/// process died.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sweep {
    /// The ledger's names of the tools whose operations are wanted.
    pub tools: Vec<Arc<str>>,
    /// First attempts were looked at up to this handle …
    pub seen_to: i64,
    /// … and these of them were running.
    pub running: Vec<i64>,
    /// At most so many records a walk.
    pub records_max: u32,
}

/// What a walk found.
#[derive(Debug, Clone)]
pub struct Swept {
    /// Records to see to, oldest first: owners that fell silent, unknown outcomes that are due.
    pub due: Vec<(Tenant, Record)>,
    /// Where the next walk goes on.
    pub next: Sweep,
}
