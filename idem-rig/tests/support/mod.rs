//! An agent of rig's that plays a script, and the bank that its tool sends refunds to.
//!
//! Must not know which case is tested.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use idem_rig::guarded;
use idem_runtime::{Unsettled, Verdict, idempotent};
use idem_tests::{
    tools::{ToolError, classify},
    world::World,
};
use rig_agent::{
    Agent, AgentBuilder,
    tool::{RegisteredTool, Tool, ToolContext, server::ToolServer},
};
use rig_core::test_utils::{MockCompletionModel, MockTurn};
use serde::Deserialize;
use serde_json::{Value, json};

/// What sends money, and may lose its first answers. Clones are the same bank.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bank {
    pub(crate) world: World,
    loses: Arc<AtomicUsize>,
}

impl Bank {
    /// A bank in that world whose first `loses` answers get lost.
    pub(crate) fn losing(world: &World, loses: usize) -> Self {
        Self { world: world.clone(), loses: Arc::new(AtomicUsize::new(loses)) }
    }

    fn refund(&self, order_id: &str, cents: u64) -> Result<String, ToolError> {
        self.world.effect(format!("refund {order_id} {cents}"));
        let loses = self.loses.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if loses { Err(ToolError::Timeout) } else { Ok(format!("rf_{order_id}")) }
    }
}

/// Gives a customer money back.
#[idempotent(
    scope = "conversation",
    key = "tool_call_id|args",
    name = "rig.send_refund",
    classify = classify,
    recover(lookup = find_refund, then = operator)
)]
async fn send_refund(order_id: String, cents: u64, #[idem(state)] bank: Bank) -> Result<String, ToolError> {
    bank.refund(&order_id, cents)
}

#[expect(clippy::unused_async, reason = "a look-up is async: a real one asks over the network")]
async fn find_refund(bank: &Bank, _: Unsettled) -> Verdict<String> {
    match bank.world.effects().len() {
        0 => Verdict::not_applied("the bank has sent nothing"),
        _ => Verdict::applied("rf_A-1".to_owned(), "rf_A-1"),
    }
}

/// What the model calls the tools with.
#[derive(Debug, Deserialize)]
pub(crate) struct Refund {
    order_id: String,
    cents: u64,
}

const SEND_REFUND: &str = "send_refund";
const WHAT_FOR: &str = "Gives a customer money back.";

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": { "order_id": { "type": "string" }, "cents": { "type": "integer" } },
        "required": ["order_id", "cents"]
    })
}

/// A tool of rig's that sends refunds by this function.
struct SendBy<F>(F);

impl<F, Sent> Tool for SendBy<F>
where
    F: Fn(Refund) -> Sent + Send + Sync + 'static,
    Sent: Future<Output = Result<String, ToolError>> + Send,
{
    const NAME: &'static str = SEND_REFUND;
    type Args = Refund;
    type Output = String;
    type Error = ToolError;

    fn description(&self) -> String {
        WHAT_FOR.to_owned()
    }

    fn parameters(&self) -> Value {
        parameters()
    }

    async fn call(&self, _: &mut ToolContext, args: Refund) -> Result<String, ToolError> {
        (self.0)(args).await
    }
}

/// A tool of rig's whose `call` is itself the guarded function, and which nobody can ask what happened.
pub(crate) struct SendItself(pub(crate) Bank);

impl Tool for SendItself {
    const NAME: &'static str = SEND_REFUND;
    type Args = Value;
    type Output = String;
    type Error = ToolError;

    fn description(&self) -> String {
        WHAT_FOR.to_owned()
    }

    fn parameters(&self) -> Value {
        parameters()
    }

    #[idempotent(scope = "conversation", key = "tool_call_id|args", name = "rig.send_itself", classify = classify)]
    async fn call(&self, #[idem(state)] _context: &mut ToolContext, args: Value) -> Result<String, ToolError> {
        let args: Refund = serde_json::from_value(args).map_err(|_| ToolError::Declined)?;
        self.0.refund(&args.order_id, args.cents)
    }
}

/// An agent with one tool, and the model that plays its script.
pub(crate) fn agent(tool: RegisteredTool, script: impl IntoIterator<Item = MockTurn>) -> (Agent, MockCompletionModel) {
    let model = MockCompletionModel::from_turns(script);
    let tools = ToolServer::new().registered_tool(tool).run();
    (AgentBuilder::new(model.clone()).tool_server_handle(tools).build(), model)
}

/// The guarded tool in front of that bank.
pub(crate) fn refunds(bank: &Bank) -> RegisteredTool {
    let bank = bank.clone();
    guarded(SendBy(move |it: Refund| send_refund(it.order_id, it.cents, bank.clone())))
}

/// The same tool without a guard: the control arm.
pub(crate) fn unguarded(bank: Bank) -> RegisteredTool {
    RegisteredTool::from_tool(SendBy(move |it: Refund| std::future::ready(bank.refund(&it.order_id, it.cents))))
}

/// The model calls the tool: under this id, or under none where it is empty.
pub(crate) fn calls(id: &str, order_id: &str, cents: u64) -> MockTurn {
    MockTurn::tool_call(id, SEND_REFUND, json!({ "order_id": order_id, "cents": cents }))
}

/// The model has nothing more to call.
pub(crate) fn ends() -> MockTurn {
    MockTurn::text("Done.")
}

/// What the model was told by tools, in all of its requests, as JSON.
pub(crate) fn told(model: &MockCompletionModel) -> String {
    let requests = model.requests();
    serde_json::to_string(&requests.last().expect("a request").chat_history).expect("messages are JSON")
}
