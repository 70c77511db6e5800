//! An argument that the next attempt cannot have.

use idem_runtime::{Refusal, idempotent};

#[derive(serde::Serialize)]
struct Order {
    id: String,
}

#[idempotent(scope = "conversation", retry(max = 3))]
async fn send_refund(order: Order) -> Result<u64, Refusal> {
    Ok(order.id.len() as u64)
}

fn main() {}
