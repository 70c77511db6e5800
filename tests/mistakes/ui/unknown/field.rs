//! Paths to fields that are not there: each is looked up by the compiler, in the type itself.

use idem_runtime::{Refusal, idempotent};

#[derive(serde::Serialize)]
struct Order {
    id: String,
    note: String,
}

#[idempotent(scope = "conversation", content = "order.noet")]
async fn send_refund(order: Order) -> Result<String, Refusal> {
    Ok(order.id + &order.note)
}

#[idempotent(scope = "conversation", secret = "order.token", volatile = "order.requested_at")]
async fn cancel_refund(order: Order) -> Result<String, Refusal> {
    Ok(order.id)
}

#[idempotent(scope = "tenant+{order.shop}", key = "tool_call_id|args(order.idd)|template:refund-{order.number}")]
async fn repeat_refund(order: Order) -> Result<String, Refusal> {
    Ok(order.id)
}

fn main() {}
