//! The ledger's front: callers send commands and await replies; one thread commits whatever waits together.
//!
//! Must not know which store is behind it or why a command is sent. A caller that vanishes interrupts nothing:
//! its command is carried out, and a grant that nobody takes is given back.

use std::{
    fmt,
    pin::pin,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::sync::oneshot;

use super::{
    command::{Answer, Command, Conflict, PurgeReport, Reply, Reserve, Reserved, Settle, Settled, Tally},
    error::{Aftermath, LedgerError, StoreError, StoreErrorKind},
    lease::Holding,
    running::Running,
    store::{Flow, Reader, Store},
    tallies::Tallies,
};
use crate::{
    clock::Clock,
    config::{BATCH_MAX, Config, InlineCommit},
};

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

/// What the ledger's thread, its callers and the holders of leases share.
pub(crate) struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    core: Mutex<Core>,
    reader: Arc<dyn Reader>,
    clock: Arc<dyn Clock>,
    tallies: Tallies,
    /// Guarded calls under way, to tell an idle ledger from a busy one.
    under_way: AtomicUsize,
    /// When the sleeping thread will look again, in nanoseconds; the smallest number while it is awake.
    wakes_at: AtomicI64,
    flow: Flow,
    inline: InlineCommit,
    run_max: Duration,
    tally_every: Duration,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Envelope>,
    closed: bool,
    /// Something new is due: look when.
    moved: bool,
}

struct Envelope {
    command: Command,
    to: To,
}

/// Whom a reply goes to.
enum To {
    Nobody,
    Reserver { reply: oneshot::Sender<Result<Taken, LedgerError>>, asked: Duration, busy: Busy },
    Settler(oneshot::Sender<Result<Settled, LedgerError>>),
    Purger(oneshot::Sender<Result<PurgeReport, LedgerError>>),
}

/// What only one thread at a time may touch: the store, and who of this process is running.
struct Core {
    store: Box<dyn Store>,
    running: Running<Envelope>,
    /// Settlements that the store refused; tried again until it takes them.
    owed: Vec<Envelope>,
    runtime: Option<tokio::runtime::Runtime>,
}

/// A guarded call under way.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Shared>);

impl UnderWay {
    pub(super) fn begin(shared: &Arc<Shared>) -> Self {
        shared.under_way.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(shared))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Ledger {
    /// Takes over `store` and starts the ledger's thread.
    pub(crate) fn start(store: Box<dyn Store>, clock: Arc<dyn Clock>, config: &Config) -> Result<Self, LedgerError> {
        let failed = |error: std::io::Error| {
            LedgerError::Store(StoreError::new(StoreErrorKind::Unavailable, Aftermath::Nothing, error))
        };
        let flow = store.flow();
        let runtime = match flow {
            Flow::Blocking => None,
            Flow::Driven => Some(tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?),
        };
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            reader: store.reader(),
            core: Mutex::new(Core { store, running: Running::default(), owed: Vec::new(), runtime }),
            clock,
            tallies: Tallies::default(),
            under_way: AtomicUsize::new(0),
            wakes_at: AtomicI64::new(i64::MIN),
            flow,
            inline: config.inline_commit,
            run_max: config.run_max,
            tally_every: config.tally_every,
        });
        let weak = Arc::downgrade(&shared);
        shared.clock.watch(Arc::new(move || {
            if let Some(shared) = weak.upgrade() {
                shared.look_again();
            }
        }));
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("idem-ledger".to_owned()).spawn(move || of_thread.run());
        Ok(Self { shared, thread: Some(thread.map_err(failed)?) })
    }

    pub(crate) fn reader(&self) -> &dyn Reader {
        &*self.shared.reader
    }

    /// Counts a guarded call for as long as the answer lives.
    pub(crate) fn under_way(&self) -> UnderWay {
        UnderWay::begin(&self.shared)
    }

    /// Reserves durably. When this returns a [`Holding`], the reservation is committed.
    pub(crate) async fn reserve(&self, reserve: Arc<Reserve>, busy: Busy) -> Result<Taken, LedgerError> {
        let (reply, taken) = oneshot::channel();
        let to = To::Reserver { reply, asked: self.shared.clock.uptime(), busy };
        self.shared.send(Envelope { command: Command::Reserve(reserve), to });
        taken.await.unwrap_or(Err(LedgerError::Closed))
    }

    /// Removes what retention no longer covers, at most `records_max` records of it.
    pub(crate) async fn purge(&self, records_max: u32, tombstone: Duration) -> Result<PurgeReport, LedgerError> {
        let (reply, purged) = oneshot::channel();
        let command = Command::Purge { records_max, tombstone };
        self.shared.send(Envelope { command, to: To::Purger(reply) });
        purged.await.unwrap_or(Err(LedgerError::Closed))
    }

    /// Puts off writing counts until something else is written, or a while.
    pub(crate) fn tally(&self, tally: Tally) {
        if self.shared.tallies.add(tally) {
            // The first one since the last flush: the thread has to set its timer.
            self.shared.look_again();
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        held(&self.shared.queue).closed = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            // A panic there was reported there; what it left undone reads as unknown, which is the truth.
            let _ = thread.join();
        }
    }
}

/// A mutex whose holder panicked still guards consistent data: every change is made in one piece.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(super) async fn settle(self: &Arc<Self>, settle: Settle) -> Result<Settled, LedgerError> {
        let (reply, settled) = oneshot::channel();
        self.send(Envelope { command: Command::Settle(settle), to: To::Settler(reply) });
        settled.await.unwrap_or(Err(LedgerError::Closed))
    }

    /// Sends a command whose reply nobody awaits.
    pub(super) fn tell(self: &Arc<Self>, command: Command) {
        self.queue(Envelope { command, to: To::Nobody });
    }

    /// Queues a command, or carries it out here and now when nothing else is going on.
    fn send(self: &Arc<Self>, envelope: Envelope) {
        if self.may_commit_inline()
            && let Ok(mut core) = self.core.try_lock()
        {
            self.process(&mut core, vec![envelope]);
            return;
        }
        self.queue(envelope);
    }

    fn queue(self: &Arc<Self>, envelope: Envelope) {
        let closed = {
            let mut queue = held(&self.queue);
            queue.waiting.push(envelope);
            queue.closed
        };
        if closed {
            // The thread may have gone: what is said now still counts.
            self.drain();
        } else {
            self.wake.notify_one();
        }
    }

    /// An idle ledger commits on the caller's thread: two thread switches less. Only where that thread is one of
    /// several workers, so that nothing else of the caller's waits for the sync.
    fn may_commit_inline(&self) -> bool {
        use tokio::runtime::{Handle, RuntimeFlavor};
        self.inline == InlineCommit::WhenIdle
            && self.flow == Flow::Blocking
            && self.under_way.load(Ordering::Relaxed) <= 1
            && Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
            && held(&self.queue).waiting.is_empty()
    }

    /// The ledger's thread.
    fn run(self: &Arc<Self>) {
        loop {
            let (batch, closed) = self.next();
            let mut core = held(&self.core);
            if !batch.is_empty() {
                self.process(&mut core, batch);
            }
            self.do_what_is_due(&mut core, closed);
            if closed && held(&self.queue).waiting.is_empty() {
                core.store.close();
                return;
            }
            if held(&self.queue).waiting.is_empty() {
                core.store.rest();
            }
        }
    }

    /// Wakes the thread so that it finds out anew what is due when.
    fn look_again(&self) {
        held(&self.queue).moved = true;
        self.wake.notify_one();
    }

    /// Waits for commands, or until something is due.
    fn next(&self) -> (Vec<Envelope>, bool) {
        // Whatever becomes due from here on wakes the thread; what was due before is found below.
        self.wakes_at.store(i64::MAX, Ordering::SeqCst);
        let due_in = self.due_in();
        if let Some(span) = due_in {
            self.wakes_at.store(self.clock.now().after(span).as_nanos(), Ordering::SeqCst);
        }
        let mut queue = held(&self.queue);
        if queue.waiting.is_empty() && !queue.closed && !queue.moved {
            queue = match due_in {
                Some(span) => {
                    self.wake.wait_timeout(queue, span).map_or_else(|poison| poison.into_inner().0, |it| it.0)
                }
                None => self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        }
        self.wakes_at.store(i64::MIN, Ordering::SeqCst);
        queue.moved = false;
        let some = queue.waiting.len().min(BATCH_MAX);
        (queue.waiting.drain(..some).collect(), queue.closed)
    }

    fn due_in(&self) -> Option<Duration> {
        let core = held(&self.core);
        let renewal = core.running.renewal_due().map(|at| at.since(self.clock.now()));
        let later = !self.tallies.is_empty() || !core.owed.is_empty();
        let tally = later.then_some(self.tally_every);
        renewal.into_iter().chain(tally).min()
    }

    fn drain(self: &Arc<Self>) {
        let Ok(mut core) = self.core.try_lock() else {
            return;
        };
        let batch: Vec<Envelope> = held(&self.queue).waiting.drain(..).collect();
        if !batch.is_empty() {
            self.process(&mut core, batch);
        }
    }

    /// Renewals, settlements that the store refused before, and counts that were put off long enough.
    fn do_what_is_due(self: &Arc<Self>, core: &mut Core, closing: bool) {
        let now = self.clock.now();
        let holds = core.running.due(now, self.run_max);
        let mut batch = std::mem::take(&mut core.owed);
        if !holds.is_empty() {
            batch.push(Envelope { command: Command::Renew(holds), to: To::Nobody });
        }
        let tallies = if closing { self.tallies.take() } else { self.tallies.take_if_older(self.tally_every) };
        if let Some(tallies) = tallies {
            batch.push(Envelope { command: Command::Tally(tallies), to: To::Nobody });
        }
        if !batch.is_empty() {
            self.process(core, batch);
        }
    }

    /// Commits a batch and answers everybody in it.
    fn process(self: &Arc<Self>, core: &mut Core, mut batch: Vec<Envelope>) {
        if batch.iter().any(|envelope| matches!(envelope.command, Command::Settle(_)))
            && let Some(tallies) = self.tallies.take()
        {
            batch.push(Envelope { command: Command::Tally(tallies), to: To::Nobody });
        }
        let (commands, to): (Vec<Command>, Vec<To>) =
            batch.into_iter().map(|Envelope { command, to }| (command, to)).unzip();
        match self.apply(core, &commands) {
            Ok(replies) => {
                for ((command, to), reply) in commands.into_iter().zip(to).zip(replies) {
                    self.answer(core, command, to, reply);
                }
            }
            // One command may be to blame: without it the others need not fail.
            Err(error) if error.aftermath() == Aftermath::Nothing && commands.len() > 1 => {
                for (command, to) in commands.into_iter().zip(to) {
                    match self.apply(core, std::slice::from_ref(&command)).map(|mut replies| replies.pop()) {
                        Ok(Some(reply)) => self.answer(core, command, to, reply),
                        Ok(None) => {}
                        Err(error) => fail(core, command, to, &error),
                    }
                }
            }
            Err(error) => {
                commands.into_iter().zip(to).for_each(|(command, to)| fail(core, command, to, &error));
            }
        }
    }

    fn apply(&self, core: &mut Core, commands: &[Command]) -> Result<Vec<Reply>, StoreError> {
        let now = self.clock.now();
        let Core { store, runtime, .. } = core;
        let applied = store.apply(commands, now);
        match runtime {
            Some(runtime) => runtime.block_on(applied),
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

    fn answer(self: &Arc<Self>, core: &mut Core, command: Command, to: To, reply: Reply) {
        match (command, to, reply) {
            (Command::Reserve(reserve), To::Reserver { reply, asked, busy }, Reply::Reserved(reserved)) => {
                self.answer_reserver(core, reserve, reserved, reply, asked, busy);
            }
            (Command::Settle(settle), to, Reply::Settled(settled)) => {
                // Whoever waited for this attempt asks again: the answer is now there.
                for waiting in core.running.ended(settle.row, settle.fence) {
                    held(&self.queue).waiting.push(waiting);
                }
                self.wake.notify_one();
                if let To::Settler(reply) = to {
                    // A caller that has gone does not need to know.
                    let _ = reply.send(Ok(settled));
                }
            }
            (Command::Renew(_), _, Reply::Renewed { lost }) => {
                for row in lost {
                    tracing::warn!(row, "a lease could not be renewed: another event moved the operation on");
                    core.running.lost(row);
                }
            }
            (Command::Purge { .. }, To::Purger(reply), Reply::Purged(report)) => {
                let _ = reply.send(Ok(report));
            }
            // A tally is answered to nobody; any other pair would be a store's mistake, and silence is its answer.
            _ => {}
        }
    }

    fn answer_reserver(
        self: &Arc<Self>,
        core: &mut Core,
        reserve: Arc<Reserve>,
        reserved: Reserved,
        reply: oneshot::Sender<Result<Taken, LedgerError>>,
        asked: Duration,
        busy: Busy,
    ) {
        let taken = match reserved {
            Reserved::Granted(grant) => {
                let renew_at = core.running.begin(&grant, reserve.lease, self.clock.now());
                if renew_at.as_nanos() < self.wakes_at.load(Ordering::SeqCst) {
                    self.look_again();
                }
                let (tenant, lease) = (reserve.tenant.clone(), reserve.lease);
                let holding = Holding::new(Arc::clone(self), tenant, grant, asked, lease);
                Taken::Holding(Box::new(holding))
            }
            Reserved::Found(answer) => {
                let row = answer.record.row;
                if busy == Busy::Park && core.running.has(row, answer.record.fence) {
                    let to = To::Reserver { reply, asked, busy };
                    core.running.park(row, Envelope { command: Command::Reserve(reserve), to });
                    return;
                }
                Taken::Found(answer)
            }
            Reserved::Refused(conflict) => Taken::Refused(conflict),
        };
        // A caller that has gone drops its holding, and so gives the attempt back.
        drop(reply.send(Ok(taken)));
    }
}

/// Tells whoever sent `command` that it was not carried out.
fn fail(core: &mut Core, command: Command, to: To, error: &StoreError) {
    let told = LedgerError::Store(error.clone());
    match to {
        To::Reserver { reply, .. } => drop(reply.send(Err(told))),
        To::Purger(reply) => drop(reply.send(Err(told))),
        To::Settler(reply) => {
            drop(reply.send(Err(told)));
            core.owed.push(Envelope { command, to: To::Nobody });
        }
        To::Nobody => match command {
            Command::Settle(_) => core.owed.push(Envelope { command, to: To::Nobody }),
            // Renewals come round again; counts are lost with a word in the log.
            _ => tracing::warn!(%error, "the ledger could not write what nobody waits for"),
        },
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("flow", &self.flow).finish_non_exhaustive()
    }
}
