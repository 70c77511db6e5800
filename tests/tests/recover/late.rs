//! Who comes too late, who comes at the same time, and who hangs: one finds out, and nobody overwrites what was found.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use idem_runtime::{
    Config, InlineCommit, Outcome, RefusalKind, Timestamp,
    ledger::{BoxFuture, Command, Reply, Resolution, State, Store, StoreError},
};
use idem_tests::{
    home::Home,
    provider::{BankError, Looking, Refund, Sending},
    store::AnyStore,
    timing::Gate,
    world::lasting_with,
};
use tokio::{
    sync::{Barrier, mpsc as tokio_mpsc},
    task::JoinHandle,
    time::timeout,
};

use super::stage::{self, Looks, Stage, builder, call, no_answer, refusal, stages, stages_with};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

/// A body that hangs is renewed for a second, and no longer; whoever waits for it waits long.
fn hung(config: &mut Config) {
    config.run_max = SECOND;
    config.wait = Duration::from_hours(1);
}

/// The first attempt, standing still after the provider's commit.
async fn stand(stage: &mut Stage) -> JoinHandle<Outcome<Refund>> {
    stage.desk.sent = Gate::new();
    let (call, desk) = (stage.call(), stage.desk.clone());
    let standing =
        tokio::spawn(async move { stage::looked_up_outcome(&call, desk, stage::ORDER.to_owned(), stage::CENTS).await });
    stage.desk.sent.arrived().await;
    stage.one_effect();
    standing
}

fn declined() -> BankError {
    BankError::Refused { status: 402, words: "declined after all".to_owned() }
}

// R-C3
#[tokio::test]
async fn r041_who_wakes_with_an_error_after_success_was_recorded_is_told_the_success() {
    for (error, event, review) in
        [(no_answer as fn() -> BankError, "late_unknown", false), (declined, "late_no_effect", true)]
    {
        for mut stage in stages_with(hung).await {
            let name = stage.setup.name();
            let a = stand(&mut stage).await;
            // B, by reconciliation, when the lease has passed.
            stage.setup.clock.advance(MINUTE);
            let mut b = stage.setup.idem.reconciler([stage::looked_up_tool(stage.desk.clone())]);
            let seen = b.run_once().await.expect("a ledger");
            assert_eq!((seen.taken_over, seen.applied), (1, 1), "{name}: {seen:?}");
            let other = stage.desk.seen()[0].operation;
            let stored = stage.record(other).await;
            assert_eq!(stored.state, State::Succeeded);
            // A wakes with E.
            stage.desk.ends(error);
            stage.desk.sent.open();
            let told = a.await.expect("no panic");
            let Outcome::Succeeded(told) = told else { panic!("{name}: {told:?}") };
            assert_eq!((told.value.id.as_str(), told.told.operation), ("rf_1", other), "A's caller receives R");
            assert_eq!(told.told.replay.map(|replay| replay.by), Some("operation"));
            let after = stage.record(other).await;
            assert_eq!((after.state, &after.stored), (State::Succeeded, &stored.stored), "{name}");
            assert_eq!((after.settled_at, &after.reference), (stored.settled_at, &stored.reference));
            assert_eq!(after.review, review, "proof of the opposite is somebody's to look at: {name}");
            // E is in the audit trail, in its own words.
            let last = stage.detail(other).await.history.pop().expect("an entry");
            assert_eq!((&*last.event, last.state), (event, State::Succeeded), "{name}");
            assert!(last.detail.is_some_and(|words| words.contains(&error().to_string())), "{name}");
            assert!(call!(looked_up_outcome, stage).is_replay());
            assert_eq!(stage.provider.sent(), 1);
            stage.one_effect();
        }
    }
}

#[tokio::test]
async fn r041_who_wakes_with_the_result_settles_what_nobody_could_find_out() {
    for mut stage in stages_with(hung).await {
        let a = stand(&mut stage).await;
        stage.setup.clock.advance(MINUTE);
        stage.provider.lookups(Looking::Dropped);
        let mut b = stage.setup.idem.reconciler([stage::looked_up_tool(stage.desk.clone())]);
        assert_eq!(b.run_once().await.expect("a ledger").inconclusive, 1);
        stage.desk.sent.open();
        let told = a.await.expect("no panic");
        assert!(matches!(&told, Outcome::Succeeded(it) if it.told.replay.is_none()), "{told:?}");
        assert!(call!(looked_up_outcome, stage).is_replay(), "{}", stage.setup.name());
        stage.one_effect();
    }
}

#[tokio::test]
async fn r046_a_duplicate_of_a_hung_body_looks_it_up_and_does_not_wait_for_it() {
    for mut stage in stages_with(hung).await {
        let a = stand(&mut stage).await;
        stage.setup.clock.advance(MINUTE);
        let again = async { call!(looked_up_outcome, stage) };
        let told = timeout(MINUTE, again).await.expect("it does not wait for what is unknown");
        assert!(told.is_replay(), "{}: {told:?}", stage.setup.name());
        assert_eq!(told.to_json()["replayed"], true);
        assert_eq!((stage.provider.sent(), stage.provider.looked_up()), (1, 1), "no re-run");
        stage.desk.sent.open();
        assert_eq!(a.await.expect("no panic").value(), told.value());
        stage.one_effect();
    }
}

#[tokio::test]
async fn r046_a_dropped_call_is_looked_up_and_not_run_again() {
    for mut stage in stages().await {
        // The caller vanishes, and the whole task with it: nobody says how it ended.
        stage.desk.sent = Gate::new();
        let clerk = stage::Clerk { desk: stage.desk.clone() };
        let call = stage.call();
        let refund = || clerk.refund_outcome(&call, stage::ORDER.to_owned(), stage::CENTS);
        tokio::select! {
            told = refund() => panic!("it stands still: {told:?}"),
            () = stage.desk.sent.arrived() => {}
        }
        assert!(refund().await.is_replay(), "{}", stage.setup.name());
        assert_eq!((stage.provider.sent(), stage.provider.looked_up()), (1, 1));
        stage.one_effect();
    }
}

/// A store that stands still before a reconciliation begins.
#[derive(Debug)]
struct Pausing {
    inner: AnyStore,
    arrived: tokio_mpsc::UnboundedSender<()>,
    go: Mutex<mpsc::Receiver<()>>,
}

impl Store for Pausing {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        if commands.iter().any(|command| matches!(command, Command::BeginReconcile(_))) {
            self.arrived.send(()).expect("the test listens");
            self.go.lock().expect("one holder").recv().expect("the test lets it go on");
        }
        self.inner.apply(commands, now)
    }

    idem_tests::behind!(inner);
}

// Not in memory: there two processes share nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r044_a_second_reconciler_that_read_the_same_list_changes_nothing_and_asks_nobody() {
    // What the first one does meanwhile: it settles the operation, or leaves it unknown as it was.
    for (lookups, state) in [(Looking::Answered, State::Succeeded), (Looking::Dropped, State::OutcomeUnknown)] {
        for stage in lasting_with(|| builder(|_| {})).await.into_iter().map(Stage::of) {
            let name = stage.setup.name();
            let inner = stage.setup.home.as_ref().expect("a home").store().await;
            let (arrived, mut arrivals) = tokio_mpsc::unbounded_channel();
            let (go_on, go) = mpsc::channel();
            let pausing = Pausing { inner, arrived, go: Mutex::new(go) };
            let second = builder(|it| it.inline_commit = InlineCommit::Never).clock(stage.setup.clock.clone());
            let second = second.with_store(pausing).expect("a ledger");
            stage.provider.sends([Sending::Lost]);
            stage.provider.lookups(lookups);
            let operation = refusal(call!(looked_up_outcome, stage)).operation().expect("an operation");

            let mut second = second.reconciler([stage::looked_up_tool(stage.desk.clone())]);
            let second = tokio::spawn(async move { second.run_once().await });
            timeout(MINUTE, arrivals.recv()).await.expect("the second has read its list").expect("a store");
            let mut first = stage.setup.idem.reconciler([stage::looked_up_tool(stage.desk.clone())]);
            let seen = first.run_once().await.expect("a ledger");
            assert_eq!((seen.looked_at, seen.left_to_others), (1, 0), "{seen:?}");
            let before = stage.detail(operation).await;
            assert_eq!(before.record.state, state);

            go_on.send(()).expect("the second listens");
            let seen = second.await.expect("no panic").expect("a ledger");
            assert_eq!(
                (seen.looked_at, seen.left_to_others, seen.applied, seen.inconclusive),
                (1, 1, 0, 0),
                "{seen:?}"
            );
            assert_eq!(stage.detail(operation).await, before, "no row was changed");
            assert_eq!((stage.provider.looked_up(), stage.desk.seen().len()), (1, 1), "{name}: nobody was asked");
            stage.one_effect();
        }
    }
}

#[tokio::test]
async fn a_reconciler_that_stalls_is_taken_over_and_its_answer_is_kept() {
    for mut stage in stages().await {
        let name = stage.setup.name();
        stage.provider.sends([Sending::Lost]);
        let operation = refusal(call!(looked_up_outcome, stage)).operation().expect("an operation");
        // The first one asks, and its answer will not tell.
        stage.desk.looks(Looks::Unclear);
        let opened = stage.desk.asking.clone();
        stage.desk.asking = Gate::new();
        let mut first = stage.setup.idem.reconciler([stage::looked_up_tool(stage.desk.clone())]);
        let asking = tokio::spawn(async move { first.run_once().await });
        stage.desk.asking.arrived().await;
        // Its own lease ends; the second one finds out.
        stage.setup.clock.advance(5 * MINUTE);
        stage.desk.looks(Looks::Asks);
        let desk = stage.desk.clone().asking_at(opened);
        let mut second = stage.setup.idem.reconciler([stage::looked_up_tool(desk)]);
        let seen = second.run_once().await.expect("a ledger");
        assert_eq!((seen.taken_over, seen.applied), (1, 1), "{name}: {seen:?}");
        let settled = stage.record(operation).await;
        stage.desk.asking.open();
        asking.await.expect("no panic").expect("a ledger");
        let after = stage.record(operation).await;
        assert_eq!((after.state, &after.stored, after.review), (State::Succeeded, &settled.stored, false), "{name}");
        let events = stage.events(operation).await;
        assert!(events.contains(&"reconcile_ended".to_owned()), "{events:?}");
        assert_eq!(events.last().map(String::as_str), Some("evidence_inconclusive"), "{name}");
        stage.one_effect();
    }
}

// R-C1
#[tokio::test]
async fn r_c1_a_duplicate_during_a_reconciliation_waits_for_it_or_is_told() {
    for mut stage in stages().await {
        let name = stage.setup.name();
        stage.provider.sends([Sending::Lost]);
        refusal(call!(looked_up_outcome, stage));
        stage.desk.asking = Gate::new();
        let spawn = |stage: &Stage| {
            let (call, desk) = (stage.call(), stage.desk.clone());
            tokio::spawn(
                async move { stage::looked_up_outcome(&call, desk, stage::ORDER.to_owned(), stage::CENTS).await },
            )
        };
        let asking = spawn(&stage);
        stage.desk.asking.arrived().await;
        // One without time is told; four others wait.
        let hasty = stage.call().deadline(Duration::from_millis(50));
        let told = refusal(call!(looked_up_outcome, stage, hasty));
        assert_eq!(told.kind(), &RefusalKind::Unknown, "{name}");
        assert!(told.to_model_text().contains("it is being found out"), "{}", told.to_model_text());
        let waiting: Vec<_> = (0..4).map(|_| spawn(&stage)).collect();
        stage.desk.asking.open();
        assert!(asking.await.expect("no panic").is_replay(), "{name}");
        for waiting in waiting {
            assert!(waiting.await.expect("no panic").is_replay(), "{name}");
        }
        assert_eq!((stage.desk.seen().len(), stage.provider.looked_up(), stage.provider.sent()), (1, 1, 1), "{name}");
        stage.one_effect();
    }
}

// R-C1 R-H4
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_c1_of_many_duplicates_one_asks_and_all_end_with_one_result() {
    const CALLERS: usize = 12;
    for stage in stages().await {
        for round in 0..15_u64 {
            let call = stage.setup.call_as("call_1", round).occurrence(round.to_string());
            stage.provider.sends([Sending::Lost]);
            refusal(call!(looked_up_outcome, stage, call));
            let barrier = Arc::new(Barrier::new(CALLERS));
            let callers: Vec<_> = (0..CALLERS)
                .map(|_| {
                    let (barrier, call, desk) = (Arc::clone(&barrier), call.clone(), stage.desk.clone());
                    tokio::spawn(async move {
                        barrier.wait().await;
                        stage::looked_up_outcome(&call, desk, stage::ORDER.to_owned(), stage::CENTS).await
                    })
                })
                .collect();
            let mut references = Vec::new();
            for caller in callers {
                let told = caller.await.expect("no panic");
                assert!(told.is_replay(), "round {round} on {}: {told:?}", stage.setup.name());
                references.extend(told.value().map(|refund| refund.id.clone()));
            }
            references.dedup();
            assert_eq!(references.len(), 1, "one result: {references:?}");
            let done = usize::try_from(round).expect("a small number") + 1;
            assert_eq!(stage.desk.seen().len(), done, "one pass a round on {}", stage.setup.name());
            assert_eq!((stage.provider.sent(), stage.effects().len()), (done, done));
        }
    }
}

/// The database notes every statement that changes a fingerprint.
fn watch_fingerprints(home: &Home) {
    let watch = if home.place().is_server() {
        "create table fingerprints_changed (id bigint not null);
         create function fingerprint_changed() returns trigger language plpgsql as $$
         begin insert into fingerprints_changed values (new.id); return null; end $$;
         create trigger fingerprint_changed after update on idem_operations for each row
         when (new.fingerprint is distinct from old.fingerprint) execute function fingerprint_changed();"
    } else {
        "create table fingerprints_changed (id integer not null) strict;
         create trigger fingerprint_changed after update on idem_operations when new.fingerprint is not old.fingerprint
         begin insert into fingerprints_changed values (new.id); end;"
    };
    home.change(watch).expect("a trigger");
}

// R-D1
#[tokio::test]
async fn r026_the_fingerprint_stays_through_reconciliation_and_an_operators_decision() {
    let patient = || {
        builder(|it| {
            hung(it);
            it.reconcile_answers_max = 1;
        })
    };
    for mut stage in lasting_with(patient).await.into_iter().map(Stage::of) {
        let home = stage.setup.home.take().expect("a home");
        watch_fingerprints(&home);
        let mut fingerprints = Vec::new();
        let mut step = async |stage: &Stage, state: State| {
            let columns: Vec<Vec<u8>> = home.column("select fingerprint from idem_operations");
            assert_eq!(home.column::<String>("select state from idem_operations"), [state.name()]);
            fingerprints.extend(columns);
            // Byte for byte the same call, from a process that has nothing in memory.
            if state != State::InProgress {
                let fresh = builder(|_| {}).clock(stage.setup.clock.clone());
                let fresh = fresh.open(home.address()).await.expect("the same ledger");
                let call = Stage::call_of(&fresh);
                let again = stage::looked_up(&call, stage.desk.clone(), stage::ORDER.to_owned(), stage::CENTS);
                idem_runtime::prepare(again).await.expect("no drift");
            }
        };
        let a = stand(&mut stage).await;
        step(&stage, State::InProgress).await;
        let mut reconciler = stage.setup.idem.reconciler([stage::looked_up_tool(stage.desk.clone())]);
        let mut pass = async |stage: &Stage, looks: Looks| {
            stage.desk.looks(looks);
            stage.setup.clock.advance(10 * MINUTE);
            reconciler.run_once().await.expect("a ledger")
        };
        // The lease ends, somebody finds out in vain, and a person is asked, who frees it.
        stage.provider.lookups(Looking::Dropped);
        assert_eq!(pass(&stage, Looks::Asks).await.taken_over, 1);
        step(&stage, State::OutcomeUnknown).await;
        assert_eq!(pass(&stage, Looks::Unclear).await.to_operators, 1);
        step(&stage, State::OperatorReview).await;
        let operation = stage.desk.seen()[0].operation;
        let operator = stage.setup.idem.operator(&stage::tenant(), "mia").expect("a name");
        let seen = stage.record(operation).await;
        operator.resolve(&seen, Resolution::Retryable, "nothing at the provider", None).await.expect("resolved");
        step(&stage, State::FailedRetryable).await;
        // The person was wrong: the first attempt says its own, late.
        stage.desk.sent.open();
        assert!(a.await.expect("no panic").value().is_some());
        step(&stage, State::Succeeded).await;
        let told = call!(looked_up_outcome, stage);
        assert!(told.is_replay(), "{told:?}");
        step(&stage, State::Succeeded).await;
        assert!(fingerprints.len() == 6 && fingerprints.iter().all(|it| *it == fingerprints[0]), "{fingerprints:?}");
        assert_eq!(home.count("fingerprints_changed"), 0);
        // The control arm: the watch would have seen it.
        let other = if home.place().is_server() { "'\\x00'" } else { "x'00'" };
        home.change(&format!("update idem_operations set fingerprint = {other}")).expect("an update by hand");
        assert_eq!(home.count("fingerprints_changed"), 1);
        stage.one_effect();
    }
}

// R-D1
#[tokio::test]
async fn r026_the_fingerprint_stays_through_every_verdict() {
    // What the provider did, what the look-up says, and where that leads.
    let verdicts = [
        (Sending::Lost, Looks::Asks, State::Succeeded),
        (Sending::Dropped, Looks::Asks, State::FailedRetryable),
        (Sending::Dropped, Looks::Unclear, State::OutcomeUnknown),
    ];
    for (sending, looks, state) in verdicts {
        for stage in lasting_with(|| builder(|_| {})).await.into_iter().map(Stage::of) {
            let home = stage.setup.home.as_ref().expect("a home");
            watch_fingerprints(home);
            let fingerprint = || home.column::<Vec<u8>>("select fingerprint from idem_operations");
            stage.provider.sends([sending]);
            refusal(call!(looked_up_outcome, stage));
            let first = fingerprint();
            stage.setup.clock.advance(5 * MINUTE);
            stage.desk.looks(looks);
            let mut reconciler = stage.setup.idem.reconciler([stage::looked_up_tool(stage.desk.clone())]);
            reconciler.run_once().await.expect("a ledger");
            assert_eq!(home.column::<String>("select state from idem_operations"), [state.name()]);
            assert_eq!(fingerprint(), first);
            // And through whatever the same call makes of it.
            stage.desk.looks(Looks::Asks);
            assert!(call!(looked_up_outcome, stage).value().is_some());
            assert_eq!(fingerprint(), first);
            assert_eq!(home.count("fingerprints_changed"), 0);
            let other = stage::looked_up_outcome(&stage.call(), stage.desk.clone(), stage::ORDER.to_owned(), 1).await;
            assert!(matches!(refusal(other).kind(), RefusalKind::Drift { .. }), "another amount is drift still");
            stage.one_effect();
        }
    }
}
