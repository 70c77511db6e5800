//! Guards the tools of [rig](rig_agent)'s agents: one intended effect, however often the model calls.
//!
//! rig hands a tool its arguments and a context that the application fills. Which of the model's calls it answers, only hooks
//! are told, and whose conversation it is, nobody. This crate carries both to the tool: [`within`] says whose calls a run
//! makes and learns the id and the place of each, and [`guarded`] makes them the call of the task for every `#[idempotent]`
//! function that the tool calls.
//!
//! ```
//! use idem_rig::{guarded, within};
//! use idem_runtime::{Idem, Refusal, idempotent};
//! use rig_agent::{
//!     AgentBuilder,
//!     tool::{Tool, ToolContext, server::ToolServer},
//! };
//!
//! /// Gives a customer money back.
//! #[idempotent(scope = "conversation", key = "tool_call_id|args")]
//! async fn send_refund(order_id: String, cents: u64) -> Result<String, Refusal> {
//!     Ok(format!("{cents} cents for {order_id} are on their way")) // POST /refunds …
//! }
//!
//! #[derive(serde::Deserialize)]
//! struct Refund {
//!     order_id: String,
//!     cents: u64,
//! }
//!
//! struct SendRefund;
//!
//! impl Tool for SendRefund {
//!     const NAME: &'static str = "send_refund";
//!     type Args = Refund;
//!     type Output = String;
//!     type Error = Refusal;
//!
//!     fn description(&self) -> String {
//!         "Gives a customer money back.".to_owned()
//!     }
//!
//!     fn parameters(&self) -> serde_json::Value {
//!         serde_json::json!({
//!             "type": "object",
//!             "properties": { "order_id": { "type": "string" }, "cents": { "type": "integer" } },
//!             "required": ["order_id", "cents"]
//!         })
//!     }
//!
//!     async fn call(&self, _: &mut ToolContext, args: Refund) -> Result<String, Refusal> {
//!         send_refund(args.order_id, args.cents).await
//!     }
//! }
//!
//! # use rig_core::test_utils::{MockCompletionModel, MockTurn};
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let refund = || serde_json::json!({ "order_id": "A-1", "cents": 4900 });
//! # let calls = ["call_1", "call_2"].map(|id| MockTurn::tool_call(id, "send_refund", refund()));
//! # let model = MockCompletionModel::from_turns(calls.into_iter().chain([MockTurn::text("Done.")]));
//! let idem = Idem::open("memory:").await?; // "sqlite://idem.db" for one that lasts
//! let tools = ToolServer::new().registered_tool(guarded(SendRefund)).run();
//! let agent = AgentBuilder::new(model).tool_server_handle(tools).build();
//!
//! let call = idem.call().tenant("acme").conversation("c-42");
//! let answer = within(agent.prompt("Please refund order A-1."), &call).max_turns(5).await?;
//! assert_eq!(answer.output(), "Done.");
//! # Ok(()) }
//! ```
//!
//! Tools that are in a [`ToolSet`](idem_runtime::ToolSet) need no `impl Tool`: [`server`] takes the set as it is.
//!
//! ```
//! # use idem_rig::within;
//! # use idem_runtime::{Idem, Refusal, ToolCall, idempotent, tools};
//! # use rig_agent::AgentBuilder;
//! # use rig_core::test_utils::{MockCompletionModel, MockTurn};
//! /// Gives a customer money back.
//! #[idempotent(scope = "conversation", key = "tool_call_id|args")]
//! async fn send_refund(call: &ToolCall, order_id: String, cents: u64) -> Result<String, Refusal> {
//!     Ok(format!("{cents} cents for {order_id} are on their way"))
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let idem = Idem::open("memory:").await?;
//! # let refund = serde_json::json!({ "order_id": "A-1", "cents": 4900 });
//! # let model = MockCompletionModel::from_turns([MockTurn::tool_call("call_1", "send_refund", refund), MockTurn::text("Done.")]);
//! let tools = idem_rig::server(&tools![send_refund]?).run();
//! let agent = AgentBuilder::new(model).tool_server_handle(tools).build();
//! # let call = idem.call().tenant("acme").conversation("c-42");
//! let answer = within(agent.prompt("Please refund order A-1."), &call).max_turns(5).await?;
//! # assert_eq!(answer.output(), "Done.");
//! # Ok(()) }
//! ```
//!
//! A run that is stored between its steps and goes on in another process is put [`resumed`] there. A guarded tool in a run that nobody put `within` a conversation answers with a refusal: nothing is run unguarded.
//!
//! It must not know the ledger, nor what a tool does.

mod calls;
mod set;
mod tool;

pub use calls::{Calls, resumed, within};
pub use set::{Told, server};
pub use tool::guarded;
