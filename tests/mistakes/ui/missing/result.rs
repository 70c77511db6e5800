//! A tool whose return type is found to be no `Result` by the compiler only.

use idem_runtime::idempotent;

struct Receipt {
    order_id: String,
}

#[idempotent(scope = "conversation", outcome = false)]
async fn send_refund(order_id: String) -> Receipt {
    Receipt { order_id }
}

fn main() {}
