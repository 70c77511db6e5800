//! The attribute on what is no function with a body.

use idem_runtime::{Refusal, idempotent};

struct Refunds;

#[idempotent(scope = "conversation")]
impl Refunds {
    async fn send(&self, order_id: String) -> Result<String, Refusal> {
        Ok(order_id)
    }
}

#[idempotent(scope = "conversation")]
struct Order;

trait Sends {
    #[idempotent(scope = "conversation")]
    async fn send(&self, order_id: String) -> Result<String, Refusal>;
}

fn main() {}
