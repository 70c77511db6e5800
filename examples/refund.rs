//! A refund tool that is safe to retry.
//!
//! `cargo run --example refund` plays seven stories in which an agent calls a tool twice, and counts at the payment
//! provider what came of it. The lesson is `send_refund`, right below; the stage around it is in `support/`.
//!
//! This file must not know the stories: a tool cannot see whether it is called again.

use std::{path::Path, process::ExitCode, time::Duration};

use anyhow::{Context as _, anyhow};
use idem_examples::{
    bank::{Bank, BankError, Refund, RefundRequest},
    stage,
    tool_server::{Answer, CallRequest, Tools},
};
use idem_runtime::{Config, Idem, Outcome, Refusal, ToolCall, idempotent};

/// Gives a customer money back for an order.
///
/// The same tool call, or the same arguments in the same conversation, are one refund.
#[idempotent(scope = "conversation", key = "tool_call_id|args", counts = "one refund per order and amount")]
async fn send_refund(
    call: &ToolCall,
    order_id: String,
    amount_cents: u64,
    #[idem(state)] bank: Bank,
) -> Result<Refund, PaymentError> {
    let key = call.provider_key("refund");
    let refund = bank.refund(&key, &order_id, amount_cents).await?;
    call.reference(&refund.id);
    Ok(refund)
}

/// What the tool can fail with. An error of the bank proves nothing about the money: its outcome is unknown.
#[derive(Debug, thiserror::Error)]
enum PaymentError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Bank(#[from] BankError),
}

/// The contrast: the same tool as it is often written, with a new key for every call.
async fn send_refund_unguarded(order_id: &str, amount_cents: u64, bank: &Bank) -> Result<Refund, BankError> {
    let key = bank.made_up_key();
    bank.refund(&key, order_id, amount_cents).await
}

#[tokio::main]
async fn main() -> ExitCode {
    stage::run::<Guarded, Unguarded>().await
}

/// An application's tools: where the agent's calls come in.
struct Guarded {
    idem: Idem,
    bank: Bank,
}

impl Tools for Guarded {
    async fn open(ledger: &Path, bank: Bank) -> anyhow::Result<Self> {
        let path = ledger.to_str().context("the ledger's path is not UTF-8")?;
        let mut config = Config::default();
        // How long a process may be silent before its calls count as unknown. Short: one of the stories waits for it.
        config.lease = Duration::from_secs(2);
        let idem = Idem::builder().config(config).open(&format!("sqlite://{path}")).await;
        // The error names its cause itself.
        let idem = idem.map_err(|error| anyhow!("failed to {error}"))?;
        Ok(Self { idem, bank })
    }

    async fn call(&self, request: CallRequest) -> Answer {
        let RefundRequest { order_id, amount_cents } = match request.arguments("send_refund") {
            Ok(arguments) => arguments,
            Err(answer) => return answer,
        };
        let call = self
            .idem
            .call()
            .tenant("acme")
            .conversation(request.conversation)
            .turn(request.turn)
            .tool_call_id(request.call.id);
        let outcome = send_refund_outcome(&call, order_id, amount_cents, self.bank.clone()).await;
        let status = match &outcome {
            Outcome::Succeeded(_) => "succeeded",
            Outcome::Refused(refusal) => refusal.kind().name(),
        };
        Answer {
            status: status.to_owned(),
            replayed: outcome.is_replay(),
            is_error: outcome.value().is_none(),
            text: outcome.to_model_text(),
        }
    }
}

struct Unguarded {
    bank: Bank,
}

impl Tools for Unguarded {
    async fn open(_ledger: &Path, bank: Bank) -> anyhow::Result<Self> {
        Ok(Self { bank })
    }

    async fn call(&self, request: CallRequest) -> Answer {
        let RefundRequest { order_id, amount_cents } = match request.arguments("send_refund") {
            Ok(arguments) => arguments,
            Err(answer) => return answer,
        };
        match send_refund_unguarded(&order_id, amount_cents, &self.bank).await {
            Ok(refund) => Answer {
                status: "succeeded".to_owned(),
                replayed: false,
                is_error: false,
                text: format!("refunded {} cents of {}: {}", refund.amount_cents, refund.order_id, refund.id),
            },
            Err(error) => Answer::failure("failed", error.to_string()),
        }
    }
}
