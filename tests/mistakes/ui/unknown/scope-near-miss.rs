//! A scope with a letter missing, and one that is none.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversaton")]
async fn send_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "shop")]
async fn cancel_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
