//! A tool with generated tests that borrows an argument: the fixture could not own it.

use idem_runtime::{Refusal, ToolCall, idempotent};

#[idempotent(scope = "tenant", harness = refund_fixture)]
async fn send_refund(call: &ToolCall, order_id: &str, cents: u64) -> Result<String, Refusal> {
    Ok(format!("{order_id} {cents}"))
}

fn main() {}
