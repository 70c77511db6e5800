//! Two stores to which the same happens.
//!
//! Must not know what happens to them, or which the second one is.

use std::{fmt::Debug, sync::Arc};

use idem_runtime::{
    MemoryStore, OperationId, Tenant, Timestamp,
    ledger::{Begun, Command, Detail, Grant, Listing, Reader, Record, Reply, Reserved, Store, Sweep},
};
use idem_tests::{
    home::{Home, Place},
    store::AnyStore,
};
use tokio::runtime::Runtime;

/// A ledger in memory and one elsewhere, to which the same happens.
pub(crate) struct Pair {
    memory: MemoryStore,
    other: AnyStore,
    readers: [Arc<dyn Reader>; 2],
    runtime: Runtime,
    pub(crate) now: Timestamp,
    /// The last token that the memory store gave.
    last_token: i64,
    home: Home,
}

/// What both say where they agree.
pub(crate) fn agreed<T: PartialEq + Debug>(what: &str, [memory, other]: [T; 2]) -> Result<T, String> {
    if memory == other {
        return Ok(memory);
    }
    Err(format!("{what} differs:\n in memory {memory:?}\n elsewhere {other:?}"))
}

impl Pair {
    /// New ones, the second in a home of this kind.
    pub(crate) fn open(place: Place) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let home = place.home().expect("a home");
        let (memory, other) = (MemoryStore::new(), runtime.block_on(home.store()));
        let readers = [memory.reader(), other.reader()];
        let now = Timestamp::from_nanos(1_893_456_000_123_456_789);
        Self { memory, other, readers, runtime, now, last_token: 0, home }
    }

    /// One command, to the memory store alone.
    pub(crate) fn first(&mut self, command: &Command) -> Result<Reply, String> {
        let applied = self.runtime.block_on(self.memory.apply(std::slice::from_ref(command), self.now));
        applied.map_err(|error| format!("the memory store failed to {error}"))?.pop().ok_or("no reply".to_owned())
    }

    /// What the memory store was asked one by one is asked of the other in one batch; the replies have to be the same.
    pub(crate) fn second(&mut self, commands: &[Command], replies: &[Reply]) -> Result<(), String> {
        self.no_gap_before();
        let applied = self.runtime.block_on(self.other.apply(commands, self.now));
        let applied = applied.map_err(|error| format!("the other store failed to {error}"))?;
        for (command, both) in commands.iter().zip(replies.iter().zip(&applied)) {
            let said = [both.0, both.1].map(|reply| format!("{reply:?}"));
            agreed(&format!("the reply to {command:?}"), said)?;
        }
        for reply in replies {
            if let Reply::Reserved(Reserved::Granted(Grant { fence, .. })) | Reply::Begun(Begun::Yours { fence, .. }) =
                reply
            {
                self.last_token = *fence;
            }
        }
        agreed("the number of replies", [replies.len(), applied.len()]).map(drop)
    }

    /// A server draws a batch's tokens in advance and forgets those that it did not need. What is compared here are tokens
    /// without such gaps.
    fn no_gap_before(&self) {
        if self.home.place().is_server() {
            let last = self.last_token;
            let moved = self.home.change(&format!("select setval('idem_fence', greatest({last}, 1), {last} > 0)"));
            moved.expect("the next token");
        }
    }

    /// A record as the memory store shows it.
    pub(crate) fn shown(&self, tenant: &Tenant, operation: OperationId) -> Option<Record> {
        self.runtime.block_on(self.readers[0].show(tenant, operation)).expect("memory is read")
    }

    /// Everything that both keep of an operation.
    pub(crate) fn detail(&self, tenant: &Tenant, operation: OperationId) -> Result<Option<Detail>, String> {
        let read = |reader: &Arc<dyn Reader>| {
            let detail = self.runtime.block_on(reader.detail(tenant, operation)).map_err(|error| error.to_string())?;
            let shown = self.runtime.block_on(reader.show(tenant, operation)).map_err(|error| error.to_string())?;
            agreed(
                "what is shown and what is told in detail",
                [detail.as_ref().map(|detail| detail.record.clone()), shown],
            )?;
            Ok::<_, String>(detail.map(|mut detail| {
                detail.identities.sort_by_key(|alias| (alias.source, alias.digest, alias.generation));
                detail
            }))
        };
        agreed(&format!("{operation}"), [read(&self.readers[0])?, read(&self.readers[1])?])
    }

    /// The handles of a tenant's records, as both list them.
    pub(crate) fn listed(&self, tenant: &Tenant) -> Result<Vec<i64>, String> {
        let listing = Listing { records_max: 1_000, ..Listing::default() };
        let read = |reader: &Arc<dyn Reader>| {
            let listed = self.runtime.block_on(reader.list(tenant, &listing)).map_err(|error| error.to_string())?;
            Ok::<_, String>(listed.iter().map(|record| record.row).collect::<Vec<_>>())
        };
        agreed("the list", [read(&self.readers[0])?, read(&self.readers[1])?])
    }

    /// What both find that needs a reconciler; each goes on where it stopped.
    pub(crate) fn swept(&self, sweeps: &mut [Sweep; 2]) -> Result<Vec<Record>, String> {
        let mut found = Vec::new();
        for (reader, sweep) in self.readers.iter().zip(sweeps) {
            let swept = self.runtime.block_on(reader.sweep(sweep, self.now)).map_err(|error| error.to_string())?;
            *sweep = swept.next;
            let mut due: Vec<Record> = swept.due.into_iter().map(|(_, record)| record).collect();
            due.sort_by_key(|record| record.row);
            found.push(due);
        }
        let other = found.pop().unwrap_or_default();
        agreed("what a walk finds", [found.pop().unwrap_or_default(), other])
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.memory.close();
        self.other.close();
    }
}
