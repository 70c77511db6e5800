//! The stages of the examples: everything around the guarded tools that a real deployment has too.
//!
//! `refund.rs`: a payment provider with its own process and its own file ([`provider`]), the client of its API
//! ([`bank`]), a network that loses answers ([`link`]), an agent that speaks the wire formats of two model providers
//! ([`transcript`], [`agent`]), the server on which its tools run ([`tool_server`]), one run of that agent as a process
//! that can be killed ([`session`]), the director who plays the stories and counts at the provider ([`stories`]), and what
//! is printed at the end ([`summary`]). [`stage::run`] is the entrance.
//!
//! `return_flow.rs`: [`returns`], on the same wires and child processes.
//!
//! `workers.rs` (with the feature `postgres`): `workers`, with the bank of [`returns`].
//!
//! It must not know how a tool is guarded: it sees tools through [`tool_server::Tools`], [`returns::Returns`] and
//! `workers::Refunds` alone.

pub mod agent;
pub mod bank;
pub mod cli;
pub mod effect_log;
pub mod link;
pub mod process;
pub mod provider;
pub mod returns;
pub mod session;
pub mod stage;
pub mod stories;
pub mod summary;
pub mod table;
pub mod tool_server;
pub mod transcript;
#[cfg(feature = "postgres")]
pub mod workers;
