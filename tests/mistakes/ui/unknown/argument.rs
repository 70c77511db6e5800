//! Arguments of the attribute that it does not have: a slip, and a word of another library.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation", kye = "args")]
async fn send_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "conversation", ttl = "10m")]
async fn cancel_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
