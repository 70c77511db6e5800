//! What tests of tools and of stores need: a clock that is moved by hand, and the list of checks that every store
//! passes.

mod clock;
pub mod conformance;

pub use clock::TestClock;
