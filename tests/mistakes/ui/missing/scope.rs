//! A tool without a scope, with arguments and without any.

use idem_runtime::{Refusal, idempotent};

#[idempotent]
async fn send_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(key = "args")]
async fn cancel_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
