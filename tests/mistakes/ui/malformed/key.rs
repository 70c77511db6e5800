//! Keys that do not come to an end, are empty, or say nothing of the call.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation", key = "")]
async fn empty(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "conversation", key = "tool_call_id|args(order_id")]
async fn without_an_end(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "conversation", key = "tool_call_id||args")]
async fn with_a_gap(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "conversation", key = "template:refund")]
async fn of_text_alone(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
