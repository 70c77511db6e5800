//! Bodies: where they run, what the attribute must not change in them, and the check before them.

use std::num::ParseIntError;

use idem_runtime::{Refusal, RefusalKind, ToolCall, idempotent};
use idem_tests::{
    timing::{Gate, poll_times},
    tools::ToolError,
    world::{World, every_store},
};

use crate::{fresh, refused, replayed};

/// Owns its arguments, so it runs as a task of its own.
#[idempotent(scope = "conversation")]
async fn detached(
    call: &ToolCall,
    id: u64,
    #[idem(state)] gate: Gate,
    #[idem(state)] world: World,
) -> Result<u64, ToolError> {
    gate.pass().await;
    world.effect(format!("sent {id}"));
    Ok(id)
}

/// The same, kept in its caller's task.
#[idempotent(scope = "conversation", detach = false)]
async fn kept_in_place(
    call: &ToolCall,
    id: u64,
    #[idem(state)] gate: Gate,
    #[idem(state)] world: World,
) -> Result<u64, ToolError> {
    gate.pass().await;
    world.effect(format!("sent {id}"));
    Ok(id)
}

/// Borrows, so it runs in place without being told to.
#[idempotent(scope = "conversation")]
async fn borrowing(
    call: &ToolCall,
    id: u64,
    #[idem(state)] gate: &Gate,
    #[idem(state)] world: &World,
) -> Result<u64, ToolError> {
    gate.pass().await;
    world.effect(format!("sent {id}"));
    Ok(id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_body_completes_when_its_caller_vanishes() {
    for setup in every_store().await {
        let (call, gate) = (setup.call_as("call_1", 1), Gate::new());
        let caller = tokio::spawn({
            let (call, gate, world) = (call.clone(), gate.clone(), setup.world.clone());
            async move { detached(&call, 1, gate, world).await }
        });
        gate.arrived().await;
        caller.abort();
        assert!(caller.await.expect_err("the caller vanished").is_cancelled());
        gate.open();
        let again = detached_outcome(&call, 1, gate, setup.world.clone()).await;
        assert_eq!(replayed(again).0, 1);
        assert_eq!(setup.world.effects(), ["sent 1"], "{}", setup.name());
    }
}

#[tokio::test]
async fn a_body_in_place_that_is_dropped_is_recorded_as_unknown_at_once() {
    for setup in every_store().await {
        let (call, gate) = (setup.call_as("call_1", 1), Gate::new());
        // It came to the gate, and was never let through.
        let dropped = tokio::select! {
            biased;
            done = kept_in_place(&call, 1, gate.clone(), setup.world.clone()) => Some(done),
            () = gate.arrived() => None,
        };
        assert!(dropped.is_none(), "{dropped:?}");
        let told = refused(kept_in_place_outcome(&call, 1, gate, setup.world.clone()).await);
        assert_eq!(*told.kind(), RefusalKind::Unknown, "{}", setup.name());
        assert_eq!(setup.state(told.operation().expect("an operation")).await, "outcome_unknown");
        assert!(setup.world.effects().is_empty());
    }
}

#[tokio::test]
async fn a_body_that_borrows_runs_in_place() {
    for setup in every_store().await {
        let (call, gate) = (setup.call_as("call_1", 1), Gate::new());
        let dropped = tokio::select! {
            biased;
            done = borrowing(&call, 1, &gate, &setup.world) => Some(done),
            () = gate.arrived() => None,
        };
        assert!(dropped.is_none(), "{dropped:?}");
        let told = refused(borrowing_outcome(&call, 1, &gate, &setup.world).await);
        assert_eq!(*told.kind(), RefusalKind::Unknown, "{}", setup.name());
    }
}

#[tokio::test]
async fn a_call_that_is_never_polled_does_nothing() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        drop(detached(&call, 1, Gate::opened(), setup.world.clone()));
        assert!(poll_times(kept_in_place(&call, 1, Gate::opened(), setup.world.clone()), 0).await.is_none());
        assert_eq!(setup.operations().await, 0, "{}", setup.name());
        assert!(setup.world.effects().is_empty());
    }
}

#[derive(Debug, thiserror::Error)]
enum ParseError {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("no number")]
    Number(#[from] ParseIntError),
    #[error("too many")]
    TooMany,
}

fn every_error_is_final(_: &ParseError) -> idem_runtime::ErrorClass {
    idem_runtime::ErrorClass::Final
}

/// Coercions, `?` with a conversion, an early return, labels and `continue`, as without the attribute.
#[idempotent(scope = "conversation", classify = every_error_is_final)]
async fn full_of_exits(call: &ToolCall, text: String, #[idem(state)] world: World) -> Result<Box<str>, ParseError> {
    world.effect(&text);
    let last: u8 = text.rsplit('-').next().unwrap_or("0").parse()?;
    let shown: &dyn Fn(u8) -> Box<str> = &|n| n.to_string().into_boxed_str();
    if last == 0 {
        return Ok("nothing".into());
    }
    let mut from = 0;
    let found = 'search: loop {
        for n in from..last {
            if n < 5 {
                continue;
            }
            break 'search n;
        }
        from += 1;
        if from > last {
            break 'search 99;
        }
    };
    if last > 100 {
        Err(ParseError::TooMany)?;
    }
    Ok(shown(found))
}

#[tokio::test]
async fn r129_a_body_means_what_it_means_without_the_attribute() {
    for setup in every_store().await {
        let call = |text: &str| setup.call_as(text, 1);
        let run = async |text: &str| full_of_exits(&call(text), text.to_owned(), setup.world.clone()).await;
        for _ in 0..2 {
            assert_eq!(&*run("a-0").await.expect("an early return"), "nothing");
            assert_eq!(&*run("a-3").await.expect("a loop without a find"), "99");
            assert_eq!(&*run("a-9").await.expect("a labelled break"), "5");
        }
        assert_eq!(setup.world.effects(), ["a-0", "a-3", "a-9"], "{}", setup.name());
    }
}

#[tokio::test]
async fn r129_an_early_error_goes_through_the_failure_policy() {
    for setup in every_store().await {
        let run = async |text: &str| full_of_exits(&setup.call_as(text, 1), text.to_owned(), setup.world.clone()).await;
        assert!(matches!(run("x").await, Err(ParseError::Number(_))));
        assert!(matches!(run("a-101").await, Err(ParseError::TooMany)));
        // Both were settled as final: the body does not run again, and the refusal says so.
        for text in ["x", "a-101"] {
            let told = run(text).await;
            let Err(ParseError::Refused(refusal)) = &told else { panic!("{told:?}") };
            assert_eq!(*refusal.kind(), RefusalKind::FailedFinal);
            assert_eq!(setup.state(refusal.operation().expect("an operation")).await, "failed_final");
        }
        assert_eq!(setup.world.effects(), ["x", "a-101"], "{}", setup.name());
    }
}

#[expect(clippy::unused_async, reason = "a check that has nothing to ask")]
async fn below_a_thousand(id: &u64, cents: &u64, world: &World) -> Result<(), ToolError> {
    world.effect(format!("checked {id}"));
    if *cents < 1_000 { Ok(()) } else { Err(ToolError::Declined) }
}

#[idempotent(scope = "conversation", validate = below_a_thousand)]
async fn checked(call: &ToolCall, id: u64, mut cents: u64, #[idem(state)] world: World) -> Result<u64, ToolError> {
    cents += 1;
    world.effect(format!("sent {id}"));
    Ok(cents)
}

#[tokio::test]
async fn a_check_that_says_no_leaves_nothing_behind() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let denied = checked(&call, 1, 5_000, setup.world.clone()).await;
        assert!(matches!(denied, Err(ToolError::Declined)), "its own error: {denied:?}");
        let told = refused(checked_outcome(&call, 1, 5_000, setup.world.clone()).await);
        assert_eq!(*told.kind(), RefusalKind::Denied);
        assert_eq!(setup.operations().await, 0, "{}", setup.name());
        // Nothing was reserved, so another amount is no drift.
        assert_eq!(fresh(checked_outcome(&call, 1, 500, setup.world.clone()).await), 501);
        // A repeat is answered from the ledger, whatever the check would say today.
        assert_eq!(replayed(checked_outcome(&call, 1, 500, setup.world.clone()).await).0, 501);
        assert_eq!(setup.world.effects(), ["checked 1", "checked 1", "checked 1", "sent 1"], "{}", setup.name());
    }
}

struct Shop {
    open: bool,
    world: World,
}

impl Shop {
    #[expect(clippy::unused_async, reason = "a check that has nothing to ask")]
    async fn is_open(&self, id: &u64, _pair: &(u64, u64)) -> Result<(), ToolError> {
        self.world.effect(format!("checked {id}"));
        if self.open { Ok(()) } else { Err(ToolError::Declined) }
    }

    #[idempotent(scope = "conversation", validate = Self::is_open)]
    pub(crate) async fn sell(&self, call: &ToolCall, id: u64, (a, b): (u64, u64)) -> Result<u64, ToolError> {
        self.world.effect(format!("sold {id}"));
        Ok(a + b)
    }
}

#[tokio::test]
async fn a_check_of_a_method_sees_its_self() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let shop = |open| Shop { open, world: setup.world.clone() };
        assert_eq!(*refused(shop(false).sell_outcome(&call, 1, (2, 3)).await).kind(), RefusalKind::Denied);
        assert_eq!(fresh(shop(true).sell_outcome(&call, 1, (2, 3)).await), 5);
        assert_eq!(replayed(shop(false).sell_outcome(&call, 1, (2, 3)).await).0, 5);
        assert_eq!(setup.world.effects(), ["checked 1", "checked 1", "sold 1"], "{}", setup.name());
    }
}
