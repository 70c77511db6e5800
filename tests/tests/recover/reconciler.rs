//! The reconciler: what it sees to without anybody calling.

use std::time::Duration;

use idem_runtime::{RefusalKind, ledger::State};
use idem_tests::{
    provider::{KnownKey, Looking, Sending},
    world::TENANT,
};

use super::stage::{self, Looks, call, refusal, stages, stages_with};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

// R-U2
#[tokio::test]
async fn r_u2_it_sends_again_itself_where_it_has_the_arguments() {
    for sending in [Sending::Lost, Sending::Dropped] {
        for stage in stages().await {
            stage.provider.sends([sending]);
            let operation = refusal(call!(stored_outcome, stage)).operation().expect("an operation");
            let mut reconciler = stage.setup.idem.reconciler([stage::stored_tool(stage.desk.clone())]);
            let seen = reconciler.run_once().await.expect("a ledger");
            assert_eq!((seen.looked_at, seen.applied), (1, 1), "{sending:?} on {}", stage.setup.name());
            let record = stage.record(operation).await;
            assert_eq!((record.state, record.attempt), (State::Succeeded, 2));
            assert_eq!((stage.provider.sent(), stage.provider.looked_up()), (2, 0), "{}", stage.setup.name());
            let keys = stage.provider.sent_under();
            assert_eq!(keys[0], keys[1], "one key for both attempts");
            assert!(call!(stored_outcome, stage).is_replay());
            stage.one_effect();
        }
    }
}

#[tokio::test]
async fn what_it_sent_again_in_vain_it_looks_up() {
    for stage in stages().await {
        stage.provider.habits(|habits| habits.known_key = KnownKey::Conflict);
        stage.provider.sends([Sending::Lost]);
        let operation = refusal(call!(stored_outcome, stage)).operation().expect("an operation");
        let mut reconciler = stage.setup.idem.reconciler([stage::stored_tool(stage.desk.clone())]);
        assert_eq!(reconciler.run_once().await.expect("a ledger").applied, 1, "{}", stage.setup.name());
        assert_eq!((stage.provider.sent(), stage.provider.looked_up()), (2, 1));
        assert_eq!(
            stage.steps(operation).await,
            ["provider_key: skipped: it was sent again, and the outcome is unknown still", "lookup: applied: rf_1"]
        );
        stage.one_effect();
    }
}

// R-U2
#[tokio::test]
async fn r_u2_it_keeps_the_order_too_and_asks_before_it_sends_again() {
    let asked = |stage: &stage::Stage| -> Vec<String> {
        stage.provider.asked().iter().map(|path| path[..4].trim().to_owned()).collect()
    };
    for stage in stages().await {
        stage.provider.sends([Sending::Lost]);
        refusal(call!(stored_lookup_first_outcome, stage));
        let mut reconciler = stage.setup.idem.reconciler([stage::stored_lookup_first_tool(stage.desk.clone())]);
        assert_eq!(reconciler.run_once().await.expect("a ledger").applied, 1);
        assert_eq!(asked(&stage), ["POST", "GET"], "{}", stage.setup.name());
        assert!(call!(stored_lookup_first_outcome, stage).is_replay());
        stage.one_effect();
    }
    // Where the look-up cannot tell, it sends again.
    for stage in stages().await {
        stage.provider.sends([Sending::Dropped]);
        refusal(call!(stored_lookup_first_outcome, stage));
        stage.provider.lookups(Looking::Dropped);
        let mut reconciler = stage.setup.idem.reconciler([stage::stored_lookup_first_tool(stage.desk.clone())]);
        assert_eq!(reconciler.run_once().await.expect("a ledger").applied, 1, "{}", stage.setup.name());
        assert_eq!(asked(&stage), ["POST", "GET", "POST"], "{}", stage.setup.name());
        assert!(call!(stored_lookup_first_outcome, stage).is_replay());
        stage.one_effect();
    }
}

#[tokio::test]
async fn after_the_window_it_sends_nothing() {
    for stage in stages().await {
        stage.provider.sends([Sending::Lost]);
        let operation = refusal(call!(stored_outcome, stage)).operation().expect("an operation");
        stage.setup.clock.advance(24 * HOUR);
        let mut reconciler = stage.setup.idem.reconciler([stage::stored_tool(stage.desk.clone())]);
        assert_eq!(reconciler.run_once().await.expect("a ledger").applied, 1);
        assert_eq!(stage.provider.sent(), 1, "{}", stage.setup.name());
        assert_eq!(
            stage.steps(operation).await,
            ["provider_key: skipped: the provider's key window has ended", "lookup: applied: rf_1"]
        );
        stage.one_effect();
    }
}

#[tokio::test]
async fn without_stored_arguments_it_skips_the_key_and_says_so() {
    for stage in stages().await {
        stage.provider.sends([Sending::Lost]);
        let operation = refusal(call!(key_then_lookup_outcome, stage)).operation().expect("an operation");
        let mut reconciler = stage.setup.idem.reconciler([stage::key_then_lookup_tool(stage.desk.clone())]);
        assert_eq!(reconciler.run_once().await.expect("a ledger").applied, 1);
        assert_eq!(stage.provider.sent(), 1, "{}", stage.setup.name());
        let steps = stage.steps(operation).await;
        assert_eq!(
            steps,
            [
                "provider_key: skipped: the arguments are not at hand: the tool does not store them",
                "lookup: applied: rf_1"
            ]
        );
        stage.one_effect();
    }
}

#[tokio::test]
async fn it_pauses_between_passes_and_goes_on() {
    let pauses = |it: &mut idem_runtime::Config| {
        it.reconcile_base = 10 * SECOND;
        it.reconcile_cap = 40 * SECOND;
    };
    for stage in stages_with(pauses).await {
        stage.provider.sends([Sending::Lost]);
        stage.provider.lookups(Looking::Dropped);
        let operation = refusal(call!(told_outcome, stage)).operation().expect("an operation");
        let mut reconciler = stage.setup.idem.reconciler([stage::told_tool(stage.desk.clone())]);
        assert_eq!(reconciler.run_once().await.expect("a ledger").inconclusive, 1);
        // Not before the pause is over, at whatever it was drawn; then again.
        for _ in 0..4 {
            assert_eq!(reconciler.run_once().await.expect("a ledger").looked_at, 0, "{}", stage.setup.name());
            let next_at = stage.record(operation).await.next_at.expect("a next pass");
            assert!(next_at.since(stage.record(operation).await.settled_at.expect("an end")) <= 40 * SECOND);
            stage.setup.clock.advance(40 * SECOND);
            assert_eq!(reconciler.run_once().await.expect("a ledger").inconclusive, 1, "{}", stage.setup.name());
        }
        stage.one_effect();
    }
}

#[tokio::test]
async fn it_sees_to_its_own_tools_of_all_tenants() {
    for stage in stages().await {
        stage.provider.habits(|habits| habits.keyed = false);
        stage.provider.sends([Sending::Lost, Sending::Lost, Sending::Lost]);
        let of = |tenant: &str| stage.call().tenant(tenant);
        for tenant in [TENANT, "globex"] {
            refusal(call!(looked_up_outcome, stage, of(tenant)));
        }
        let other = refusal(call!(told_outcome, stage)).operation().expect("an operation");
        let mut reconciler = stage.setup.idem.reconciler([stage::looked_up_tool(stage.desk.clone())]);
        let seen = reconciler.run_once().await.expect("a ledger");
        assert_eq!((seen.looked_at, seen.applied), (2, 2), "{}", stage.setup.name());
        assert_eq!(stage.record(other).await.state, State::OutcomeUnknown, "another tool's");
        for tenant in [TENANT, "globex"] {
            assert!(call!(looked_up_outcome, stage, of(tenant)).is_replay());
        }
        let keys: std::collections::HashSet<String> = stage.desk.seen().into_iter().map(|seen| seen.key).collect();
        assert_eq!(keys.len(), 2, "each looked up under its own key");
        assert_eq!(stage.effects().len(), 3, "one each");
    }
}

// R-X1
#[tokio::test]
async fn r_x1_settling_by_hand_finds_nothing_of_another_tenant() {
    for stage in stages().await {
        stage.provider.sends([Sending::Lost]);
        let operation = refusal(call!(looked_up_outcome, stage)).operation().expect("an operation");
        let reconciler = stage.setup.idem.reconciler([stage::looked_up_tool(stage.desk.clone())]);
        let globex = idem_runtime::Tenant::new("globex").expect("a tenant");
        assert_eq!(reconciler.settle(&globex, operation).await.expect("a ledger"), None);
        assert_eq!((stage.provider.looked_up(), stage.desk.seen().len()), (0, 0));
        let settled = reconciler.settle(&stage::tenant(), operation).await.expect("a ledger").expect("a record");
        assert_eq!(settled.state, State::Succeeded, "{}", stage.setup.name());
        stage.one_effect();
    }
}

#[tokio::test]
async fn an_answer_that_panics_takes_nobody_with_it() {
    for stage in stages().await {
        stage.provider.habits(|habits| habits.keyed = false);
        stage.desk.looks(Looks::Panics);
        let calls: Vec<_> = (0..40_u64).map(|at| stage.setup.call_as("call", at).occurrence(at.to_string())).collect();
        stage.provider.sends(vec![Sending::Lost; calls.len()]);
        for call in &calls {
            refusal(call!(looked_up_outcome, stage, call));
        }
        let mut reconciler = stage.setup.idem.reconciler([stage::looked_up_tool(stage.desk.clone())]);
        let seen = reconciler.run_once().await.expect("a ledger");
        assert_eq!((seen.looked_at, seen.inconclusive, seen.failed), (40, 40, 0), "{}", stage.setup.name());
        stage.desk.looks(Looks::Asks);
        stage.setup.clock.advance(HOUR);
        assert_eq!(reconciler.run_once().await.expect("a ledger").applied, 40, "{}", stage.setup.name());
        for call in &calls {
            assert!(call!(looked_up_outcome, stage, call).is_replay());
        }
        assert_eq!((stage.provider.sent(), stage.effects().len()), (40, 40));
    }
}

#[tokio::test]
async fn a_tool_without_any_way_to_ask_is_left_to_a_person() {
    for stage in stages_with(|it| it.reconcile_passes_max = 3).await {
        stage.provider.sends([Sending::Lost]);
        let operation = refusal(call!(keyed_outcome, stage)).operation().expect("an operation");
        stage.setup.clock.advance(25 * HOUR);
        let mut reconciler = stage.setup.idem.reconciler([stage::keyed_tool(stage.desk.clone())]);
        let mut to_operators = 0;
        for _ in 0..6 {
            to_operators += reconciler.run_once().await.expect("a ledger").to_operators;
            stage.setup.clock.advance(HOUR);
        }
        let record = stage.record(operation).await;
        assert_eq!((to_operators, record.state), (1, State::OperatorReview), "{}", stage.setup.name());
        assert_eq!(refusal(call!(keyed_outcome, stage)).kind(), &RefusalKind::Unknown);
        assert_eq!(stage.provider.sent(), 1);
        stage.one_effect();
    }
}
