//! A source of keys with a letter missing, and a parameter that stands where a source belongs.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation", key = "tool_cal_id|args")]
async fn send_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "conversation", key = "order_id")]
async fn cancel_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
