//! What a person can do about operations: list them, look at them, decide, and record what was done by hand.

use std::{sync::Arc, time::Duration};

use idem_runtime::{
    OperationId, Operator, Outcome, Refusal, RefusalKind, ResolveError, Tenant, ToolCall, Unsettled, Verdict,
    idempotent,
    ledger::{Detail, Happened, Record, Resolution, State, Witnessed},
    prepare,
};
use idem_tests::{
    tools::{ToolError, classify},
    world::{Setup, TENANT, World, every_store},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Barrier;

#[path = "operators/listing.rs"]
mod listing;
#[path = "operators/moment.rs"]
mod moment;
#[path = "operators/signed.rs"]
mod signed;

/// What the provider does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Provider {
    /// Does it and answers.
    Answers,
    /// Does it, and the answer is lost.
    AnswerLost,
    /// Never hears of it.
    RequestLost,
    /// Does nothing and says so.
    Busy,
    /// Says that it will not.
    Declines,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Paid {
    id: String,
}

#[idempotent(
    scope = "conversation",
    key = "tool_call_id|args",
    name = "test.pay",
    classify = classify,
    recover(lookup = find_payment, then = operator),
    on_unknown = "tell"
)]
async fn pay(
    call: &ToolCall,
    order: String,
    cents: u64,
    #[idem(state)] provider: Provider,
    #[idem(state)] world: World,
) -> Result<Paid, ToolError> {
    let order = if cents == 4_900 { order } else { format!("{order} for {cents}") };
    match provider {
        Provider::Busy => return Err(ToolError::Busy),
        Provider::Declines => return Err(ToolError::Declined),
        Provider::RequestLost => return Err(ToolError::Timeout),
        Provider::Answers | Provider::AnswerLost => {}
    }
    let id = format!("ch_{}", world.effect(order));
    if provider == Provider::AnswerLost {
        return Err(ToolError::Timeout);
    }
    call.reference(&id);
    Ok(Paid { id })
}

/// The provider knows every payment by the operation that asked for it: here they all happened.
#[expect(clippy::unused_async, reason = "a look-up is async: a real one asks over the network")]
async fn find_payment(_: &Provider, _: &World, operation: Unsettled) -> Verdict<Paid> {
    let id = format!("ch_of_{}", operation.operation());
    Verdict::applied(Paid { id: id.clone() }, id)
}

/// A success of it needs the provider's reference, which the body never tells.
#[idempotent(scope = "conversation", key = "tool_call_id|args", name = "test.wire", reference = required)]
async fn wire(call: &ToolCall, order: String, #[idem(state)] world: World) -> Result<Paid, ToolError> {
    let _ = call.number();
    Ok(Paid { id: format!("wi_{}", world.effect(order)) })
}

fn tenant() -> Tenant {
    Tenant::new(TENANT).expect("a tenant")
}

fn operator(setup: &Setup) -> Operator {
    setup.idem.operator(&tenant(), "mia").expect("an operator")
}

async fn told(setup: &Setup, call: &ToolCall, order: &str, provider: Provider) -> Outcome<Paid> {
    pay_outcome(call, order.into(), 4_900, provider, setup.world.clone()).await
}

fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

/// An operation that comes to its state by the first attempt.
async fn operation(setup: &Setup, order: &str, provider: Provider) -> OperationId {
    let turn = setup.operations().await;
    told(setup, &setup.call_as("call", turn), order, provider).await.operation().expect("an operation")
}

async fn detail(setup: &Setup, operation_id: OperationId) -> Detail {
    operator(setup).show(operation_id).await.expect("a readable ledger").expect("a record")
}

fn ids(records: &[Record]) -> Vec<OperationId> {
    records.iter().map(|record| record.operation).collect()
}

/// What a person decides, and what the next call is told: outcome, whether it ran.
#[tokio::test]
async fn r_u7_a_decision_stands_with_its_reason_and_the_next_call_goes_by_it() {
    let result = json!({ "id": "ch_77" });
    let decisions = [
        (Resolution::Retryable, State::FailedRetryable, "resolve_retryable", "succeeded", 1),
        (Resolution::Final, State::FailedFinal, "resolve_final", "failed_final", 0),
        (Resolution::succeeded(Some(&result), Some("ch_77")), State::Succeeded, "resolve_succeeded", "succeeded", 0),
        (Resolution::succeeded(None, None), State::Succeeded, "resolve_succeeded", "succeeded_without_result", 0),
    ];
    for (resolution, state, event, outcome, effects) in decisions {
        for setup in every_store().await {
            let (person, call) = (operator(&setup), setup.call_as("call_1", 1));
            let id = refusal(told(&setup, &call, "A-1", Provider::RequestLost).await).operation().expect("one");
            let seen = detail(&setup, id).await.record;
            setup.clock.advance(Duration::from_mins(1));
            let reason = "the bank says so";
            let after = person.resolve(&seen, resolution.clone(), reason, Some("ticket 12")).await.expect("resolved");
            assert_eq!((after.state, after.version), (state, seen.version + 1), "{}", setup.name());
            assert_eq!(after, setup.record(id).await, "what it answers is what is stored");
            let history = detail(&setup, id).await.history;
            let last = history.last().expect("an entry");
            assert_eq!((&*last.event, last.state, last.actor.as_deref()), (event, state, Some("mia")));
            let words = last.detail.as_deref().unwrap_or_default();
            assert!(words.contains(reason) && words.contains("ticket 12"), "{words}");
            // The next call, the same and re-planned under a new id.
            for call in [call, setup.call_as("call_9", 9)] {
                let next = told(&setup, &call, "A-1", Provider::Answers).await;
                let json = next.to_json();
                assert_eq!(json["outcome"], outcome, "{}: {json}", setup.name());
                assert_eq!(json["operation"], json!(id.to_string()));
                if state == State::FailedFinal {
                    assert!(next.to_model_text().contains(reason), "{}", next.to_model_text());
                }
                if let (State::Succeeded, Some(paid)) = (state, next.value()) {
                    assert_eq!((paid.id.as_str(), next.is_replay()), ("ch_77", true));
                }
            }
            assert_eq!(setup.world.count("A-1"), effects, "{}: {event}", setup.name());
            assert_eq!(setup.record(id).await.attempt, if effects == 1 { 2 } else { 1 });
        }
    }
}

/// The decisions that were refused, by actor.
fn refused_decisions(history: &[Happened]) -> Vec<(&str, &str)> {
    let refused = history.iter().filter(|entry| &*entry.event == "resolve_refused");
    refused.filter_map(|entry| Some((entry.actor.as_deref()?, entry.detail.as_deref()?))).collect()
}

/// The record as it was, but for its version: what was refused stands in the history, and changes nothing else.
fn unchanged(was: &Record, is: &Record) -> bool {
    *is == Record { version: is.version, ..was.clone() }
}

#[tokio::test]
async fn what_is_not_open_is_not_resolved() {
    for setup in every_store().await {
        let person = operator(&setup);
        for (order, provider) in [("A-1", Provider::Answers), ("A-2", Provider::Busy), ("A-3", Provider::Declines)] {
            let id = operation(&setup, order, provider).await;
            let before = setup.record(id).await;
            for resolution in [Resolution::Retryable, Resolution::Final, Resolution::succeeded(None, Some("ch"))] {
                // Also by somebody who saw the newest version.
                let seen = setup.record(id).await;
                let refused = person.resolve(&seen, resolution, "I think so", None).await.expect_err("refused");
                let ResolveError::Changed(told) = refused else { panic!("{refused:?}") };
                assert!(unchanged(&before, &told), "{}: {told:?}", setup.name());
                assert_eq!(setup.record(id).await, *told, "as it stands");
            }
            let history = detail(&setup, id).await.history;
            let refused = refused_decisions(&history);
            assert_eq!(refused.len(), 3, "{}: {history:?}", setup.name());
            assert!(refused.iter().all(|(actor, why)| *actor == "mia" && why.contains("I think so")));
            assert!(history.iter().all(|entry| entry.state == before.state || entry.version < before.version));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_operators_on_one_record_and_the_loser_is_told() {
    for setup in every_store().await {
        for round in 0..50 {
            let id = operation(&setup, &format!("A-{round}"), Provider::AnswerLost).await;
            let seen = setup.record(id).await;
            let barrier = Arc::new(Barrier::new(2));
            let decide = |actor: &str, resolution: Resolution| {
                let person = setup.idem.operator(&tenant(), actor).expect("an operator");
                let (seen, barrier, actor) = (seen.clone(), Arc::clone(&barrier), actor.to_owned());
                tokio::spawn(async move {
                    barrier.wait().await;
                    (person.resolve(&seen, resolution, &format!("because {actor} says so"), None).await, actor)
                })
            };
            let (mia, tom) =
                (decide("mia", Resolution::Final), decide("tom", Resolution::succeeded(None, Some("ch_1"))));
            let both = [mia.await.expect("no panic"), tom.await.expect("no panic")];
            let (won, lost): (Vec<_>, Vec<_>) = both.into_iter().partition(|(result, _)| result.is_ok());
            let [(Ok(won), winner)] = &won[..] else { panic!("one wins: {won:?} {lost:?}") };
            let [(Err(ResolveError::Changed(told)), loser)] = &lost[..] else { panic!("the other is told: {lost:?}") };
            assert!(unchanged(won, told), "{}: {told:?}", setup.name());
            assert_eq!(**told, setup.record(id).await, "{}: as it stands", setup.name());
            // Both stand in the history: who decided, and who decided too late.
            let history = detail(&setup, id).await.history;
            let actors: Vec<&str> = history.iter().filter_map(|it| it.actor.as_deref()).collect();
            assert_eq!(actors, [winner.as_str(), loser.as_str()]);
            let [(_, why)] = &refused_decisions(&history)[..] else { panic!("{history:?}") };
            let decided = if loser == "mia" { "failed_final" } else { "succeeded" };
            assert_eq!(*why, format!("{decided}: because {loser} says so"));
        }
    }
}

#[tokio::test]
async fn two_reviews_are_not_one_review() {
    for setup in every_store().await {
        let (person, call) = (operator(&setup), setup.call_as("call_1", 1));
        let id = refusal(told(&setup, &call, "A-1", Provider::RequestLost).await).operation().expect("one");
        let first_seen = setup.record(id).await;
        person.resolve(&first_seen, Resolution::Retryable, "never arrived", None).await.expect("resolved");
        assert_eq!(refusal(told(&setup, &call, "A-1", Provider::AnswerLost).await).kind(), &RefusalKind::Unknown);
        let again = setup.record(id).await;
        assert_eq!((again.state, first_seen.state), (State::OutcomeUnknown, State::OutcomeUnknown));
        // The same state, and another question: what was decided on the first one does not answer the second.
        let refused = person.resolve(&first_seen, Resolution::Retryable, "never arrived", None).await;
        let Err(ResolveError::Changed(now)) = refused else { panic!("{refused:?}") };
        assert!(unchanged(&again, &now), "{}: {now:?}", setup.name());
        assert_eq!(setup.record(id).await, *now, "{}", setup.name());
        let resolution = Resolution::succeeded(Some(&json!({ "id": "ch_1" })), Some("ch_1"));
        person.resolve(&now, resolution, "on the statement", None).await.expect("resolved");
        assert!(told(&setup, &call, "A-1", Provider::Answers).await.is_replay());
        assert_eq!(setup.world.count("A-1"), 1, "{}", setup.name());
    }
}

// R-U5
#[tokio::test]
async fn r_u5_a_required_reference_binds_operators_too() {
    for setup in every_store().await {
        let (person, call) = (operator(&setup), setup.call_as("call_1", 1));
        let told = |call: ToolCall| wire_outcome_of(call, setup.world.clone());
        let id = refusal(told(call.clone()).await).operation().expect("an operation");
        let seen = setup.record(id).await;
        assert_eq!(seen.state, State::OutcomeUnknown, "a success without its reference is none");
        let result = json!({ "id": "wi_1" });
        let refused = person.resolve(&seen, Resolution::succeeded(Some(&result), None), "done", None).await;
        assert!(matches!(refused, Err(ResolveError::NoReference)), "{refused:?}");
        assert_eq!(setup.record(id).await, seen, "nothing was changed: {}", setup.name());
        let by_hand = person.record_external(id, Some(&Paid { id: "wi_1".into() }), None, "done").await;
        let Ok(Witnessed::Weighed { record }) = by_hand else { panic!("{by_hand:?}") };
        assert_eq!(record.state, State::OutcomeUnknown, "evidence without it settles nothing either");
        let resolution = Resolution::succeeded(Some(&result), Some("wi_1"));
        let after = person.resolve(&record, resolution, "done", None).await.expect("resolved");
        assert_eq!((after.state, after.reference.as_deref()), (State::Succeeded, Some("wi_1")));
        assert!(told(call).await.is_replay());
        assert_eq!(setup.world.count("A-1"), 1, "{}", setup.name());
    }
}

async fn wire_outcome_of(call: ToolCall, world: World) -> Outcome<Paid> {
    wire_outcome(&call, "A-1".into(), world).await
}

// R-U6a
#[tokio::test]
async fn r_u6a_what_was_done_by_hand_is_found_by_the_call() {
    for setup in every_store().await {
        let person = operator(&setup);
        let by_hand = async |id: OperationId, order: &str| {
            let reference = format!("ch_{}", setup.world.effect(order));
            let result = Paid { id: reference.clone() };
            person.record_external(id, Some(&result), Some(&reference), "paid in the dashboard").await.expect("kept")
        };
        // Before there is a record: `prepare` says what the operation's id will be.
        let call = setup.call_as("call_1", 1);
        let prepared = prepare(pay(&call, "A-1".into(), 4_900, Provider::Answers, setup.world.clone())).await;
        let id = prepared.expect("a record").operation();
        assert!(matches!(by_hand(id, "A-1").await, Witnessed::Kept));
        let first = told(&setup, &call, "A-1", Provider::Answers).await;
        assert_eq!((first.is_replay(), first.operation()), (true, Some(id)), "{}: {first:?}", setup.name());
        assert_eq!(first.value(), Some(&Paid { id: "ch_1".into() }));
        // After it: the request was lost, so somebody paid by hand, and the retry finds it.
        let call = setup.call_as("call_2", 2);
        let id = refusal(told(&setup, &call, "A-2", Provider::RequestLost).await).operation().expect("one");
        let weighed = by_hand(id, "A-2").await;
        assert!(matches!(&weighed, Witnessed::Weighed { record } if record.state == State::Succeeded), "{weighed:?}");
        // The same statement once more is the same event.
        let again = (Some(&Paid { id: "ch_2".into() }), Some("ch_2"));
        let again = person.record_external(id, again.0, again.1, "paid in the dashboard").await;
        assert!(matches!(again, Ok(Witnessed::Known { .. })), "{again:?}");
        let retry = told(&setup, &call, "A-2", Provider::Answers).await;
        assert_eq!((retry.is_replay(), retry.value()), (true, Some(&Paid { id: "ch_2".into() })));
        let said = detail(&setup, id).await;
        let entry = said.history.last().expect("an entry");
        assert_eq!((&*entry.event, entry.actor.as_deref()), ("evidence_applied", Some("mia")));
        assert!(entry.detail.as_deref().is_some_and(|words| words.contains("paid in the dashboard")));
        assert_eq!(said.evidence.iter().map(|it| it.actor.as_deref()).collect::<Vec<_>>(), [Some("mia")]);
        // The control arm: nobody records the one that was paid by hand, so it is paid again.
        setup.world.effect("A-3");
        assert!(!told(&setup, &setup.call_as("call_3", 3), "A-3", Provider::Answers).await.is_replay());
        let counts = ["A-1", "A-2", "A-3"].map(|order| setup.world.count(order));
        assert_eq!(counts, [1, 1, 2], "{}", setup.name());
    }
}
