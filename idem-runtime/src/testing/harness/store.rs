//! A store whose reads and commits are checkpoints.
//!
//! Must not decide anything: what it lets through, the real store behind it carries out.

use std::sync::Arc;

use crate::{
    Clock, OperationId, Tenant, Timestamp,
    ledger::{
        Aftermath, BoxFuture, Command, Detail, Drifted, Find, Flow, Listing, Match, Reader, Record, Reply, Reserved,
        Store, StoreError, StoreErrorKind, Stored, StoredKind, Sweep, Swept,
    },
    testing::faults::{Checkpoint, Fault, Line},
};

/// What else a store does to what it is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Quirks {
    /// A process that is killed at a commit dies before it, not after.
    pub(super) dies_before: bool,
    /// What it keeps of results nobody can read any more.
    pub(super) garbles_results: bool,
}

/// A store on a line.
#[derive(Debug)]
pub(super) struct Standing<S> {
    inner: S,
    line: Arc<Line>,
    quirks: Quirks,
}

impl<S: Store> Standing<S> {
    pub(super) fn new(inner: S, line: &Arc<Line>, quirks: Quirks) -> Self {
        Self { inner, line: Arc::clone(line), quirks }
    }

    async fn standing(&mut self, commands: &[Command], now: Timestamp) -> Result<Vec<Reply>, StoreError> {
        let reserves = commands.iter().any(|command| matches!(command, Command::Reserve(_)));
        let settles = commands.iter().any(|command| matches!(command, Command::Settle(_)));
        let at = if reserves && self.line.armed(Checkpoint::Reserve).is_some() {
            Checkpoint::Reserve
        } else if settles && self.line.armed(Checkpoint::PersistResult).is_some() {
            Checkpoint::PersistResult
        } else {
            return self.inner.apply(commands, now).await;
        };
        if self.line.armed(at) == Some(Fault::Kill) {
            return self.dies(at, commands, now).await;
        }
        match self.line.strikes(at) {
            Some(Fault::Error) => Err(error(StoreErrorKind::Full, Aftermath::Nothing, "no space left on the device")),
            Some(Fault::Reset) => Err(error(StoreErrorKind::Other, Aftermath::Unknown, "connection reset by peer")),
            Some(Fault::LostResponse) => {
                self.inner.apply(commands, now).await?;
                Err(error(StoreErrorKind::Other, Aftermath::Unknown, "the answer was lost"))
            }
            Some(Fault::DuplicateDelivery) => {
                let replies = self.inner.apply(commands, now).await?;
                self.inner.apply(commands, now).await?;
                Ok(replies)
            }
            Some(Fault::Timeout | Fault::Cancel) => {
                // The disk hangs until the test lets it go on; only the ledger's own thread waits for it.
                match self.inner.flow() {
                    Flow::Blocking => self.line.gate.pass_blocking(),
                    Flow::Driven => self.line.gate.pass().await,
                }
                self.inner.apply(commands, now).await
            }
            Some(Fault::CorruptResponse | Fault::Panic | Fault::Kill) | None => self.inner.apply(commands, now).await,
        }
    }

    /// The process stands still beside the commit.
    async fn dies(&mut self, at: Checkpoint, commands: &[Command], now: Timestamp) -> Result<Vec<Reply>, StoreError> {
        if self.quirks.dies_before {
            self.line.strikes(at);
        }
        let replies = self.inner.apply(commands, now).await?;
        let granted = replies.iter().any(|reply| matches!(reply, Reply::Reserved(Reserved::Granted(_))));
        if granted || at == Checkpoint::PersistResult {
            self.line.strikes(at);
        }
        Ok(replies)
    }
}

fn error(kind: StoreErrorKind, aftermath: Aftermath, words: &'static str) -> StoreError {
    StoreError::new(kind, aftermath, words)
}

/// A settlement whose result is in a form that no code reads.
fn garbled(command: &Command) -> Command {
    let mut command = command.clone();
    if let Command::Settle(settle) = &mut command
        && let Some(stored) = &mut settle.stored
        && stored.kind == StoredKind::Value
    {
        *stored = Stored { kind: StoredKind::Value, bytes: Arc::from(&b"{\"form\": an older one"[..]) };
    }
    command
}

impl<S: Store> Store for Standing<S> {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        Box::pin(async move {
            if self.quirks.garbles_results {
                let commands: Vec<Command> = commands.iter().map(garbled).collect();
                return self.standing(&commands, now).await;
            }
            self.standing(commands, now).await
        })
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(Reading { inner: self.inner.reader(), line: Arc::clone(&self.line) })
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        self.inner.clock()
    }

    fn flow(&self) -> Flow {
        self.inner.flow()
    }

    fn close(&mut self) {
        self.inner.close();
    }
}

/// A reader on a line: what a call looks up before anything is reserved is a checkpoint.
#[derive(Debug)]
struct Reading {
    inner: Arc<dyn Reader>,
    line: Arc<Line>,
}

impl Reading {
    async fn strike(&self) -> Result<(), StoreError> {
        let kind = match self.line.strikes(Checkpoint::Validate) {
            None | Some(Fault::Kill | Fault::DuplicateDelivery) => return Ok(()),
            Some(Fault::Cancel) => {
                self.line.gate.pass().await;
                return Ok(());
            }
            Some(Fault::Panic) => std::panic::resume_unwind(Box::new("the harness's own panic before the reservation")),
            Some(Fault::CorruptResponse) => StoreErrorKind::Corrupt,
            Some(Fault::Error | Fault::Timeout | Fault::Reset | Fault::LostResponse) => StoreErrorKind::Unavailable,
        };
        Err(error(kind, Aftermath::Nothing, "the ledger was read in vain"))
    }
}

impl Reader for Reading {
    fn find<'a>(&'a self, find: Find<'a>) -> BoxFuture<'a, Result<Vec<Option<Match>>, StoreError>> {
        Box::pin(async move {
            self.strike().await?;
            self.inner.find(find).await
        })
    }

    fn show<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.inner.show(tenant, operation)
    }

    fn drifted<'a>(&'a self, tenant: &'a Tenant, records_max: u32) -> BoxFuture<'a, Result<Vec<Drifted>, StoreError>> {
        self.inner.drifted(tenant, records_max)
    }

    fn detail<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Detail>, StoreError>> {
        self.inner.detail(tenant, operation)
    }

    fn list<'a>(&'a self, tenant: &'a Tenant, listing: &'a Listing) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        self.inner.list(tenant, listing)
    }

    fn sweep<'a>(&'a self, sweep: &'a Sweep, now: Timestamp) -> BoxFuture<'a, Result<Swept, StoreError>> {
        self.inner.sweep(sweep, now)
    }
}
