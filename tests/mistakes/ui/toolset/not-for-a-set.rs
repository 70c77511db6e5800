//! Words of the tool framework on tools that no set can hold.

use idem_runtime::{Refusal, ToolCall, idempotent};

#[idempotent(scope = "conversation", key = "args(order_id)", entry)]
async fn send_refund<N: Into<u64> + serde::Serialize + Send + 'static>(
    _call: &ToolCall,
    order_id: String,
    cents: N,
) -> Result<String, Refusal> {
    Ok(format!("{order_id} {}", cents.into()))
}

#[idempotent(scope = "conversation", repeats = "alowed")]
async fn roll(_call: &ToolCall, sides: u8) -> Result<u8, Refusal> {
    Ok(sides)
}

#[idempotent(scope = "conversation", repeats = "allowed")]
async fn say(_call: &ToolCall, words: &str) -> Result<String, Refusal> {
    Ok(words.to_owned())
}

fn main() {}
