//! Sent again under the provider's key: while the provider still knows it, and not a moment longer.

use std::time::Duration;

use idem_runtime::{Outcome, RefusalKind, ledger::State};
use idem_tests::provider::{KnownKey, Sending};

use super::stage::{self, Stage, call, refusal, stages, stages_with};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

// R-U2
#[tokio::test]
async fn r_u2_a_duplicate_sends_again_under_the_same_key_and_the_provider_deduplicates() {
    for stage in stages().await {
        stage.provider.sends([Sending::Lost]);
        let first = refusal(call!(keyed_outcome, stage));
        assert_eq!(first.kind(), &RefusalKind::Unknown);
        stage.setup.clock.advance(HOUR);
        let again = call!(keyed_outcome, stage);
        let Outcome::Succeeded(again) = again else { panic!("{again:?}") };
        assert_eq!((again.told.attempt, again.told.replay), (2, None), "the body ran: {}", stage.setup.name());
        assert_eq!(Some(again.told.operation), first.operation());
        assert_eq!(again.told.reference.as_deref(), Some("rf_1"));
        let keys = stage.provider.sent_under();
        assert_eq!((keys.len(), &keys[0]), (2, &keys[1]), "one key for both attempts");
        assert!(call!(keyed_outcome, stage).is_replay());
        stage.one_effect();
    }
}

// R-U4
#[tokio::test]
async fn r_u4_after_the_window_nothing_is_sent_again() {
    for stage in stages().await {
        stage.provider.sends([Sending::Lost]);
        let first = refusal(call!(keyed_outcome, stage));
        stage.setup.clock.advance(DAY);
        for _ in 0..3 {
            let told = refusal(call!(keyed_outcome, stage));
            assert_eq!((told.kind(), told.operation()), (&RefusalKind::Unknown, first.operation()));
        }
        assert_eq!(stage.provider.sent(), 1, "{}", stage.setup.name());
        stage.one_effect();
    }
}

/// A lost answer at a provider that forgets keys after a day.
fn lost_at_a_forgetful_provider(stage: &Stage) {
    stage.provider.habits(|habits| habits.forgets_after = Some(DAY));
    stage.provider.sends([Sending::Lost]);
}

// R-U4
#[tokio::test]
async fn r061_a_resend_is_allowed_while_the_provider_knows_the_key_and_refused_after_it() {
    let soon = |it: &mut idem_runtime::Config| it.reconcile_passes_max = 2;
    for stage in stages_with(soon).await {
        // 23 h: allowed.
        lost_at_a_forgetful_provider(&stage);
        assert_eq!(refusal(call!(keyed_outcome, stage)).kind(), &RefusalKind::Unknown);
        stage.setup.clock.advance(HOUR * 23);
        let told = call!(keyed_outcome, stage);
        assert!(told.value().is_some(), "{}: {told:?}", stage.setup.name());
        assert_eq!(stage.provider.sent(), 2);
        stage.one_effect();
    }
    for stage in stages_with(soon).await {
        // 25 h: refused; there is a look-up.
        lost_at_a_forgetful_provider(&stage);
        assert_eq!(refusal(call!(key_then_lookup_outcome, stage)).kind(), &RefusalKind::Unknown);
        stage.setup.clock.advance(HOUR * 25);
        assert!(call!(key_then_lookup_outcome, stage).is_replay(), "{}", stage.setup.name());
        assert_eq!((stage.provider.sent(), stage.provider.looked_up()), (1, 1));
        stage.one_effect();
    }
    for stage in stages_with(soon).await {
        // 25 h: refused; there is a person.
        lost_at_a_forgetful_provider(&stage);
        let operation = refusal(call!(keyed_outcome, stage)).operation().expect("an operation");
        stage.setup.clock.advance(HOUR * 25);
        let mut reconciler = stage.setup.idem.reconciler([stage::keyed_tool(stage.desk.clone())]);
        for state in [State::OutcomeUnknown, State::OperatorReview] {
            reconciler.run_once().await.expect("a ledger");
            assert_eq!(stage.record(operation).await.state, state, "{}", stage.setup.name());
            stage.setup.clock.advance(HOUR);
        }
        let told = refusal(call!(keyed_outcome, stage));
        assert_eq!(told.kind(), &RefusalKind::Unknown);
        assert!(told.to_model_text().contains("a person has to decide"), "{}", told.to_model_text());
        assert_eq!(stage.provider.sent(), 1);
        stage.one_effect();
    }
}

#[tokio::test]
async fn r061_control_a_window_declared_longer_than_the_providers_refunds_twice() {
    for stage in stages().await {
        lost_at_a_forgetful_provider(&stage);
        assert_eq!(refusal(call!(keyed_too_long_outcome, stage)).kind(), &RefusalKind::Unknown);
        stage.setup.clock.advance(HOUR * 25);
        assert!(call!(keyed_too_long_outcome, stage).value().is_some());
        assert_eq!(stage.effects().len(), 2, "the provider had forgotten the key: {}", stage.setup.name());
    }
}

#[tokio::test]
async fn r095_already_processed_is_a_success_that_the_lookup_has_the_id_of() {
    for stage in stages().await {
        stage.provider.habits(|habits| habits.known_key = KnownKey::Conflict);
        stage.provider.sends([Sending::Lost]);
        assert_eq!(refusal(call!(key_then_lookup_outcome, stage)).kind(), &RefusalKind::Unknown);
        let told = call!(key_then_lookup_outcome, stage);
        let json = told.to_json();
        assert_eq!((&json["outcome"], &json["replayed"]), (&"succeeded".into(), &true.into()), "{json}");
        assert_eq!(json["reference"], "rf_1");
        assert_eq!(told.value().map(|refund| refund.id.as_str()), Some("rf_1"));
        let asked: Vec<String> = stage.provider.asked().iter().map(|path| path[..4].to_owned()).collect();
        assert_eq!(asked, ["POST", "POST", "GET "], "in the same call: {}", stage.setup.name());
        stage.one_effect();
    }
    // The control arm: with nobody to ask for the id it stays unknown.
    for stage in stages().await {
        stage.provider.habits(|habits| habits.known_key = KnownKey::Conflict);
        stage.provider.sends([Sending::Lost]);
        for _ in 0..2 {
            assert_eq!(refusal(call!(keyed_outcome, stage)).kind(), &RefusalKind::Unknown, "{}", stage.setup.name());
        }
        assert_eq!(stage.provider.sent(), 2);
        stage.one_effect();
    }
}

// R-E3
#[tokio::test]
async fn r095_resends_that_are_refused_end_with_the_budget_and_are_looked_up() {
    for stage in stages().await {
        stage.provider.habits(|habits| habits.known_key = KnownKey::Conflict);
        stage.provider.sends([Sending::Lost]);
        let told = async { call!(key_with_budget_outcome, stage) };
        let told = tokio::time::timeout(Duration::from_mins(1), told).await.expect("an end of sending again");
        assert!(told.is_replay(), "{}: {told:?}", stage.setup.name());
        assert_eq!((stage.provider.sent(), stage.provider.looked_up()), (3, 1), "{}", stage.setup.name());
        stage.one_effect();
    }
}

/// Each typed "no effect", as the answer to a re-send.
const NO_EFFECT: [Sending; 2] = [Sending::Refused(402), Sending::Refused(503)];

#[tokio::test]
async fn a_resend_without_effect_does_not_free_the_operation() {
    for refused in NO_EFFECT {
        for stage in stages().await {
            stage.provider.sends([Sending::Lost, refused]);
            assert_eq!(refusal(call!(keyed_outcome, stage)).kind(), &RefusalKind::Unknown);
            let told = refusal(call!(keyed_outcome, stage));
            assert_eq!(told.kind(), &RefusalKind::Unknown, "{refused:?} on {}", stage.setup.name());
            let record = stage.record(told.operation().expect("an operation")).await;
            assert_eq!((record.state, record.in_doubt, record.attempt), (State::OutcomeUnknown, true, 2));
            // Where the key is forgotten, nobody sends again on the strength of that answer.
            stage.setup.clock.advance(DAY);
            assert_eq!(refusal(call!(keyed_outcome, stage)).kind(), &RefusalKind::Unknown);
            assert_eq!(stage.provider.sent(), 2);
            stage.one_effect();
        }
    }
    // The control arm: said of a first attempt, it is proof.
    for (refused, state) in NO_EFFECT.into_iter().zip([State::FailedFinal, State::FailedRetryable]) {
        for stage in stages().await {
            stage.provider.sends([refused]);
            let operation = refusal(call!(keyed_outcome, stage)).operation().expect("an operation");
            let record = stage.record(operation).await;
            assert_eq!((record.state, record.in_doubt), (state, false), "{}", stage.setup.name());
        }
    }
}

#[tokio::test]
async fn a_verdict_clears_the_doubt_that_a_resend_left() {
    for refused in NO_EFFECT {
        for stage in stages().await {
            // Nothing happened at all, but that is not known before the provider says so.
            stage.provider.sends([Sending::Dropped, refused]);
            assert_eq!(refusal(call!(key_then_lookup_outcome, stage)).kind(), &RefusalKind::Unknown);
            let told = refusal(call!(key_then_lookup_outcome, stage));
            assert_eq!(told.kind(), &RefusalKind::Unknown, "{refused:?} on {}", stage.setup.name());
            let operation = told.operation().expect("an operation");
            stage.setup.clock.advance(HOUR * 25);
            let told = call!(key_then_lookup_outcome, stage);
            let Outcome::Succeeded(told) = told else { panic!("{told:?}") };
            assert_eq!((told.told.attempt, told.told.replay), (3, None), "{}", stage.setup.name());
            assert!(stage.events(operation).await.contains(&"verdict_not_applied".to_owned()));
            stage.one_effect();
        }
    }
}

#[tokio::test]
async fn late_proof_of_no_effect_counts_only_without_doubt() {
    // A re-send that hangs after the provider refused it, and says so when its lease has ended.
    let hung = |it: &mut idem_runtime::Config| it.run_max = Duration::from_secs(1);
    for mut stage in stages_with(hung).await {
        stage.provider.sends([Sending::Lost]);
        assert_eq!(refusal(call!(keyed_outcome, stage)).kind(), &RefusalKind::Unknown);
        stage.desk.sent = idem_tests::timing::Gate::new();
        stage.provider.sends([Sending::Refused(402)]);
        let (call, desk) = (stage.call(), stage.desk.clone());
        let resend =
            tokio::spawn(async move { stage::keyed_outcome(&call, desk, stage::ORDER.to_owned(), stage::CENTS).await });
        stage.desk.sent.arrived().await;
        stage.setup.clock.advance(DAY);
        let told = refusal(call!(keyed_outcome, stage));
        assert_eq!(told.kind(), &RefusalKind::Unknown, "{}", stage.setup.name());
        stage.desk.sent.open();
        assert_eq!(refusal(resend.await.expect("no panic")).kind(), &RefusalKind::Unknown);
        let record = stage.record(told.operation().expect("an operation")).await;
        assert_eq!((record.state, record.in_doubt), (State::OutcomeUnknown, true), "{}", stage.setup.name());
        stage.one_effect();
    }
}
