//! What tests of tools and of stores need: a clock that is moved by hand, the keys that arrive at a provider, and the
//! list of checks that every store passes.

mod clock;
pub mod conformance;
mod keys;

pub use clock::TestClock;
pub use keys::{BrokenKeys, WireKeys};
