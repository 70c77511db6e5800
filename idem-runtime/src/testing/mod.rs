//! What tests of tools and of stores need: a clock that is moved by hand, the keys that arrive at a provider, a
//! [`Provider`] that has every habit of real ones, the [`harness`] that proves a tool, and the list of checks that every
//! store passes. With the feature `postgres` also a server that lasts as long as a test.

mod clock;
pub mod conformance;
mod faults;
mod folder;
mod gate;
mod guarded;
pub mod harness;
mod keys;
#[cfg(feature = "postgres")]
pub mod postgres;
mod process;
pub mod provider;
mod proxy;

#[doc(inline)]
pub use crate::__idem_assert_guarded as assert_guarded;
pub use clock::TestClock;
pub use faults::{Checkpoint, Fault};
#[doc(hidden)]
pub use guarded::guarded;
pub use keys::{BrokenKeys, WireKeys};
pub use provider::{Habits, Provider, ProviderError, Reply, Request, Sandbox};
pub use proxy::FaultProxy;
