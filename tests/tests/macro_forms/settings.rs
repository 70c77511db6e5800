//! The words that describe a tool: name, version, times, and what a duplicate does while the first is running.

use std::time::Duration;

use idem_runtime::{Idem, RefusalKind, ToolCall, idempotent, testing::TestClock};
use idem_tests::{
    home::Place,
    timing::Gate,
    tools::ToolError,
    world::{World, every_store},
};

use crate::{fresh, refused, replayed, told};

const MINUTE: Duration = Duration::from_mins(1);
const INSTANT: Duration = Duration::from_nanos(1);

#[idempotent(scope = "conversation", on_busy = "tell")]
async fn telling(
    call: &ToolCall,
    id: u64,
    #[idem(state)] gate: Gate,
    #[idem(state)] world: World,
) -> Result<u64, ToolError> {
    gate.pass().await;
    world.effect(format!("{id}"));
    Ok(id)
}

#[idempotent(scope = "conversation", on_busy = "wait")]
async fn waiting(
    call: &ToolCall,
    id: u64,
    #[idem(state)] gate: Gate,
    #[idem(state)] world: World,
) -> Result<u64, ToolError> {
    gate.pass().await;
    world.effect(format!("{id}"));
    Ok(id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_is_told_at_once_where_the_tool_says_so() {
    for setup in every_store().await {
        let (call, gate) = (setup.call_as("call_1", 1), Gate::new());
        let first = tokio::spawn({
            let (call, gate, world) = (call.clone(), gate.clone(), setup.world.clone());
            async move { telling_outcome(&call, 1, gate, world).await }
        });
        gate.arrived().await;
        let busy = refused(telling_outcome(&call, 1, gate.clone(), setup.world.clone()).await);
        assert!(matches!(busy.kind(), RefusalKind::InProgress { .. }), "{busy}");
        gate.open();
        assert_eq!(fresh(first.await.expect("the first caller")), 1);
        assert_eq!(setup.world.effects(), ["1"], "{}", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_waits_for_the_first_otherwise() {
    for setup in every_store().await {
        let (call, gate) = (setup.call_as("call_1", 1), Gate::new());
        let caller = || {
            let (call, gate, world) = (call.clone(), gate.clone(), setup.world.clone());
            tokio::spawn(async move { waiting_outcome(&call, 1, gate, world).await })
        };
        let first = caller();
        gate.arrived().await;
        let second = caller();
        gate.open();
        assert_eq!(fresh(first.await.expect("the first caller")), 1);
        assert_eq!(replayed(second.await.expect("the second caller")).0, 1);
        assert_eq!(gate.waiting(), 0, "the body ran once");
        assert_eq!(setup.world.effects(), ["1"], "{}", setup.name());
    }
}

#[idempotent(scope = "conversation", name = "shop.sell")]
async fn sell_of_old(call: &ToolCall, id: u64) -> Result<u64, ToolError> {
    Ok(id)
}

/// The same tool after its contract changed.
#[idempotent(scope = "conversation", name = "shop.sell", version = 3)]
async fn sell_of_today(call: &ToolCall, id: u64, gift: bool) -> Result<u64, ToolError> {
    Ok(id + u64::from(gift))
}

#[tokio::test]
async fn a_name_and_a_version_are_what_the_ledger_keeps() {
    for place in Place::lasting() {
        let home = place.home().expect("a home");
        let open = async || Idem::open(home.address()).await.expect("a ledger");
        let call = |idem: &Idem| idem.call().tenant("acme").conversation("c-1").tool_call_id("call_1").turn(1);
        let old = open().await;
        let (_, first) = told(sell_of_old_outcome(&call(&old), 1).await);
        assert_eq!(first.record.tool(), "shop.sell");
        drop(old);
        let new = open().await;
        let refusal = refused(sell_of_today_outcome(&call(&new), 1, false).await);
        assert_eq!(*refusal.kind(), RefusalKind::ContractChanged { recorded: 1, current: 3 });
        assert_eq!(refusal.operation(), Some(first.operation));
    }
}

#[idempotent(scope = "conversation", window = "10m", retain = "1h30m")]
async fn with_a_window(call: &ToolCall, id: u64, #[idem(state)] world: World) -> Result<u64, ToolError> {
    world.effect(format!("{id}"));
    Ok(id)
}

#[tokio::test]
async fn equal_arguments_mean_the_same_intent_within_the_window() {
    for setup in every_store().await {
        let run = |n: u64| {
            let call = setup.call_as(&format!("call_{n}"), n);
            let world = setup.world.clone();
            async move { with_a_window_outcome(&call, 1, world).await }
        };
        fresh(run(1).await);
        setup.clock.advance((10 * MINUTE).saturating_sub(INSTANT));
        assert_eq!(replayed(run(2).await), (1, "args"));
        setup.clock.advance(INSTANT);
        assert_eq!(fresh(run(3).await), 1);
        assert_eq!(replayed(run(1).await), (1, "tool_call_id"), "the same call is the same, window or not");
        assert_eq!(setup.world.effects(), ["1", "1"], "{}", setup.name());
    }
}

#[tokio::test]
async fn a_finished_operation_answers_for_as_long_as_the_tool_says() {
    for setup in every_store().await {
        let run = async || with_a_window_outcome(&setup.call_as("call_1", 1), 1, setup.world.clone()).await;
        fresh(run().await);
        setup.clock.advance((90 * MINUTE).saturating_sub(INSTANT));
        assert_eq!(replayed(run().await).0, 1);
        setup.clock.advance(INSTANT);
        assert_eq!(*refused(run().await).kind(), RefusalKind::RetentionEnded);
        assert_eq!(setup.world.effects(), ["1"], "{}", setup.name());
    }
}

#[idempotent(scope = "conversation", retain = "90m", after_retention = "run")]
async fn running_anew(call: &ToolCall, id: u64, #[idem(state)] world: World) -> Result<u64, ToolError> {
    world.effect(format!("{id}"));
    Ok(id)
}

#[tokio::test]
async fn after_retention_the_same_call_runs_anew_where_the_tool_says_so() {
    for setup in every_store().await {
        let run = async || running_anew_outcome(&setup.call_as("call_1", 1), 1, setup.world.clone()).await;
        fresh(run().await);
        setup.clock.advance(90 * MINUTE);
        fresh(run().await);
        assert_eq!(setup.world.effects(), ["1", "1"], "{}", setup.name());
    }
}

#[idempotent(scope = "conversation", lease = "1m30s")]
async fn with_a_lease(
    call: &ToolCall,
    id: u64,
    #[idem(state)] gate: &Gate,
    #[idem(state)] world: &World,
) -> Result<String, ToolError> {
    world.effect(call.operation().to_string());
    gate.pass().await;
    Ok(format!("{id}"))
}

#[tokio::test]
async fn a_lease_is_as_long_as_the_tool_says() {
    for setup in every_store().await {
        let (call, gate) = (setup.call_as("call_1", 1), Gate::new());
        let run = with_a_lease(&call, 1, &gate, &setup.world);
        let look = async {
            gate.arrived().await;
            let operation = setup.world.effects()[0].parse().expect("an operation");
            let record = setup.record(operation).await;
            gate.open();
            record.lease_until.map(|until| until.since(record.reserved_at))
        };
        let (done, lease) = tokio::join!(run, look);
        assert_eq!(done.expect("a result"), "1");
        assert_eq!(lease, Some(90 * Duration::from_secs(1)), "{}", setup.name());
    }
}

/// The clock of these tests stands still, so that only the tool's own words decide.
#[tokio::test]
async fn the_clock_of_a_test_is_the_ledgers() {
    let clock = TestClock::default();
    let idem = Idem::builder().clock(clock.clone()).open("memory:").await.expect("a ledger");
    let call = idem.call().tenant("acme").conversation("c-1").tool_call_id("call_1").turn(1);
    let first = told(sell_of_old_outcome(&call, 1).await).1.first_at;
    clock.advance(MINUTE);
    assert_eq!(told(sell_of_old_outcome(&call, 1).await).1.first_at, first);
}
