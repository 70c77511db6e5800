//! What outside voices say about an operation: webhooks in any order and at any moment, owners that speak late, and
//! answers of the store that never arrive.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use idem_runtime::{
    Clock, Idem, OperationId, Outcome, Refusal, RefusalKind, ResolveError, Tenant, Timestamp, ToolCall, Unsettled,
    Verdict, idempotent,
    ledger::{
        Aftermath, BoxFuture, Command, Detail, Evidence, Flow, Listing, Reader, Reply, Reserve, Resolution, State,
        Store, StoreError, StoreErrorKind, Stored, StoredKind, Witnessed,
    },
    prepare,
    testing::TestClock,
};
use idem_tests::{
    home::Place,
    timing::{Gate, until},
    tools::{ToolError, classify},
    world::{Setup, TENANT, World, config, decorated, every_store, every_store_with},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinHandle;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Paid {
    id: String,
}

/// How a body ends after its effect.
type End = fn(Paid) -> Result<Paid, ToolError>;

/// What the look-up answers.
type Answer = fn() -> Verdict<Paid>;

/// What stands behind the tool: gates before its effect and in its look-up, and how both end.
#[derive(Debug, Clone)]
struct Bank {
    world: World,
    body: Gate,
    end: End,
    lookup: Gate,
    verdict: Answer,
}

#[idempotent(
    scope = "conversation",
    key = "tool_call_id|args",
    name = "test.pay",
    classify = classify,
    lease = "60s",
    on_busy = "tell",
    recover(lookup = find_payment, then = operator),
    on_unknown = "tell"
)]
async fn pay(call: &ToolCall, order: String, #[idem(state)] bank: Bank) -> Result<Paid, ToolError> {
    bank.body.pass().await;
    if order == "declined" {
        return Err(ToolError::Declined);
    }
    if order == "busy" {
        return Err(ToolError::Busy);
    }
    let id = format!("ch_{}", bank.world.effect(order));
    call.reference(&id);
    (bank.end)(Paid { id })
}

async fn find_payment(bank: &Bank, _: Unsettled) -> Verdict<Paid> {
    bank.lookup.pass().await;
    (bank.verdict)()
}

fn answer_lost(_: Paid) -> Result<Paid, ToolError> {
    Err(ToolError::Timeout)
}

impl Bank {
    /// Nothing stands still, and the payment is answered as `end` says.
    fn quick(world: &World, end: End) -> Self {
        let verdict = || Verdict::inconclusive("try later");
        Self { world: world.clone(), body: Gate::opened(), end, lookup: Gate::opened(), verdict }
    }
}

fn tenant() -> Tenant {
    Tenant::new(TENANT).expect("a tenant")
}

fn refusal<T: fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

fn spawn(call: &ToolCall, order: &str, bank: &Bank) -> JoinHandle<Outcome<Paid>> {
    let (call, order, bank) = (call.clone(), order.to_owned(), bank.clone());
    tokio::spawn(async move { pay_outcome(&call, order, bank).await })
}

async fn told(setup: &Setup, call: &ToolCall, order: &str, end: End) -> Outcome<Paid> {
    pay_outcome(call, order.into(), Bank::quick(&setup.world, end)).await
}

/// An operation whose answer was lost; its effect happened.
async fn unknown(setup: &Setup, call: &ToolCall) -> OperationId {
    refusal(told(setup, call, "A-1", answer_lost).await).operation().expect("an operation")
}

fn event(id: OperationId, name: &str) -> Evidence {
    Evidence::of(&tenant(), id, "stripe", name)
}

fn result(id: &str) -> Stored {
    Stored { kind: StoredKind::Value, bytes: json!({ "id": id }).to_string().into_bytes().into() }
}

async fn detail(setup: &Setup, id: OperationId) -> Detail {
    let person = setup.idem.operator(&tenant(), "mia").expect("an operator");
    person.show(id).await.expect("a readable ledger").expect("a record")
}

async fn in_review(setup: &Setup) -> Vec<OperationId> {
    let person = setup.idem.operator(&tenant(), "mia").expect("an operator");
    let listing = Listing { in_review: true, records_max: 10, ..Listing::default() };
    let page = person.list(&listing).await.expect("a page");
    page.records.iter().map(|record| record.operation).collect()
}

/// The events of R058: what the provider says, newest first.
fn succeeded_pending_failed(id: OperationId) -> [Evidence; 3] {
    [
        event(id, "evt_3").applied(Some(result("ch_1")), Some("ch_1")).words("charge.succeeded"),
        event(id, "evt_1").words("charge.pending"),
        event(id, "evt_2").not_applied().words("charge.failed"),
    ]
}

#[tokio::test]
async fn r058_an_older_event_takes_no_success_back() {
    for setup in every_store().await {
        let id = unknown(&setup, &setup.call_as("call_1", 1)).await;
        let events = succeeded_pending_failed(id);
        for said in &events {
            let weighed = setup.idem.evidence(said.clone()).await.expect("weighed");
            let Witnessed::Weighed { record } = weighed else { panic!("{weighed:?}") };
            assert_eq!(record.state, State::Succeeded, "{}", setup.name());
        }
        let before = detail(&setup, id).await;
        for said in events.iter().rev().chain(&events) {
            let known = setup.idem.evidence(said.clone()).await.expect("known");
            let Witnessed::Known { record: Some(record) } = known else { panic!("{known:?}") };
            assert_eq!(*record, before.record);
        }
        assert_eq!(detail(&setup, id).await, before, "a duplicate leaves nothing: {}", setup.name());
        let stored: Vec<&str> = before.evidence.iter().map(|said| &*said.event).collect();
        assert_eq!(stored, ["evt_3", "evt_1", "evt_2"], "each event is stored once");
        assert_eq!((before.record.state, before.record.review), (State::Succeeded, true));
        assert_eq!(before.record.reference.as_deref(), Some("ch_1"));
        assert_eq!(in_review(&setup).await, [id], "the contradiction is somebody's to look at");
        let again = told(&setup, &setup.call_as("call_1", 1), "A-1", Ok).await;
        assert_eq!((again.is_replay(), again.value()), (true, Some(&Paid { id: "ch_1".into() })));
        assert_eq!(setup.world.effects(), ["A-1"], "{}", setup.name());
    }
}

#[tokio::test]
async fn r058_in_every_order_the_success_stands_in_the_end() {
    const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in ORDERS {
        for setup in every_store().await {
            let id = unknown(&setup, &setup.call_as("call_1", 1)).await;
            let events = succeeded_pending_failed(id);
            for said in order.into_iter().flat_map(|at| [&events[at], &events[at]]) {
                setup.idem.evidence(said.clone()).await.expect("heard");
            }
            let Detail { record, evidence, .. } = detail(&setup, id).await;
            assert_eq!((record.state, evidence.len()), (State::Succeeded, 3), "{}: {order:?}", setup.name());
            let failed_came_last = order.iter().position(|at| *at == 2) > order.iter().position(|at| *at == 0);
            assert_eq!(record.review, failed_came_last, "{}: {order:?}", setup.name());
        }
    }
}

#[tokio::test]
async fn the_same_event_of_another_source_is_another_one() {
    for setup in every_store().await {
        let id = unknown(&setup, &setup.call_as("call_1", 1)).await;
        for source in ["stripe", "adyen"] {
            let said = Evidence::of(&tenant(), id, source, "evt_1");
            assert!(matches!(setup.idem.evidence(said).await, Ok(Witnessed::Weighed { .. })));
        }
        assert_eq!(detail(&setup, id).await.evidence.len(), 2, "{}", setup.name());
    }
}

async fn prepared(setup: &Setup, call: &ToolCall, order: &str) -> OperationId {
    let record = prepare(pay(call, order.into(), Bank::quick(&setup.world, Ok))).await;
    record.expect("a record").operation()
}

#[tokio::test]
async fn a_webhook_before_the_record_is_kept_and_the_call_is_a_replay() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let id = prepared(&setup, &call, "A-1").await;
        let happened = event(id, "evt_1").applied(Some(result("ch_9")), Some("ch_9"));
        assert!(matches!(setup.idem.evidence(happened.clone()).await, Ok(Witnessed::Kept)));
        assert!(matches!(setup.idem.evidence(happened.clone()).await, Ok(Witnessed::Known { record: None })));
        let first = told(&setup, &call, "A-1", Ok).await;
        assert_eq!((first.is_replay(), first.operation()), (true, Some(id)), "{}: {first:?}", setup.name());
        assert_eq!(first.value(), Some(&Paid { id: "ch_9".into() }));
        assert_eq!(setup.world.effects(), [""; 0], "nothing was run: {}", setup.name());
        let Detail { record, evidence, attempts, .. } = detail(&setup, id).await;
        assert_eq!((record.state, record.review, evidence.len()), (State::Succeeded, false, 1));
        assert!(attempts.is_empty(), "nothing was tried: {attempts:?}");
        // Also for a call under another id, and when the event comes again.
        assert!(told(&setup, &setup.call_as("call_2", 2), "A-1", Ok).await.is_replay());
        assert!(matches!(setup.idem.evidence(happened).await, Ok(Witnessed::Known { record: Some(_) })));
        assert_eq!(setup.world.effects(), [""; 0], "{}", setup.name());
    }
}

#[tokio::test]
async fn other_words_before_the_record_hold_no_call_back() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let id = prepared(&setup, &call, "A-1").await;
        for said in [event(id, "evt_1").not_applied(), event(id, "evt_2")] {
            assert!(matches!(setup.idem.evidence(said).await, Ok(Witnessed::Kept)));
        }
        let first = told(&setup, &call, "A-1", Ok).await;
        assert_eq!((first.is_replay(), first.value().is_some()), (false, true), "{}: {first:?}", setup.name());
        assert_eq!(detail(&setup, id).await.evidence.len(), 2);
        // A success whose result nobody told is one without a result.
        let call = setup.call_as("call_2", 2);
        let id = prepared(&setup, &call, "A-2").await;
        setup.idem.evidence(event(id, "evt_3").applied(None, Some("ch_9"))).await.expect("kept");
        let first = refusal(told(&setup, &call, "A-2", Ok).await);
        assert_eq!(first.kind(), &RefusalKind::ResultNotHeld);
        assert_eq!(setup.world.effects(), ["A-1"], "{}", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_while_the_attempt_runs_is_the_answer_whatever_the_attempt_believes() {
    let ends: [(&str, End, bool, usize); 3] =
        [("A-1", Ok, false, 1), ("A-1", answer_lost, false, 1), ("declined", Ok, true, 0)];
    for (order, end, review, effects) in ends {
        for setup in every_store().await {
            let call = setup.call_as("call_1", 1);
            let id = prepared(&setup, &call, order).await;
            let bank = Bank { body: Gate::new(), ..Bank::quick(&setup.world, end) };
            let running = spawn(&call, order, &bank);
            bank.body.arrived().await;
            let said = event(id, "evt_1").applied(Some(result("ch_9")), Some("ch_9"));
            let weighed = setup.idem.evidence(said).await.expect("weighed");
            assert!(matches!(&weighed, Witnessed::Weighed { record } if record.state == State::Succeeded));
            // A repeat is told at once, although the body still runs.
            let repeat = told(&setup, &call, order, Ok).await;
            assert_eq!((repeat.is_replay(), repeat.value()), (true, Some(&Paid { id: "ch_9".into() })));
            bank.body.open();
            let owner = running.await.expect("no panic");
            assert!(owner.value().is_some(), "{}: {owner:?}", setup.name());
            let record = setup.record(id).await;
            assert_eq!((record.state, record.review), (State::Succeeded, review), "{}: {order}", setup.name());
            assert_eq!(setup.world.effects().len(), effects);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_while_somebody_finds_out_settles_and_the_look_up_comes_late() {
    let verdicts: [(Answer, bool); 3] = [
        (|| Verdict::not_applied("no such charge"), true),
        (|| Verdict::inconclusive("try later"), false),
        (|| Verdict::applied(Paid { id: "ch_other".into() }, "ch_other"), false),
    ];
    for (verdict, review) in verdicts {
        for setup in every_store().await {
            let call = setup.call_as("call_1", 1);
            let id = unknown(&setup, &call).await;
            let bank = Bank { lookup: Gate::new(), verdict, ..Bank::quick(&setup.world, Ok) };
            let reconciler = setup.idem.reconciler([pay_tool(bank.clone())]);
            let finding = tokio::spawn(async move { reconciler.settle(&tenant(), id).await });
            bank.lookup.arrived().await;
            assert_eq!(setup.state(id).await, "reconciling");
            let said = event(id, "evt_1").applied(Some(result("ch_1")), Some("ch_1"));
            setup.idem.evidence(said).await.expect("weighed");
            assert_eq!(setup.state(id).await, "succeeded", "{}", setup.name());
            bank.lookup.open();
            let after = finding.await.expect("no panic").expect("a ledger").expect("a record");
            assert_eq!((after.state, after.review), (State::Succeeded, review), "{}", setup.name());
            assert_eq!(after.reference.as_deref(), Some("ch_1"), "what came first stays");
            let again = told(&setup, &call, "A-1", Ok).await;
            assert_eq!((again.is_replay(), again.value()), (true, Some(&Paid { id: "ch_1".into() })));
            assert_eq!(setup.world.effects(), ["A-1"]);
        }
    }
}

#[tokio::test]
async fn a_webhook_in_review_settles_without_a_person() {
    let strict = config(|it| it.reconcile_answers_max = 1);
    for setup in every_store_with(|| Idem::builder().config(strict.clone())).await {
        let call = setup.call_as("call_1", 1);
        let id = unknown(&setup, &call).await;
        let mut reconciler = setup.idem.reconciler([pay_tool(Bank::quick(&setup.world, Ok))]);
        assert_eq!(reconciler.run_once().await.expect("a pass").to_operators, 1);
        assert_eq!(setup.state(id).await, "operator_review");
        assert_eq!(refusal(told(&setup, &call, "A-1", Ok).await).kind(), &RefusalKind::Unknown);
        let said = event(id, "evt_1").applied(Some(result("ch_1")), Some("ch_1"));
        setup.idem.evidence(said).await.expect("weighed");
        let record = setup.record(id).await;
        assert_eq!((record.state, record.review), (State::Succeeded, false), "{}", setup.name());
        assert!(told(&setup, &call, "A-1", Ok).await.is_replay());
        assert_eq!(setup.world.effects(), ["A-1"]);
    }
}

#[tokio::test]
async fn a_webhook_after_a_recorded_failure_is_believed_and_flagged() {
    for (order, state) in [("declined", State::FailedFinal), ("busy", State::FailedRetryable)] {
        for setup in every_store().await {
            let call = setup.call_as("call_1", 1);
            let failed = told(&setup, &call, order, Ok).await;
            let id = failed.operation().expect("an operation");
            assert_eq!(setup.record(id).await.state, state);
            assert_eq!(in_review(&setup).await, []);
            let said = event(id, "evt_1").applied(Some(result("ch_1")), Some("ch_1"));
            setup.idem.evidence(said).await.expect("weighed");
            let record = setup.record(id).await;
            assert_eq!((record.state, record.review), (State::Succeeded, true), "{}", setup.name());
            assert_eq!(in_review(&setup).await, [id]);
            // A new id, so that nothing answers from memory.
            let next = told(&setup, &setup.call_as("call_2", 2), order, Ok).await;
            assert_eq!(next.value(), Some(&Paid { id: "ch_1".into() }), "{}: {next:?}", setup.name());
            assert_eq!(setup.world.effects(), [""; 0]);
        }
    }
}

// R-U3
#[tokio::test]
async fn evidence_against_the_effect_frees_nothing_alone() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let id = unknown(&setup, &call).await;
        for name in ["evt_1", "evt_2", "evt_3"] {
            setup.idem.evidence(event(id, name).not_applied().words("charge.failed")).await.expect("weighed");
            assert_eq!(setup.state(id).await, "outcome_unknown", "{}", setup.name());
            let next = refusal(told(&setup, &call, "A-1", Ok).await);
            assert_eq!(next.kind(), &RefusalKind::Unknown);
        }
        assert_eq!(setup.world.effects(), ["A-1"], "{}", setup.name());
        // The control arm: a person's word does free it. (Here the person is wrong, and the effect is doubled.)
        let person = setup.idem.operator(&tenant(), "mia").expect("an operator");
        let seen = setup.record(id).await;
        person.resolve(&seen, Resolution::Retryable, "they say it failed", None).await.expect("resolved");
        assert!(told(&setup, &call, "A-1", Ok).await.value().is_some());
        assert_eq!(setup.world.effects().len(), 2);
    }
}

// R-X1
#[tokio::test]
async fn r_x1_another_tenants_evidence_does_nothing() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let id = unknown(&setup, &call).await;
        let before = detail(&setup, id).await;
        let umbrella = Tenant::new("umbrella").expect("a tenant");
        let said = Evidence::of(&umbrella, id, "stripe", "evt_1");
        for said in [said.clone().applied(Some(result("ch_evil")), Some("ch_evil")), said.not_applied()] {
            let heard = setup.idem.evidence(said).await.expect("heard");
            assert!(matches!(heard, Witnessed::Kept | Witnessed::Known { record: None }), "shows nothing: {heard:?}");
        }
        assert_eq!(detail(&setup, id).await, before, "{}", setup.name());
        // Before the record too: what another tenant says about an id is not this one's.
        let call = setup.call_as("call_2", 2);
        let id = prepared(&setup, &call, "A-2").await;
        let said = Evidence::of(&umbrella, id, "stripe", "evt_2").applied(None, Some("ch_evil"));
        assert!(matches!(setup.idem.evidence(said).await, Ok(Witnessed::Kept)));
        assert!(!told(&setup, &call, "A-2", Ok).await.is_replay());
        assert_eq!(setup.world.effects(), ["A-1", "A-2"], "{}", setup.name());
    }
}

#[tokio::test]
async fn r_x3_names_and_words_of_evidence_are_bounded_and_refused_before_anything_is_kept() {
    let small = config(|it| it.result_bytes_max = 100);
    for setup in every_store_with(|| Idem::builder().config(small.clone())).await {
        let id = unknown(&setup, &setup.call_as("call_1", 1)).await;
        let before = detail(&setup, id).await;
        let (name, words, large) = ("x".repeat(513), "x".repeat(4_097), "x".repeat(100));
        let of = |source: &str, name: &str| Evidence::of(&tenant(), id, source, name).applied(None, Some("ch_1"));
        let refused = [
            (of("", "evt_1"), "source of evidence is empty or blank"),
            (of(" \t", "evt_1"), "source of evidence is empty or blank"),
            (of("stripe", " "), "event of evidence is empty or blank"),
            (of(&name, "evt_1"), "source of evidence has 513 bytes"),
            (of("stripe", &name), "event of evidence has 513 bytes"),
            (event(id, "evt_1").applied(None, Some("  ")), "reference is empty or blank"),
            (event(id, "evt_1").applied(None, Some(&name)), "reference has 513 bytes"),
            (of("stripe", "evt_1").by(""), "actor is empty or blank"),
            (of("stripe", "evt_1").by(name.as_str()), "actor has 513 bytes"),
            (of("stripe", "evt_1").words(" "), "words of evidence is empty or blank"),
            (of("stripe", "evt_1").words(words.as_str()), "words of evidence of 4097 bytes"),
            (event(id, "evt_1").applied(Some(result(&large)), Some("ch_1")), "at most 100 are stored"),
        ];
        for (said, why) in refused {
            let error = setup.idem.evidence(said).await.expect_err("refused");
            let kind = matches!(error, ResolveError::Invalid(_) | ResolveError::Words(_) | ResolveError::Result(_));
            assert!(kind && error.to_string().contains(why), "{}: {error}", setup.name());
        }
        assert_eq!(detail(&setup, id).await, before, "nothing was kept: {}", setup.name());
        // As long as names and words may be.
        let (name, words) = ("x".repeat(512), "x".repeat(4_096));
        let said = Evidence::of(&tenant(), id, name.as_str(), name.as_str()).applied(None, Some(&name));
        let said = said.by(name.as_str()).words(words);
        assert!(matches!(setup.idem.evidence(said).await, Ok(Witnessed::Weighed { .. })), "{}", setup.name());
        assert_eq!(setup.record(id).await.reference.as_deref(), Some(name.as_str()));
    }
}

// R-C3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_c3_a_late_owners_result_settles_what_nobody_could_find_out() {
    let short = config(|it| it.run_max = Duration::from_secs(1));
    for setup in every_store_with(|| Idem::builder().config(short.clone())).await {
        let call = setup.call_as("call_1", 1);
        let bank = Bank { body: Gate::new(), ..Bank::quick(&setup.world, Ok) };
        let owner = spawn(&call, "A-1", &bank);
        bank.body.arrived().await;
        setup.clock.advance(Duration::from_mins(2));
        // Its owner is silent: a reconciler takes over and cannot tell.
        let mut reconciler = setup.idem.reconciler([pay_tool(Bank::quick(&setup.world, Ok))]);
        let seen = reconciler.run_once().await.expect("a pass");
        assert_eq!((seen.taken_over, seen.inconclusive), (1, 1), "{}: {seen:?}", setup.name());
        let lost = refusal(told(&setup, &call, "A-1", Ok).await);
        let id = lost.operation().expect("an operation");
        assert_eq!((lost.kind(), setup.state(id).await), (&RefusalKind::Unknown, "outcome_unknown"));
        bank.body.open();
        let late = owner.await.expect("no panic");
        assert_eq!(late.value(), Some(&Paid { id: "ch_1".into() }), "{late:?}");
        let record = setup.record(id).await;
        assert_eq!((record.state, record.reference.as_deref()), (State::Succeeded, Some("ch_1")));
        let again = told(&setup, &call, "A-1", Ok).await;
        assert_eq!((again.is_replay(), again.value()), (true, late.value()), "{}", setup.name());
        assert_eq!(setup.world.effects(), ["A-1"]);
    }
}

// R-C5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_hangs_is_settled_without_it() {
    let short = config(|it| it.run_max = Duration::from_secs(1));
    for setup in every_store_with(|| Idem::builder().config(short.clone())).await {
        let call = setup.call_as("call_1", 1);
        // It hangs before its effect or after; the provider knows.
        let verdicts: [(Answer, bool); 2] = [
            (|| Verdict::applied(Paid { id: "ch_1".into() }, "ch_1"), true),
            (|| Verdict::not_applied("no such charge"), false),
        ];
        for ((verdict, replays), order) in verdicts.into_iter().zip(["A-1", "A-2"]) {
            let bank = Bank { body: Gate::new(), verdict, ..Bank::quick(&setup.world, Ok) };
            let hanging = spawn(&call.clone().turn(order), order, &bank);
            bank.body.arrived().await;
            setup.clock.advance(Duration::from_mins(2));
            let mut reconciler = setup.idem.reconciler([pay_tool(bank.clone())]);
            let seen = reconciler.run_once().await.expect("a pass");
            assert_eq!(seen.taken_over, 1, "{}: {seen:?}", setup.name());
            assert_eq!((seen.applied, seen.not_applied), (u64::from(replays), u64::from(!replays)), "{seen:?}");
            let next = told(&setup, &call.clone().turn(order), order, Ok).await;
            assert_eq!(next.is_replay(), replays, "{}: {next:?}", setup.name());
            assert_eq!(setup.world.count(order), usize::from(!replays));
            hanging.abort();
        }
    }
}

/// What a [`Lossy`] store does to reservations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nonce {
    Kept,
    /// The control arm: a reservation cannot be told from another one.
    Zeroed,
}

/// A store that loses the answer of one reservation: it is committed, and nobody hears of it.
#[derive(Debug)]
struct Lossy<S> {
    store: S,
    nonce: Nonce,
    /// Reservations until the one whose answer is lost.
    left: Arc<AtomicUsize>,
}

impl<S: Store> Store for Lossy<S> {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        let reserves = commands.iter().any(|command| matches!(command, Command::Reserve(_)));
        let lost = reserves && self.left.fetch_sub(1, Ordering::SeqCst) == 1;
        let without = |command: &Command| match command {
            Command::Reserve(reserve) if self.nonce == Nonce::Zeroed => {
                Command::Reserve(Arc::new(Reserve { nonce: 0, ..Reserve::clone(reserve) }))
            }
            command => command.clone(),
        };
        let commands: Vec<Command> = commands.iter().map(without).collect();
        Box::pin(async move {
            let replies = self.store.apply(&commands, now).await?;
            if lost {
                return Err(StoreError::new(StoreErrorKind::Other, Aftermath::Unknown, "the answer was lost"));
            }
            Ok(replies)
        })
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.store.reader()
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        self.store.clock()
    }

    fn flow(&self) -> Flow {
        self.store.flow()
    }

    fn close(&mut self) {
        self.store.close();
    }
}

/// A ledger in each kind of store that loses the answer of the `lost`-th reservation.
async fn lossy(nonce: Nonce, lost: usize) -> Vec<Setup> {
    let mut setups = Vec::new();
    for place in Place::EVERY {
        let begin = |clock: &TestClock, store| {
            let store = Lossy { store, nonce, left: Arc::new(AtomicUsize::new(lost)) };
            Idem::builder().clock(clock.clone()).with_store(store).expect("a ledger")
        };
        setups.push(decorated(*place, begin).await);
    }
    setups
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reservation_whose_reply_was_lost_runs_once_as_one_attempt() {
    for setup in lossy(Nonce::Kept, 1).await {
        let call = setup.call_as("call_1", 1);
        let first = told(&setup, &call, "A-1", Ok).await;
        let Outcome::Succeeded(first) = first else { panic!("{}: {first:?}", setup.name()) };
        assert_eq!((first.told.attempt, first.told.replay), (1, None), "{}", setup.name());
        let shown = detail(&setup, first.told.operation).await;
        assert_eq!((shown.record.state, shown.record.attempt), (State::Succeeded, 1));
        assert_eq!(shown.attempts.len(), 1, "one attempt: {:?}", shown.attempts);
        assert!(told(&setup, &call, "A-1", Ok).await.is_replay());
        assert_eq!(setup.world.effects(), ["A-1"], "{}", setup.name());
    }
    // A second attempt's reply, lost as well.
    for setup in lossy(Nonce::Kept, 2).await {
        let call = setup.call_as("call_1", 1);
        assert_eq!(refusal(told(&setup, &call, "busy", Ok).await).kind(), &RefusalKind::FailedRetryable);
        let second = refusal(told(&setup, &call, "busy", Ok).await);
        assert_eq!(second.kind(), &RefusalKind::FailedRetryable);
        let shown = detail(&setup, second.operation().expect("one")).await;
        assert_eq!((shown.record.attempt, shown.attempts.len()), (2, 2), "{}", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_nonce_a_lost_reply_leaves_an_attempt_that_nobody_holds() {
    for setup in lossy(Nonce::Zeroed, 1).await {
        let call = setup.call_as("call_1", 1);
        let first = refusal(told(&setup, &call, "A-1", Ok).await);
        assert!(matches!(first.kind(), RefusalKind::InProgress { .. }), "{}: {first:?}", setup.name());
        let id = first.operation().expect("an operation");
        assert_eq!((setup.state(id).await, setup.world.effects().len()), ("in_progress", 0));
        // Nobody renews it: it ends as unknown, although nothing was ever sent.
        setup.clock.advance(Duration::from_mins(2));
        assert_eq!(refusal(told(&setup, &call, "A-1", Ok).await).kind(), &RefusalKind::Unknown);
        until("it is unknown", async || (setup.state(id).await == "outcome_unknown").then_some(())).await;
        assert_eq!(setup.world.effects().len(), 0, "{}", setup.name());
    }
}
