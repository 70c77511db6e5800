//! The ledger's front: callers send commands and await replies; one thread commits whatever waits together.
//!
//! Must not know which store is behind it or why a command is sent. A caller that vanishes interrupts nothing:
//! its command is carried out, and a grant that nobody takes is given back.

use std::{
    sync::Arc,
    thread::{self, JoinHandle},
};

use tokio::sync::oneshot;

use super::{
    batch::{Envelope, Lane, To},
    command::{Answer, Command, Conflict, Reply, Reserve, Tally},
    decide::Match,
    error::{Aftermath, LedgerError, StoreError, StoreErrorKind},
    lease::Holding,
    shared::{Shared, UnderWay},
    store::{Reader, Store},
    waiting::Pause,
};
use crate::{clock::Clock, config::Config, id::Tenant};

/// What a reservation gave its caller.
#[derive(Debug)]
pub(crate) enum Taken {
    /// The next attempt.
    Holding(Box<Holding>),
    /// The operation's record.
    Found(Answer),
    /// Nothing: the call does not fit.
    Refused(Conflict),
}

/// What a reservation does when an attempt of this process is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    /// Waits until it has ended.
    Park,
    /// Is answered at once.
    Tell,
}

/// Owns the ledger's thread; the thread ends with it.
#[derive(Debug)]
pub(crate) struct Ledger {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Ledger {
    /// Takes over `store` and starts the ledger's thread.
    pub(crate) fn start(store: Box<dyn Store>, clock: Arc<dyn Clock>, config: &Config) -> Result<Self, LedgerError> {
        let failed = |error: std::io::Error| {
            LedgerError::Store(StoreError::new(StoreErrorKind::Unavailable, Aftermath::Nothing, error))
        };
        let beside = store.twin().map(Lane::new).transpose().map_err(failed)?;
        let shared = Arc::new(Shared::new(store, clock, config).map_err(failed)?);
        shared.watch_clock();
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let beside = beside.map(|lane| {
            let of_thread = Arc::clone(&shared);
            named("idem-beside").spawn(move || of_thread.run_beside(lane))
        });
        let beside = beside.transpose().map_err(failed)?;
        let of_thread = Arc::clone(&shared);
        let thread = named("idem-ledger").spawn(move || of_thread.run(beside));
        Ok(Self { shared, thread: Some(thread.map_err(failed)?) })
    }

    pub(crate) fn reader(&self) -> &dyn Reader {
        self.shared.reader()
    }

    /// What the identities of `reserve` lead to after `pause`: one query for all of this process who wait so.
    pub(crate) async fn find_later(
        &self,
        reserve: &Arc<Reserve>,
        pause: Pause,
    ) -> Result<Vec<Option<Match>>, LedgerError> {
        Ok(self.shared.find_later(reserve, pause).await?)
    }

    /// Counts a guarded call for as long as the answer lives.
    pub(crate) fn under_way(&self) -> UnderWay {
        UnderWay::begin(&self.shared)
    }

    /// Reserves durably. When this returns a [`Holding`], the reservation is committed.
    pub(crate) async fn reserve(&self, reserve: Arc<Reserve>, busy: Busy) -> Result<Taken, LedgerError> {
        let (reply, taken) = oneshot::channel();
        let to = To::Reserver { reply, asked: self.shared.clock().uptime(), busy };
        self.shared.send(Envelope { command: Command::Reserve(reserve), to });
        taken.await.unwrap_or(Err(LedgerError::Closed))
    }

    /// Sends any other command, and waits for what became of it.
    pub(crate) async fn ask(&self, command: Command) -> Result<Reply, LedgerError> {
        let (reply, answer) = oneshot::channel();
        self.shared.send(Envelope { command, to: To::Asker(reply) });
        answer.await.unwrap_or(Err(LedgerError::Closed))
    }

    /// Counts a replay that brought nothing new.
    pub(crate) fn replayed(&self, tenant: Tenant, row: i64) {
        self.shared.replayed(tenant, row);
    }

    /// Puts off writing counts until something else is written, or a while.
    pub(crate) fn tally(&self, tally: Tally) {
        self.shared.tally(tally);
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.shared.shut();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            // A panic there was reported there; what it left undone reads as unknown, which is the truth.
            let _ = thread.join();
        }
    }
}
