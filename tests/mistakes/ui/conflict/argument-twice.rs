//! Arguments of the attribute, sources of a key and marks that are given twice.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation", key = "args", scope = "user")]
async fn send_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "conversation", key = "args|tool_call_id|args")]
async fn cancel_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "conversation", content = "reason")]
async fn repeat_refund(order_id: String, #[idem(secret)] reason: String) -> Result<String, Refusal> {
    Ok(order_id + &reason)
}

#[idempotent(scope = "conversation")]
async fn forget_refund(order_id: String, #[idem(content, state)] reason: String) -> Result<String, Refusal> {
    Ok(order_id + &reason)
}

fn main() {}
