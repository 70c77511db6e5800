//! A library that knows the runtime under another name and hands it on, as the facades of applications do.
//!
//! It must not depend on a crate called `idem_runtime`: then it would prove nothing about `crate = path`.

pub use engine;
pub use engine::{Refusal, ToolCall, idempotent};

/// Packs a parcel, within the crate that renamed its dependency.
#[idempotent(scope = "conversation", crate = engine)]
pub async fn pack_parcel(call: &ToolCall, parcel: String) -> Result<String, Refusal> {
    call.reference("packed");
    Ok(parcel)
}
