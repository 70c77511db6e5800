//! A tool that only reads, under a guard against repeats.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation", effect = "read")]
async fn find_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
