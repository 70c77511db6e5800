//! What a backend implements.
//!
//! A store does not know that there is an engine, an agent or a caller that waits: it applies batches and
//! answers reads. `testing::conformance` says what that means, check by check.

use std::{fmt, pin::Pin, sync::Arc};

use super::{
    command::{Command, Reply, Reserve},
    decide::Match,
    error::StoreError,
    record::Drifted,
    view::{Detail, Listing, Sweep, Swept},
};
use crate::{
    clock::{Clock, Timestamp},
    id::{OperationId, Tenant},
    identity::{Digest, Identity},
    ledger::record::Record,
};

/// A future that owns what it needs, as trait objects hand them out.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Durable storage of operations.
///
/// # Contract
///
/// - [`apply`](Self::apply) carries out the commands in order, in **one transaction**, and answers each one.
///   When it returns `Ok`, all of it is durable; with [`Aftermath::Nothing`](super::Aftermath::Nothing),
///   none of it happened.
/// - A reservation is one atomic create-if-absent, by unique constraint, over all of its identities.
/// - Every update is guarded by state and fencing token, and moves as [`transition`](super::transition()) says.
/// - Fencing tokens ascend over the whole ledger and are never given twice, also after a purge.
/// - A batch that changes nothing (replays, refusals) is not committed at all.
pub trait Store: Send + fmt::Debug + 'static {
    /// Applies `commands` at `now` in one transaction; one reply for each, in order.
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>>;

    /// What callers read by, without the ledger's thread.
    fn reader(&self) -> Arc<dyn Reader>;

    /// The clock that judges leases and retention where the application sets none: the one that everybody who shares the
    /// ledger can agree on. `None` is the machine's.
    fn clock(&self) -> Option<Arc<dyn Clock>>;

    /// How [`apply`](Self::apply) waits.
    fn flow(&self) -> Flow;

    /// A second way into the same ledger, where that lets more work be done at once: with a connection of its own, and apart
    /// from this one like another process's. `None`, unless a store says otherwise.
    fn twin(&self) -> Option<Box<dyn Store>> {
        None
    }

    /// Whether it can take a batch now. A [`twin`](Self::twin) that cannot leaves the work to the store that it came from.
    fn ready(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(async { true })
    }

    /// The last words before the process lets go of the store.
    fn close(&mut self);
}

/// How a store waits while it applies a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// It blocks its thread and is ready when first polled; any thread may call it.
    Blocking,
    /// It needs the ledger's runtime.
    Driven,
}

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub struct Find<'a> {
    /// Whose operation it is.
    pub tenant: &'a Tenant,
    /// Digest of the scope.
    pub scope: &'a Digest,
    /// The identities, each with its generation or for the newest.
    pub identities: &'a [Identity],
}

impl<'a> Find<'a> {
    /// What a reservation would look for.
    pub(crate) fn of(reserve: &'a Reserve) -> Self {
        Self { tenant: &reserve.tenant, scope: &reserve.scope.digest, identities: &reserve.identities }
    }
}

/// What each identity of a question leads to, in order.
pub type Found = Result<Vec<Option<Match>>, StoreError>;

/// Reads of what is committed. Never sees an uncommitted or half-applied batch.
pub trait Reader: Send + Sync + fmt::Debug + 'static {
    /// What each identity leads to, in order.
    fn find<'a>(&'a self, find: Find<'a>) -> BoxFuture<'a, Found>;

    /// Answers many questions together, each as if it were asked alone: one that fails is its own failure. What takes one
    /// query or one view of the data has to answer all of them with it; without an implementation they are asked one by one.
    fn find_all<'a>(&'a self, finds: &'a [Find<'a>]) -> BoxFuture<'a, Vec<Found>> {
        Box::pin(async move {
            let mut found = Vec::with_capacity(finds.len());
            for find in finds {
                found.push(self.find(*find).await);
            }
            found
        })
    }

    /// The record of a tenant's operation.
    fn show<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>>;

    /// A tenant's operations that were called with other arguments than they have, newest first.
    fn drifted<'a>(&'a self, tenant: &'a Tenant, records_max: u32) -> BoxFuture<'a, Result<Vec<Drifted>, StoreError>>;

    /// Everything that is kept about a tenant's operation.
    fn detail<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Detail>, StoreError>>;

    /// A tenant's records, in the order of their handles, a page at a time.
    fn list<'a>(&'a self, tenant: &'a Tenant, listing: &'a Listing) -> BoxFuture<'a, Result<Vec<Record>, StoreError>>;

    /// What needs a reconciler at `now`, of all tenants: attempts and reconciliations whose lease has ended, and unknown
    /// outcomes that are due.
    fn sweep<'a>(&'a self, sweep: &'a Sweep, now: Timestamp) -> BoxFuture<'a, Result<Swept, StoreError>>;
}
