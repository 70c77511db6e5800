//! Look-ups that do not answer with a verdict about what the tool returns.

use idem_runtime::{Refusal, Unsettled, Verdict, idempotent};

async fn of_another_type(_: Unsettled) -> Verdict<String> {
    Verdict::inconclusive("not asked")
}

async fn without_a_verdict(_: Unsettled) -> bool {
    true
}

async fn of_the_arguments(_: &String, _: Unsettled) -> Verdict<u64> {
    Verdict::inconclusive("not asked")
}

#[idempotent(scope = "conversation", recover(lookup = of_another_type))]
async fn send_refund(order_id: String) -> Result<u64, Refusal> {
    Ok(order_id.len() as u64)
}

#[idempotent(scope = "conversation", recover(search = without_a_verdict))]
async fn cancel_refund(order_id: String) -> Result<u64, Refusal> {
    Ok(order_id.len() as u64)
}

#[idempotent(scope = "conversation", recover(lookup = of_the_arguments))]
async fn repeat_refund(order_id: String) -> Result<u64, Refusal> {
    Ok(order_id.len() as u64)
}

fn main() {}
