//! An error type that cannot say that a call was refused.

use idem_runtime::idempotent;

#[derive(Debug)]
struct PaymentError;

#[idempotent(scope = "conversation")]
async fn send_refund(order_id: String) -> Result<String, PaymentError> {
    Ok(order_id)
}

fn main() {}
