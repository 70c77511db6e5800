//! What stands outside of a test's own process: other processes, and the effect log that outlives them.
//!
//! It must not know which tools the processes call.

pub(crate) mod child;
pub(crate) mod effects;
