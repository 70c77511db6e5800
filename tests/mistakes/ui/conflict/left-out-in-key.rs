//! Keys and scopes that name what must not decide what is a repeat.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation", content = "note", key = "args(note)")]
async fn send_refund(order_id: String, note: String) -> Result<String, Refusal> {
    Ok(order_id + &note)
}

#[idempotent(scope = "tenant+{token}")]
async fn cancel_refund(order_id: String, #[idem(secret)] token: String) -> Result<String, Refusal> {
    Ok(order_id + &token)
}

fn main() {}
