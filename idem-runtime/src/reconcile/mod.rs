//! Finding out what became of an operation whose outcome is not known.
//!
//! Must not know who asks (a reconciler, or a caller that came again) nor how the ledger stores an answer. In reading
//! order: what a look-up is told ([`unsettled`]), what it answers ([`verdict`]), and one [`pass`] over a tool's recovery
//! chain.

mod pass;
mod unsettled;
mod verdict;

pub(crate) use pass::{Asks, Chain, lease};
pub use unsettled::Unsettled;
pub use verdict::{Answered, IntoVerdict, Verdict, answered};
