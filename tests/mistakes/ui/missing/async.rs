//! Tools that are not async: one plainly, one that gives its future by hand.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation")]
fn send_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "conversation")]
fn cancel_refund(order_id: String) -> impl Future<Output = Result<String, Refusal>> {
    async move { Ok(order_id) }
}

fn main() {}
