//! What the benchmarks share: the tool under test, the arms it is measured against, and the gate that tells a quiet
//! machine from a busy one.
//!
//! Names nothing of the runtime that an application could not name, except [`arguments`], which does what generated
//! code does. In reading order: the [`tool`], its [`arguments`], one closed loop of callers ([`load`]), the [`arm`]s,
//! [`quiet`], the [`server`] that arms share, single-thread figures ([`single`]), then a [`plan`] of runs, the [`row`]s that are
//! kept of them, their [`table`], the [`target`]s and the [`report`]; [`profile`] runs one arm for a profiler.
//!
//! `cargo bench -p idem-benches` runs criterion's benchmarks (`key`, `fresh`, `replay`); `cargo run --release -p
//! idem-benches` prints the table with the targets, `-- --help` says with which choices, `-- --ci` asserts what holds on
//! a busy machine.

pub mod arguments;
pub mod arm;
pub mod cli;
pub mod load;
pub mod plan;
pub mod profile;
pub mod quiet;
pub mod random;
pub mod report;
pub mod row;
pub mod server;
pub mod single;
pub mod table;
pub mod target;
pub mod tool;
