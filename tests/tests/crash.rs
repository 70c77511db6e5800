//! Workers that die, stop or block: `kill -9` at every point of a call, `SIGSTOP`, a runtime that does not move.
//!
//! The worker is a process of its own, this binary run again; where it stands is what it said, and it stands still there
//! until it is killed. What happened is counted in the provider's effect log, which outlives it.

use std::{
    fs,
    path::Path,
    process::Command as Program,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
        mpsc::RecvTimeoutError,
    },
    time::{Duration, Instant},
};

use idem_runtime::{
    Idem, OperationId, Outcome, Refusal, RefusalKind, Tenant, Timestamp, ToolCall, idempotent,
    ledger::{BoxFuture, Command, Record, Reply, Reserved, State, Store, StoreError},
    prepare,
    testing::TestClock,
};

use idem_tests::{
    home::{Home, Place},
    store::AnyStore,
};
use outside::{
    child::{self, Child},
    effects::Effects,
};

mod outside;

const EFFECTS: &str = "effects.log";
const ORDER: &str = "A-1";
const SECOND: Duration = Duration::from_secs(1);

/// The points of a call at which a worker can stand, in order.
const BEFORE_RESERVE: &str = "before the reservation is committed";
const AFTER_RESERVE: &str = "after the reservation is committed";
const BEFORE_EFFECT: &str = "before the effect";
const AFTER_EFFECT: &str = "after the effect";
const BEFORE_SETTLE: &str = "before the settlement is committed";
const AFTER_SETTLE: &str = "after the settlement is committed";
const NOWHERE: &str = "nowhere";

/// Roles beside those that stand at a point.
const BLOCKS: &str = "blocks its runtime";
const NAIVE: &str = "notes down what it did afterwards";

/// The provider, and where the worker that calls it comes to stand.
#[derive(Clone)]
struct Bank {
    effects: Effects,
    stands: String,
}

impl Bank {
    fn of(folder: &Path, stands: &str) -> Self {
        Self { effects: Effects::at(folder.join(EFFECTS)), stands: stands.to_owned() }
    }

    fn pay(&self, order: &str) -> String {
        stand(&self.stands, BEFORE_EFFECT);
        self.effects.happen(order);
        stand(&self.stands, AFTER_EFFECT);
        format!("paid by {}", std::process::id())
    }
}

/// Says that the worker stands here, if it is to, and goes on only when it is told.
fn stand(stands: &str, here: &str) {
    if stands == here {
        child::say("here");
        child::hear();
    }
}

/// Pays; whoever asks while it is paid is told at once.
#[idempotent(scope = "conversation", key = "tool_call_id|args", lease = "30s", on_busy = "tell")]
async fn pay(_call: &ToolCall, order: String, #[idem(state)] bank: Bank) -> Result<String, Refusal> {
    Ok(bank.pay(&order))
}

/// The same under a lease that a test can wait for.
#[idempotent(scope = "conversation", key = "tool_call_id|args", lease = "1s", on_busy = "tell")]
async fn pay_soon(_call: &ToolCall, order: String, #[idem(state)] bank: Bank) -> Result<String, Refusal> {
    Ok(bank.pay(&order))
}

/// The same, and whoever asks meanwhile waits.
#[idempotent(scope = "conversation", key = "tool_call_id|args", lease = "1s")]
async fn pay_slowly(_call: &ToolCall, order: String, #[idem(state)] bank: Bank) -> Result<String, Refusal> {
    Ok(bank.pay(&order))
}

fn call(idem: &Idem) -> ToolCall {
    idem.call().tenant("acme").conversation("c-1").turn(7).tool_call_id("call_1")
}

fn tenant() -> Tenant {
    Tenant::new("acme").expect("a name")
}

fn kind<T: std::fmt::Debug>(outcome: &Outcome<T>) -> &RefusalKind {
    match outcome {
        Outcome::Refused(refusal) => refusal.kind(),
        Outcome::Succeeded(_) => panic!("it should have been refused: {outcome:?}"),
    }
}

/// A store that comes to stand beside a commit.
#[derive(Debug)]
struct Standing {
    inner: AnyStore,
    stands: String,
}

impl Standing {
    async fn apply_standing(&mut self, commands: &[Command], now: Timestamp) -> Result<Vec<Reply>, StoreError> {
        let reserves = commands.iter().any(|command| matches!(command, Command::Reserve(_)));
        let settles = commands.iter().any(|command| matches!(command, Command::Settle(_)));
        if reserves {
            stand(&self.stands, BEFORE_RESERVE);
        }
        if settles {
            stand(&self.stands, BEFORE_SETTLE);
        }
        let replies = self.inner.apply(commands, now).await?;
        if replies.iter().any(|reply| matches!(reply, Reply::Reserved(Reserved::Granted(_)))) {
            stand(&self.stands, AFTER_RESERVE);
        }
        if settles {
            stand(&self.stands, AFTER_SETTLE);
        }
        Ok(replies)
    }
}

impl Store for Standing {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        Box::pin(self.apply_standing(commands, now))
    }

    idem_tests::behind!(inner);
}

/// Plays the part that this process was started for; nothing, when it is the test run itself.
#[test]
fn child_process() {
    let Some((role, folder)) = child::role() else { return };
    match role.as_str() {
        BLOCKS => blocks(&folder),
        NAIVE => naive(&folder),
        stands => works(stands, &folder),
    }
}

/// A worker that stands somewhere. With `soon: ` in front its lease is short.
fn works(role: &str, folder: &Path) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let (stands, soon) = role.strip_prefix("soon: ").map_or((role, false), |stands| (stands, true));
    let inner = runtime.block_on(AnyStore::at(&Home::address_of(folder)));
    let idem = Idem::builder().with_store(Standing { inner, stands: stands.to_owned() }).expect("a ledger");
    let bank = Bank::of(folder, stands);
    let outcome = runtime.block_on(async {
        if soon {
            pay_soon_outcome(&call(&idem), ORDER.to_owned(), bank).await
        } else {
            pay_outcome(&call(&idem), ORDER.to_owned(), bank).await
        }
    });
    child::say(outcome.to_json()["outcome"].as_str().expect("a name"));
}

/// A home in which a worker was killed while it stood somewhere.
fn killed(stands: &str, place: Place) -> Home {
    let home = place.home().expect("a home");
    let mut worker = Child::start(stands, home.folder());
    assert_eq!(worker.hear(), "here");
    // `kill -9`, by its id.
    drop(worker);
    home
}

/// The runtime of a later process, at an instant of the test's choice.
async fn restarted(folder: &Path, clock: &TestClock) -> Idem {
    Idem::builder().clock(clock.clone()).open(&Home::address_of(folder)).await.expect("a ledger")
}

async fn open(folder: &Path) -> Idem {
    Idem::open(&Home::address_of(folder)).await.expect("a ledger")
}

/// The operation of the call, reserved or not.
async fn operation(idem: &Idem, folder: &Path) -> OperationId {
    let bank = Bank::of(folder, NOWHERE);
    prepare(pay(&call(idem), ORDER.to_owned(), bank)).await.expect("a record").operation()
}

async fn record(folder: &Path) -> Option<Record> {
    let idem = open(folder).await;
    let operation = operation(&idem, folder).await;
    idem.show(&tenant(), operation).await.expect("an answer")
}

/// The worker was killed between its two commits, having had so many effects: nobody runs it again, whatever time it is.
async fn unknown_and_never_again(stands: &str, effects: usize) {
    for place in Place::lasting() {
        let home = killed(stands, place);
        let folder = home.folder();
        let bank = Bank::of(folder, NOWHERE);
        assert_eq!(bank.effects.count(ORDER), effects, "when it was killed {stands}: {}", place.name());
        let left = record(folder).await.expect("a record");
        assert_eq!((left.state, left.attempt), (State::InProgress, 1), "killed {stands}");
        let lease_until = left.lease_until.expect("a lease");

        let clock = TestClock::new(lease_until.before(SECOND));
        let idem = restarted(folder, &clock).await;
        let told = pay_outcome(&call(&idem), ORDER.to_owned(), bank.clone()).await;
        assert!(matches!(kind(&told), RefusalKind::InProgress { .. }), "a second before the lease ends: {told:?}");
        clock.advance(SECOND * 2);
        // At once: this clock stands still, and nobody is waited for.
        for wait in [Duration::ZERO, Duration::from_hours(24 * 365)] {
            clock.advance(wait);
            for id in ["call_1", "call_2"] {
                let told = pay_outcome(&call(&idem).tool_call_id(id), ORDER.to_owned(), bank.clone()).await;
                assert_eq!(kind(&told), &RefusalKind::Unknown, "after the lease: {told:?}");
            }
        }
        drop(idem);

        let seen = record(folder).await.expect("a record");
        assert_eq!((seen.state, seen.attempt), (State::OutcomeUnknown, 1), "after another restart, killed {stands}");
        assert_eq!(bank.effects.count(ORDER), effects, "in the end, killed {stands}: {}", place.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r045_killed_after_the_reservation_is_unknown_and_told_at_once() {
    // We spend two commits and no dispatch mark between them, so the answer is unknown and not a second attempt.
    unknown_and_never_again(AFTER_RESERVE, 0).await;
    unknown_and_never_again(BEFORE_EFFECT, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r046_killed_after_the_providers_commit_is_never_run_again() {
    unknown_and_never_again(AFTER_EFFECT, 1).await;
    unknown_and_never_again(BEFORE_SETTLE, 1).await;
    // The control arm: a worker that notes down afterwards what it did.
    let home = killed(NAIVE, Place::File);
    let effects = Effects::at(home.folder().join(EFFECTS));
    assert_eq!(effects.count(ORDER), 1);
    let mut worker = Child::start(NAIVE, home.folder());
    assert_eq!(worker.hear(), "here");
    assert_eq!(effects.count(ORDER), 2, "the control arm must show a duplicate");
}

/// Pays unless it has noted down that it did.
fn naive(folder: &Path) {
    let noted = folder.join("done");
    if !noted.exists() {
        Effects::at(folder.join(EFFECTS)).happen(ORDER);
        stand(NAIVE, NAIVE);
        fs::write(noted, "done").expect("a note");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_reservation_there_was_no_call() {
    for place in Place::lasting() {
        let home = killed(BEFORE_RESERVE, place);
        assert!(record(home.folder()).await.is_none());
        let (idem, bank) = (open(home.folder()).await, Bank::of(home.folder(), NOWHERE));
        let outcome = pay_outcome(&call(&idem), ORDER.to_owned(), bank.clone()).await;
        assert!(outcome.value().is_some() && !outcome.is_replay(), "{outcome:?}");
        assert_eq!(bank.effects.count(ORDER), 1, "{}", place.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_settlement_the_first_result_is_replayed() {
    for place in Place::lasting() {
        let home = killed(AFTER_SETTLE, place);
        let (idem, bank) = (open(home.folder()).await, Bank::of(home.folder(), NOWHERE));
        let outcome = pay_outcome(&call(&idem), ORDER.to_owned(), bank.clone()).await;
        assert!(outcome.is_replay(), "{outcome:?}");
        let by = outcome.value().expect("a result").clone();
        assert_ne!(by, format!("paid by {}", std::process::id()));
        assert_eq!(bank.effects.count(ORDER), 1, "{}", place.name());
    }
}

/// Sends a signal to a child, and to nothing else.
fn signal(child: &Child, signal: &str) {
    let id = child.process.id().to_string();
    let sent = Program::new("sh").args(["-c", "kill -$0 $1", signal, &id]).status().expect("a shell");
    assert!(sent.success(), "a signal to {id}");
}

/// Waits until the kernel says that the child is stopped.
fn stopped(child: &Child) {
    let started = Instant::now();
    let state = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.process.id())).expect("a process");
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    while state() != Some('T') {
        assert!(started.elapsed() < SECOND * 30, "a child did not stop");
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r040_a_worker_stopped_before_its_dispatch_does_not_start() {
    let lease = SECOND;
    for place in Place::lasting() {
        let home = place.home().expect("a home");
        let folder = home.folder();
        let mut worker = Child::start(&format!("soon: {AFTER_RESERVE}"), folder);
        assert_eq!(worker.hear(), "here");
        signal(&worker, "STOP");
        stopped(&worker);
        // It is free to go on, had it not been stopped.
        worker.say("go on");

        let (idem, bank) = (open(folder).await, Bank::of(folder, NOWHERE));
        let ask = async || pay_soon_outcome(&call(&idem), ORDER.to_owned(), bank.clone()).await;
        let silent = worker.lines.recv_timeout(lease * 2);
        assert_eq!(silent, Err(RecvTimeoutError::Timeout), "a stopped process says nothing");
        assert_eq!(kind(&ask().await), &RefusalKind::Unknown, "two leases later");
        signal(&worker, "CONT");
        assert_eq!(worker.hear(), "failed_retryable", "the woken worker's own answer");
        assert!(worker.process.wait().expect("its end").success());
        assert_eq!(bank.effects.count(ORDER), 0, "effects of the woken worker");

        // It knows that it did not start, and said so: the operation is free again.
        let outcome = ask().await;
        assert!(matches!(&outcome, Outcome::Succeeded(success) if success.told.attempt == 2), "{outcome:?}");
        assert_eq!(bank.effects.count(ORDER), 1, "effects in all: {}", place.name());
    }
}

/// A worker whose body blocks the only thread of its runtime until its parent speaks. A heartbeat on that runtime is the
/// control arm: it does not beat meanwhile.
fn blocks(folder: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        // Before the heart begins to beat: making a ledger is no part of what is watched.
        let idem = open(folder).await;
        let beats = Arc::new(AtomicU32::new(0));
        let heart = Arc::clone(&beats);
        let mut interval = tokio::time::interval(Duration::from_millis(50));
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        tokio::spawn(async move {
            loop {
                interval.tick().await;
                heart.fetch_add(1, Ordering::SeqCst);
            }
        });
        tokio::task::yield_now().await;
        let outcome = pay_slowly_outcome(&call(&idem), ORDER.to_owned(), Bank::of(folder, AFTER_EFFECT)).await;
        child::say(&format!("{} {}", outcome.to_json()["outcome"], beats.load(Ordering::SeqCst)));
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn r039_a_blocked_runtime_keeps_its_lease_and_nobody_runs_it_again() {
    for place in Place::lasting() {
        let home = place.home().expect("a home");
        let folder = home.folder();
        let mut worker = Child::start(BLOCKS, folder);
        assert_eq!(worker.hear(), "here");
        let (idem, bank) = (open(folder).await, Bank::of(folder, NOWHERE));
        let slowly =
            prepare(pay_slowly(&call(&idem), ORDER.to_owned(), bank.clone())).await.expect("a record").operation();
        let show = async || idem.show(&tenant(), slowly).await.expect("an answer").expect("a record");
        // Three leases, each renewed three times; this process asks again all the while.
        let first = show().await;
        let mut asked = 0;
        loop {
            let told = pay_slowly_outcome(&call(&idem).deadline(SECOND / 4), ORDER.to_owned(), bank.clone()).await;
            assert!(matches!(kind(&told), RefusalKind::InProgress { .. }), "{told:?}");
            asked += 1;
            let seen = show().await;
            if seen.lease_until > first.lease_until.map(|until| until.after(SECOND * 3)) {
                eprintln!("{asked} calls while the lease was renewed {} times", seen.renewals);
                assert!(seen.renewals >= 3, "{seen:?}");
                break;
            }
            assert!(asked < 1_000, "the lease is not renewed: {seen:?}");
        }
        worker.say("go on");
        let told = worker.hear();
        let (outcome, beats) = told.split_once(' ').expect("an outcome and a number");
        assert_eq!(outcome, "\"succeeded\"");
        assert!(
            beats.parse::<u32>().expect("a number") < 20,
            "the control arm's heart must not beat meanwhile: {beats}"
        );
        let told = pay_slowly_outcome(&call(&idem), ORDER.to_owned(), bank.clone()).await;
        assert!(told.is_replay(), "{told:?}");
        assert_eq!(told.value(), Some(&format!("paid by {}", worker.process.id())));
        assert_eq!(bank.effects.count(ORDER), 1, "{}", place.name());
    }
}
