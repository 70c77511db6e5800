//! The ledger: the only door to storage.
//!
//! Must not know which store is behind it, nor that there are tools with bodies. In reading order: the
//! [`Record`] of an operation, the pure [`transition()`] that moves it, the [`Command`]s a store applies, how a
//! reservation is [`decide`]d, the [`Store`] trait, and the front that callers talk to: a queue, a thread that commits
//! what waits together, the leases of those who run, and who waits for others.

mod batch;
mod command;
pub mod course;
mod decide;
mod error;
mod front;
mod lease;
mod record;
mod running;
mod shared;
mod store;
mod tallies;
mod transition;
mod unsettled;
mod view;
mod waiting;

pub use command::{
    Alias, Answer, Budget, Command, Conflict, ConflictKind, Ending, Grant, Hold, Link, LinkKind, PurgeReport, Reply,
    Reserve, Reserved, Settle, Settled, Tally,
};
pub use decide::{Decision, Match, decide};
pub use error::{Aftermath, LedgerError, StoreError, StoreErrorKind};
pub use record::{Drifted, Record, State, Stored, StoredKind, first_call};
pub use store::{BoxFuture, Find, Flow, Found, Reader, Store};
pub use transition::{Event, Illegal, Moved, Standing, transition};
pub use unsettled::{
    BeginReconcile, Begun, Bound, Evidence, Finding, Judge, Judged, Resolution, Resolve, Resolved, Silent, Step,
    Witnessed,
};
pub use view::{Detail, Happened, Listing, Said, Sweep, Swept, Tried};

pub use crate::{
    identity::{Digest, Identity, Scope, Tool},
    tool::AfterRetention,
};

pub(crate) use decide::{NO_GENERATION, reworded, usable};
pub(crate) use front::{Busy, Ledger, Taken};
pub(crate) use lease::{End, Holding};
pub(crate) use waiting::Pause;
