//! Makes the tools of an [rmcp](https://docs.rs/rmcp) server safe to retry: one intended effect, however often
//! `tools/call` is sent.
//!
//! A client that lost an answer sends the same call again, under another JSON-RPC id; a model plans the same call anew. With
//! [`#[idempotent]`](macro@idempotent) on the tool the second one is told what became of the first. The manual of the attribute
//! is that of [`idem_runtime::idempotent`](macro@idem_runtime::idempotent); here is what is different in an rmcp server.
//!
//! ```
//! use idem_rmcp::{Adapter, ToolCall, idempotent};
//! use idem_runtime::Idem;
//! use rmcp::{
//!     ErrorData, Json, ServerHandler,
//!     handler::server::{router::tool::ToolRouter, wrapper::Parameters},
//!     tool, tool_handler, tool_router,
//! };
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, JsonSchema)]
//! struct Order {
//!     order_id: String,
//!     cents: u64,
//! }
//!
//! #[derive(Serialize, Deserialize, JsonSchema)]
//! struct Receipt {
//!     reference: String,
//! }
//!
//! struct Shop {
//!     tool_router: ToolRouter<Self>,
//! }
//!
//! #[tool_router]
//! impl Shop {
//!     fn new(adapter: &Adapter) -> Self {
//!         // Once, and kept: `guard` says in the log what is wrong with the router.
//!         Self { tool_router: adapter.guard(Self::tool_router(), [Self::send_refund_spec()]) }
//!     }
//!
//!     /// Gives a customer money back.
//!     #[idempotent(scope = "conversation", key = "tool_call_id|args")]
//!     #[tool]
//!     async fn send_refund(&self, call: ToolCall, Parameters(order): Parameters<Order>) -> Result<Json<Receipt>, ErrorData> {
//!         println!("POST /refunds {} {}, Idempotency-Key: {}", order.order_id, order.cents, call.provider_key("refund"));
//!         call.reference("rf_782");
//!         Ok(Json(Receipt { reference: "rf_782".to_owned() }))
//!     }
//! }
//!
//! #[tool_handler(router = self.tool_router)]
//! impl ServerHandler for Shop {}
//!
//! # #[tokio::main] async fn main() -> Result<(), idem_runtime::OpenError> {
//! let idem = Idem::builder().single_tenant("acme").open("memory:").await?;
//! let shop = Shop::new(&Adapter::new(idem));
//! # let _ = shop; Ok(()) }
//! ```
//!
//! # The attribute
//!
//! - It stands above `#[tool]` or below it. Above is the better place: there it sees what you wrote.
//! - The arguments are what [`Parameters`](rmcp::handler::server::wrapper::Parameters) holds: they have to be `Serialize` too.
//!   A key names what the pattern binds, `args(order_id)` for `Parameters(Order { order_id, .. }): Parameters<Order>`, or the
//!   field, `args(order.0.order_id)` for `order: Parameters<Order>`. A pattern is called by its place: name the parameter where
//!   other extractors may come to stand before it, or equal arguments are strangers to those of before.
//! - Every other extractor is no argument: mark it `#[idem(state)]`.
//! - The call comes from the router. A parameter `call: ToolCall` (ours, by value; the first, as
//!   [`RequestMetaObject`](rmcp::model::RequestMetaObject) takes `_meta` away) is the [`Attempt`](idem_runtime::Attempt) in the body.
//! - The result is a `Result` of `Json<T>`, [`CallToolResult`](rmcp::model::CallToolResult),
//!   [`CallToolResponse`](rmcp::model::CallToolResponse) or anything that serde writes and reads; the error `ErrorData`,
//!   `String`, or a type that takes a [`Refusal`](idem_runtime::Refusal).
//! - Beside the tool stands `NAME_spec()`, its description. Not beside methods of traits, nor beside a private `async fn` without
//!   `#[tool]`, which could be one.
//!
//! # Who calls, and which call it is
//!
//! JSON-RPC ids say nothing, and neither does a session. What does is in `_meta`, where hosts put it: [`CALL_IDS`],
//! [`TURNS`] and [`CONVERSATIONS`], each to be replaced on the [`Adapter`]. A tool whose scope is a conversation is refused where
//! the request names none. Tenant, principal and whatever else the application knows are set by
//! [`Adapter::resolve_with`], which has the last word. Everything in `_meta` is the client's to write: say who the
//! [principal](idem_runtime::ToolCall::principal) is wherever a server has more than one.
//!
//! # What the client gets
//!
//! | what happened | the result |
//! | --- | --- |
//! | it ran | what the tool returned, untouched |
//! | it ran earlier | the first result, whole; in its `_meta` also `idem/replayed`, `idem/operation`, `idem/first_at` |
//! | it was refused | `isError: true`, words for the model; in `_meta` `idem/refusal`: `outcome`, `operation`, … |
//! | the tool failed | the tool's own error; a result with `isError` has `idem/refusal` in its `_meta` |
//!
//! A result with `isError: true` proves nothing: its operation's outcome is unknown, and is not run again. A tool that knows that
//! nothing was done says so by [`nothing_done`].
//!
//! A tool that [asks its client for input](rmcp::model::InputRequiredResult) has not finished: the round is not kept, and the next
//! one, which comes with the same arguments, runs. It must not have had its effect before it asks. Rounds are attempts, and
//! count towards the tool's `retry(…)`, if it has that. A [task](rmcp::model::CreateTaskResult) goes on without the guard: its
//! operation's outcome is unknown until somebody says otherwise.
//!
//! # Hints
//!
//! Clients send a call again by themselves if its tool says `idempotentHint`. [`Adapter::guard`] sets it where it is true, takes it
//! from guarded tools where it is not, and touches no other; [`Adapter::check`] says what is wrong, for a test.

#[doc(hidden)]
pub mod __private;
mod adapter;
mod answer;
mod call;
mod hints;
mod request;
mod values;

/// Makes a tool of an rmcp server safe to retry. [`idem_runtime::idempotent`](macro@idem_runtime::idempotent) has the manual,
/// the [front page](crate) what is different.
pub use idem_macros::idempotent_for_rmcp as idempotent;

pub use adapter::Adapter;
pub use call::ToolCall;
pub use hints::{Finding, Problem};
pub use request::{CALL_IDS, CONVERSATIONS, Request, TURNS, Unresolved};
pub use values::nothing_done;
