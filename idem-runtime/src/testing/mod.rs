//! What tests of tools and of stores need: a clock that is moved by hand, the keys that arrive at a provider, and the
//! list of checks that every store passes. With the feature `postgres` also a server that lasts as long as a test.

mod clock;
pub mod conformance;
mod keys;
#[cfg(feature = "postgres")]
pub mod postgres;

pub use clock::TestClock;
pub use keys::{BrokenKeys, WireKeys};
