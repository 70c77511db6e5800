//! Values of another kind than the argument takes.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = conversation, version = "2", detach = "yes", validate = "not a path", content = ["a", 3])]
async fn send_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
