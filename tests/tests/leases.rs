//! Who runs, who waits, and who comes late: leases, renewals, fencing, deadlines.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use idem_runtime::{
    Clock, Held, Idem, Outcome, Refusal, RefusalKind, Timestamp, ToolCall, idempotent,
    ledger::{Command, Ending, Reply, Settled, State, Store},
};
use idem_tests::{
    home::Place,
    store::{Failing, Fault, Watch, Watched},
    timing::{Gate, until},
    tools::{ToolError, classify},
    world::{TENANT, World, config, every_store, every_store_with, lasting, watched},
};
use tokio::{sync::Barrier, task::JoinHandle};

/// How a body ends.
type End = fn(usize) -> Result<usize, ToolError>;

#[idempotent(scope = "conversation", key = "tool_call_id|args", lease = "60s", on_busy = "tell", classify = classify)]
async fn pay(
    call: &ToolCall,
    a: u8,
    #[idem(state)] gate: Gate,
    #[idem(state)] world: World,
    #[idem(state)] end: End,
) -> Result<usize, ToolError> {
    gate.pass().await;
    let _ = call.number();
    end(world.effect(format!("paid {a}")))
}

/// The same, but a duplicate waits.
#[idempotent(scope = "conversation", key = "tool_call_id|args", lease = "60s")]
async fn pay_and_wait(
    call: &ToolCall,
    a: u8,
    #[idem(state)] gate: Gate,
    #[idem(state)] world: World,
) -> Result<usize, ToolError> {
    gate.pass().await;
    Ok(world.effect(format!("paid {a}")))
}

fn refusal<T: fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

fn spawn(call: &ToolCall, gate: &Gate, world: &World, end: End) -> JoinHandle<Outcome<usize>> {
    let (call, gate, world) = (call.clone(), gate.clone(), world.clone());
    tokio::spawn(async move { pay_outcome(&call, 1, gate, world, end).await })
}

/// A clock that an operator sets, forward and back.
#[derive(Clone)]
struct SetClock(Arc<Mutex<Timestamp>>);

impl SetClock {
    fn at(now: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(now)))
    }

    fn set(&self, now: Timestamp) {
        *self.0.lock().expect("a clock") = now;
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().expect("a clock")
    }

    fn uptime(&self) -> Duration {
        Duration::ZERO
    }

    fn watch(&self, _: Arc<dyn Fn() + Send + Sync>) {}
}

impl fmt::Debug for SetClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SetClock")
    }
}

// R-C2 R-C4 (One machine has one clock: a clock that is set is one that steps.)
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r038_a_clock_that_steps_makes_no_lease_longer_and_nothing_run_twice() {
    const LEASE: Duration = Duration::from_mins(1);
    let noon = Timestamp::from_nanos(1_900_000_000_000_000_000);
    for (b_says, state_after) in [
        (noon.after(Duration::from_secs(90)), "outcome_unknown"),
        (noon.before(Duration::from_secs(90)), "in_progress"),
    ] {
        for place in Place::lasting() {
            let home = place.home().expect("a home");
            let (a_clock, b_clock) = (SetClock::at(noon), SetClock::at(b_says));
            let open = async |clock: &SetClock| {
                Idem::builder().clock(clock.clone()).open(home.address()).await.expect("a ledger")
            };
            let (a, b) = (open(&a_clock).await, open(&b_clock).await);
            let of = |idem: &Idem| idem.call().tenant(TENANT).conversation("c-1").tool_call_id("call_1").turn(1);
            let (gate, world) = (Gate::new(), World::default());
            let holder = spawn(&of(&a), &gate, &world, Ok);
            gate.arrived().await;
            let lease_until = || home.column::<Option<i64>>("select lease_until from idem_operations")[0];
            assert_eq!(lease_until(), Some(noon.after(LEASE).as_nanos()));
            // B judges by a clock that is wrong by 90 s: it takes nothing over, it runs nothing.
            let told = refusal(pay_outcome(&of(&b), 1, gate.clone(), world.clone(), Ok).await);
            assert_eq!(
                told.kind().name(),
                if state_after == "in_progress" { "in_progress" } else { "unknown_requires_reconciliation" }
            );
            assert_eq!(home.column::<String>("select state from idem_operations"), [state_after]);
            assert!(
                lease_until().is_none_or(|until| until <= noon.after(LEASE).as_nanos()),
                "no longer than configured"
            );
            // A's clock steps back an hour; another call wakes its ledger.
            a_clock.set(noon.before(Duration::from_hours(1)));
            let (other, through) = (of(&a).turn(2).occurrence("other"), Gate::opened());
            assert!(pay_outcome(&other, 2, through, World::default(), Ok).await.value().is_some());
            let until: Vec<i64> = home.column("select lease_until from idem_operations where lease_until is not null");
            assert!(until.iter().all(|until| *until <= noon.after(LEASE).as_nanos()), "{until:?}");
            // The holder's result counts, late or not, for both.
            gate.open();
            assert_eq!(holder.await.expect("no panic").value(), Some(&1));
            for idem in [&a, &b] {
                assert!(pay_outcome(&of(idem), 1, gate.clone(), world.clone(), Ok).await.is_replay());
            }
            assert_eq!(world.effects(), ["paid 1"], "{}", place.name());
        }
    }
}

// R-C2 R-L4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r042_a_renewal_in_flight_loses_nothing_and_goes_on_until_the_result_is_durable() {
    let soon = config(|it| it.tally_every = Duration::from_millis(1));
    for place in Place::EVERY {
        let (setup, watch) = watched(&soon, *place).await;
        let (call, gate) = (setup.call_as("call_1", 1), Gate::new());
        let holder = spawn(&call, &gate, &setup.world, Ok);
        gate.arrived().await;
        // The handler finishes, and the store is slow to take its result.
        watch.fail(Failing::Settling(Fault::Full));
        gate.open();
        let told = holder.await.expect("no panic");
        let Outcome::Succeeded(success) = told else { panic!("no success: {told:?}") };
        assert!(matches!(&success.told.held, Held::NotYet(why) if why.contains("full")), "{:?}", success.told.held);
        let operation = success.told.operation;
        for lease in 1..=5_u32 {
            setup.clock.advance(Duration::from_secs(50));
            let renewed = until("a renewal", async || {
                let record = setup.record(operation).await;
                (record.renewals >= lease).then_some(record)
            })
            .await;
            assert_eq!(renewed.state, State::InProgress, "250 s in, with a lease of 60 s: {}", setup.name());
        }
        // It can be written, in one batch with a renewal that is due: the renewal finds nothing to renew.
        let before = watch.batches().len();
        watch.fail(Failing::Never);
        setup.clock.advance(Duration::from_secs(50));
        until("the result is durable", async || {
            (setup.record(operation).await.state == State::Succeeded).then_some(())
        })
        .await;
        let both = |batch: &Vec<Command>| {
            let has = |kind: fn(&Command) -> bool| batch.iter().any(kind);
            has(|it| matches!(it, Command::Settle(_))) && has(|it| matches!(it, Command::Renew(_)))
        };
        // Whether they met in one batch is the threads' affair; that a renewal came after is made sure of here.
        let met = watch.batches()[before..].iter().any(both);
        let again = pay_outcome(&call, 1, gate.clone(), setup.world.clone(), Ok).await;
        assert!(again.is_replay(), "met: {met}: {again:?}");
        assert_eq!(setup.world.effects(), ["paid 1"], "{}", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r042_a_renewal_that_finds_its_attempt_settled_says_so_and_changes_nothing() {
    for setup in lasting().await {
        let gate = Gate::opened();
        let told = pay_outcome(&setup.call_as("call_1", 1), 1, gate, setup.world.clone(), Ok).await;
        let record = setup.record(told.operation().expect("an operation")).await;
        let mut store = setup.home.as_ref().expect("a home").store().await;
        let hold = idem_runtime::ledger::Hold { row: record.row, fence: record.fence, lease: Duration::from_mins(1) };
        let replies = store.apply(&[Command::Renew(vec![hold])], record.reserved_at).await.expect("applied");
        assert!(matches!(&replies[..], [Reply::Renewed { lost }] if lost == &[record.row]), "{replies:?}");
        assert_eq!(setup.record(record.operation).await, record);
    }
}

// R-X3 R-C4
#[tokio::test]
async fn r047_a_call_without_time_is_refused_and_a_lease_is_never_without_end() {
    for setup in every_store().await {
        let now = Timestamp::from_nanos(1_893_456_000_000_000_000);
        let call = setup.call_as("call_1", 1);
        let gone = [
            call.clone().deadline(Duration::from_millis(1)),
            call.clone().deadline(Duration::ZERO),
            call.clone().deadline_at(now.before(Duration::from_secs(1))),
        ];
        for call in gone {
            let told = refusal(pay_outcome(&call, 1, Gate::opened(), setup.world.clone(), Ok).await);
            assert_eq!((told.kind(), told.operation()), (&RefusalKind::Invalid, None));
            assert!(told.to_string().contains("deadline"), "{told}");
        }
        assert_eq!((setup.operations().await, setup.world.effects().len()), (0, 0), "{}", setup.name());
        let enough = call.clone().deadline(Duration::from_mins(1));
        assert!(pay_outcome(&enough, 1, Gate::opened(), setup.world.clone(), Ok).await.value().is_some());
        let running = setup.call_as("call_2", 2).occurrence("second");
        let gate = Gate::new();
        let holder = spawn(&running, &gate, &setup.world, Ok);
        gate.arrived().await;
        if let Some(home) = &setup.home {
            let unbounded = home.change("update idem_operations set lease_until = null where state = 'in_progress'");
            let refused = unbounded.expect_err("the schema forbids it");
            assert!(refused.to_lowercase().contains("check constraint"), "{refused}");
        }
        gate.open();
        assert!(holder.await.expect("no panic").value().is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_c1_one_of_many_callers_enters_and_all_end_with_one_result() {
    for setup in every_store().await {
        for round in 0..25_u64 {
            let barrier = Arc::new(Barrier::new(32));
            let gate = Gate::opened();
            let callers: Vec<_> = (0..32)
                .map(|at| {
                    let call = setup.call_as(&format!("call_{at}"), round).occurrence(round.to_string());
                    let (barrier, gate, world) = (Arc::clone(&barrier), gate.clone(), setup.world.clone());
                    tokio::spawn(async move {
                        barrier.wait().await;
                        pay_and_wait_outcome(&call, 1, gate, world).await
                    })
                })
                .collect();
            let mut values = Vec::new();
            let mut replays = 0;
            for caller in callers {
                let told = caller.await.expect("no panic");
                replays += usize::from(told.is_replay());
                values.push(*told.value().expect("a result"));
            }
            assert_eq!(replays, 31, "round {round} on {}", setup.name());
            assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
            assert_eq!(setup.world.effects().len() as u64, round + 1, "one effect a round");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_c1_a_duplicate_waits_as_long_as_it_may_or_is_told_at_once() {
    for setup in every_store().await {
        let (call, gate) = (setup.call_as("call_1", 1), Gate::new());
        let holder = tokio::spawn({
            let (call, gate, world) = (call.clone(), gate.clone(), setup.world.clone());
            async move { pay_and_wait_outcome(&call, 1, gate, world).await }
        });
        gate.arrived().await;
        // Until its deadline.
        let hasty = call.clone().deadline(Duration::from_millis(50));
        let told = refusal(pay_and_wait_outcome(&hasty, 1, gate.clone(), setup.world.clone()).await);
        assert!(matches!(told.kind(), RefusalKind::InProgress { .. }), "{told:?}");
        // By declared policy at once: the clock of the test and the deadline have not moved.
        let other = setup.call_as("call_2", 2).occurrence("told");
        let at_gate = Gate::new();
        let told_holder = spawn(&other, &at_gate, &setup.world, Ok);
        at_gate.arrived().await;
        let told = refusal(pay_outcome(&other, 1, at_gate.clone(), setup.world.clone(), Ok).await);
        assert!(matches!(told.kind(), RefusalKind::InProgress { .. }), "{told:?}");
        at_gate.open();
        assert!(told_holder.await.expect("no panic").value().is_some());
        // To the end, where there is time.
        let patient = tokio::spawn({
            let (call, gate, world) = (call.clone(), gate.clone(), setup.world.clone());
            async move { pay_and_wait_outcome(&call, 1, gate, world).await }
        });
        gate.open();
        assert!(holder.await.expect("no panic").value().is_some());
        assert!(patient.await.expect("no panic").is_replay());
        assert_eq!(setup.world.effects().len(), 2, "{}", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_c1_a_duplicate_in_another_process_waits_by_reading() {
    for setup in lasting().await {
        let address = setup.home.as_ref().expect("a home").address();
        // Another runtime on the same ledger shares no memory with this one: what wakes it is the ledger.
        let other = Idem::builder().clock(setup.clock.clone()).open(address).await.expect("the same ledger");
        let (call, gate) = (setup.call_as("call_1", 1), Gate::new());
        let of_other = other.call().tenant(TENANT).conversation("c-1").tool_call_id("call_1").turn(1);
        let run = |call: ToolCall| {
            let (gate, world) = (gate.clone(), setup.world.clone());
            tokio::spawn(async move { pay_and_wait_outcome(&call, 1, gate, world).await })
        };
        let holder = run(call);
        gate.arrived().await;
        let waiting = run(of_other.clone());
        let hasty = of_other.deadline(Duration::from_millis(50));
        let told = refusal(pay_and_wait_outcome(&hasty, 1, gate.clone(), setup.world.clone()).await);
        assert!(matches!(told.kind(), RefusalKind::InProgress { .. }), "{told:?}");
        gate.open();
        assert!(!holder.await.expect("no panic").is_replay());
        assert!(waiting.await.expect("no panic").is_replay());
        assert_eq!(setup.world.effects(), ["paid 1"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_c1_renewals_tell_a_healthy_owner_from_a_dead_one() {
    for setup in every_store().await {
        let (call, gate) = (setup.call_as("call_1", 1), Gate::new());
        let record =
            idem_runtime::prepare(pay(&call, 1, gate.clone(), setup.world.clone(), Ok)).await.expect("a record");
        let holder = spawn(&call, &gate, &setup.world, Ok);
        gate.arrived().await;
        let operation = record.operation();
        assert_eq!(setup.record(operation).await.renewals, 0);
        let mut lease_until = setup.record(operation).await.lease_until;
        for renewal in 1..=6 {
            setup.clock.advance(Duration::from_secs(20));
            let renewed = until("a renewal", async || {
                let record = setup.record(operation).await;
                (record.renewals == renewal).then_some(record)
            })
            .await;
            assert!(renewed.lease_until > lease_until && renewed.renewed_at.is_some(), "{}", setup.name());
            lease_until = renewed.lease_until;
        }
        gate.open();
        assert!(holder.await.expect("no panic").value().is_some());
    }
}

/// A body that outlives its renewals: what it says late, for each way to end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_c3_a_late_result_settles_an_unknown_outcome_and_late_doubt_does_not() {
    let ends: [(End, State, &str); 3] = [
        (Ok, State::Succeeded, "succeeded"),
        (|_| Err(ToolError::Timeout), State::OutcomeUnknown, "unknown_requires_reconciliation"),
        (|_| Err(ToolError::Declined), State::FailedRetryable, "succeeded"),
    ];
    let short = config(|it| it.run_max = Duration::from_secs(1));
    for (end, state, told_next) in ends {
        for setup in every_store_with(|| Idem::builder().config(short.clone())).await {
            let (call, gate) = (setup.call_as("call_1", 1), Gate::new());
            let holder = spawn(&call, &gate, &setup.world, end);
            gate.arrived().await;
            setup.clock.advance(Duration::from_mins(2));
            let told = refusal(pay_outcome(&call, 1, gate.clone(), setup.world.clone(), Ok).await);
            let operation = told.operation().expect("an operation");
            assert_eq!(
                (told.kind(), setup.record(operation).await.state),
                (&RefusalKind::Unknown, State::OutcomeUnknown)
            );
            gate.open();
            let _ = holder.await.expect("no panic");
            assert_eq!(setup.record(operation).await.state, state, "{}", setup.name());
            gate.open();
            let next = pay_outcome(&call, 1, gate.clone(), setup.world.clone(), Ok).await;
            assert_eq!(next.to_json()["outcome"], told_next);
            let effects = if state == State::FailedRetryable { 2 } else { 1 };
            assert_eq!(
                setup.world.effects().len(),
                effects,
                "a second try only after proof that the first did nothing"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_c3_an_older_attempt_that_speaks_again_overwrites_nothing() {
    for setup in lasting().await {
        let home = setup.home.as_ref().expect("a home");
        let watch = Watch::default();
        let store = Watched::new(home.store().await, &watch);
        let idem = Idem::builder().clock(setup.clock.clone()).with_store(store).expect("a ledger");
        let call = idem.call().tenant(TENANT).conversation("c-1").tool_call_id("call_1").turn(1);
        let first = pay_outcome(&call, 1, Gate::opened(), setup.world.clone(), |_| Err(ToolError::Busy)).await;
        assert_eq!(refusal(first).kind(), &RefusalKind::FailedRetryable);
        let done = pay_outcome(&call, 1, Gate::opened(), setup.world.clone(), Ok).await;
        let operation = done.operation().expect("an operation");
        let record = setup.record(operation).await;
        assert_eq!((record.state, record.attempt), (State::Succeeded, 2));
        // The first attempt's settlement, delivered again, and in every other wording.
        let settles = watch.batches().into_iter().flatten().filter_map(|command| match command {
            Command::Settle(settle) => Some(settle),
            _ => None,
        });
        let old = settles.min_by_key(|settle| settle.fence).expect("the first attempt's end");
        assert!(old.fence < record.fence);
        let mut late = home.store().await;
        for ending in [Ending::Retryable, Ending::Final, Ending::Unknown, Ending::NotStarted, Ending::Ok] {
            let settle = idem_runtime::ledger::Settle { ending, ..old.clone() };
            let replies = late.apply(&[Command::Settle(settle)], record.reserved_at).await.expect("applied");
            let [Reply::Settled(Settled::Late { record: after })] = &replies[..] else {
                panic!("{ending:?}: {replies:?}")
            };
            assert_eq!(after.state, State::Succeeded, "{ending:?}");
            let after = setup.record(operation).await;
            assert_eq!(
                (after.state, &after.stored, after.fence),
                (State::Succeeded, &record.stored, record.fence),
                "{ending:?}"
            );
        }
    }
}
