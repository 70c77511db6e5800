//! Keys from arguments, where no argument may tell two calls apart.

use idem_runtime::{Refusal, idempotent};

#[idempotent(scope = "conversation")]
async fn close_ticket() -> Result<u64, Refusal> {
    Ok(1)
}

#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn send_note(#[idem(content)] note: String, #[idem(volatile)] now: u64) -> Result<u64, Refusal> {
    Ok(now + note.len() as u64)
}

#[idempotent(scope = "conversation", key = "args(note)")]
async fn send_mail(#[idem(content)] note: String, to: String) -> Result<String, Refusal> {
    Ok(note + &to)
}

fn main() {}
