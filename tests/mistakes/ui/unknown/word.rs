//! Words that an argument does not know.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation", effect = "ireversible", after_retention = "fail", on_busy = "wiat")]
async fn send_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
