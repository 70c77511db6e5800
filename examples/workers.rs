//! One ledger for many workers: a PostgreSQL database.
//!
//! `cargo run --example workers --features postgres` starts two worker processes and sends the same refunds to both of them
//! at the same time. The lesson is that there is none: `send_refund` is written as for one process, and the ledger is
//! opened at another address. The stage around it is in `support/workers`.
//!
//! This file must not know how many workers there are, nor which of them is killed.

use std::{process::ExitCode, time::Duration};

use anyhow::anyhow;
use idem_examples::{
    returns::api::{Api, ApiError, Refund},
    workers::{self, Refunds},
};
use idem_runtime::{Config, Idem, Refusal, ToolCall, Unsettled, Verdict, idempotent};
use serde_json::{Value, json};

/// Gives a customer money back for a return, whichever worker is asked.
#[idempotent(
    name = "send_refund",
    scope = "tenant",
    key = "template:refund:{rma}",
    counts = "one refund per return",
    recover(lookup = find_refund, then = operator),
    settles_in = "2m",
    reference = required
)]
async fn send_refund(
    call: &ToolCall,
    #[idem(state)] bank: Api<Refund>,
    rma: String,
    cents: u64,
) -> Result<Refund, ToolError> {
    let refund = bank.create(&call.provider_key("refund"), &json!({"rma": rma, "cents": cents})).await?;
    call.reference(&refund.id);
    Ok(refund)
}

/// What a worker asks about an attempt whose worker fell silent.
async fn find_refund(bank: &Api<Refund>, operation: Unsettled) -> Result<Verdict<Refund>, ApiError> {
    Ok(match bank.find(&operation.provider_key("refund")).await? {
        Some(refund) => Verdict::applied(refund.clone(), refund.id),
        None => Verdict::not_applied("the bank has no refund under this key"),
    })
}

/// What the tool can fail with. An error of the bank proves nothing about the money: its outcome is unknown.
#[derive(Debug, thiserror::Error)]
enum ToolError {
    #[error(transparent)]
    NotRun(#[from] Refusal),
    #[error(transparent)]
    Bank(#[from] ApiError),
}

#[tokio::main]
async fn main() -> ExitCode {
    workers::run::<Guarded, Unguarded>().await
}

/// A worker's application.
struct Guarded {
    idem: Idem,
    tenant: String,
    bank: Api<Refund>,
}

impl Refunds for Guarded {
    async fn open(ledger: &str, tenant: &str, bank: Api<Refund>) -> anyhow::Result<Self> {
        let mut config = Config::default();
        // How long a worker may be silent before others ask what became of its calls. Short: one scene waits for it.
        config.lease = Duration::from_secs(2);
        // The error names its cause itself.
        let idem = Idem::builder().config(config).open(ledger).await.map_err(|error| anyhow!("failed to {error}"))?;
        Ok(Self { idem, tenant: tenant.to_owned(), bank })
    }

    async fn refund(&self, rma: String, cents: u64) -> Value {
        let call = self.idem.call().tenant(&*self.tenant);
        send_refund_outcome(&call, self.bank.clone(), rma, cents).await.to_json()
    }
}

/// The contrast: the same tool as it is often written, with a key that each worker makes up.
struct Unguarded {
    bank: Api<Refund>,
}

impl Refunds for Unguarded {
    async fn open(_ledger: &str, _tenant: &str, bank: Api<Refund>) -> anyhow::Result<Self> {
        Ok(Self { bank })
    }

    async fn refund(&self, rma: String, cents: u64) -> Value {
        let key = format!("{rma} by {}", std::process::id());
        match self.bank.create(&key, &json!({"rma": rma, "cents": cents})).await {
            Ok(refund) => json!({"outcome": "succeeded", "replayed": false, "result": refund}),
            Err(error) => json!({"outcome": "failed", "message": error.to_string()}),
        }
    }
}
