//! Nine mistakes in one tool: all are told at once, each at its own place.

use idem_runtime::{Refusal, idempotent};

#[idempotent(
    scope = "conversaton",
    kye = "x",
    version = "2",
    key = "tool_cal_id|args(centz)",
    on_busy = "w",
    lease = "0s"
)]
pub fn send_refund(#[idem(contnet)] reason: &str, cents: u64) -> Result<&str, Refusal> {
    Ok(reason)
}

fn main() {}
