//! Tools that try again and find out, with errors in a box: their futures go to other threads all the same.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use idem_runtime::{Idem, ToolCall, Unsettled, Verdict, idempotent};

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
