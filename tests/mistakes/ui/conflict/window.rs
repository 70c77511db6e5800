//! Windows that bound nothing.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation", window = "2d", retain = "1d")]
async fn send_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "conversation", key = "tool_call_id", window = "10m")]
async fn cancel_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
