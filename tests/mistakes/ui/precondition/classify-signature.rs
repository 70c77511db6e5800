//! A judge of errors, and a teller of refusals, of the wrong shape.

use idem_runtime::{Refusal, idempotent};

use idem_runtime::ErrorClass;

fn of_another_error(_: &std::fmt::Error) -> ErrorClass {
    ErrorClass::Final
}

fn without_the_refusal() -> Refusal {
    unreachable!()
}

#[idempotent(scope = "conversation", classify = of_another_error)]
async fn send_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "conversation", refuse = without_the_refusal)]
async fn cancel_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
