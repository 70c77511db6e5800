//! Tool sets: from a provider's message to guarded calls, and back.

#![cfg(feature = "tools")]

use std::sync::Arc;

use idem_runtime::{Idem, ToolCall, ToolSet, Wire, idempotent, tool, tools};
use idem_tests::{
    tools::ToolError,
    world::{World, every_store},
};
use serde_json::{Value, json};

/// Gives a customer money back.
#[idempotent(scope = "conversation", key = "tool_call_id|args", counts = "one refund")]
async fn send_refund(
    call: &ToolCall,
    #[idem(state)] world: World,
    /// The order, as the customer knows it.
    order_id: String,
    cents: u64,
    #[idem(content)] reason: Option<String>,
) -> Result<String, ToolError> {
    let _ = reason;
    world.effect(format!("refund {order_id} {cents}"));
    Ok(format!("rf_{order_id}"))
}

/// Lists orders.
#[tool(effect = "read")]
async fn list_orders(customer: String) -> Result<Vec<String>, ToolError> {
    Ok(vec![format!("{customer}-1")])
}

struct Dice {
    world: World,
}

impl Dice {
    /// Rolls a die.
    #[idempotent(scope = "conversation", key = "tool_call_id", repeats = "allowed", effect = "trigger")]
    pub async fn roll(&self, _call: &ToolCall) -> Result<u64, ToolError> {
        Ok(self.world.effect("roll") as u64)
    }
}

fn set(world: &World) -> ToolSet {
    let dice = Arc::new(Dice { world: world.clone() });
    tools![send_refund(world.clone()), list_orders, Dice::roll(dice)].expect("three names")
}

fn chat(calls: &[(&str, &str, &str)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(id, name, arguments)| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }))
        .collect();
    json!({ "choices": [{ "finish_reason": "tool_calls", "message": { "role": "assistant", "tool_calls": calls } }] })
}

#[tokio::test]
async fn a_message_runs_its_calls_and_is_answered_in_order() {
    for setup in every_store().await {
        let tools = set(&setup.world);
        let context = setup.call().turn(1);
        let message = chat(&[
            ("call_1", "send_refund", r#"{"order_id": "A-1", "cents": 4900.0}"#),
            ("call_2", "list_orders", r#"{"customer": "mia"}"#),
            ("call_3", "send_refund", r#"{"order_id": "A-1", "cents": 4900}"#),
            ("call_4", "nothing", "{}"),
            ("call_5", "send_refund", r#"{"order_id": "A-2"}"#),
            ("call_6", "roll", ""),
            ("call_7", "roll", "{}"),
        ]);
        let answers = tools.dispatch(Wire::OpenAiChat, &message, &context).await.expect("answers");
        println!("{answers:#}");
        assert_eq!(answers.as_array().map(Vec::len), Some(7));
        assert_eq!(setup.world.count("refund A-1 4900"), 1);
        assert_eq!(setup.world.count("roll"), 2);
        let again = tools.dispatch(Wire::OpenAiChat, &message, &context).await.expect("answers");
        assert_eq!(again.as_array().map(Vec::len), Some(7));
        assert_eq!(setup.world.effects().len(), 3);
        println!("{:#}", tools.definitions(Wire::Gemini));
        let _ = Idem::builder();
    }
}
