//! Tools that try again and find out, with errors in a box: their futures go to other threads all the same.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use idem_runtime::{Idem, Tenant, ToolCall, Unsettled, Verdict, idempotent};

type Boxed = Box<dyn std::error::Error + Send + Sync>;
type Bodies = Arc<AtomicU32>;

#[expect(clippy::unused_async, reason = "a check may wait")]
async fn allow(_: &String, _: &Bodies) -> Result<(), Boxed> {
    Ok(())
}

#[expect(clippy::unused_async, reason = "a look-up may wait")]
async fn find(bodies: &Bodies, operation: Unsettled) -> Verdict<u32> {
    Verdict::applied(bodies.load(Ordering::Relaxed), operation.operation().to_string())
}

#[idempotent(scope = "tenant", key = "args", validate = allow)]
async fn checked(call: &ToolCall, order: String, #[idem(state)] bodies: Bodies) -> Result<u32, Boxed> {
    call.reference(order);
    Ok(bodies.fetch_add(1, Ordering::Relaxed) + 1)
}

#[idempotent(scope = "tenant", key = "args", retry(max = 2, base = "1ms", cap = "1ms"))]
async fn tried(call: &ToolCall, order: String, #[idem(state)] bodies: Bodies) -> Result<u32, Boxed> {
    call.reference(order);
    Ok(bodies.fetch_add(1, Ordering::Relaxed) + 1)
}

#[idempotent(scope = "tenant", key = "args", recover(provider_key = "24h", lookup = find), store_arguments)]
async fn found(_call: &ToolCall, order: String, #[idem(state)] bodies: Bodies) -> Result<u32, Boxed> {
    bodies.fetch_add(1, Ordering::Relaxed);
    Err(format!("the answer about {order} was lost").into())
}

#[idempotent(scope = "tenant", key = "args")]
async fn audited(call: &ToolCall, operation: String) -> Result<u32, Boxed> {
    call.reference(operation);
    Ok(7)
}

async fn ask_by_a_tool(idem: &Idem, operation: Unsettled) -> Result<Verdict<u32>, Boxed> {
    let value = audited(&idem.call().tenant("acme"), operation.operation().to_string()).await?;
    Ok(Verdict::applied(value, "rf_1"))
}

#[idempotent(scope = "tenant", key = "args", recover(lookup = ask_by_a_tool))]
async fn lost(_call: &ToolCall, order: String, #[idem(state)] _idem: Idem) -> Result<u32, Boxed> {
    Err(format!("the answer about {order} was lost").into())
}

/// Open until the first body ran.
#[expect(clippy::unused_async, reason = "a check may wait")]
async fn still_open(_: &String, bodies: &Bodies) -> Result<(), Boxed> {
    if bodies.load(Ordering::Relaxed) == 0 { Ok(()) } else { Err("closed".into()) }
}

#[expect(clippy::unused_async, reason = "a look-up may wait")]
async fn nothing_there(_: &Bodies, _: Unsettled) -> Verdict<u32> {
    Verdict::not_applied("nothing of it")
}

#[idempotent(scope = "tenant", key = "args", validate = still_open, recover(lookup = nothing_there))]
async fn checked_again(_call: &ToolCall, order: String, #[idem(state)] bodies: Bodies) -> Result<u32, Boxed> {
    bodies.fetch_add(1, Ordering::Relaxed);
    Err(format!("the answer about {order} was lost").into())
}

#[tokio::test]
async fn r_r5_an_attempt_after_a_verdict_is_checked_too() {
    let idem = Idem::open("memory:").await.expect("a ledger");
    let (call, bodies) = (idem.call().tenant("acme"), Bodies::default());
    let first = checked_again_outcome(&call, "A-1".to_owned(), Arc::clone(&bodies)).await;
    assert_eq!(first.to_json()["outcome"], "unknown_requires_reconciliation");
    let second = checked_again_outcome(&call, "A-1".to_owned(), Arc::clone(&bodies)).await;
    assert_eq!(second.to_json()["outcome"], "denied");
    assert_eq!(bodies.load(Ordering::Relaxed), 1, "what the check denies is not run");
    // The verdict stands, and the attempt that was given back left no doubt: the ledger has heard of both when it answers.
    idem.purge(1).await.expect("an answer of the ledger");
    let tenant = Tenant::new("acme").expect("a tenant");
    let operation = first.operation().expect("an operation");
    let record = idem.show(&tenant, operation).await.expect("a readable ledger").expect("a record");
    assert_eq!((record.state.name(), record.in_doubt), ("failed_retryable", false));
}

#[tokio::test]
async fn a_guarded_tool_that_a_look_up_calls_is_not_taken_for_the_one_that_was_asked() {
    let idem = Idem::open("memory:").await.expect("a ledger");
    let call = idem.call().tenant("acme");
    let first = lost_outcome(&call, "A-1".to_owned(), idem.clone()).await;
    let second = lost_outcome(&call, "A-1".to_owned(), idem.clone()).await;
    assert_eq!((second.value(), second.is_replay()), (Some(&7), true));
    assert_eq!(second.operation(), first.operation());
}

#[tokio::test]
async fn tools_with_boxed_errors_run_on_other_threads() {
    let idem = Idem::open("memory:").await.expect("a ledger");
    let bodies = Bodies::default();
    for order in ["A-1", "A-2"] {
        for told in [1, 2] {
            let (call, bodies) = (idem.call().tenant("acme"), Arc::clone(&bodies));
            let both = async move {
                let checked = checked(&call, order.to_owned(), Arc::clone(&bodies)).await.expect("checked");
                let tried = tried(&call, order.to_owned(), Arc::clone(&bodies)).await.expect("tried");
                (checked, tried)
            };
            let (checked, tried) = tokio::spawn(both).await.expect("a task");
            assert_eq!(tried, checked + 1, "call {told} of {order}");
        }
    }
    assert_eq!(bodies.load(Ordering::Relaxed), 4, "two tools, two orders");

    // The first call's answer is lost; the second one sends again under the provider's key, in vain, and asks.
    let (call, lost) = (idem.call().tenant("acme"), Bodies::default());
    let state = Arc::clone(&lost);
    let twice = async move {
        let first = found(&call, "A-3".to_owned(), Arc::clone(&state)).await.expect_err("lost");
        (first.to_string(), found(&call, "A-3".to_owned(), state).await.expect("found"))
    };
    let (first, second) = tokio::spawn(twice).await.expect("a task");
    assert_eq!((first.as_str(), second), ("the answer about A-3 was lost", 2));
}
