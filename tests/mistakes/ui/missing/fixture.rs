//! `harness!` without the function that makes the fixture.

use idem_runtime::{Refusal, ToolCall, idempotent};

struct Desk;

impl Desk {
    #[idempotent(scope = "tenant", harness)]
    async fn send_refund(&self, call: &ToolCall, order_id: String) -> Result<String, Refusal> {
        Ok(order_id)
    }
}

idem_runtime::harness!(Desk::send_refund);

fn main() {}
