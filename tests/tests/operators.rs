//! What a person can do about operations: list them, look at them, decide, and record what was done by hand.

use std::{collections::HashMap, sync::Arc, time::Duration};

use idem_runtime::{
    Clock, Idem, InvalidId, OperationId, Operator, Outcome, Refusal, RefusalKind, ResolveError, Tenant, ToolCall,
    Unsettled, Verdict, idempotent,
    ledger::{Detail, Evidence, Happened, Listing, Record, Resolution, State, Witnessed},
    prepare,
};
use idem_tests::{
    tools::{ToolError, classify},
    world::{Setup, TENANT, World, config, every_store, every_store_with, memory},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Barrier;

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

fn unknown(records_max: u32) -> Listing {
    Listing { states: vec![State::OutcomeUnknown], records_max, ..Listing::default() }
}

/// Every page from the first on; `between` moves records after each.
async fn pages(person: &Operator, mut listing: Listing, mut between: impl AsyncFnMut(usize)) -> Vec<Record> {
    let mut all = Vec::new();
    for page_number in 0.. {
        let page = person.list(&listing).await.expect("a page");
        assert!(page.records.len() <= listing.records_max as usize);
        all.extend(page.records);
        match page.next {
            None => break,
            Some(next) => listing.after = next,
        }
        between(page_number).await;
    }
    all
}

fn ids(records: &[Record]) -> Vec<OperationId> {
    records.iter().map(|record| record.operation).collect()
}

async fn nothing_moves(_: usize) {}

const KINDS: [Provider; 5] =
    [Provider::AnswerLost, Provider::Answers, Provider::RequestLost, Provider::Busy, Provider::Declines];

// R-U7
#[tokio::test]
async fn r_u7_operations_are_listed_by_state_and_age() {
    for setup in every_store().await {
        let person = operator(&setup);
        let start = setup.clock.now();
        let mut by_kind: Vec<(Provider, OperationId)> = Vec::new();
        for number in 0..20 {
            let kind = KINDS[number % KINDS.len()];
            by_kind.push((kind, operation(&setup, &format!("A-{number}"), kind).await));
            setup.clock.advance(Duration::from_mins(1));
        }
        let of = |wanted: &[Provider]| -> Vec<OperationId> {
            by_kind.iter().filter(|(kind, _)| wanted.contains(kind)).map(|(_, id)| *id).collect()
        };
        for (states, wanted) in [
            (vec![State::OutcomeUnknown], vec![Provider::AnswerLost, Provider::RequestLost]),
            (vec![State::Succeeded], vec![Provider::Answers]),
            (vec![State::FailedRetryable, State::FailedFinal], vec![Provider::Busy, Provider::Declines]),
            (vec![], KINDS.to_vec()),
            (vec![State::OperatorReview], vec![]),
        ] {
            // Pages that end in the middle, at the end, and far behind it.
            for records_max in [1, 3, 4, 20, 100] {
                let listing = Listing { states: states.clone(), records_max, ..Listing::default() };
                let listed = pages(&person, listing, nothing_moves).await;
                assert_eq!(ids(&listed), of(&wanted), "{}: {states:?} by {records_max}", setup.name());
            }
        }
        // By age: what came to its state before the tenth minute.
        let before = Some(start.after(Duration::from_mins(10)));
        let listing = Listing { before, records_max: 3, ..Listing::default() };
        let early: Vec<OperationId> = by_kind[..10].iter().map(|(_, id)| *id).collect();
        assert_eq!(ids(&pages(&person, listing, nothing_moves).await), early, "{}", setup.name());
        let listing = Listing { before, ..unknown(3) };
        let early: Vec<OperationId> = early.into_iter().filter(|id| of(&[KINDS[0], KINDS[2]]).contains(id)).collect();
        assert_eq!(ids(&pages(&person, listing, nothing_moves).await), early, "{}", setup.name());
    }
}

#[tokio::test]
async fn r_u7_pages_have_no_gaps_and_no_doubles_while_records_move() {
    for setup in every_store().await {
        let person = operator(&setup);
        let mut all = Vec::new();
        for number in 0..24 {
            all.push(operation(&setup, &format!("A-{number}"), Provider::AnswerLost).await);
        }
        // After each page: one that was listed leaves, one that was not yet listed leaves, and a new one comes.
        let listed = pages(&person, unknown(5), async |page| {
            if page > 3 {
                return;
            }
            for gone in [all[page], all[23 - page]] {
                let seen = setup.record(gone).await;
                person.resolve(&seen, Resolution::Final, "gone", None).await.expect("resolved");
            }
            operation(&setup, &format!("B-{page}"), Provider::AnswerLost).await;
        })
        .await;
        let listed = ids(&listed);
        let mut unique = listed.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), listed.len(), "no doubles: {}", setup.name());
        for stayed in &all[4..20] {
            assert!(listed.contains(stayed), "no gaps: {}", setup.name());
        }
        assert!(!listed.contains(&all[23]), "what had left before its page is not on it");
        assert_eq!(listed.len(), 20 + 4, "and what came meanwhile is behind the rest");
    }
}

// R-U7
#[tokio::test]
async fn r_u7_an_operation_is_shown_with_attempts_history_evidence_and_links() {
    for setup in every_store().await {
        let (person, call) = (operator(&setup), setup.call_as("call_1", 1));
        assert_eq!(refusal(told(&setup, &call, "A-1", Provider::Busy).await).kind(), &RefusalKind::FailedRetryable);
        setup.clock.advance(Duration::from_mins(1));
        let lost = refusal(told(&setup, &call, "A-1", Provider::AnswerLost).await);
        let id = lost.operation().expect("an operation");
        let webhook = Evidence::of(&tenant(), id, "stripe", "evt_1").words("charge.pending");
        setup.idem.evidence(webhook).await.expect("weighed");
        let seen = detail(&setup, id).await.record;
        let resolution = Resolution::succeeded(Some(&json!({ "id": "ch_1" })), Some("ch_1"));
        person.resolve(&seen, resolution, "it is on the statement", Some("page 3")).await.expect("resolved");
        let undo = setup.call_as("call_2", 2).compensates(id);
        let undone = told(&setup, &undo, "A-1", Provider::Answers).await.operation().expect("an operation");

        let shown = detail(&setup, id).await;
        assert_eq!((shown.record.operation, shown.record.attempt), (id, 2));
        assert_eq!((&*shown.scope_kind, shown.scope_value.as_deref()), ("conversation", Some("c-1")));
        assert_eq!(shown.attempts.iter().map(|it| it.number).collect::<Vec<_>>(), [1, 2], "{}", setup.name());
        assert!(shown.attempts[0].fence < shown.attempts[1].fence);
        assert!(shown.attempts[0].started_at < shown.attempts[1].started_at);
        let events: Vec<(&str, State)> = shown.history.iter().map(|it| (&*it.event, it.state)).collect();
        assert_eq!(
            events,
            [
                ("settle_retryable", State::FailedRetryable),
                ("reserve", State::InProgress),
                ("settle_unknown", State::OutcomeUnknown),
                ("evidence_inconclusive", State::OutcomeUnknown),
                ("resolve_succeeded", State::Succeeded),
            ],
            "{}",
            setup.name()
        );
        assert!(shown.history.windows(2).all(|pair| pair[0].version < pair[1].version && pair[0].at <= pair[1].at));
        assert_eq!(shown.history.last().map(|it| it.version), Some(shown.record.version));
        let [said] = &shown.evidence[..] else { panic!("one piece of evidence: {:?}", shown.evidence) };
        assert_eq!((&*said.source, &*said.event, &*said.finding), ("stripe", "evt_1", "inconclusive"));
        assert_eq!(said.words.as_deref(), Some("charge.pending"));
        assert_eq!(shown.linked_from.iter().map(|link| link.to).collect::<Vec<_>>(), [undone]);
        assert!(shown.links.is_empty());
        assert_eq!(shown.arguments, None, "arguments are not stored unless the tool says so");
        assert_eq!(shown.identities.len(), 2, "an id and the arguments lead to it");
    }
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

// R-X1 R-U7
#[tokio::test]
async fn r_x1_an_operator_is_bound_to_a_tenant() {
    for setup in every_store().await {
        let id = operation(&setup, "A-1", Provider::AnswerLost).await;
        let before = detail(&setup, id).await;
        let umbrella = Tenant::new("umbrella").expect("a tenant");
        let stranger = setup.idem.operator(&umbrella, "eve").expect("an operator");
        let all = Listing { records_max: 100, ..Listing::default() };
        assert!(stranger.list(&all).await.expect("a page").records.is_empty());
        assert_eq!(stranger.show(id).await.expect("readable"), None);
        for resolution in [Resolution::Retryable, Resolution::Final, Resolution::succeeded(None, Some("ch"))] {
            let refused = stranger.resolve(&before.record, resolution, "mine now", None).await;
            assert!(matches!(refused, Err(ResolveError::Gone)), "{}: {refused:?}", setup.name());
        }
        let result = Some(&Paid { id: "ch_evil".into() });
        let kept = stranger.record_external(id, result, Some("ch_evil"), "mine now").await.expect("kept");
        assert!(matches!(kept, Witnessed::Kept), "as for an id that there is not: {kept:?}");
        assert_eq!(detail(&setup, id).await, before, "{}", setup.name());
        // Its own operator sees it.
        assert_eq!(ids(&operator(&setup).list(&all).await.expect("a page").records), [id]);
    }
}

#[tokio::test]
async fn an_operator_has_a_name() {
    let setup = memory(Idem::builder()).await;
    for name in ["", "  \t"] {
        let refused = setup.idem.operator(&tenant(), name).expect_err("refused");
        assert_eq!(refused, InvalidId::Blank { what: "actor" });
    }
    let refused = setup.idem.operator(&tenant(), "x".repeat(513)).expect_err("refused");
    assert_eq!(refused, InvalidId::TooLong { what: "actor", bytes: 513 });
    // As long as a name may be: everything can be signed with it.
    let person = setup.idem.operator(&tenant(), "x".repeat(512)).expect("an operator");
    for (order, by_hand) in [("A-1", false), ("A-2", true)] {
        let id = operation(&setup, order, Provider::AnswerLost).await;
        if by_hand {
            person.record_external::<Paid>(id, None, Some("ch_1"), "by hand").await.expect("weighed");
        } else {
            let seen = setup.record(id).await;
            person.resolve(&seen, Resolution::Final, "no", None).await.expect("resolved");
        }
        let history = detail(&setup, id).await.history;
        assert_eq!(history.last().and_then(|it| it.actor.as_deref().map(str::len)), Some(512));
    }
}

#[tokio::test]
async fn r_x3_what_an_operator_says_is_bounded_and_refused_before_anything_changes() {
    let small = config(|it| it.result_bytes_max = 100);
    for setup in every_store_with(|| Idem::builder().config(small.clone())).await {
        let person = operator(&setup);
        let id = operation(&setup, "A-1", Provider::AnswerLost).await;
        let seen = setup.record(id).await;
        let (long, name) = ("x".repeat(4_097), "x".repeat(513));
        let large = json!({ "id": "x".repeat(100) });
        let succeeded = Resolution::succeeded;
        let decisions: [(Resolution, &str, Option<&str>, &str); 7] = [
            (Resolution::Final, "", None, "empty or blank"),
            (Resolution::Final, "  ", None, "empty or blank"),
            (Resolution::Final, &long, None, "4097 bytes"),
            (Resolution::Retryable, "no", Some(&long), "4097 bytes"),
            (Resolution::Retryable, "no", Some(" "), "empty or blank"),
            (succeeded(None, Some(&name)), "yes", None, "513 bytes"),
            (succeeded(Some(&large), Some("ch_1")), "yes", None, "at most 100 are stored"),
        ];
        for (resolution, reason, evidence, why) in decisions {
            let error = person.resolve(&seen, resolution, reason, evidence).await.expect_err("refused");
            assert!(error.to_string().contains(why), "{}: {error}", setup.name());
        }
        let large = Paid { id: "x".repeat(100) };
        for (result, reference, reason, why) in [
            (None, None, "", "empty or blank"),
            (None, None, &*long, "4097 bytes"),
            (None, Some(&*name), "yes", "513 bytes"),
            (Some(&large), None, "yes", "at most 100 are stored"),
        ] {
            let error = person.record_external(id, result, reference, reason).await.expect_err("refused");
            assert!(error.to_string().contains(why), "{}: {error}", setup.name());
        }
        assert_eq!(setup.record(id).await, seen, "nothing was changed: {}", setup.name());
        assert_eq!(detail(&setup, id).await.history.len(), 1, "{}", setup.name());
        // As long as it may be.
        let long = "x".repeat(4_096);
        person.resolve(&seen, Resolution::Final, &long, Some(&long)).await.expect("resolved");
        let history = detail(&setup, id).await.history;
        let words = history.last().and_then(|it| it.detail.as_deref()).expect("words");
        assert_eq!(words.chars().count(), 1_000, "the history keeps the beginning: {}", setup.name());
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

#[tokio::test]
async fn what_contradicts_a_success_is_listed_for_review() {
    for setup in every_store().await {
        let person = operator(&setup);
        let quiet = operation(&setup, "A-1", Provider::Answers).await;
        let disputed = operation(&setup, "A-2", Provider::Answers).await;
        let in_review = Listing { in_review: true, records_max: 10, ..Listing::default() };
        assert!(person.list(&in_review).await.expect("a page").records.is_empty());
        let against = Evidence::of(&tenant(), disputed, "stripe", "evt_1").not_applied();
        setup.idem.evidence(against).await.expect("weighed");
        let page = person.list(&in_review).await.expect("a page");
        assert_eq!(ids(&page.records), [disputed], "{}", setup.name());
        assert_eq!((page.records[0].state, page.records[0].review), (State::Succeeded, true));
        assert!(!setup.record(quiet).await.review);
    }
}

/// An operator who says "failed" and a reconciler that finds the effect, at the same moment.
struct Round<'a> {
    setup: &'a Setup,
    number: usize,
}

/// Who came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Winner {
    Operator,
    Reconciler,
}

impl Round<'_> {
    /// `first` comes first for certain; without it both start at a barrier.
    async fn run(&self, first: Option<Winner>) -> Winner {
        let Self { setup, number } = self;
        let order = format!("A-{number}");
        let id = operation(setup, &order, Provider::AnswerLost).await;
        let (seen, tenant) = (setup.record(id).await, tenant());
        let barrier = Arc::new(Barrier::new(2));
        let decides = tokio::spawn({
            let (person, seen, barrier) = (operator(setup), seen.clone(), Arc::clone(&barrier));
            async move {
                barrier.wait().await;
                person.resolve(&seen, Resolution::Final, "nothing on the statement", None).await
            }
        });
        let reconciler = setup.idem.reconciler([pay_tool(Provider::Answers, setup.world.clone())]);
        let (decided, found) = match first {
            Some(Winner::Operator) => {
                barrier.wait().await;
                let decided = decides.await.expect("no panic");
                (decided, reconciler.settle(&tenant, id).await)
            }
            Some(Winner::Reconciler) => {
                let found = reconciler.settle(&tenant, id).await;
                barrier.wait().await;
                (decides.await.expect("no panic"), found)
            }
            None => {
                barrier.wait().await;
                let found = reconciler.settle(&tenant, id).await;
                (decides.await.expect("no panic"), found)
            }
        };
        let found = found.expect("a ledger").expect("the record as it stands");
        let winner = match &decided {
            Ok(record) => {
                assert_eq!((record.state, record.version), (State::FailedFinal, seen.version + 1));
                assert_eq!(found, *record, "the reconciler is told what the operator made of it");
                Winner::Operator
            }
            Err(ResolveError::Changed(record)) => {
                let now = record.state;
                assert!(matches!(now, State::Reconciling | State::Succeeded), "as it stood: {now:?}");
                assert_eq!(found.state, State::Succeeded);
                Winner::Reconciler
            }
            Err(other) => panic!("{other:?}"),
        };
        self.check(id, winner).await;
        winner
    }

    /// The loser insists: what it knows is evidence, stands in the history, and takes no success back.
    async fn check(&self, id: OperationId, winner: Winner) {
        let Self { setup, number } = self;
        let said = Evidence::of(&tenant(), id, "by hand", format!("evt_{number}"));
        let said = match winner {
            Winner::Operator => said.applied(None, Some("ch_1")).by("the reconciler"),
            Winner::Reconciler => said.not_applied().by("mia"),
        };
        setup.idem.evidence(said).await.expect("weighed");
        let Detail { record, history, .. } = detail(setup, id).await;
        assert_eq!((record.state, record.review), (State::Succeeded, true), "{}: {history:?}", setup.name());
        let mut steps: Vec<(&str, Option<&str>)> = history.iter().map(|it| (&*it.event, it.actor.as_deref())).collect();
        if winner == Winner::Reconciler {
            // It came too late at some moment after the reconciler had begun.
            let late = steps.iter().position(|step| *step == ("resolve_refused", Some("mia"))).expect("the loser");
            assert!(late >= 2, "{}: {steps:?}", setup.name());
            steps.remove(late);
            assert_eq!(refused_decisions(&history)[0].1, "failed_final: nothing on the statement");
        }
        let expected: &[(&str, Option<&str>)] = match winner {
            Winner::Operator => &[
                ("settle_unknown", None),
                ("resolve_final", Some("mia")),
                ("evidence_applied", Some("the reconciler")),
            ],
            Winner::Reconciler => &[
                ("settle_unknown", None),
                ("begin_reconcile", None),
                ("step", None),
                ("verdict_applied", None),
                ("evidence_not_applied", Some("mia")),
            ],
        };
        assert_eq!(steps, expected, "{}: both stand in the history", setup.name());
        let order = format!("A-{number}");
        let again = told(setup, &setup.call_as("again", *number as u64), &order, Provider::Answers).await;
        assert_ne!(again.to_json()["outcome"], "failed_final", "{}", setup.name());
        assert_eq!(setup.world.count(&order), 1, "{}: effect and final state agree", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r060_an_operator_and_a_reconciler_at_the_same_moment() {
    const ROUNDS: usize = 1_000;
    const ROUNDS_ON_A_SERVER: usize = 200;
    for setup in every_store().await {
        // Each round is some ten commits, which a server carries out in more time than a file.
        let rounds = if setup.place().is_server() { ROUNDS_ON_A_SERVER } else { ROUNDS };
        for (number, first) in [Winner::Operator, Winner::Reconciler].into_iter().enumerate() {
            assert_eq!(Round { setup: &setup, number: ROUNDS + number }.run(Some(first)).await, first);
        }
        let mut first = HashMap::new();
        for number in 0..rounds {
            *first.entry(Round { setup: &setup, number }.run(None).await).or_insert(0) += 1;
        }
        eprintln!("{}: first of {rounds} rounds: {first:?}", setup.name());
    }
}
