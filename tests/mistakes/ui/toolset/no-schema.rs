//! An argument of a type that a model cannot be told of, a state that cannot be shared, and a result that cannot be written.

use std::rc::Rc;

use idem_runtime::{Refusal, ToolCall, ToolSet, idempotent, tool, tools};
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
struct Address {
    street: String,
}

/// Sends a parcel.
#[idempotent(scope = "conversation")]
async fn send_parcel(call: &ToolCall, to: Address) -> Result<String, Refusal> {
    Ok(to.street)
}

#[derive(Deserialize)]
struct Orders(Vec<String>);

/// Lists orders.
#[tool(effect = "read")]
async fn list_orders(customer: String) -> Result<Orders, Refusal> {
    Ok(Orders(vec![customer]))
}

/// Counts orders.
#[tool(effect = "read")]
async fn count_orders(#[idem(state)] known: Rc<Vec<String>>) -> Result<usize, Refusal> {
    Ok(known.len())
}

// None of them is wrong by itself: only in a set.
fn set(known: Rc<Vec<String>>) -> ToolSet {
    tools![send_parcel, list_orders, count_orders(known)].unwrap()
}

fn main() {}
