//! A module of tests cannot stand in an impl block.

use idem_runtime::{Refusal, ToolCall, idempotent};

struct Desk;

impl Desk {
    #[idempotent(scope = "tenant", harness = refund_fixture)]
    async fn send_refund(&self, call: &ToolCall, order_id: String) -> Result<String, Refusal> {
        Ok(order_id)
    }
}

fn main() {}
