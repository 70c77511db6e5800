//! The steps of a chain: each in its turn, in the order declared, each with its evidence.

use std::time::Duration;

use idem_runtime::{Outcome, RefusalKind, ledger::State};
use idem_tests::provider::Sending;

use super::stage::{self, Looks, Stage, call, refusal, stages};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

/// What the provider was asked, in order, by method.
fn asked(stage: &Stage) -> Vec<String> {
    let first = |path: &String| path.split(' ').next().unwrap_or_default().to_owned();
    stage.provider.asked().iter().map(first).collect()
}

// R-U2
#[tokio::test]
async fn r_u2_the_step_that_is_declared_first_is_tried_first() {
    for stage in stages().await {
        stage.provider.sends([Sending::Lost]);
        refusal(call!(key_then_lookup_outcome, stage));
        assert!(call!(key_then_lookup_outcome, stage).value().is_some());
        assert_eq!(asked(&stage), ["POST", "POST"], "{}", stage.setup.name());
        stage.one_effect();
    }
    for stage in stages().await {
        stage.provider.sends([Sending::Lost]);
        refusal(call!(lookup_then_key_outcome, stage));
        assert!(call!(lookup_then_key_outcome, stage).is_replay());
        assert_eq!(asked(&stage), ["POST", "GET"], "{}", stage.setup.name());
        stage.one_effect();
    }
}

#[tokio::test]
async fn where_the_lookup_cannot_tell_the_key_behind_it_is_used_in_the_same_call() {
    for stage in stages().await {
        stage.provider.habits(|habits| habits.index_lag = 90 * SECOND);
        stage.provider.sends([Sending::Lost]);
        let operation = refusal(call!(lookup_then_key_outcome, stage)).operation().expect("an operation");
        let told = call!(lookup_then_key_outcome, stage);
        let Outcome::Succeeded(told) = told else { panic!("{told:?}") };
        assert_eq!((told.told.attempt, told.told.replay), (2, None), "{}", stage.setup.name());
        assert_eq!(asked(&stage), ["POST", "GET", "POST"], "{}", stage.setup.name());
        let keys = stage.provider.sent_under();
        assert_eq!(keys[0], keys[1]);
        let events = stage.events(operation).await;
        let after_the_first = ["begin_reconcile", "step", "step", "verdict_inconclusive", "resend", "settle_ok"];
        assert_eq!(events[1..], after_the_first, "{}", stage.setup.name());
        stage.one_effect();
    }
    // When the window has ended there is nothing behind it.
    for stage in stages().await {
        stage.desk.looks(Looks::Unclear);
        stage.provider.sends([Sending::Lost]);
        refusal(call!(lookup_then_key_outcome, stage));
        stage.setup.clock.advance(25 * HOUR);
        assert_eq!(refusal(call!(lookup_then_key_outcome, stage)).kind(), &RefusalKind::Unknown);
        assert_eq!(asked(&stage), ["POST"], "{}", stage.setup.name());
        stage.one_effect();
    }
}

// R-U3
#[tokio::test]
async fn r_u3_every_step_leaves_its_evidence_and_the_first_that_can_tell_ends_the_pass() {
    for stage in stages().await {
        stage.provider.sends([Sending::Lost]);
        let operation = refusal(call!(lookup_then_search_outcome, stage)).operation().expect("an operation");
        stage.desk.looks(Looks::Unclear);
        assert!(call!(lookup_then_search_outcome, stage).is_replay(), "{}", stage.setup.name());
        assert_eq!(
            stage.steps(operation).await,
            ["lookup: inconclusive: the provider is settling its books", "search: applied: rf_1"],
            "{}",
            stage.setup.name()
        );
        stage.one_effect();
    }
    for stage in stages().await {
        stage.provider.sends([Sending::Lost]);
        let operation = refusal(call!(lookup_then_search_outcome, stage)).operation().expect("an operation");
        assert!(call!(lookup_then_search_outcome, stage).is_replay());
        assert_eq!(stage.steps(operation).await, ["lookup: applied: rf_1"], "nobody searches for what was found");
        assert_eq!(stage.provider.looked_up(), 1, "{}", stage.setup.name());
        stage.one_effect();
    }
}

#[tokio::test]
async fn a_search_by_the_reference_finds_the_one_among_several() {
    for stage in stages().await {
        stage.provider.habits(|habits| habits.keyed = false);
        let other = stage.setup.call_as("call_7", 7).occurrence("other");
        assert!(call!(lookup_then_search_outcome, stage, other).value().is_some());
        // It happened, the provider said its id, and what came after failed.
        stage.desk.ends(stage::no_answer);
        stage.desk.looks(Looks::Unclear);
        refusal(call!(lookup_then_search_outcome, stage));
        let told = call!(lookup_then_search_outcome, stage);
        assert!(told.is_replay(), "{}: {told:?}", stage.setup.name());
        assert_eq!(told.value().map(|refund| refund.id.as_str()), Some("rf_2"));
        assert_eq!(stage.provider.asked().last().map(String::as_str), Some("GET /refunds/rf_2"));
        assert_eq!(stage.effects().len(), 2, "one each: {}", stage.setup.name());
    }
}

#[tokio::test]
async fn a_search_that_finds_several_does_not_choose() {
    for stage in stages().await {
        stage.provider.habits(|habits| habits.keyed = false);
        stage.desk.looks(Looks::Unclear);
        // Another refund of the order happened under a call of its own.
        let other = stage.setup.call_as("call_7", 7).occurrence("other");
        assert!(call!(lookup_then_search_outcome, stage, other).value().is_some());
        stage.provider.sends([Sending::Lost]);
        let operation = refusal(call!(lookup_then_search_outcome, stage)).operation().expect("an operation");
        stage.setup.clock.advance(HOUR);
        let told = refusal(call!(lookup_then_search_outcome, stage));
        assert_eq!((told.kind(), told.operation()), (&RefusalKind::Unknown, Some(operation)));
        assert_eq!(stage.record(operation).await.state, State::OutcomeUnknown, "{}", stage.setup.name());
        assert_eq!((stage.provider.sent(), stage.effects().len()), (2, 2), "one each: {}", stage.setup.name());
    }
}

#[tokio::test]
async fn a_person_is_spared_while_callers_can_use_the_key() {
    let soon = |it: &mut idem_runtime::Config| it.reconcile_answers_max = 2;
    for stage in stage::stages_with(soon).await {
        stage.desk.looks(Looks::Unclear);
        stage.provider.sends([Sending::Lost]);
        let operation = refusal(call!(key_then_lookup_outcome, stage)).operation().expect("an operation");
        let mut reconciler = stage.setup.idem.reconciler([stage::key_then_lookup_tool(stage.desk.clone())]);
        for _ in 0..5 {
            stage.setup.clock.advance(HOUR);
            assert_eq!(reconciler.run_once().await.expect("a ledger").inconclusive, 1);
        }
        assert_eq!(stage.record(operation).await.state, State::OutcomeUnknown, "{}", stage.setup.name());
        // The window has ended: now a person is all that is left.
        stage.setup.clock.advance(20 * HOUR);
        assert_eq!(reconciler.run_once().await.expect("a ledger").to_operators, 1);
        assert_eq!(stage.record(operation).await.state, State::OperatorReview, "{}", stage.setup.name());
        assert_eq!(stage.provider.sent(), 1);
        stage.one_effect();
    }
}
