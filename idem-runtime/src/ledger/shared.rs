//! What the ledger's thread, its callers and the holders of leases share: the queue of commands, and the thread that
//! works it off.
//!
//! Must not know what a command does.

use std::{
    fmt,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use tokio::sync::oneshot;

use super::{
    batch::{Core, Envelope, Lane, To},
    command::{Command, Reserve, Settle, Settled, Tally},
    error::LedgerError,
    store::{Flow, Found, Reader, Store},
    tallies::Tallies,
    waiting::{Pause, Waiting},
};
use crate::{
    clock::{Clock, Timestamp},
    config::{BATCH_MAX, Config, InlineCommit},
    id::Tenant,
};

/// What the ledger's thread, its callers and the holders of leases share.
pub(crate) struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    wake_beside: Condvar,
    core: Mutex<Core>,
    /// The ledger's thread's own, or whoever's that stands in for it.
    lane: Mutex<Lane>,
    reader: Arc<dyn Reader>,
    waiting: Waiting,
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
    thread: Thread,
    beside: Thread,
}

/// What the ledger's thread is doing.
#[derive(Debug, Default, PartialEq, Eq)]
enum Thread {
    /// Working: it will look at the queue before it sleeps.
    #[default]
    Awake,
    /// Waiting to be woken. A wake-up is a system call, so one is enough.
    Asleep,
    /// It has ended: whoever sends a command carries it out.
    Gone,
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

/// So many commands are enough for two: fewer wait for the ledger's thread, and make one batch instead of two.
const BESIDE_FROM: usize = 32;

/// How long the thread beside leaves the work alone when its store could not take any.
const BESIDE_PAUSE: Duration = Duration::from_secs(10);

/// A mutex whose holder panicked still guards consistent data: every change is made in one piece.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// The shared part of a ledger over `store`.
    pub(super) fn new(store: Box<dyn Store>, clock: Arc<dyn Clock>, config: &Config) -> std::io::Result<Self> {
        let flow = store.flow();
        Ok(Self {
            queue: Mutex::default(),
            wake: Condvar::new(),
            wake_beside: Condvar::new(),
            reader: store.reader(),
            waiting: Waiting::new(),
            core: Mutex::default(),
            lane: Mutex::new(Lane::new(store)?),
            clock,
            tallies: Tallies::default(),
            under_way: AtomicUsize::new(0),
            wakes_at: AtomicI64::new(i64::MIN),
            flow,
            inline: config.inline_commit,
            run_max: config.run_max,
            tally_every: config.tally_every,
        })
    }

    /// What becomes due because the clock was moved is noticed at once.
    pub(super) fn watch_clock(self: &Arc<Self>) {
        let weak = Arc::downgrade(self);
        self.clock.watch(Arc::new(move || {
            if let Some(shared) = weak.upgrade() {
                shared.look_again();
            }
        }));
    }

    pub(super) fn reader(&self) -> &dyn Reader {
        &*self.reader
    }

    pub(super) async fn find_later(&self, reserve: &Arc<Reserve>, pause: Pause) -> Found {
        self.waiting.find(&self.reader, reserve, pause).await
    }

    /// Puts off writing counts until something else is written, or a while.
    pub(super) fn tally(&self, tally: Tally) {
        if self.tallies.add(tally) {
            // The first one since the last flush: the thread has to set its timer.
            self.look_again();
        }
    }

    /// Counts a replay that brought nothing new.
    pub(super) fn replayed(&self, tenant: Tenant, row: i64) {
        if self.tallies.replayed(tenant, row) {
            self.look_again();
        }
    }

    /// What was put off and may ride in a batch: with whatever is settled there is a commit anyway; and a reservation
    /// must find the identities that were put off.
    pub(super) fn tallies_for(&self, batch: &[Envelope]) -> Option<Vec<Tally>> {
        let settles = batch.iter().any(|envelope| matches!(envelope.command, Command::Settle(_)));
        let reserves = batch.iter().any(|envelope| matches!(envelope.command, Command::Reserve(_)));
        (settles || (reserves && self.tallies.name_anything())).then(|| self.tallies.take()).flatten()
    }

    /// No more commands are awaited: the thread ends when the queue is empty.
    pub(super) fn shut(&self) {
        let mut queue = held(&self.queue);
        queue.closed = true;
        self.wake(queue);
        self.wake_beside.notify_one();
    }

    /// Those who waited for an attempt that has ended ask again: the answer is there now.
    pub(super) fn requeue(&self, waiting: Vec<Envelope>) {
        if !waiting.is_empty() {
            let mut queue = held(&self.queue);
            queue.waiting.extend(waiting);
            self.wake(queue);
        }
    }

    /// Something newly becomes due at `at`.
    pub(super) fn due_at(&self, at: Timestamp) {
        if at.as_nanos() < self.wakes_at.load(Ordering::SeqCst) {
            self.look_again();
        }
    }

    /// There are settlements to try again before long.
    pub(super) fn owes(&self) {
        self.due_at(self.clock.now().after(self.tally_every));
    }

    /// For a moment: whoever holds it sends nothing, and drops nothing that might.
    pub(super) fn core(&self) -> MutexGuard<'_, Core> {
        held(&self.core)
    }

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
    pub(super) fn send(self: &Arc<Self>, envelope: Envelope) {
        if self.may_commit_inline()
            && let Ok(mut lane) = self.lane.try_lock()
        {
            self.process(&mut lane, vec![envelope]);
            return;
        }
        self.queue(envelope);
    }

    fn queue(self: &Arc<Self>, envelope: Envelope) {
        let mut queue = held(&self.queue);
        queue.waiting.push(envelope);
        if queue.thread == Thread::Gone {
            drop(queue);
            // What is said now still counts.
            self.drain();
        } else {
            self.wake(queue);
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

    /// The ledger's thread. At the end it waits for the one beside it.
    pub(super) fn run(self: &Arc<Self>, mut beside: Option<JoinHandle<()>>) {
        loop {
            let (batch, closed) = self.next();
            if closed && let Some(beside) = beside.take() {
                // A panic there was reported there; what it left undone reads as unknown, which is the truth.
                let _ = beside.join();
            }
            let mut lane = held(&self.lane);
            if !batch.is_empty() {
                self.process(&mut lane, batch);
            }
            self.do_what_is_due(&mut lane, closed);
            let mut queue = held(&self.queue);
            if !queue.waiting.is_empty() {
                continue;
            }
            if closed {
                queue.thread = Thread::Gone;
                drop(queue);
                lane.store.close();
                return;
            }
        }
    }

    /// The thread beside it, which takes what has gathered while that one is at work. What is left at the end it leaves.
    pub(super) fn run_beside(self: &Arc<Self>, mut lane: Lane) {
        loop {
            let mut queue = held(&self.queue);
            while !queue.closed && queue.waiting.len() < BESIDE_FROM {
                queue.beside = Thread::Asleep;
                queue = self.wake_beside.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            queue.beside = Thread::Awake;
            if queue.closed {
                drop(queue);
                lane.store.close();
                return;
            }
            drop(queue);
            if lane.is_ready() {
                let some = self.some();
                self.process(&mut lane, some);
            } else {
                let queue = held(&self.queue);
                drop(self.wake_beside.wait_timeout_while(queue, BESIDE_PAUSE, |queue| !queue.closed));
            }
        }
    }

    /// As many commands as go into a batch.
    fn some(&self) -> Vec<Envelope> {
        let mut queue = held(&self.queue);
        let some = queue.waiting.len().min(BATCH_MAX);
        queue.waiting.drain(..some).collect()
    }

    /// Wakes the thread so that it finds out anew what is due when.
    fn look_again(&self) {
        let mut queue = held(&self.queue);
        queue.moved = true;
        self.wake(queue);
    }

    /// Wakes the thread if it sleeps; the one beside it, if there is enough for two.
    fn wake(&self, mut queue: MutexGuard<'_, Queue>) {
        if queue.thread == Thread::Asleep {
            queue.thread = Thread::Awake;
            drop(queue);
            self.wake.notify_one();
        } else if queue.beside == Thread::Asleep && queue.waiting.len() >= BESIDE_FROM {
            queue.beside = Thread::Awake;
            drop(queue);
            self.wake_beside.notify_one();
        }
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
            queue.thread = Thread::Asleep;
            queue = match due_in {
                Some(span) => {
                    self.wake.wait_timeout(queue, span).map_or_else(|poison| poison.into_inner().0, |it| it.0)
                }
                None => self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        }
        self.wakes_at.store(i64::MIN, Ordering::SeqCst);
        queue.thread = Thread::Awake;
        queue.moved = false;
        let closed = queue.closed;
        drop(queue);
        (self.some(), closed)
    }

    fn due_in(&self) -> Option<Duration> {
        let core = self.core();
        let renewal = core.running.renewal_due().map(|at| at.since(self.clock.now()));
        let later = !self.tallies.is_empty() || !core.owed.is_empty();
        let tally = later.then_some(self.tally_every);
        renewal.into_iter().chain(tally).min()
    }

    /// Works the queue off on this thread. Whoever finds another one at it may leave: that one looks again when it
    /// has let go.
    fn drain(self: &Arc<Self>) {
        while !held(&self.queue).waiting.is_empty() {
            let Ok(mut lane) = self.lane.try_lock() else { return };
            let batch: Vec<Envelope> = held(&self.queue).waiting.drain(..).collect();
            self.process(&mut lane, batch);
        }
    }

    /// Renewals, settlements that the store refused before, and counts that were put off long enough.
    fn do_what_is_due(self: &Arc<Self>, lane: &mut Lane, closing: bool) {
        let now = self.clock.now();
        let (holds, mut batch) = {
            let mut core = self.core();
            (core.running.due(now, self.run_max), std::mem::take(&mut core.owed))
        };
        if !holds.is_empty() {
            batch.push(Envelope { command: Command::Renew(holds), to: To::Nobody });
        }
        let tallies = if closing { self.tallies.take_all() } else { self.tallies.take_if_older(self.tally_every) };
        if let Some(tallies) = tallies {
            batch.push(Envelope { command: Command::Tally(tallies), to: To::Nobody });
        }
        if !batch.is_empty() {
            self.process(lane, batch);
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("flow", &self.flow).finish_non_exhaustive()
    }
}
