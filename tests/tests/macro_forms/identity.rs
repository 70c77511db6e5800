//! Keys and scopes as they are written: what makes two calls the same operation.

use idem_runtime::{ToolCall, idempotent};
use idem_tests::{
    tools::ToolError,
    world::{World, every_store},
};

use crate::{Order, drifted, fresh, key_of, replayed};

#[idempotent(scope = "conversation", key = "args(order.id, order.cents)")]
async fn by_part(call: &ToolCall, order: Order, urgent: bool, #[idem(state)] world: World) -> Result<u64, ToolError> {
    world.effect(format!("{} {} {urgent}", order.id, order.cents));
    Ok(order.cents)
}

#[tokio::test]
async fn a_key_of_part_of_the_arguments_leaves_the_rest_to_the_fingerprint() {
    for setup in every_store().await {
        let run = async |order, urgent| by_part_outcome(&setup.call(), order, urgent, setup.world.clone()).await;
        let order = || Order::new("A-1", 100, "late");
        assert_eq!(fresh(run(order(), false).await), 100);
        assert_eq!(replayed(run(order(), false).await), (100, "args"));
        assert_eq!(drifted(run(Order::new("A-1", 100, "broken"), false).await), ["order"]);
        assert_eq!(drifted(run(order(), true).await), ["urgent"]);
        assert_eq!(fresh(run(Order::new("A-1", 200, "late"), false).await), 200);
        assert_eq!(fresh(run(Order::new("B-2", 100, "late"), false).await), 100);
        assert_eq!(setup.world.effects(), ["A-1 100 false", "A-1 200 false", "B-2 100 false"], "{}", setup.name());
    }
}

#[idempotent(scope = "conversation", key = "template:refund {{{order_id}}} || {part}")]
async fn by_template(
    call: &ToolCall,
    order_id: String,
    part: u64,
    note: String,
    #[idem(state)] world: World,
) -> Result<String, ToolError> {
    world.effect(format!("{order_id} {part}"));
    Ok(note)
}

#[tokio::test]
async fn a_key_of_a_template_holds_its_values_apart() {
    for setup in every_store().await {
        let run = async |id: &str, part, note: &str| {
            by_template_outcome(&setup.call(), id.to_owned(), part, note.to_owned(), setup.world.clone()).await
        };
        assert_eq!(fresh(run("A-1", 11, "x").await), "x");
        assert_eq!(replayed(run("A-1", 11, "x").await), ("x".to_owned(), "template"));
        assert_eq!(drifted(run("A-1", 11, "y").await), ["note"]);
        // Joined without frames, both would read `A-1 || 1` and more.
        assert_eq!(fresh(run("A-1} || 1", 1, "x").await), "x");
        assert_eq!(setup.world.effects(), ["A-1 11", "A-1} || 1 1"], "{}", setup.name());
    }
}

#[idempotent(scope = "conversation", key = "operation_id|tool_call_id+args(order_id)")]
async fn by_alternatives(
    call: &ToolCall,
    order_id: String,
    cents: u64,
    #[idem(state)] world: World,
) -> Result<u64, ToolError> {
    world.effect(format!("{order_id} {cents}"));
    Ok(cents)
}

#[tokio::test]
async fn alternatives_and_sources_together_each_find_the_operation() {
    for setup in every_store().await {
        let run = async |call: ToolCall, id: &str, cents| {
            by_alternatives_outcome(&call, id.to_owned(), cents, setup.world.clone()).await
        };
        let first = run(setup.call_as("call_1", 1).operation_id("step-1"), "A-1", 100).await;
        assert_eq!(key_of(first).len(), 2, "one identity a source");
        let by_step = run(setup.call_as("call_9", 9).operation_id("step-1"), "A-1", 100).await;
        assert_eq!(replayed(by_step), (100, "operation_id"));
        assert_eq!(replayed(run(setup.call_as("call_1", 1), "A-1", 100).await).0, 100);
        // The id alone is not the key, nor is the order alone.
        assert_eq!(fresh(run(setup.call_as("call_1", 1), "B-2", 100).await), 100);
        assert_eq!(fresh(run(setup.call_as("call_2", 2), "A-1", 100).await), 100);
        assert_eq!(setup.world.effects(), ["A-1 100", "B-2 100", "A-1 100"], "{}", setup.name());
    }
}

#[idempotent(scope = "named:cart+{order.id}", key = "args(order.cents)")]
async fn in_a_named_scope(call: &ToolCall, order: Order, #[idem(state)] world: World) -> Result<u64, ToolError> {
    world.effect(format!("{} {}", order.id, order.cents));
    Ok(order.cents)
}

#[tokio::test]
async fn a_scope_that_the_application_names_is_narrowed_by_values() {
    for setup in every_store().await {
        let run = async |cart: &str, order| {
            let call = setup.idem.call().tenant("acme").scope("cart", cart);
            in_a_named_scope_outcome(&call, order, setup.world.clone()).await
        };
        let order = |id| Order::new(id, 100, "late");
        assert_eq!(fresh(run("one", order("A-1")).await), 100);
        assert_eq!(replayed(run("one", order("A-1")).await).0, 100);
        assert_eq!(fresh(run("two", order("A-1")).await), 100);
        assert_eq!(fresh(run("one", order("B-2")).await), 100);
        assert_eq!(setup.world.effects(), ["A-1 100", "A-1 100", "B-2 100"], "{}", setup.name());
    }
}
