//! What is tried again whose outcome is unknown: under a key that the provider keeps, or after a verdict.

use std::time::Duration;

use idem_runtime::{RefusalKind, ledger::State};
use idem_tests::provider::Sending;

use crate::{
    BUSY, CENTS, ORDER, attempt, call, keyed_outcome, refund_outcome, refusal, stages, sure_outcome, unsure_outcome,
};

// R-U1 R-E3
#[tokio::test]
async fn r_e3_an_unknown_outcome_is_not_tried_again_without_a_way_to_find_out() {
    for sending in [Sending::Lost, Sending::Dropped] {
        for mut stage in stages().await {
            stage.plan([sending], Duration::ZERO);
            for _ in 0..3 {
                assert_eq!(refusal(call!(refund_outcome, stage)).kind(), &RefusalKind::Unknown, "{}", stage.name());
            }
            stage.setup.clock.advance(Duration::from_hours(1));
            assert_eq!(refusal(call!(refund_outcome, stage)).kind(), &RefusalKind::Unknown);
            assert_eq!(stage.sent_and_done(), (1, usize::from(sending == Sending::Lost)), "{}", stage.name());
        }
    }
}

#[tokio::test]
async fn an_unknown_outcome_is_sent_again_under_an_open_key_and_within_the_budget() {
    for sending in [Sending::Lost, Sending::Dropped] {
        for mut stage in stages().await {
            stage.plan([sending], Duration::ZERO);
            assert_eq!((attempt(call!(keyed_outcome, stage)), stage.sent_and_done()), (2, (2, 1)), "{}", stage.name());
        }
    }
    // The budget is one for both: what was refused, and what was lost.
    for mut stage in stages().await {
        stage.plan([BUSY, Sending::Dropped, Sending::Dropped, Sending::Dropped, Sending::Dropped], Duration::ZERO);
        let told = refusal(call!(keyed_outcome, stage));
        assert_eq!((told.kind(), stage.sent_and_done()), (&RefusalKind::Unknown, (3, 0)), "{}", stage.name());
        let record = stage.setup.record(told.operation().expect("an operation")).await;
        assert_eq!((record.state, record.attempt), (State::OutcomeUnknown, 3), "it is not a failure: nobody knows");
    }
    // The control arm: a provider that does not honour the key that the tool declares.
    for mut stage in stages().await {
        stage.provider.habits(|habits| habits.keyed = false);
        stage.plan([Sending::Lost], Duration::ZERO);
        call!(keyed_outcome, stage).value().expect("a result");
        assert_eq!(stage.sent_and_done(), (2, 2), "{}", stage.name());
    }
}

#[tokio::test]
async fn an_unknown_outcome_is_tried_again_after_a_verdict_in_the_same_call() {
    for mut stage in stages().await {
        stage.plan([Sending::Dropped, Sending::Dropped], Duration::ZERO);
        assert_eq!((attempt(call!(sure_outcome, stage)), stage.sent_and_done()), (3, (3, 1)), "{}", stage.name());
        let asked: Vec<String> = stage.provider.asked().iter().map(|path| path[..4].to_owned()).collect();
        assert_eq!(asked, ["POST", "GET ", "POST", "GET ", "POST"], "asked before each");
    }
    // Found: nothing is tried again.
    for mut stage in stages().await {
        stage.plan([Sending::Lost], Duration::ZERO);
        let told = call!(sure_outcome, stage);
        assert!(told.is_replay() && told.value().is_some_and(|refund| refund.id == "rf_1"), "{told:?}");
        assert_eq!(stage.sent_and_done(), (1, 1), "{}", stage.name());
    }
    // Not found, too early to prove anything: nothing is tried again before it does.
    for mut stage in stages().await {
        stage.plan([Sending::Dropped], Duration::ZERO);
        assert_eq!(refusal(call!(unsure_outcome, stage)).kind(), &RefusalKind::Unknown);
        assert_eq!((stage.sent_and_done(), stage.provider.looked_up()), ((1, 0), 1), "{}", stage.name());
        stage.setup.clock.advance(Duration::from_mins(3));
        assert_eq!((attempt(call!(unsure_outcome, stage)), stage.sent_and_done()), (2, (2, 1)), "{}", stage.name());
    }
}

#[tokio::test]
async fn a_verdict_after_the_budgets_end_is_a_final_failure() {
    for mut stage in stages().await {
        stage.plan([Sending::Dropped; 3], Duration::ZERO);
        let told = refusal(call!(sure_outcome, stage));
        assert_eq!(told.kind(), &RefusalKind::Unknown, "what the third attempt says of itself: {}", stage.name());
        assert_eq!(stage.sent_and_done(), (3, 0), "{}", stage.name());
        let again = refusal(call!(sure_outcome, stage));
        assert_eq!(again.kind(), &RefusalKind::FailedFinal, "{}", stage.name());
        assert!(again.to_model_text().contains("no answer from the provider"), "{}", again.to_model_text());
        assert_eq!(stage.sent_and_done(), (3, 0), "{}", stage.name());
    }
}
