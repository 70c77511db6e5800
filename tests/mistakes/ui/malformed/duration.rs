//! Durations that are none.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation", window = "0s", retain = "30", lease = "3 weeks")]
async fn send_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "conversation", window = "", retain = "99999999999999999999999999d", lease = 30)]
async fn cancel_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
