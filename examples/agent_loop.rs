//! From a provider's message to a guarded call, and back: an agent's loop of twenty lines.
//!
//! `cargo run --example agent_loop --features tools` plays a model whose words are scripted, in OpenAI's format. It looks up an
//! order and refunds it; the answer is lost on its way, so the model asks again, under a new id. The bank counts one refund.
//!
//! The lesson is `converse` and the tools above it. Neither knows that an answer will be lost.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::{Arc, Mutex, PoisonError};

use idem_runtime::{Idem, Refusal, ToolCall, ToolSet, Wire, idempotent, tool, tools};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Gives a customer money back.
#[idempotent(scope = "conversation", key = "tool_call_id|args", counts = "one refund per order and amount")]
async fn send_refund(
    call: &ToolCall,
    #[idem(state)] bank: Bank,
    /// The order, as `find_order` tells it.
    order_id: String,
    /// How much, in cents.
    amount_cents: u64,
    /// Why, for the customer.
    #[idem(content)]
    reason: Option<String>,
) -> Result<Refund, Refusal> {
    let refund = bank.refund(&call.provider_key("refund").to_string(), &order_id, amount_cents, reason);
    call.reference(&refund.id);
    Ok(refund)
}

/// Finds a customer's last order.
#[tool(effect = "read")]
#[expect(clippy::unused_async, reason = "a real shop would be asked over a network")]
async fn find_order(customer: String) -> Result<String, Refusal> {
    Ok(format!("{customer} ordered A-1001 for 4900 cents"))
}

/// Talks to the model until it calls no more tools.
async fn converse(model: &mut Model, tools: &ToolSet, context: &ToolCall) -> anyhow::Result<Vec<Value>> {
    let wire = Wire::OpenAiChat;
    let mut messages = vec![json!({ "role": "user", "content": "Mia wants her money back." })];
    loop {
        let turn = wire.next_turn(&Value::Array(messages.clone()))?;
        let response = model.answer(&messages, &tools.definitions(wire));
        messages.push(response["choices"][0]["message"].clone());
        let answers = tools.dispatch(wire, &response, &context.clone().turn(turn)).await?;
        match answers.as_array() {
            Some(answers) if !answers.is_empty() => messages.extend(model.network.carry(answers)),
            _ => return Ok(messages),
        }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let idem = Idem::open("memory:").await?;
    let bank = Bank::default();
    let tools = tools![send_refund(bank.clone()), find_order]?;
    let context = idem.call().tenant("acme").conversation("c-42");
    for message in converse(&mut Model::default(), &tools, &context).await? {
        match (message["role"].as_str(), message["tool_calls"].as_array()) {
            (Some("assistant"), Some(calls)) => {
                for call in calls {
                    let function = &call["function"];
                    println!(
                        "model  {} {}({})",
                        text(&call["id"]),
                        text(&function["name"]),
                        text(&function["arguments"])
                    );
                }
            }
            (Some("tool"), _) => println!("tool   {} {}", text(&message["tool_call_id"]), text(&message["content"])),
            (Some(role), _) => println!("{role:<6} {}", text(&message["content"])),
            (None, _) => {}
        }
    }
    println!("\nthe bank counts {}", bank.refunds().join(", "));
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The model: what it says, turn by turn.
#[derive(Default)]
struct Model {
    turn: usize,
    network: Network,
}

impl Model {
    fn answer(&mut self, messages: &[Value], tools: &Value) -> Value {
        // A real one would read both.
        assert!(!messages.is_empty() && tools[0]["function"]["name"] == "send_refund");
        self.turn += 1;
        let call = |id: &str, name: &str, arguments: &str| json!([{ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }]);
        // Text, as a model writes it.
        let refund = |reason: &str| format!(r#"{{"order_id":"A-1001","amount_cents":4900,"reason":"{reason}"}}"#);
        let calls = match self.turn {
            1 => call("call_1", "find_order", r#"{"customer":"Mia"}"#),
            2 => call("call_2", "send_refund", &refund("it was damaged")),
            3 => call("call_3", "send_refund", &refund("the goods were damaged")),
            _ => return response(&json!({ "role": "assistant", "content": "Mia has her 49 euros back." }), "stop"),
        };
        response(&json!({ "role": "assistant", "content": null, "tool_calls": calls }), "tool_calls")
    }
}

fn response(message: &Value, reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "message": message, "finish_reason": reason }] })
}

/// The way back to the model, on which the first refund's answer is lost.
#[derive(Default)]
struct Network {
    lost: bool,
}

impl Network {
    fn carry(&mut self, answers: &[Value]) -> Vec<Value> {
        let carried = answers.iter().map(|answer| {
            let mut answer = answer.clone();
            if !self.lost && text(&answer["content"]).contains("rf_") {
                self.lost = true;
                answer["content"] = "Error: connection reset. Please try again.".into();
            }
            answer
        });
        carried.collect()
    }
}

/// What the bank gave back.
#[derive(Debug, Serialize, Deserialize)]
struct Refund {
    id: String,
    order_id: String,
    amount_cents: u64,
}

/// The bank, which does what it is told as often as it is told.
#[derive(Clone, Default)]
struct Bank(Arc<Mutex<Vec<String>>>);

impl Bank {
    fn refund(&self, key: &str, order_id: &str, amount_cents: u64, reason: Option<String>) -> Refund {
        let mut refunds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = reason.unwrap_or_default();
        refunds.push(format!("{amount_cents} cents for {order_id} ({reason}), key {key}"));
        Refund { id: format!("rf_{}", refunds.len()), order_id: order_id.to_owned(), amount_cents }
    }

    fn refunds(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
