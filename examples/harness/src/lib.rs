//! Three tools whose fault tests are generated; `cargo test -p idem-harness-example` runs them and writes what they prove to
//! `target/idem/records`.
//!
//! | tool | its provider in the tests | the fixture |
//! | --- | --- | --- |
//! | [`refund`], a function | in the process of the test | named by the attribute |
//! | [`ticket`], a method that looks up what it did | in the process of the test | `harness!` beside the impl block |
//! | [`booking`], with a client of its own for an HTTP API | a server of its own, behind a proxy that injects faults | with a sandbox |
//!
//! The chapter `docs/testing-your-tool.md` explains the first one.

pub mod booking;
pub mod refund;
pub mod ticket;
