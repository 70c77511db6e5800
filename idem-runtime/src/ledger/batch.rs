//! One batch: committed together, then everybody in it is answered.
//!
//! Must not know where commands come from, nor when.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::sync::oneshot;

use super::{
    command::{Command, Reply, Reserve, Reserved, Settled},
    error::{Aftermath, LedgerError, StoreError, StoreErrorKind},
    front::{Busy, Taken},
    lease::Holding,
    record::State,
    running::Running,
    shared::Shared,
    store::{BoxFuture, Flow, Store},
};
use crate::clock::Timestamp;

/// A command, and whom its reply goes to.
pub(super) struct Envelope {
    pub(super) command: Command,
    pub(super) to: To,
}

/// Whom a reply goes to.
pub(super) enum To {
    Nobody,
    Reserver {
        reply: oneshot::Sender<Result<Taken, LedgerError>>,
        asked: Duration,
        busy: Busy,
    },
    Settler(oneshot::Sender<Result<Settled, LedgerError>>),
    /// Whoever asks for anything else.
    Asker(oneshot::Sender<Result<Reply, LedgerError>>),
}

/// Who of this process is running, and what the store owes.
#[derive(Default)]
pub(super) struct Core {
    pub(super) running: Running<Envelope>,
    /// Settlements that the store refused; tried again until it takes them.
    pub(super) owed: Vec<Envelope>,
}

/// A way into the ledger: a store, and what drives it. One batch at a time.
pub(super) struct Lane {
    pub(super) store: Box<dyn Store>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Lane {
    pub(super) fn new(store: Box<dyn Store>) -> std::io::Result<Self> {
        let runtime = match store.flow() {
            Flow::Blocking => None,
            Flow::Driven => Some(tokio::runtime::Builder::new_current_thread().enable_all().build()?),
        };
        Ok(Self { store, runtime })
    }

    /// Whether it can take a batch.
    pub(super) fn is_ready(&mut self) -> bool {
        let Self { store, runtime } = self;
        runtime.as_ref().is_none_or(|runtime| driven(runtime, store.ready()))
    }

    fn apply(&mut self, commands: &[Command], now: Timestamp) -> Result<Vec<Reply>, StoreError> {
        let Self { store, runtime } = self;
        let applied = store.apply(commands, now);
        match runtime {
            Some(runtime) => driven(runtime, applied),
            None => match pin!(applied).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(applied) => applied,
                Poll::Pending => Err(StoreError::new(
                    StoreErrorKind::Other,
                    Aftermath::Unknown,
                    "a store that says it blocks did not finish when it was polled",
                )),
            },
        }
    }
}

impl Shared {
    /// Commits a batch and answers everybody in it.
    pub(super) fn process(self: &Arc<Self>, lane: &mut Lane, mut batch: Vec<Envelope>) {
        if let Some(tallies) = self.tallies_for(&batch) {
            // Before everything else: an identity that was put off must be found by the reservations of this batch.
            batch.insert(0, Envelope { command: Command::Tally(tallies), to: To::Nobody });
        }
        let (commands, to): (Vec<Command>, Vec<To>) =
            batch.into_iter().map(|Envelope { command, to }| (command, to)).unzip();
        match self.apply(lane, &commands) {
            Ok(replies) => {
                for ((command, to), reply) in commands.into_iter().zip(to).zip(replies) {
                    self.answer(command, to, reply);
                }
            }
            // One command may be to blame: without it the others need not fail.
            Err(error) if error.aftermath() == Aftermath::Nothing && commands.len() > 1 => {
                for (command, to) in commands.into_iter().zip(to) {
                    match self.apply(lane, std::slice::from_ref(&command)).map(|mut replies| replies.pop()) {
                        Ok(Some(reply)) => self.answer(command, to, reply),
                        Ok(None) => {}
                        Err(error) => self.fail(command, to, &error),
                    }
                }
            }
            Err(error) => {
                for (command, to) in commands.into_iter().zip(to) {
                    // It may have been carried out. A reservation says so itself when it is sent again: it has a nonce.
                    match self.again(lane, &command, &error) {
                        Some(reply) => self.answer(command, to, reply),
                        None => self.fail(command, to, &error),
                    }
                }
            }
        }
        let owes = !self.core().owed.is_empty();
        if owes {
            // Where this is not the ledger's thread, that one has to know.
            self.owes();
        }
    }

    /// The answer to a reservation whose reply was lost.
    fn again(&self, lane: &mut Lane, command: &Command, error: &StoreError) -> Option<Reply> {
        let lost = matches!(command, Command::Reserve(_)) && error.aftermath() == Aftermath::Unknown;
        lost.then(|| self.apply(lane, std::slice::from_ref(command)).ok()?.pop()).flatten()
    }

    fn apply(&self, lane: &mut Lane, commands: &[Command]) -> Result<Vec<Reply>, StoreError> {
        lane.apply(commands, self.clock().now())
    }

    fn answer(self: &Arc<Self>, command: Command, to: To, reply: Reply) {
        match (command, to, reply) {
            (Command::Reserve(reserve), To::Reserver { reply, asked, busy }, Reply::Reserved(reserved)) => {
                self.answer_reserver(reserve, reserved, reply, asked, busy);
            }
            (Command::Settle(settle), to, Reply::Settled(settled)) => {
                // Whoever waited for this attempt asks again: the answer is now there.
                let waiting = self.core().running.ended(settle.row, settle.fence);
                self.requeue(waiting);
                if let To::Settler(reply) = to {
                    // A caller that has gone does not need to know.
                    let _ = reply.send(Ok(settled));
                }
            }
            (Command::Renew(holds), _, Reply::Renewed { lost }) => {
                tracing::debug!(leases = holds.len(), lost = lost.len(), "renewed the leases of what is running");
                for row in lost {
                    tracing::warn!(row, "a lease could not be renewed: another event moved the operation on");
                    self.core().running.lost(row);
                }
            }
            (_, To::Asker(reply), answer) => {
                let _ = reply.send(Ok(answer));
            }
            // A tally is answered to nobody; any other pair would be a store's mistake, and silence is its answer.
            _ => {}
        }
    }

    fn answer_reserver(
        self: &Arc<Self>,
        reserve: Arc<Reserve>,
        reserved: Reserved,
        reply: oneshot::Sender<Result<Taken, LedgerError>>,
        asked: Duration,
        busy: Busy,
    ) {
        let taken = match reserved {
            Reserved::Granted(grant) => {
                let now = self.clock().now();
                let renew_at = self.core().running.begin(&grant, reserve.lease, now);
                self.due_at(renew_at);
                let holding = Holding::new(Arc::clone(self), reserve, grant, asked);
                Taken::Holding(Box::new(holding))
            }
            Reserved::Found(answer) => {
                let row = answer.record.row;
                if busy == Busy::Park && answer.record.state == State::InProgress {
                    let mut core = self.core();
                    if core.running.has(row, answer.record.fence) {
                        let to = To::Reserver { reply, asked, busy };
                        core.running.park(row, Envelope { command: Command::Reserve(reserve), to });
                        return;
                    }
                }
                Taken::Found(answer)
            }
            Reserved::Refused(conflict) => Taken::Refused(conflict),
        };
        // A caller that has gone drops its holding, and so gives the attempt back.
        drop(reply.send(Ok(taken)));
    }

    /// Tells whoever sent `command` that it was not carried out.
    fn fail(&self, command: Command, to: To, error: &StoreError) {
        let told = LedgerError::Store(error.clone());
        match to {
            To::Reserver { reply, .. } => drop(reply.send(Err(told))),
            To::Asker(reply) => drop(reply.send(Err(told))),
            To::Settler(reply) => {
                drop(reply.send(Err(told)));
                self.core().owed.push(Envelope { command, to: To::Nobody });
            }
            To::Nobody if matches!(command, Command::Settle(_)) => {
                self.core().owed.push(Envelope { command, to: To::Nobody });
            }
            // Renewals come round again; counts are lost with a word in the log.
            To::Nobody => tracing::warn!(%error, "the ledger could not write what nobody waits for"),
        }
    }
}

/// Waits for a store that needs the ledger's runtime. Once the ledger's thread has ended, that is done on a caller's thread,
/// which may belong to another runtime, and none may wait inside of another.
fn driven<T: Send>(runtime: &tokio::runtime::Runtime, applied: BoxFuture<'_, T>) -> T {
    if tokio::runtime::Handle::try_current().is_err() {
        return runtime.block_on(applied);
    }
    let waited = std::thread::scope(|scope| scope.spawn(|| runtime.block_on(applied)).join());
    waited.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl Drop for Lane {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // The last holder may be a caller's task, where nothing may wait for threads to end.
            runtime.shutdown_background();
        }
    }
}
