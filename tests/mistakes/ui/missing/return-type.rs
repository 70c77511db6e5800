//! A tool that gives nothing to be told to a repeat, and two that give no `Result` at sight.

use idem_runtime::idempotent;

#[idempotent(scope = "conversation")]
async fn send_refund(order_id: String) {
    drop(order_id);
}

#[idempotent(scope = "conversation")]
async fn cancel_refund(order_id: String) -> (String, u64) {
    (order_id, 1)
}

#[idempotent(scope = "conversation")]
async fn repeat_refund(order_id: String) -> Option<String> {
    Some(order_id)
}

fn main() {}
