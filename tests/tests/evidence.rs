//! What outside voices say about an operation: webhooks in any order and at any moment, owners that speak late, and
//! answers of the store that never arrive.

use std::{fmt, time::Duration};

use idem_runtime::{
    Idem, OperationId, Outcome, Refusal, RefusalKind, ResolveError, Tenant, ToolCall, Unsettled, Verdict, idempotent,
    ledger::{Detail, Evidence, Listing, Resolution, State, Stored, StoredKind, Witnessed},
    prepare,
};
use idem_tests::{
    timing::Gate,
    tools::{ToolError, classify},
    world::{Setup, TENANT, World, config, every_store, every_store_with},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinHandle;

#[path = "evidence/lossy.rs"]
mod lossy;
#[path = "evidence/webhooks.rs"]
mod webhooks;

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

async fn prepared(setup: &Setup, call: &ToolCall, order: &str) -> OperationId {
    let record = prepare(pay(call, order.into(), Bank::quick(&setup.world, Ok))).await;
    record.expect("a record").operation()
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
