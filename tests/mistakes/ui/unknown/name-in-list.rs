//! Lists that name parameters which are not there, as they are after a renaming.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation", volatile = ["requested_at", "auth_tokn"])]
async fn send_refund(order_id: String, requested_at: u64, auth_token: String) -> Result<u64, Refusal> {
    Ok(requested_at + (order_id.len() + auth_token.len()) as u64)
}

#[idempotent(scope = "conversation", content = "amuont")]
async fn cancel_refund(order_id: String, amount: u64) -> Result<u64, Refusal> {
    Ok(amount + order_id.len() as u64)
}

#[idempotent(scope = "conversation", secret = "tokn.value", content = [])]
async fn repeat_refund(order_id: String, #[idem(contnet)] reason: String) -> Result<String, Refusal> {
    Ok(order_id + &reason)
}

fn main() {}
