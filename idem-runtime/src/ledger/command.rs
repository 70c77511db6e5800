//! What callers ask of a store, and what it answers.
//!
//! Must not know how either is carried out. A store applies a batch of commands in one transaction.

use std::{sync::Arc, time::Duration};

use super::{
    record::{Record, State, Stored},
    unsettled::{BeginReconcile, Begun, Evidence, Judge, Judged, Resolve, Resolved, Silent, Witnessed},
};
pub use crate::call::{Link, LinkKind};
use crate::{
    clock::Timestamp,
    id::{OperationId, Principal, Tenant},
    identity::{Digest, Identity, Scope, Source, Tool},
    tool::AfterRetention,
};

/// One request to the ledger.
#[derive(Debug, Clone)]
pub enum Command {
    /// Start an operation, or learn what became of it.
    Reserve(Arc<Reserve>),
    /// Record how an attempt ended.
    Settle(Settle),
    /// Extend the leases of attempts that are alive.
    Renew(Vec<Hold>),
    /// Write counts and aliases that had been put off.
    Tally(Vec<Tally>),
    /// Record that owners have fallen silent.
    EndLeases(Vec<Silent>),
    /// Start to find out what happened.
    BeginReconcile(BeginReconcile),
    /// Record what was found out.
    Verdict(Box<Judge>),
    /// Record what a person decided.
    Resolve(Box<Resolve>),
    /// Record what somebody outside says.
    Evidence(Box<Evidence>),
    /// Remove what retention no longer covers.
    Purge {
        /// How many records to look at, at most.
        records_max: u32,
        /// How long a tombstone stays after retention.
        tombstone: Duration,
    },
}

/// What happened to a command.
#[derive(Debug, Clone)]
pub enum Reply {
    /// To a [`Command::Reserve`].
    Reserved(Reserved),
    /// To a [`Command::Settle`].
    Settled(Settled),
    /// To a [`Command::Renew`]: the rows whose lease was not theirs any more.
    Renewed {
        /// Rows that another event had moved on.
        lost: Vec<i64>,
    },
    /// To a [`Command::Tally`].
    Tallied,
    /// To a [`Command::EndLeases`]: how many records it moved.
    LeasesEnded(u64),
    /// To a [`Command::BeginReconcile`].
    Begun(Begun),
    /// To a [`Command::Verdict`].
    Judged(Judged),
    /// To a [`Command::Resolve`].
    Resolved(Resolved),
    /// To a [`Command::Evidence`].
    Witnessed(Witnessed),
    /// To a [`Command::Purge`].
    Purged(PurgeReport),
}

/// Everything about a call that its reservation needs.
#[derive(Debug, Clone)]
pub struct Reserve {
    /// Whose operation it is.
    pub tenant: Tenant,
    /// The trusted caller.
    pub principal: Option<Principal>,
    /// Within what the identities are unique.
    pub scope: Scope,
    /// The tool, as it is now.
    pub tool: Arc<Tool>,
    /// At least one; most stable first.
    pub identities: Vec<Identity>,
    /// The operation of the attempt record that the call carries.
    pub resumed: Option<OperationId>,
    /// Digest of the effect-bearing arguments.
    pub fingerprint: Digest,
    /// Eight bytes for each effect parameter.
    pub parts: Arc<[u8]>,
    /// Eight bytes for each content parameter.
    pub content: Arc<[u8]>,
    /// How long equal arguments under a new id still mean a finished operation.
    pub window: Option<Duration>,
    /// What the tool does after retention.
    pub after_retention: AfterRetention,
    /// How long the attempt's owner may stay silent.
    pub lease: Duration,
    /// Tells this call from every other one of the ledger: a reservation whose reply was lost is sent again with the
    /// same one and gets the same answer. Never 0, never in an attempt record.
    pub nonce: u64,
    /// The call may send again, under the same provider key, what may have been sent before, while the provider's window
    /// is open: it counts from the first reservation and has this length.
    pub resend: Option<Duration>,
    /// The call has waited for the pause that was declared before another attempt.
    pub paused: bool,
    /// The attempts that the tool allows itself; without a budget callers decide.
    pub budget: Option<Budget>,
    /// How long a finished record answers.
    pub retain: Duration,
    /// Success without a provider's reference is not success.
    pub needs_reference: bool,
    /// The approval under which the call is made.
    pub approval: Option<Arc<str>>,
    /// The operation that this one compensates or replaces.
    pub link: Option<Link>,
    /// Digests of the resources that the operation changes, as far as the arguments name them.
    pub resources: Arc<[Digest]>,
    /// The arguments as JSON, where the tool allows storing them.
    pub arguments: Option<Arc<[u8]>>,
}

/// How many attempts an operation may have, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Attempts in all.
    pub attempts_max: u32,
    /// From the first reservation to the start of the last attempt.
    pub deadline: Duration,
}

impl Budget {
    /// Whether the record may not have another attempt.
    pub fn is_over(&self, record: &Record, now: Timestamp) -> bool {
        record.attempt >= self.attempts_max || now >= record.reserved_at.after(self.deadline)
    }
}

/// What a reservation led to.
#[derive(Debug, Clone)]
pub enum Reserved {
    /// The caller owns the next attempt.
    Granted(Grant),
    /// The operation exists: its record says the rest.
    Found(Answer),
    /// The call does not fit the operation that it names.
    Refused(Conflict),
}

/// The right, and the duty, to run the body once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The record's handle.
    pub row: i64,
    /// The operation's id.
    pub operation: OperationId,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// The fencing token: larger than every one before.
    pub fence: i64,
    /// When the operation was first reserved.
    pub reserved_at: Timestamp,
    /// Until when the owner may stay silent.
    pub lease_until: Timestamp,
    /// The generation of each identity, in the order of the reservation.
    pub generations: Vec<u32>,
    /// An earlier attempt may have had the effect.
    pub in_doubt: bool,
}

/// An existing operation, as a call found it.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The record.
    pub record: Arc<Record>,
    /// The source that matched, the most stable one.
    pub by: Source,
    /// The generation of each identity, in the order of the reservation.
    pub generations: Vec<u32>,
    /// Identities of the call that the operation did not have yet.
    pub aliases: Vec<Alias>,
    /// Retention has ended: the record may say that it finished, not how.
    pub retention_ended: bool,
}

/// An identity that newly leads to an existing operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alias {
    /// What it was made from.
    pub source: Source,
    /// Its digest.
    pub digest: Digest,
    /// Its generation.
    pub generation: u32,
}

/// A call that names an operation which it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Why it is not.
    pub kind: ConflictKind,
    /// The operation's handle.
    pub row: i64,
    /// The operation.
    pub operation: OperationId,
    /// The source that matched.
    pub by: Source,
    /// Where the operation stands.
    pub state: State,
}

/// How a call fails to fit its operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictKind {
    /// Its effect-bearing arguments are others.
    Drift {
        /// The parameters that differ; names, never values.
        parameters: Vec<String>,
    },
    /// Its arguments differ because the tool's contract changed since.
    ContractChanged {
        /// The contract's version when the operation was recorded.
        recorded: u32,
        /// The contract's version now.
        current: u32,
    },
    /// Two of its identities lead to two operations.
    Split {
        /// The other operation.
        other: OperationId,
    },
    /// Another principal reserved it.
    OtherPrincipal,
}

/// How an attempt ended.
#[derive(Debug, Clone)]
pub struct Settle {
    /// Whose operation it is.
    pub tenant: Tenant,
    /// The record's handle, from the grant.
    pub row: i64,
    /// The fencing token, from the grant.
    pub fence: i64,
    /// The attempt's number, from the grant.
    pub attempt: u32,
    /// The end.
    pub ending: Ending,
    /// The provider's id of the effect.
    pub reference: Option<Arc<str>>,
    /// What is kept of a result or an error.
    pub stored: Option<Stored>,
    /// How long a finished record answers.
    pub retain: Duration,
    /// How long the next attempt is to wait, if this one may be tried again.
    pub pause: Duration,
    /// The attempts that the tool allows itself.
    pub budget: Option<Budget>,
    /// Digests of the resources that the result names.
    pub resources: Arc<[Digest]>,
    /// The tool names resources, or requires a reference, or has a budget: the record has to be looked at.
    pub looks: bool,
}

/// The ways an attempt can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The effect happened.
    Ok,
    /// Nothing happened; another attempt may.
    Retryable,
    /// Nothing happened; no attempt ever will.
    Final,
    /// Not known.
    Unknown,
    /// The body never started.
    NotStarted,
}

/// What a settlement led to.
#[derive(Debug, Clone)]
pub enum Settled {
    /// The record now is as the attempt says.
    Recorded {
        /// Where it stands.
        state: State,
        /// When it was settled.
        settled_at: Timestamp,
        /// Until when it answers, if finished.
        retain_until: Option<Timestamp>,
    },
    /// The attempt no longer held the lease. What it said was kept as evidence.
    Late {
        /// The record after the evidence was weighed.
        record: Arc<Record>,
    },
    /// There is no such record: it was purged, or it never was this tenant's.
    Gone,
}

/// One attempt that is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// The record's handle.
    pub row: i64,
    /// The attempt's fencing token.
    pub fence: i64,
    /// How long its owner may stay silent from now on.
    pub lease: Duration,
}

/// Counts of one operation that were put off, and identities that newly lead to it.
#[derive(Debug, Clone)]
pub struct Tally {
    /// Whose operation it is.
    pub tenant: Tenant,
    /// The record's handle.
    pub row: i64,
    /// Replays served.
    pub replays: u64,
    /// Drifts refused.
    pub drifts: u64,
    /// The parameters that drifted last.
    pub parameters: Vec<String>,
    /// New identities.
    pub aliases: Vec<Alias>,
}

/// What a purge removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PurgeReport {
    /// Records looked at.
    pub looked_at: u64,
    /// Records whose result was removed; a tombstone stays.
    pub tombstones: u64,
    /// Tombstones removed for good.
    pub removed: u64,
}
