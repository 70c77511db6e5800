//! A context that carries no call.

use idem_runtime::{Refusal, idempotent};

struct Request;

#[idempotent(scope = "conversation", ctx = request)]
async fn send_refund(request: Request, order_id: String) -> Result<String, Refusal> {
    let Request = request;
    Ok(order_id)
}

fn main() {}
