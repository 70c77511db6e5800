//! The stage of `workers.rs`: worker processes that share one PostgreSQL, and a bank outside.
//!
//! One worker as a process of its own ([`worker`]); the director, who sends every refund to both, kills a third, and asks
//! the bank what there is ([`director`]); what is printed ([`report`]). [`run`] is the entrance. The bank is the one of
//! `return_flow.rs`, and so are the wires.
//!
//! It must not know how a tool is guarded: it sees it through [`Refunds`] alone.

pub mod director;
pub mod report;
pub mod worker;

use std::process::ExitCode;

use clap::Parser as _;
use serde_json::Value;

use self::director::Cli;
use crate::returns::api::{Api, Refund};

/// A worker's tool.
pub trait Refunds: Sized + Send + Sync + 'static {
    /// Gets ready to run for a tenant, with the ledger at this address if the tool keeps one.
    fn open(ledger: &str, tenant: &str, bank: Api<Refund>) -> impl Future<Output = anyhow::Result<Self>> + Send;

    /// Refunds a return. What the caller is told is JSON, with an `outcome` and, for a success, a `result`.
    fn refund(&self, rma: String, cents: u64) -> impl Future<Output = Value> + Send;
}

/// Reads the command line and does what it says, with a tool that carries the attribute and one that does not.
pub async fn run<Guarded: Refunds, Unguarded: Refunds>() -> ExitCode {
    match director::act::<Guarded, Unguarded>(Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("workers: {error:#}");
            ExitCode::FAILURE
        }
    }
}
