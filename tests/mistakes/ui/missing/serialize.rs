//! An argument that serde cannot write, and so no key can hold.

use idem_runtime::{Refusal, idempotent};

struct Order {
    id: String,
}

#[idempotent(scope = "conversation")]
async fn send_refund(order: Order) -> Result<String, Refusal> {
    Ok(order.id)
}

fn main() {}
