//! Results without a name: nothing that is kept can be read again as one.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation")]
async fn send_refund(order_id: String) -> Result<impl serde::Serialize, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "conversation")]
async fn cancel_refund(order_id: String) -> impl Send {
    order_id
}

fn main() {}
