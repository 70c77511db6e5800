//! The pauses between attempts, and the deadlines that end them: the call's own and the budget's.

use std::time::Duration;

use idem_runtime::{Clock as _, Idem, RefusalKind};
use idem_tests::world::memory;

use crate::{
    BUSY, CENTS, ORDER, SECOND, Stage, attempt, call, rare_outcome, refund_outcome, refusal, slow_outcome, stages,
};

#[tokio::test]
async fn a_calls_own_deadline_ends_its_retrying_and_later_calls_have_what_is_left() {
    for mut stage in stages().await {
        stage.plan([BUSY; 9], 4 * SECOND);
        let hasty = stage.call().deadline(3 * SECOND);
        let told = refusal(call!(refund_outcome, stage, hasty));
        assert_eq!((told.kind(), stage.sent_and_done()), (&RefusalKind::FailedRetryable, (1, 0)), "{}", stage.name());
        let operation = told.operation().expect("an operation");
        assert_eq!(stage.setup.state(operation).await, "failed_retryable");
        stage.setup.clock.advance(SECOND);
        // Two attempts are left of three, whoever makes them.
        let last = refusal(call!(refund_outcome, stage, stage.setup.call_as("call_2", 2)));
        assert_eq!((last.kind(), last.operation()), (&RefusalKind::FailedFinal, Some(operation)), "{}", stage.name());
        assert_eq!(stage.sent_and_done(), (3, 0), "{}", stage.name());
        assert_eq!(refusal(call!(refund_outcome, stage)).kind(), &RefusalKind::FailedFinal);
        assert_eq!(stage.sent_and_done(), (3, 0), "{}", stage.name());
    }
}

#[tokio::test]
async fn r_e3_a_pause_is_the_operations_and_no_other_call_shortens_it() {
    for mut stage in stages().await {
        stage.plan([BUSY], Duration::ZERO);
        // The pause is longer than the call may wait.
        let told = refusal(call!(rare_outcome, stage));
        let operation = told.operation().expect("an operation");
        assert_eq!((told.kind(), stage.sent_and_done()), (&RefusalKind::FailedRetryable, (1, 0)), "{}", stage.name());
        let until = stage.setup.record(operation).await.next_at.expect("a pause");
        for id in ["call_1", "call_2"] {
            let again = refusal(call!(rare_outcome, stage, stage.setup.call_as(id, 1)));
            assert_eq!((again.kind(), stage.sent_and_done()), (&RefusalKind::FailedRetryable, (1, 0)), "{id}");
        }
        stage.setup.clock.advance(until.since(stage.setup.clock.now()));
        assert_eq!((attempt(call!(rare_outcome, stage)), stage.sent_and_done()), (2, (2, 1)), "{}", stage.name());
    }
}

#[tokio::test]
async fn a_call_that_comes_after_the_budgets_deadline_runs_nothing() {
    for mut stage in stages().await {
        stage.plan([BUSY], 4 * SECOND);
        let hasty = stage.call().deadline(3 * SECOND);
        let told = refusal(call!(refund_outcome, stage, hasty));
        assert_eq!((told.kind(), stage.sent_and_done()), (&RefusalKind::FailedRetryable, (1, 0)));
        stage.setup.clock.advance(26 * SECOND);
        let late = refusal(call!(refund_outcome, stage));
        assert_eq!((late.kind(), stage.sent_and_done()), (&RefusalKind::FailedFinal, (1, 0)), "{}", stage.name());
        assert!(late.to_model_text().contains("the provider answered 503"), "{}", late.to_model_text());
    }
    // The control arm: a second earlier it runs, and succeeds.
    for mut stage in stages().await {
        stage.plan([BUSY], 4 * SECOND);
        let hasty = stage.call().deadline(3 * SECOND);
        refusal(call!(refund_outcome, stage, hasty));
        stage.setup.clock.advance(25 * SECOND);
        assert_eq!((attempt(call!(refund_outcome, stage)), stage.sent_and_done()), (2, (2, 1)), "{}", stage.name());
    }
}

/// Whether each of twelve calls found its pause shorter than half of the longest one, and so went on.
async fn went_on(seed: u64) -> Vec<bool> {
    let mut stage = Stage::of(memory(Idem::builder().jitter_seed(seed)).await);
    let mut went_on = Vec::new();
    for at in 0..12 {
        stage.plan([BUSY], Duration::ZERO);
        let call = stage.setup.call_as("call_1", at).occurrence(at.to_string());
        let told = call!(slow_outcome, stage, call.deadline(SECOND / 2));
        went_on.push(told.value().is_some());
    }
    went_on
}

// R-E3
#[tokio::test]
async fn r_e3_pauses_are_drawn_and_the_same_seed_draws_the_same() {
    let (first, again, other) = tokio::join!(went_on(7), went_on(7), went_on(8));
    assert_eq!(first, again);
    assert_ne!(first, other);
    assert!(first.contains(&true) && first.contains(&false), "neither none nor all: {first:?}");
}
