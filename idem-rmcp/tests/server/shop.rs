//! The server: tools in every form that rmcp's attributes have, guarded above and below them.
//!
//! It must not know who calls.

use idem_rmcp::{Adapter, ToolCall, idempotent, nothing_done};
use idem_runtime::{Attempt, Config, Idem, ToolSpec};
use rmcp::{
    ErrorData, Json, ServerHandler,
    handler::server::{
        router::tool::ToolRouter,
        tool::{InputResponses, RequestState},
        wrapper::Parameters,
    },
    model::{
        CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams, InputRequest,
        InputRequests, InputRequiredResult, ProtocolVersion, ServerCapabilities, ServerConfig,
    },
    tool, tool_handler, tool_router,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::bank::Bank;

/// What is paid back.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Order {
    pub(crate) order_id: String,
    pub(crate) cents: u64,
}

/// As some clients have it: with a key of their own among the arguments.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct KeyedOrder {
    order_id: String,
    cents: u64,
    idempotency_key: Option<String>,
}

/// What came of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Receipt {
    reference: String,
    cents: u64,
}

/// The server.
#[derive(Clone)]
pub(crate) struct Shop {
    bank: Bank,
    tool_router: ToolRouter<Self>,
}

#[tool_router(vis = "pub(crate)")]
impl Shop {
    pub(crate) fn new(bank: &Bank, adapter: &Adapter) -> Self {
        Self { bank: bank.clone(), tool_router: adapter.guard(Self::tool_router(), Self::guarded()) }
    }

    /// The same with another router.
    pub(crate) fn set_router(&mut self, router: ToolRouter<Self>) {
        self.tool_router = router;
    }

    /// The tools with a guard.
    pub(crate) fn guarded() -> [&'static ToolSpec; 8] {
        [
            Self::send_refund_spec(),
            Self::send_credit_spec(),
            Self::charge_spec(),
            Self::pay_keyed_spec(),
            Self::note_spec(),
            Self::approve_spec(),
            Self::fail_spec(),
            Self::ask_spec(),
        ]
    }

    /// Gives a customer money back.
    #[idempotent(scope = "conversation", key = "tool_call_id|args")]
    #[tool]
    async fn send_refund(
        &self,
        call: ToolCall,
        Parameters(Order { order_id, cents }): Parameters<Order>,
    ) -> Result<Json<Receipt>, ErrorData> {
        let reference = self.bank.pay(call.provider_key("refund").as_str(), &order_id, cents).await;
        call.reference(&reference);
        Ok(Json(Receipt { reference, cents }))
    }

    /// Gives a customer credit. rmcp's attribute comes first, and the call from the task.
    #[tool(annotations(destructive_hint = false, open_world_hint = false))]
    #[idempotent(scope = "conversation", key = "tool_call_id|args")]
    async fn send_credit(&self, order: Parameters<Order>) -> Result<CallToolResult, ErrorData> {
        let attempt = Attempt::current().ok_or_else(|| ErrorData::internal_error("no attempt", None))?;
        let Order { order_id, cents } = order.0;
        let reference = self.bank.pay(attempt.provider_key("credit").as_str(), &order_id, cents).await;
        let mut result = CallToolResult::structured(json!({ "reference": reference, "cents": cents }));
        result.content = vec![ContentBlock::text("credited"), ContentBlock::image("aGk=", "image/png")];
        result.meta.get_or_insert_default().0.insert("shop/till".to_owned(), 3.into());
        Ok(result)
    }

    /// Charges a customer, once for an order.
    #[idempotent(scope = "tenant", key = "args(order.0.order_id)")]
    #[tool(annotations(idempotent_hint = true))]
    pub(crate) async fn charge(&self, call: ToolCall, order: Parameters<Order>) -> Result<Json<Receipt>, String> {
        let Order { order_id, cents } = order.0;
        let reference = self.bank.pay(call.provider_key("charge").as_str(), &order_id, cents).await;
        Ok(Json(Receipt { reference, cents }))
    }

    /// Pays; its clients have a key of their own.
    #[idempotent(scope = "tenant", key = "tool_call_id")]
    #[tool]
    async fn pay_keyed(&self, call: ToolCall, order: Parameters<KeyedOrder>) -> Result<Json<Receipt>, ErrorData> {
        let KeyedOrder { order_id, cents, .. } = order.0;
        let reference = self.bank.pay(call.provider_key("pay").as_str(), &order_id, cents).await;
        Ok(Json(Receipt { reference, cents }))
    }

    /// Writes a note, or fails in words.
    #[idempotent(scope = "tenant", key = "args(order_id, cents)")]
    #[tool]
    async fn note(&self, Parameters(Order { order_id, cents }): Parameters<Order>) -> Result<String, String> {
        let reference = self.bank.pay("", &order_id, cents).await;
        if cents == 0 { Err(format!("the bank said no after {reference}")) } else { Ok(reference) }
    }

    /// Gives money back when somebody has approved it.
    #[idempotent(scope = "conversation", key = "tool_call_id|args")]
    #[tool]
    async fn approve(
        &self,
        call: ToolCall,
        order: Parameters<Order>,
        #[idem(state)] RequestState(state): RequestState,
        #[idem(state)] InputResponses(answers): InputResponses,
    ) -> Result<CallToolResponse, ErrorData> {
        let Order { order_id, cents } = order.0;
        if state.as_deref() != Some("asked") {
            return Ok(InputRequiredResult::new(Some(question(cents)), Some("asked".to_owned())).into());
        }
        let yes = answers.and_then(|answers| answers.get("approval")?["content"]["yes"].as_bool()) == Some(true);
        if !yes {
            let said = CallToolResult::error(vec![ContentBlock::text("the customer's manager said no")]);
            return Ok(nothing_done(said).into());
        }
        let reference = self.bank.pay(call.provider_key("refund").as_str(), &order_id, cents).await;
        Ok(CallToolResult::structured(json!({ "reference": reference })).into())
    }

    /// Pays, and says that it failed.
    #[tool]
    #[idempotent(scope = "tenant", key = "args")]
    async fn fail(&self, order: Parameters<Order>) -> Result<CallToolResult, ErrorData> {
        let reference = self.bank.pay("", &order.0.order_id, order.0.cents).await;
        Ok(CallToolResult::error(vec![ContentBlock::text(format!("the answer to {reference} was not readable"))]))
    }

    /// Asks at the desk, which is closed.
    #[idempotent(scope = "tenant", key = "tool_call_id", retry(max = 3, base = "1ms", cap = "1ms", deadline = "1m"))]
    #[tool]
    async fn ask(&self, order: Parameters<Order>) -> Result<CallToolResult, ErrorData> {
        self.bank.turn_away();
        let words = format!("the desk is closed; come again with {}", order.0.order_id);
        Ok(nothing_done(CallToolResult::error(vec![ContentBlock::text(words)])))
    }

    /// Tells how much was paid for an order.
    #[tool(annotations(read_only_hint = true))]
    async fn paid(&self, order: Parameters<Order>) -> Json<usize> {
        Json(self.bank.of(&order.0.order_id))
    }

    /// Pays without a guard, and claims that it may be sent again.
    #[tool(annotations(idempotent_hint = true))]
    async fn pay_unguarded(&self, order: Parameters<Order>) -> String {
        self.bank.pay("", &order.0.order_id, order.0.cents).await
    }

    /// Pays without a guard.
    #[tool]
    async fn pay_silently(&self, order: Parameters<Order>) -> String {
        self.bank.pay("", &order.0.order_id, order.0.cents).await
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Shop {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.protocol_version = ProtocolVersion::V_2026_07_28;
        info
    }
}

fn question(cents: u64) -> InputRequests {
    let schema = json!({ "type": "object", "properties": { "yes": { "type": "boolean" } }, "required": ["yes"] });
    let asked = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("Give back {cents} cents?"),
        requested_schema: serde_json::from_value(schema).expect("a schema"),
    };
    [("approval".to_owned(), InputRequest::Elicitation(ElicitRequest::new(asked)))].into()
}

/// A ledger for one test.
pub(crate) async fn ledger() -> Idem {
    Idem::builder().config(Config::default()).single_tenant("acme").open("memory:").await.expect("a ledger")
}
