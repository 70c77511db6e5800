//! From when on "not found" proves something.

use std::time::Duration;

use idem_runtime::{Outcome, RefusalKind, ledger::State};
use idem_tests::{provider::Sending, timing::Gate};

use super::stage::{self, Stage, call, no_answer, refusal, stages, stages_with};

const SECOND: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(30);

/// A body that hangs is renewed for a second, and no longer.
fn hung(config: &mut idem_runtime::Config) {
    config.run_max = SECOND;
}

/// Starts an attempt that stands still after its send.
async fn stand(stage: &mut Stage) -> tokio::task::JoinHandle<Outcome<idem_tests::provider::Refund>> {
    stage.desk.sent = Gate::new();
    let (call, desk) = (stage.call(), stage.desk.clone());
    let standing =
        tokio::spawn(async move { stage::hasty_outcome(&call, desk, stage::ORDER.to_owned(), stage::CENTS).await });
    stage.desk.sent.arrived().await;
    standing
}

/// One look-up, by the reconciler; whether it proved that nothing happened.
async fn proved(stage: &Stage) -> bool {
    let mut reconciler = stage.setup.idem.reconciler([stage::hasty_tool(stage.desk.clone())]);
    let seen = reconciler.run_once().await.expect("a ledger");
    assert_eq!(seen.not_applied + seen.inconclusive, 1, "{seen:?}");
    seen.not_applied == 1
}

#[tokio::test]
async fn it_counts_from_the_attempts_own_doubt() {
    for stage in stages().await {
        stage.setup.clock.advance(10 * SECOND);
        stage.provider.sends([Sending::Dropped]);
        assert_eq!(refusal(call!(hasty_outcome, stage)).kind(), &RefusalKind::Unknown);
        stage.setup.clock.advance(119 * SECOND);
        assert!(!proved(&stage).await, "119 s: {}", stage.setup.name());
        stage.setup.clock.advance(SECOND);
        assert!(proved(&stage).await, "120 s: {}", stage.setup.name());
        assert_eq!(stage.effects(), []);
    }
}

#[tokio::test]
async fn it_counts_from_the_leases_end_and_not_from_when_somebody_noticed() {
    for mut stage in stages_with(hung).await {
        stage.provider.sends([Sending::Dropped]);
        let standing = stand(&mut stage).await;
        // Nobody looks for a minute and a half after the lease has ended.
        stage.setup.clock.advance(LEASE + 119 * SECOND);
        assert!(!proved(&stage).await, "119 s after its end: {}", stage.setup.name());
        stage.setup.clock.advance(SECOND);
        assert!(proved(&stage).await, "120 s after its end: {}", stage.setup.name());
        stage.desk.sent.open();
        let told = refusal(standing.await.expect("no panic"));
        assert_eq!(told.kind(), &RefusalKind::Unknown);
        assert_eq!(stage.effects(), []);
    }
}

#[tokio::test]
async fn what_the_attempt_says_late_counts_where_it_is_later_than_the_leases_end() {
    for mut stage in stages_with(hung).await {
        stage.provider.sends([Sending::Dropped]);
        let standing = stand(&mut stage).await;
        stage.setup.clock.advance(LEASE + 60 * SECOND);
        assert!(!proved(&stage).await);
        // Only now does it give up: until now it may have been sending.
        stage.desk.ends(no_answer);
        stage.desk.sent.open();
        refusal(standing.await.expect("no panic"));
        stage.setup.clock.advance(119 * SECOND);
        assert!(!proved(&stage).await, "119 s after its word: {}", stage.setup.name());
        stage.setup.clock.advance(SECOND);
        assert!(proved(&stage).await, "120 s after its word: {}", stage.setup.name());
        assert_eq!(stage.effects(), []);
    }
}

#[tokio::test]
async fn it_is_judged_when_the_lookup_starts() {
    for mut stage in stages().await {
        stage.provider.sends([Sending::Dropped]);
        let operation = refusal(call!(hasty_outcome, stage)).operation().expect("an operation");
        stage.setup.clock.advance(119 * SECOND);
        stage.desk.asking = Gate::new();
        let mut reconciler = stage.setup.idem.reconciler([stage::hasty_tool(stage.desk.clone())]);
        let asking = tokio::spawn(async move { reconciler.run_once().await });
        stage.desk.asking.arrived().await;
        // The answer comes when the window has passed; it was asked for before.
        stage.setup.clock.advance(5 * SECOND);
        stage.desk.asking.open();
        let seen = asking.await.expect("no panic").expect("a ledger");
        assert_eq!((seen.inconclusive, seen.not_applied), (1, 0), "{}", stage.setup.name());
        assert_eq!(stage.record(operation).await.state, State::OutcomeUnknown);
        stage.desk.asking.open();
        stage.setup.clock.advance(5 * SECOND);
        assert!(proved(&stage).await, "{}", stage.setup.name());
        assert_eq!(stage.effects(), []);
    }
}

#[tokio::test]
async fn a_provider_that_delivers_late_but_within_the_window_has_one_effect() {
    for stage in stages().await {
        stage.provider.sends([Sending::Late(100 * SECOND)]);
        assert_eq!(refusal(call!(hasty_outcome, stage)).kind(), &RefusalKind::Unknown);
        stage.setup.clock.advance(60 * SECOND);
        assert_eq!(refusal(call!(hasty_outcome, stage)).kind(), &RefusalKind::Unknown, "it is still on its way");
        assert_eq!(stage.effects(), [], "{}", stage.setup.name());
        stage.setup.clock.advance(70 * SECOND);
        assert!(call!(hasty_outcome, stage).is_replay(), "{}", stage.setup.name());
        assert_eq!(stage.provider.sent(), 1);
        stage.one_effect();
    }
    // The control arm: a provider that is later than the tool declares has two.
    for stage in stages().await {
        stage.provider.habits(|habits| habits.keyed = false);
        stage.provider.sends([Sending::Late(200 * SECOND)]);
        refusal(call!(hasty_outcome, stage));
        stage.setup.clock.advance(130 * SECOND);
        assert!(call!(hasty_outcome, stage).value().is_some());
        stage.setup.clock.advance(100 * SECOND);
        assert_eq!(stage.effects().len(), 2, "{}", stage.setup.name());
    }
}
