//! Tools that are called twice at a time.

use idem_runtime::{Refusal, idempotent};

use idem_runtime::ToolCall;

#[idempotent(scope = "conversation")]
async fn send_refund(call: &ToolCall, other: ToolCall, order_id: String) -> Result<String, Refusal> {
    drop((call, other));
    Ok(order_id)
}

#[idempotent(scope = "conversation", ctx = other)]
async fn cancel_refund(call: &ToolCall, other: u64, order_id: String) -> Result<String, Refusal> {
    drop((call, other));
    Ok(order_id)
}

fn main() {}
