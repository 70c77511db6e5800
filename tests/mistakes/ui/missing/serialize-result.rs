//! A result that no repeat could be given.

use idem_runtime::{Refusal, idempotent};

#[derive(serde::Serialize)]
struct Receipt {
    id: String,
}

#[idempotent(scope = "conversation")]
async fn send_refund(id: String) -> Result<Receipt, Refusal> {
    Ok(Receipt { id })
}

fn main() {}
