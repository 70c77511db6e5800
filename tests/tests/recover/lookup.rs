//! Looked up: what the provider says decides, and what it does not say decides nothing.

use std::time::Duration;

use idem_runtime::{Outcome, RefusalKind, ledger::State, prepare};
use idem_tests::provider::{Looking, Sending};

use super::stage::{self, Clerk, Looks, Stage, call, no_answer, refusal, stages, stages_with};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn r056_an_outage_is_not_an_answer_and_not_found_is_none_before_the_window_has_passed() {
    let bounds = |it: &mut idem_runtime::Config| {
        it.reconcile_answers_max = 2;
        it.reconcile_cap = 10 * SECOND;
    };
    for stage in stages_with(bounds).await {
        let name = stage.setup.name();
        stage.provider.habits(|habits| habits.index_lag = 90 * SECOND);
        stage.provider.sends([Sending::Lost]);
        let operation = refusal(call!(looked_up_outcome, stage)).operation().expect("an operation");
        let mut reconciler = stage.setup.idem.reconciler([stage::looked_up_tool(stage.desk.clone())]);
        // +1 s: 404, for the reconciler and for a duplicate.
        stage.setup.clock.advance(SECOND);
        assert_eq!(reconciler.run_once().await.expect("a ledger").inconclusive, 1, "{name}");
        assert_eq!(refusal(call!(looked_up_outcome, stage)).kind(), &RefusalKind::Unknown);
        // 503 for 10 min, beyond the window.
        stage.provider.lookups(Looking::Refused(503));
        for _ in 0..20 {
            stage.setup.clock.advance(30 * SECOND);
            assert_eq!(reconciler.run_once().await.expect("a ledger").inconclusive, 1, "{name}");
            assert_eq!(refusal(call!(looked_up_outcome, stage)).kind(), &RefusalKind::Unknown);
        }
        let record = stage.record(operation).await;
        assert_eq!((record.state, record.answered), (State::OutcomeUnknown, 0), "nobody is asked for an outage");
        assert!(record.passes > 40, "{name}: {} passes", record.passes);
        // The index has caught up long ago: found wins.
        stage.provider.lookups(Looking::Answered);
        stage.setup.clock.advance(30 * SECOND);
        assert_eq!(reconciler.run_once().await.expect("a ledger").applied, 1, "{name}");
        assert!(call!(looked_up_outcome, stage).is_replay());
        assert_eq!(stage.provider.sent(), 1);
        stage.one_effect();
    }
}

#[tokio::test]
async fn r056_control_a_provider_that_says_not_found_of_what_it_did_is_believed_and_does_it_twice() {
    for stage in stages().await {
        stage.provider.habits(|habits| habits.keyed = false);
        stage.provider.sends([Sending::Lost]);
        refusal(call!(looked_up_outcome, stage));
        stage.provider.lookups(Looking::Refused(404));
        stage.setup.clock.advance(3 * MINUTE);
        assert!(call!(looked_up_outcome, stage).value().is_some());
        assert_eq!(stage.effects().len(), 2, "what is called 404 is taken for one: {}", stage.setup.name());
    }
}

#[tokio::test]
async fn r056_found_wins_inside_the_window_too() {
    for stage in stages().await {
        stage.provider.habits(|habits| habits.index_lag = 90 * SECOND);
        stage.provider.sends([Sending::Lost]);
        refusal(call!(looked_up_outcome, stage));
        for (wait, found) in [(SECOND, false), (88 * SECOND, false), (SECOND, true)] {
            stage.setup.clock.advance(wait);
            assert_eq!(call!(looked_up_outcome, stage).is_replay(), found, "{}", stage.setup.name());
        }
        stage.one_effect();
    }
}

#[tokio::test]
async fn r056_a_person_is_asked_after_passes_in_which_the_provider_answered() {
    for stage in stages_with(|it| it.reconcile_answers_max = 3).await {
        stage.provider.sends([Sending::Lost]);
        let operation = refusal(call!(looked_up_outcome, stage)).operation().expect("an operation");
        let mut reconciler = stage.setup.idem.reconciler([stage::looked_up_tool(stage.desk.clone())]);
        let mut pass = async || {
            stage.setup.clock.advance(5 * MINUTE);
            reconciler.run_once().await.expect("a ledger")
        };
        stage.desk.looks(Looks::Unclear);
        // Two answers, an outage, and the third answer.
        for answered in [1, 2] {
            assert_eq!(pass().await.inconclusive, 1);
            assert_eq!(stage.record(operation).await.answered, answered);
        }
        stage.desk.looks(Looks::Asks);
        stage.provider.lookups(Looking::Dropped);
        for _ in 0..5 {
            assert_eq!(pass().await.inconclusive, 1);
        }
        assert_eq!(stage.record(operation).await.state, State::OutcomeUnknown, "{}", stage.setup.name());
        stage.desk.looks(Looks::Unclear);
        assert_eq!(pass().await.to_operators, 1);
        assert_eq!(stage.record(operation).await.state, State::OperatorReview, "{}", stage.setup.name());
        // Then nobody asks by schedule any more, and nothing is sent.
        let looked_up = stage.provider.looked_up();
        assert_eq!(pass().await.looked_at, 0);
        assert_eq!(refusal(call!(looked_up_outcome, stage)).kind(), &RefusalKind::Unknown);
        assert_eq!((stage.provider.sent(), stage.provider.looked_up()), (1, looked_up));
        // By hand it is asked about again, and what is found counts.
        stage.desk.looks(Looks::Asks);
        stage.provider.lookups(Looking::Answered);
        let reconciler = stage.setup.idem.reconciler([stage::looked_up_tool(stage.desk.clone())]);
        let settled = reconciler.settle(&stage::tenant(), operation).await.expect("a ledger").expect("an operation");
        assert_eq!(settled.state, State::Succeeded, "{}", stage.setup.name());
        stage.one_effect();
    }
}

// R-U3
#[tokio::test]
async fn r053_what_was_found_out_replaces_the_unknown_answer_for_good() {
    for (sending, effects_before) in [(Sending::Dropped, 0), (Sending::Lost, 1)] {
        for stage in stages().await {
            let name = stage.setup.name();
            stage.provider.sends([sending]);
            let first = refusal(call!(looked_up_outcome, stage));
            assert_eq!((first.kind(), stage.effects().len()), (&RefusalKind::Unknown, effects_before));
            stage.setup.clock.advance(3 * MINUTE);
            let mut reconciler = stage.setup.idem.reconciler([stage::looked_up_tool(stage.desk.clone())]);
            let seen = reconciler.run_once().await.expect("a ledger");
            assert_eq!((seen.not_applied, seen.applied), (1 - effects_before as u64, effects_before as u64), "{name}");
            let told = call!(looked_up_outcome, stage);
            let Outcome::Succeeded(success) = told else { panic!("{name}: {told:?}") };
            assert_eq!(Some(success.told.operation), first.operation());
            // Not executed: the retry runs. Executed: it is a replay.
            assert_eq!(success.told.replay.is_some(), sending == Sending::Lost, "{name}");
            // The old answer is gone: here, under another id, and in a process that has nothing in memory.
            assert!(call!(looked_up_outcome, stage).is_replay(), "{name}");
            assert!(call!(looked_up_outcome, stage, stage.setup.call_as("call_9", 9)).is_replay(), "{name}");
            if let Some(home) = &stage.setup.home {
                let fresh = stage::builder(|_| {}).clock(stage.setup.clock.clone());
                let fresh = fresh.open(home.address()).await.expect("the same ledger");
                assert!(call!(looked_up_outcome, stage, Stage::call_of(&fresh)).is_replay());
            }
            stage.one_effect();
        }
    }
}

#[tokio::test]
async fn a_duplicate_itself_proves_that_nothing_happened_and_runs() {
    for stage in stages().await {
        stage.provider.sends([Sending::Dropped]);
        let operation = refusal(call!(looked_up_outcome, stage)).operation().expect("an operation");
        stage.setup.clock.advance(3 * MINUTE);
        let told = call!(looked_up_outcome, stage);
        let Outcome::Succeeded(told) = told else { panic!("{told:?}") };
        assert_eq!((told.told.attempt, told.told.replay), (2, None), "{}", stage.setup.name());
        assert_eq!(
            stage.events(operation).await,
            ["settle_unknown", "begin_reconcile", "step", "verdict_not_applied", "reserve", "settle_ok"]
        );
        stage.one_effect();
    }
}

#[tokio::test]
async fn a_lookup_that_panics_hangs_or_fails_has_not_answered() {
    let short = |it: &mut idem_runtime::Config| it.lookup_timeout = Duration::from_millis(20);
    let cases = [
        (Looks::Panics, Looking::Answered, "lookup: inconclusive: the look-up panicked: no page is like the other"),
        (Looks::Hangs, Looking::Answered, "lookup: inconclusive: no answer within 20ms"),
        (Looks::Asks, Looking::Refused(503), "lookup: inconclusive: no answer: the provider answered 503: refused"),
        (Looks::Asks, Looking::Dropped, "lookup: inconclusive: no answer: no answer from the provider: "),
    ];
    for (looks, lookups, said) in cases {
        for stage in stages_with(short).await {
            stage.provider.sends([Sending::Dropped]);
            let operation = refusal(call!(looked_up_outcome, stage)).operation().expect("an operation");
            // Beyond the window: an answer would free the operation.
            stage.setup.clock.advance(3 * MINUTE);
            stage.desk.looks(looks);
            stage.provider.lookups(lookups);
            let told = refusal(call!(looked_up_outcome, stage));
            assert_eq!(told.kind(), &RefusalKind::Unknown, "{looks:?} {lookups:?}");
            let record = stage.record(operation).await;
            assert_eq!((record.state, record.passes, record.answered), (State::OutcomeUnknown, 1, 0), "{looks:?}");
            let steps = stage.steps(operation).await;
            assert!(matches!(&steps[..], [step] if step.starts_with(said)), "{steps:?}");
            assert_eq!((stage.provider.sent(), stage.effects().len()), (1, 0), "{}", stage.setup.name());
            // The reconciler's own pass is no other.
            stage.setup.clock.advance(5 * MINUTE);
            let mut reconciler = stage.setup.idem.reconciler([stage::looked_up_tool(stage.desk.clone())]);
            let seen = reconciler.run_once().await.expect("a ledger");
            assert_eq!((seen.inconclusive, seen.failed), (1, 0), "{looks:?}: {seen:?}");
            assert_eq!(stage.record(operation).await.answered, 0);
            // The control arm: the same question, answered.
            stage.desk.looks(Looks::Asks);
            stage.provider.lookups(Looking::Answered);
            assert!(call!(looked_up_outcome, stage).value().is_some());
            stage.one_effect();
        }
    }
}

// R-U5
#[tokio::test]
async fn r_u5_success_without_the_required_reference_is_not_success() {
    for stage in stages().await {
        stage.desk.forgets_references();
        let told = refusal(call!(referenced_outcome, stage));
        assert_eq!(told.kind(), &RefusalKind::Unknown, "{}", stage.setup.name());
        let operation = told.operation().expect("an operation");
        assert_eq!(stage.record(operation).await.state, State::OutcomeUnknown);
        // A look-up that has no reference either does not settle it.
        stage.desk.looks(Looks::WithoutReference);
        stage.setup.clock.advance(5 * MINUTE);
        assert_eq!(refusal(call!(referenced_outcome, stage)).kind(), &RefusalKind::Unknown);
        assert_eq!(stage.record(operation).await.state, State::OutcomeUnknown, "{}", stage.setup.name());
        // It was told what the attempt had returned.
        let unproved = stage.desk.seen().pop().expect("a look-up").unproved.expect("a result");
        assert_eq!((unproved.id.as_str(), unproved.cents), ("rf_1", stage::CENTS));
        // One that has one does.
        stage.desk.looks(Looks::Asks);
        let told = call!(referenced_outcome, stage);
        let Outcome::Succeeded(told) = told else { panic!("{told:?}") };
        assert_eq!((told.told.reference.as_deref(), told.told.replay.is_some()), (Some("rf_1"), true));
        assert_eq!(stage.provider.sent(), 1, "{}", stage.setup.name());
        stage.one_effect();
    }
    // The control arms: with the reference at once; and a tool that does not require it.
    for stage in stages().await {
        assert!(call!(referenced_outcome, stage).value().is_some());
        stage.one_effect();
    }
    for stage in stages().await {
        stage.desk.forgets_references();
        assert!(call!(looked_up_outcome, stage).value().is_some());
        stage.one_effect();
    }
}

#[tokio::test]
async fn told_is_told_until_the_reconciler_has_found_out() {
    for stage in stages().await {
        stage.provider.sends([Sending::Lost]);
        for _ in 0..3 {
            assert_eq!(refusal(call!(told_outcome, stage)).kind(), &RefusalKind::Unknown);
        }
        assert_eq!(stage.provider.looked_up(), 0, "{}", stage.setup.name());
        let mut reconciler = stage.setup.idem.reconciler([stage::told_tool(stage.desk.clone())]);
        assert_eq!(reconciler.run_once().await.expect("a ledger").applied, 1);
        assert!(call!(told_outcome, stage).is_replay(), "{}", stage.setup.name());
        assert_eq!((stage.provider.sent(), stage.provider.looked_up()), (1, 1));
        stage.one_effect();
    }
}

#[tokio::test]
async fn told_is_told_where_the_key_comes_first_too() {
    for stage in stages().await {
        stage.provider.sends([Sending::Lost]);
        for _ in 0..3 {
            assert_eq!(refusal(call!(told_with_key_outcome, stage)).kind(), &RefusalKind::Unknown);
        }
        assert_eq!((stage.provider.sent(), stage.provider.looked_up()), (1, 0), "{}", stage.setup.name());
        // The reconciler is not bound by what callers are told: it sends again.
        let mut reconciler = stage.setup.idem.reconciler([stage::told_with_key_tool(stage.desk.clone())]);
        assert_eq!(reconciler.run_once().await.expect("a ledger").applied, 1, "{}", stage.setup.name());
        assert_eq!((stage.provider.sent(), stage.provider.looked_up()), (2, 0), "{}", stage.setup.name());
        assert!(call!(told_with_key_outcome, stage).is_replay());
        stage.one_effect();
    }
}

#[tokio::test]
async fn a_lookup_is_told_the_operation_its_key_and_its_reference_and_no_arguments() {
    for stage in stages().await {
        // It happened, the provider said its id, and what came after failed.
        stage.desk.ends(no_answer);
        let told = refusal(call!(looked_up_outcome, stage));
        let operation = told.operation().expect("an operation");
        let record = stage.record(operation).await;
        stage.setup.clock.advance(SECOND);
        assert!(call!(looked_up_outcome, stage).is_replay());
        let [seen] = &stage.desk.seen()[..] else { panic!("one look-up") };
        assert_eq!((seen.operation, seen.tenant.as_str()), (operation, "acme"));
        assert_eq!(seen.reference.as_deref(), Some("rf_1"));
        assert_eq!(vec![seen.key.clone()], stage.provider.sent_under());
        assert_eq!((seen.attempts, seen.first_at), (1, record.reserved_at));
        assert_eq!(seen.unknown_at, record.settled_at.expect("an end"));
        assert_eq!((&seen.order, seen.cents, &seen.unproved), (&None, None, &None), "{}", stage.setup.name());
        assert_eq!(stage.detail(operation).await.arguments, None, "{}", stage.setup.name());
        stage.one_effect();
    }
}

#[tokio::test]
async fn a_lookup_is_told_the_arguments_where_they_are_stored() {
    for stage in stages().await {
        stage.provider.sends([Sending::Lost]);
        let operation = refusal(call!(stored_outcome, stage)).operation().expect("an operation");
        assert!(stage.detail(operation).await.arguments.is_some(), "{}", stage.setup.name());
        stage.setup.clock.advance(Duration::from_hours(25));
        assert!(call!(stored_outcome, stage).is_replay());
        let [seen] = &stage.desk.seen()[..] else { panic!("one look-up") };
        assert_eq!((seen.order.as_deref(), seen.cents), (Some(stage::ORDER), Some(stage::CENTS)));
        stage.one_effect();
    }
}

#[tokio::test]
async fn a_method_looks_up_with_its_own_state() {
    for stage in stages().await {
        let clerk = std::sync::Arc::new(Clerk { desk: stage.desk.clone() });
        stage.provider.sends([Sending::Lost]);
        let call = stage.call();
        let refund = async || clerk.refund_outcome(&call, stage::ORDER.to_owned(), stage::CENTS).await;
        let operation = refusal(refund().await).operation().expect("an operation");
        let prepared = prepare(clerk.refund(&call, stage::ORDER.to_owned(), stage::CENTS)).await.expect("a record");
        assert_eq!(prepared.operation(), operation);
        // By a duplicate, or without one.
        if stage.setup.home.is_some() {
            assert!(refund().await.is_replay());
        } else {
            let mut reconciler = stage.setup.idem.reconciler([Clerk::refund_tool(clerk.clone())]);
            assert_eq!(reconciler.run_once().await.expect("a ledger").applied, 1);
            assert!(refund().await.is_replay());
        }
        assert_eq!((stage.provider.sent(), stage.provider.looked_up()), (1, 1));
        stage.one_effect();
    }
}
