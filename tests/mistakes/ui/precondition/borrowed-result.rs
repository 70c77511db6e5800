//! Results that borrow: a repeat has nothing to borrow from.

use idem_runtime::{Refusal, idempotent};

use std::borrow::Cow;

#[idempotent(scope = "conversation")]
async fn send_refund(order_id: &str) -> Result<&str, Refusal> {
    Ok(order_id)
}

#[idempotent(scope = "conversation")]
async fn cancel_refund<'a>(order_id: &'a str) -> Result<Cow<'a, str>, Refusal> {
    Ok(order_id.into())
}

fn main() {}
