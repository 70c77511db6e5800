//! Checks that do not take what the tool takes, or do not fail as it fails.

use idem_runtime::{Refusal, idempotent};

use std::num::ParseIntError;

async fn by_value(order_id: String, cents: u64) -> Result<(), Refusal> {
    drop((order_id, cents));
    Ok(())
}

async fn with_another_error(_: &String, _: &u64) -> Result<(), ParseIntError> {
    Ok(())
}

fn at_once(_: &String, _: &u64) -> Result<(), Refusal> {
    Ok(())
}

#[idempotent(scope = "conversation", validate = by_value)]
async fn send_refund(order_id: String, cents: u64) -> Result<u64, Refusal> {
    Ok(cents + order_id.len() as u64)
}

#[idempotent(scope = "conversation", validate = with_another_error)]
async fn cancel_refund(order_id: String, cents: u64) -> Result<u64, Refusal> {
    Ok(cents + order_id.len() as u64)
}

#[idempotent(scope = "conversation", validate = at_once)]
async fn repeat_refund(order_id: String, cents: u64) -> Result<u64, Refusal> {
    Ok(cents + order_id.len() as u64)
}

#[idempotent(scope = "conversation", validate = by_valeu)]
async fn forget_refund(order_id: String) -> Result<String, Refusal> {
    Ok(order_id)
}

fn main() {}
