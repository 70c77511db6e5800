//! A record that is gone before the last retry comes.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation", retain = "10s", retry(deadline = "1m"))]
async fn send_refund(order_id: String) -> Result<u64, Refusal> {
    Ok(order_id.len() as u64)
}

fn main() {}
