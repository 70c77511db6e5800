//! Tools that do not say what may be repeated: an effect without a scope, and no word at all.

use idem_runtime::{Refusal, tool};

#[tool(effect = "irreversible")]
async fn send_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[tool]
async fn list_orders(customer: String) -> Result<Vec<String>, Refusal> {
    Ok(vec![customer])
}

#[tool(effect = "read", window = "10m")]
async fn find_order(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
