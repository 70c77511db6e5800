//! A scope that names a field which the tool does not have.

use idem_runtime::{Refusal, idempotent};

struct Refunds {
    merchant: String,
}

impl Refunds {
    #[idempotent(scope = "conversation+{self.marchent}")]
    async fn send(&self, order_id: String) -> Result<String, Refusal> {
        Ok(order_id + &self.merchant)
    }
}

fn main() {}
