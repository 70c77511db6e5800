//! Tools that are to outlive their caller and borrow from it.

use idem_runtime::{Refusal, idempotent};

struct Refunds;

impl Refunds {
    #[idempotent(scope = "conversation", detach)]
    async fn send(&self, order_id: &str, parts: &[u64]) -> Result<u64, Refusal> {
        Ok(parts.len() as u64 + order_id.len() as u64)
    }
}

#[idempotent(scope = "conversation", detach = true)]
async fn cancel_refund(order_id: String, reason: std::borrow::Cow<'_, str>) -> Result<String, Refusal> {
    Ok(order_id + &reason)
}

fn main() {}
