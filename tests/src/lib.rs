//! What tests share: ledgers under test, the world outside that counts effects, and what a fresh process runs.
//!
//! Must not know which case is tested. Effects are counted where they happen, by business identifier, never by calls.

pub mod dice;
pub mod home;
pub mod provider;
#[cfg(feature = "postgres")]
pub mod server;
pub mod store;
pub mod timing;
pub mod tools;
pub mod wire;
pub mod world;
