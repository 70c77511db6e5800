//! Tools that change themselves: a repeat would find another self.

use idem_runtime::{Refusal, idempotent};

struct Refunds(u64);

impl Refunds {
    #[idempotent(scope = "conversation")]
    async fn send(&mut self, order_id: String) -> Result<String, Refusal> {
        self.0 += 1;
        Ok(order_id)
    }
}

fn main() {}
