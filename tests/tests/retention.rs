//! Retention: how long a finished operation answers, with what, and what stands in its place afterwards.

use std::time::Duration;

use idem_runtime::{ErrorClass, Idem, Outcome, Refusal, RefusalKind, Timestamp, ToolCall, idempotent, ledger::State};
use idem_tests::{
    timing::Gate,
    tools::{ToolError, classify},
    world::{Setup, World, config, every_store, every_store_with},
};

const DAY: Duration = Duration::from_hours(24);
const NANO: Duration = Duration::from_nanos(1);

/// A nanosecond less than a span.
fn just_before(span: Duration) -> Duration {
    span.saturating_sub(NANO)
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", retain = "24h", classify = classify)]
async fn refund(call: &ToolCall, order: String, #[idem(state)] world: World) -> Result<String, ToolError> {
    world.effect(order.clone());
    match order.as_str() {
        "timeout" => Err(ToolError::Timeout),
        "declined" => Err(ToolError::Declined),
        _ => Ok(order),
    }
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", retain = "24h", after_retention = "run")]
async fn again(call: &ToolCall, order: String, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(order))
}

#[idempotent(scope = "conversation", key = "operation_id|template:refund:{order}", retain = "24h")]
async fn issued(call: &ToolCall, order: String, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(order))
}

async fn told(setup: &Setup, call: &ToolCall, order: &str) -> Outcome<String> {
    refund_outcome(call, order.into(), setup.world.clone()).await
}

fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

fn ended<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    let refusal = refusal(outcome);
    assert_eq!(refusal.kind(), &RefusalKind::RetentionEnded);
    refusal
}

// R-L6 (SQLite and memory; PostgreSQL comes later)
#[tokio::test]
async fn r084_retention_has_ended_exactly_from_its_last_nanosecond_on() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let operation = told(&setup, &call, "A-1").await.operation().expect("an operation");
        setup.clock.advance(just_before(DAY));
        assert!(told(&setup, &call, "A-1").await.is_replay(), "{}: 1 ns before", setup.name());
        setup.clock.advance(NANO);
        ended(told(&setup, &call, "A-1").await);
        setup.clock.advance(NANO);
        ended(told(&setup, &call, "A-1").await);
        let record = setup.record(operation).await;
        let until = record.retain_until.expect("a finished record");
        assert_eq!(until, record.reserved_at.after(DAY), "one unit from the attribute to the record");
        if let Some(home) = &setup.home {
            assert_eq!(home.column::<i64>("select retain_until from idem_operations"), [until.as_nanos()]);
        }
    }
    // Random instants: ended at t if and only if t is not before the end.
    let seed = 84_u64;
    let mut state = seed;
    let mut draw = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 16) % bound
    };
    for round in 0..40 {
        let retain = Duration::from_nanos(1 + draw(u64::try_from(DAY.as_nanos()).expect("small")));
        let small = config(|it| it.retain = retain);
        for setup in every_store_with(|| Idem::builder().config(small.clone())).await {
            let call = setup.call_as("call_1", 1);
            let told = async || by_config_outcome(&call, 1, setup.world.clone()).await;
            let operation = told().await.operation().expect("an operation");
            let until = setup.record(operation).await.retain_until.expect("a finished record");
            let mut now = Timestamp::from_nanos(1_893_456_000_000_000_000);
            for _ in 0..4 {
                let step = Duration::from_nanos(draw(u64::try_from(retain.as_nanos()).expect("small")));
                setup.clock.advance(step);
                now = now.after(step);
                let outcome = told().await;
                assert_eq!(
                    matches!(&outcome, Outcome::Refused(it) if it.kind() == &RefusalKind::RetentionEnded),
                    now >= until,
                    "seed {seed}, round {round}, {} of {retain:?} on {}",
                    now.since(until.before(retain)).as_nanos(),
                    setup.name()
                );
                assert_eq!(outcome.is_replay(), now < until);
            }
        }
    }
}

#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn by_config(call: &ToolCall, a: u8, #[idem(state)] world: World) -> Result<usize, ToolError> {
    let _ = a;
    Ok(world.effect("done"))
}

// R-L6 (the part of the case without backups: epochs come later)
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r088_a_tombstone_answers_and_what_is_unknown_is_never_removed() {
    let keep = config(|it| it.tombstone = 90 * DAY);
    for setup in every_store_with(|| Idem::builder().config(keep.clone())).await {
        let (done, unknown, failed) =
            (setup.call_as("call_1", 1), setup.call_as("call_2", 1), setup.call_as("call_3", 1));
        let operation = told(&setup, &done, "A-1").await.operation().expect("an operation");
        let lost = refusal(told(&setup, &unknown, "timeout").await).operation().expect("an operation");
        refusal(told(&setup, &failed, "declined").await);
        let gate = Gate::new();
        let running = tokio::spawn({
            let (call, gate) = (setup.call_as("call_4", 1), gate.clone());
            async move { long_outcome(&call, 1, gate).await }
        });
        gate.arrived().await;
        setup.clock.advance(DAY + Duration::from_secs(1));
        let swept = setup.idem.purge(100).await.expect("a purge");
        assert_eq!((swept.looked_at, swept.tombstones, swept.removed), (4, 2, 0), "{}", setup.name());
        // 24 h + 1 s, and to the last nanosecond of the tombstone: ended, nothing is sent.
        for step in [Duration::ZERO, just_before(90 * DAY).saturating_sub(Duration::from_secs(1))] {
            setup.clock.advance(step);
            assert_eq!(setup.idem.purge(100).await.expect("a purge").removed, 0);
            assert_eq!(ended(told(&setup, &done, "A-1").await).operation(), Some(operation));
            ended(told(&setup, &failed, "declined").await);
        }
        assert_eq!(setup.world.effects(), ["A-1", "timeout", "declined"]);
        assert_eq!(setup.record(operation).await.stored, None, "the result has gone");
        setup.clock.advance(NANO);
        let swept = setup.idem.purge(100).await.expect("a purge");
        assert_eq!((swept.looked_at, swept.removed), (4, 2), "{}", setup.name());
        assert_eq!(setup.state(lost).await, State::OutcomeUnknown.name());
        assert_eq!(refusal(told(&setup, &unknown, "timeout").await).kind(), &RefusalKind::Unknown);
        assert_eq!(setup.operations().await, 2, "what is unknown and what is running stay");
        gate.open();
        running.await.expect("no panic").into_result().expect("finished");
    }
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", lease = "1h")]
async fn long(call: &ToolCall, a: u8, #[idem(state)] gate: Gate) -> Result<u8, ToolError> {
    gate.pass().await;
    Ok(a)
}

#[tokio::test]
async fn r_l6_after_its_tombstone_an_operation_is_a_stranger_to_every_caller() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        told(&setup, &call, "A-1").await.into_result().expect("refunded");
        setup.clock.advance(100 * DAY + 100 * DAY);
        assert_eq!(setup.idem.purge(100).await.expect("a purge").removed, 1);
        assert_eq!(setup.operations().await, 0);
        let fresh = told(&setup, &call, "A-1").await;
        assert!(matches!(&fresh, Outcome::Succeeded(it) if it.told.replay.is_none()), "{}: {fresh:?}", setup.name());
        assert_eq!(setup.world.count("A-1"), 2);
        assert!(told(&setup, &call, "A-1").await.is_replay());
    }
}

#[tokio::test]
async fn r_l6_a_tombstone_answers_the_same_call_and_equal_arguments_are_a_new_occurrence() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let Outcome::Succeeded(first) = told(&setup, &call, "A-1").await else { panic!("no success") };
        let by_id = setup.call().operation_id("approved-1");
        issued(&by_id, "B-1".into(), setup.world.clone()).await.expect("refunded");
        setup.clock.advance(DAY);
        // The same id in its turn, the same record, the same issued id, the same template.
        assert_eq!(ended(told(&setup, &call, "A-1").await).operation(), Some(first.told.operation));
        let resumed = setup.call_as("call_7", 7).resume(first.told.record.clone());
        ended(told(&setup, &resumed, "A-1").await);
        ended(issued_outcome(&by_id, "B-1".into(), setup.world.clone()).await);
        ended(issued_outcome(&setup.call(), "B-1".into(), setup.world.clone()).await);
        assert_eq!(setup.world.effects(), ["A-1", "B-1"], "{}", setup.name());
        // Equal arguments under a new id: a new occurrence, with an id of its own.
        let anew = told(&setup, &setup.call_as("call_2", 2), "A-1").await;
        assert!(matches!(&anew, Outcome::Succeeded(it) if it.told.replay.is_none()), "{anew:?}");
        assert_ne!(anew.operation(), Some(first.told.operation));
        assert_eq!(setup.world.count("A-1"), 2);
    }
}

#[tokio::test]
async fn r_l6_the_same_call_is_told_that_retention_ended_after_a_newer_occurrence() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let first = told(&setup, &call, "A-1").await;
        setup.clock.advance(DAY);
        told(&setup, &setup.call_as("call_2", 2), "A-1").await.into_result().expect("a new occurrence");
        let told = ended(told(&setup, &call, "A-1").await);
        assert_eq!(told.operation(), first.operation(), "{}", setup.name());
        assert_eq!(setup.world.count("A-1"), 2);
    }
}

#[tokio::test]
async fn r_l6_after_retention_run_makes_the_same_call_new() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let told = async |call: &ToolCall| again_outcome(call, "A-1".into(), setup.world.clone()).await;
        let first = told(&call).await;
        setup.clock.advance(just_before(DAY));
        assert!(told(&call).await.is_replay());
        setup.clock.advance(NANO);
        let second = told(&call).await;
        assert_eq!(second.value(), Some(&2), "{}: {second:?}", setup.name());
        assert_ne!(first.operation(), second.operation());
        assert!(told(&call).await.is_replay());
        assert!(told(&setup.call_as("call_2", 2)).await.is_replay(), "equal arguments mean the newer one");
        assert_eq!(setup.world.count("A-1"), 2);
    }
}

// R-K2: ids are derived, and still every occurrence has its own.
#[tokio::test]
async fn r_l6_three_hundred_occurrences_of_one_call_have_three_hundred_ids() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let mut ids = std::collections::HashMap::new();
        for occurrence in 0..300 {
            let told = again_outcome(&call, "A-1".into(), setup.world.clone()).await;
            let operation = told.operation().expect("an operation");
            let earlier = ids.insert(operation, occurrence);
            assert_eq!(earlier, None, "{}: occurrence {occurrence} has the id of an earlier one", setup.name());
            setup.clock.advance(DAY);
        }
        assert_eq!(setup.world.count("A-1"), 300);
    }
}

#[tokio::test]
async fn r_l6_a_final_failure_is_kept_and_ends_like_a_success() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        refusal(told(&setup, &call, "declined").await);
        setup.clock.advance(just_before(DAY));
        let failed = refusal(told(&setup, &call, "declined").await);
        assert_eq!(failed.kind(), &RefusalKind::FailedFinal);
        setup.clock.advance(NANO);
        ended(told(&setup, &call, "declined").await);
        assert_eq!(setup.world.effects(), ["declined"], "{}", setup.name());
    }
}

#[tokio::test]
async fn r_l6_what_may_be_retried_has_no_retention() {
    #[idempotent(scope = "conversation", key = "tool_call_id|args", retain = "1h", classify = may)]
    async fn flaky(call: &ToolCall, a: u8, #[idem(state)] world: World) -> Result<usize, ToolError> {
        let _ = a;
        if call.number() == 1 { Err(ToolError::Busy) } else { Ok(world.effect("done")) }
    }
    fn may(_: &ToolError) -> ErrorClass {
        ErrorClass::Retryable
    }
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let failed = refusal(flaky_outcome(&call, 1, setup.world.clone()).await);
        setup.clock.advance(1000 * DAY);
        assert_eq!(setup.idem.purge(10).await.expect("a purge").removed, 0);
        let done = flaky_outcome(&call, 1, setup.world.clone()).await;
        assert_eq!((done.value(), done.operation()), (Some(&1), failed.operation()), "{}", setup.name());
    }
}
