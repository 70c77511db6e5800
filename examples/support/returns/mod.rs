//! The stage of `return_flow.rs`: a return of goods, with three providers outside and a process that is killed.
//!
//! The providers' own file ([`effects`]) and their HTTP ([`outside`]); the clients that tools use ([`api`]); the agent,
//! which plans a return from the start whenever it is started ([`agent`]); one run of it as a process of its own
//! ([`session`]); the director, who strikes and counts ([`director`]); what is printed ([`report`]). [`run`] is the
//! entrance. The losing wire, the child processes and the table are those of `refund.rs`.
//!
//! It must not know how a tool is guarded: it sees tools through [`Returns`] alone, and a ledger as an operator does.

pub mod agent;
pub mod api;
pub mod director;
pub mod effects;
pub mod outside;
pub mod report;
pub mod session;

use std::{path::Path, process::ExitCode};

use clap::Parser as _;
use idem_runtime::ledger::Detail;
use serde_json::Value;

use self::{agent::Call, api::Providers, director::Cli};

/// An application's tools for a return.
pub trait Returns: Sized + Send + Sync + 'static {
    /// Gets ready to run, with a ledger at this path if the tools keep one.
    fn open(ledger: &Path, providers: Providers) -> impl Future<Output = anyhow::Result<Self>> + Send;

    /// What a process does before it takes calls: it sees to what the one before it left behind.
    fn recover(&self) -> impl Future<Output = anyhow::Result<()>> + Send;

    /// Runs one call of the agent's. What it is told is JSON, with an `outcome` and, for a success, a `result`.
    fn call(&self, call: Call) -> impl Future<Output = Value> + Send;
}

/// Where a person can settle what nobody could find out.
pub trait ByHand: Returns {
    /// Lists what waits for a person, and settles it by what the mail provider's own log shows. Gives the operation as
    /// the person saw it.
    fn settle_by_hand(&self, log: &[Value]) -> impl Future<Output = anyhow::Result<Detail>> + Send;
}

/// Reads the command line and does what it says, with tools that carry the attribute and tools that do not.
pub async fn run<Guarded: ByHand, Unguarded: Returns>() -> ExitCode {
    match director::act::<Guarded, Unguarded>(Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("return_flow: {error:#}");
            ExitCode::FAILURE
        }
    }
}
