//! A function that no attribute describes, in a tool set.

use idem_runtime::{Refusal, ToolSet, tools};

async fn list_orders(customer: String) -> Result<Vec<String>, Refusal> {
    Ok(vec![customer])
}

fn set() -> ToolSet {
    tools![list_orders].unwrap()
}

fn main() {}
