//! Where a tool's call comes from: a parameter, an expression, the task; and what happens without one.

use idem_runtime::{RefusalKind, ToolCall, ToolCallSource, idempotent, scope};
use idem_tests::{
    tools::ToolError,
    world::{World, every_store},
};

use crate::{fresh, refused, replayed};

/// What a framework hands to its tools.
#[derive(Debug, Clone)]
struct Request {
    extensions: Option<Carried>,
}

#[derive(Debug, Clone)]
struct Carried(ToolCall);

impl ToolCallSource for Carried {
    fn tool_call(&self) -> Option<ToolCall> {
        Some(self.0.clone())
    }
}

impl ToolCallSource for Request {
    fn tool_call(&self) -> Option<ToolCall> {
        self.extensions.tool_call()
    }
}

#[idempotent(scope = "conversation")]
async fn by_value(call: ToolCall, id: u64, #[idem(state)] world: World) -> Result<u64, ToolError> {
    world.effect(format!("{id} under {}", call.provider_key("send").to_string().len()));
    Ok(id)
}

#[idempotent(scope = "conversation", ctx = request)]
async fn from_a_context(request: Request, id: u64, #[idem(state)] world: World) -> Result<u64, ToolError> {
    world.effect(format!("{id} of {}", request.extensions.is_some()));
    Ok(id)
}

#[idempotent(scope = "conversation", ctx = request.extensions.as_ref())]
async fn from_an_expression(
    #[idem(state)] request: &Request,
    id: u64,
    #[idem(state)] world: &World,
) -> Result<u64, ToolError> {
    world.effect(format!("{id} of {}", request.extensions.is_some()));
    Ok(id)
}

#[idempotent(scope = "conversation")]
async fn of_the_task(id: u64, #[idem(state)] world: World) -> Result<u64, ToolError> {
    world.effect(format!("{id}"));
    Ok(id)
}

/// Calls another tool in its body, which is not handed the call.
#[idempotent(scope = "conversation")]
async fn outer(call: &ToolCall, id: u64, #[idem(state)] world: World) -> Result<u64, ToolError> {
    world.effect("outer");
    of_the_task(id + 1, world).await
}

#[tokio::test]
async fn a_call_by_value_is_the_attempt_in_the_body() {
    for setup in every_store().await {
        let call = || setup.call_as("call_1", 1);
        assert_eq!(fresh(by_value_outcome(call(), 1, setup.world.clone()).await), 1);
        assert_eq!(replayed(by_value_outcome(call(), 1, setup.world.clone()).await), (1, "args"));
        assert_eq!(setup.world.effects().len(), 1, "{}", setup.name());
    }
}

#[tokio::test]
async fn a_context_carries_the_call_and_is_no_argument() {
    for setup in every_store().await {
        let request = || Request { extensions: Some(Carried(setup.call_as("call_1", 1))) };
        assert_eq!(fresh(from_a_context_outcome(request(), 1, setup.world.clone()).await), 1);
        assert_eq!(replayed(from_a_context_outcome(request(), 1, setup.world.clone()).await).1, "args");
        assert_eq!(fresh(from_an_expression_outcome(&request(), 2, &setup.world).await), 2);
        assert_eq!(replayed(from_an_expression_outcome(&request(), 2, &setup.world).await).1, "args");
        assert_eq!(setup.world.effects(), ["1 of true", "2 of true"], "{}", setup.name());
    }
}

#[tokio::test]
async fn a_call_of_the_task_reaches_its_tools() {
    for setup in every_store().await {
        let call = || setup.call_as("call_1", 1);
        let run = || scope(call(), of_the_task_outcome(1, setup.world.clone()));
        assert_eq!(fresh(run().await), 1);
        assert_eq!(replayed(run().await), (1, "args"));
        assert_eq!(setup.world.effects(), ["1"], "{}", setup.name());
    }
}

#[tokio::test]
async fn a_body_hands_its_call_on_to_tools_that_it_calls() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        for _ in 0..2 {
            assert_eq!(outer(&call, 1, setup.world.clone()).await.expect("a result"), 2);
        }
        assert_eq!(setup.world.effects(), ["outer", "2"], "{}", setup.name());
        assert_eq!(setup.operations().await, 2);
    }
}

#[tokio::test]
async fn a_tool_without_a_call_is_refused_and_never_runs_unguarded() {
    let world = World::default();
    let empty = Request { extensions: None };
    let refusals = [
        refused(of_the_task_outcome(1, world.clone()).await),
        refused(from_a_context_outcome(empty.clone(), 1, world.clone()).await),
        refused(from_an_expression_outcome(&empty, 1, &world).await),
    ];
    for refusal in refusals {
        assert_eq!(*refusal.kind(), RefusalKind::Invalid);
        assert!(refusal.to_model_text().contains("no call reached the tool"), "{}", refusal.to_model_text());
    }
    let error = of_the_task(1, world.clone()).await.expect_err("the function itself refuses too");
    assert_eq!(*error.refusal().kind(), RefusalKind::Invalid);
    assert!(world.effects().is_empty());
}

#[tokio::test]
async fn a_call_without_the_scope_of_its_tool_is_refused() {
    for setup in every_store().await {
        let bare = setup.idem.call().tenant("acme").tool_call_id("call_1").turn(1);
        let refusal = refused(by_value_outcome(bare, 1, setup.world.clone()).await);
        assert_eq!(*refusal.kind(), RefusalKind::Invalid);
        assert!(refusal.to_model_text().contains("conversation"), "{}", refusal.to_model_text());
        assert!(setup.world.effects().is_empty(), "{}", setup.name());
        assert_eq!(setup.operations().await, 0);
    }
}
