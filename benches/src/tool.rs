//! The tool under test: a payment with no work in it, and a result of 200 bytes.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use idem_runtime::{Idem, Refusal, ToolCall, idempotent};
use serde::{Deserialize, Serialize};

use crate::arm::Keys;

/// What the tool returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The payment's id.
    pub id: String,
    /// What was paid.
    pub amount_cents: u64,
    /// Fills the result up to 200 bytes.
    pub memo: String,
}

/// How the tool fails.
#[derive(Debug, thiserror::Error)]
pub enum PayError {
    /// The runtime refused the call.
    #[error("{0}")]
    Refused(#[from] Refusal),
}

fn receipt(order_id: &str, amount_cents: u64) -> Receipt {
    const MEMO: usize = 128;
    Receipt { id: format!("pay_{order_id}"), amount_cents, memo: "m".repeat(MEMO) }
}

/// Pays, once in a conversation.
#[idempotent(scope = "conversation", key = "tool_call_id|args")]
pub async fn pay(
    call: &ToolCall,
    order_id: String,
    amount_cents: u64,
    currency: &'static str,
    #[idem(state)] runs: Arc<AtomicU64>,
) -> Result<Receipt, PayError> {
    let _ = (call, currency);
    runs.fetch_add(1, Ordering::Relaxed);
    Ok(receipt(&order_id, amount_cents))
}

/// Pays, once in a tenant: every identity lies somewhere else in the index.
#[idempotent(scope = "tenant", key = "tool_call_id|args")]
pub async fn pay_anywhere(
    call: &ToolCall,
    order_id: String,
    amount_cents: u64,
    currency: &'static str,
    #[idem(state)] runs: Arc<AtomicU64>,
) -> Result<Receipt, PayError> {
    let _ = (call, currency);
    runs.fetch_add(1, Ordering::Relaxed);
    Ok(receipt(&order_id, amount_cents))
}

/// How many calls a conversation has.
pub const CALLS_A_CONVERSATION: u64 = 8;

/// The call number `number` of caller `caller`, as an agent's loop would make it. Equal numbers are equal calls.
pub fn call(idem: &Idem, keys: Keys, caller: u64, number: u64) -> ToolCall {
    let call = idem.call().tenant("acme").turn(number).tool_call_id(format!("call_{caller}_{number}"));
    match keys {
        Keys::Scoped => call.conversation(format!("c-{caller}-{}", number / CALLS_A_CONVERSATION)),
        Keys::Random => call,
    }
}

/// Calls the tool with the arguments of that call.
///
/// # Errors
/// [`PayError`], when the runtime refuses.
pub async fn run(
    call: &ToolCall,
    keys: Keys,
    caller: u64,
    number: u64,
    runs: &Arc<AtomicU64>,
) -> Result<Receipt, PayError> {
    let order_id = format!("A-{caller}-{number}");
    let (amount_cents, runs) = (4_900 + number, Arc::clone(runs));
    match keys {
        Keys::Scoped => pay(call, order_id, amount_cents, "EUR", runs).await,
        Keys::Random => pay_anywhere(call, order_id, amount_cents, "EUR", runs).await,
    }
}
