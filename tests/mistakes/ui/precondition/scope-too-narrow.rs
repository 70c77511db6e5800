//! Scopes that end before the retry comes.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "step")]
async fn send_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "attempt")]
async fn cancel_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "run+{order_id}")]
async fn repeat_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
