//! Keys and scopes that name parameters which are not there.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation", key = "tool_call_id|args(oder_id)")]
async fn send_refund(order_id: String, cents: u64) -> Result<u64, Refusal> {
    Ok(cents + order_id.len() as u64)
}

#[idempotent(scope = "tenant+{merchant}", key = "template:refund-{ordr.id}-{cents}")]
async fn cancel_refund(order_id: String, cents: u64) -> Result<u64, Refusal> {
    Ok(cents + order_id.len() as u64)
}

#[idempotent(scope = "conversation", key = "args.oder_id")]
async fn repeat_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
