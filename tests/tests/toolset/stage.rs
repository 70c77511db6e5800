//! The tools of these tests.
//!
//! It must not know the formats.

#![expect(clippy::unused_async, reason = "a tool is an async function, whatever it does")]

use std::sync::Arc;

use idem_runtime::{ToolCall, ToolSet, idempotent, tool, tools};
use idem_tests::{
    timing::Gate,
    tools::{ToolError, classify},
    world::World,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;

/// A token that no model may see.
pub(super) const TOKEN: &str = "sk_live_7f3a";

/// What the tools are given by the application.
#[derive(Clone)]
pub(super) struct Shop {
    pub(super) world: World,
    /// Two calls meet here, or neither ends.
    meeting: Arc<Barrier>,
    pub(super) gate: Gate,
}

impl Shop {
    pub(super) fn new(world: &World) -> Self {
        Self { world: world.clone(), meeting: Arc::new(Barrier::new(2)), gate: Gate::new() }
    }
}

/// Gives a customer money back.
#[idempotent(scope = "conversation", key = "tool_call_id|args", counts = "one refund", name = "billing.refund")]
async fn send_refund(
    call: &ToolCall,
    #[idem(state)] shop: Shop,
    /// The order, as the customer knows it.
    order_id: String,
    /// How much, in cents.
    cents: u64,
    #[idem(content)] reason: Option<String>,
    #[idem(secret)] token: String,
) -> Result<String, ToolError> {
    assert_eq!((token.as_str(), reason.as_deref()), (TOKEN, reason.as_deref()));
    shop.world.effect(format!("refund {order_id} {cents}"));
    call.reference("rf_1");
    Ok(format!("rf_{order_id}"))
}

/// Lists orders.
#[tool(effect = "read")]
async fn list_orders(#[idem(state)] shop: Shop, customer: String) -> Result<Vec<String>, ToolError> {
    match customer.as_str() {
        "nobody" => Err(ToolError::Declined),
        "panic" => panic!("the shop is closed"),
        _ => Ok(vec![format!("{customer}-1"), format!("{} effects", shop.world.effects().len())]),
    }
}

/// Where a parcel goes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Address {
    street: String,
    floor: Option<i32>,
}

/// How it travels.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Speed {
    Slow,
    Fast,
}

/// Sends a parcel.
#[idempotent(scope = "conversation", key = "tool_call_id|args", effect = "irreversible")]
async fn ship(
    _call: &ToolCall,
    #[idem(state)] shop: Shop,
    to: Address,
    items: Vec<u32>,
    speed: Speed,
    kilos: f64,
) -> Result<u64, ToolError> {
    shop.world.effect(format!("ship to {} {:?} {items:?} {speed:?} {kilos}", to.street, to.floor));
    Ok(7)
}

/// Ends as it is told to.
#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify)]
async fn close_account(_call: &ToolCall, #[idem(state)] shop: Shop, how: String) -> Result<(), ToolError> {
    match how.as_str() {
        "busy" => Err(ToolError::Busy),
        "declined" => Err(ToolError::Declined),
        "panic" => panic!("in the middle"),
        other => {
            shop.world.effect(format!("close {other}"));
            if other == "timeout" { Err(ToolError::Timeout) } else { Ok(()) }
        }
    }
}

/// Ends when the gate is opened.
#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn wait_for_gate(_call: &ToolCall, #[idem(state)] shop: Shop, who: String) -> Result<String, ToolError> {
    shop.gate.pass().await;
    shop.world.effect(format!("through {who}"));
    Ok(who)
}

/// Ends when another call has come here too.
#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn meet(_call: &ToolCall, #[idem(state)] shop: Shop, who: String) -> Result<String, ToolError> {
    shop.meeting.wait().await;
    shop.world.effect(format!("met {who}"));
    Ok(who)
}

/// The same, by reading.
#[tool(effect = "read")]
async fn meet_reading(#[idem(state)] shop: Shop, who: String) -> Result<String, ToolError> {
    shop.meeting.wait().await;
    Ok(who)
}

/// A device with a name of its own.
pub(super) struct Device {
    shop: Shop,
}

impl Device {
    /// Rolls a die.
    #[idempotent(scope = "conversation", key = "tool_call_id", repeats = "allowed", effect = "trigger")]
    pub(super) async fn roll(&self, _call: &ToolCall) -> Result<usize, ToolError> {
        Ok(self.shop.world.effect("roll"))
    }

    /// Rings a bell.
    #[idempotent(scope = "conversation", key = "tool_call_id")]
    pub(super) async fn ring(self: Arc<Self>, _call: &ToolCall) -> Result<usize, ToolError> {
        Ok(self.shop.world.effect("ring"))
    }

    /// Says how many times it rang.
    #[tool(effect = "read")]
    pub(super) async fn rings(&self) -> Result<usize, ToolError> {
        Ok(self.shop.world.count("ring"))
    }
}

/// All of them.
pub(super) fn set(shop: &Shop) -> ToolSet {
    let shop = || shop.clone();
    let device = Arc::new(Device { shop: shop() });
    let tools = tools![
        send_refund(shop(), TOKEN.to_owned()),
        list_orders(shop()),
        ship(shop()),
        close_account(shop()),
        wait_for_gate(shop()),
        meet(shop()),
        meet_reading(shop()),
        Device::roll(Arc::clone(&device)),
        Device::ring(Arc::clone(&device)),
        Device::rings(device),
    ];
    tools.expect("names are different")
}
