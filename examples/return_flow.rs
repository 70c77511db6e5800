//! The return of some goods: one refund, one ticket that names it, one email after both.
//!
//! `cargo run --example return_flow` loses the bank's answer, kills the process twice, and has fresh agents plan the whole
//! return again; then it asks the providers what there is. The lesson is in the three tools below: each says how it is
//! found out what became of it. The stage around them is in `support/returns/`.
//!
//! This file must not know the stories: a tool cannot see whether it is called again.

use std::{path::Path, process::ExitCode, time::Duration};

use anyhow::{Context as _, anyhow};
use idem_examples::returns::{
    self, ByHand, Returns,
    agent::Call,
    api::{Api, ApiError, Email, Providers, Refund, Ticket},
};
use idem_runtime::{
    Config, EffectError, Idem, Refusal, Tenant, ToolCall, Unsettled, Verdict, idempotent,
    ledger::{Detail, Listing, Resolution, State},
};
use serde_json::{Value, json};

/// Gives a customer money back for a return.
///
/// The bank remembers a key for a day: a caller may send again under it, and whoever only wants to know looks it up.
#[idempotent(
    name = "send_refund",
    scope = "workflow",
    key = "template:refund:{rma}",
    counts = "one refund per return",
    recover(provider_key = "24h", lookup = find_refund, then = operator),
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

async fn find_refund(bank: &Api<Refund>, operation: Unsettled) -> Result<Verdict<Refund>, ApiError> {
    Ok(match bank.find(&operation.provider_key("refund")).await? {
        Some(refund) => Verdict::applied(refund.clone(), refund.id),
        None => Verdict::not_applied("the bank has no refund under this key"),
    })
}

/// Opens a ticket about a return, linked to its refund.
///
/// The desk honours no keys: sent again, it would open a second one. Its tickets are found by their tag.
#[idempotent(
    name = "open_ticket",
    scope = "workflow",
    key = "template:ticket:{rma}",
    recover(lookup = find_ticket, then = operator),
    settles_in = "2m",
    reference = required
)]
async fn open_ticket(
    call: &ToolCall,
    #[idem(state)] desk: Api<Ticket>,
    rma: String,
    refund: String,
) -> Result<Ticket, ToolError> {
    let ticket = desk.create(&call.provider_key("ticket"), &json!({"rma": rma, "refund": refund})).await?;
    call.reference(&ticket.id);
    Ok(ticket)
}

async fn find_ticket(desk: &Api<Ticket>, operation: Unsettled) -> Result<Verdict<Ticket>, ApiError> {
    Ok(match desk.find(&operation.provider_key("ticket")).await? {
        Some(ticket) => Verdict::applied(ticket.clone(), ticket.id),
        None => Verdict::not_applied("the desk has no ticket with this tag"),
    })
}

/// Confirms a return to the customer, once there are a refund and a ticket to name.
///
/// The model words the text anew whenever it plans; the intent is the same.
#[idempotent(
    name = "send_email",
    scope = "workflow",
    key = "template:confirmation:{rma}",
    recover(lookup = find_email, then = operator),
    settles_in = "2m",
    reference = required
)]
async fn send_email(
    call: &ToolCall,
    #[idem(state)] mail: Api<Email>,
    rma: String,
    refund: String,
    ticket: String,
    to: String,
    #[idem(content)] body: String,
) -> Result<Email, ToolError> {
    let text = format!("{body}\nRefund {refund}, ticket {ticket}");
    let email = mail.create(&call.provider_key("email"), &json!({"rma": rma, "to": to, "text": text})).await?;
    call.reference(&email.id);
    Ok(email)
}

async fn find_email(mail: &Api<Email>, operation: Unsettled) -> Result<Verdict<Email>, ApiError> {
    Ok(match mail.find(&operation.provider_key("email")).await? {
        Some(email) => Verdict::applied(email.clone(), email.id),
        None => Verdict::not_applied("the mail provider has no email with this tag"),
    })
}

/// What a tool can fail with. Only a refusal by the provider proves something; whatever has no mark proves nothing.
#[derive(Debug, thiserror::Error, EffectError)]
enum ToolError {
    #[error(transparent)]
    NotRun(#[from] Refusal),
    #[error(transparent)]
    Unclear(ApiError),
    #[error("the provider refused: {0}")]
    #[effect(final)]
    Refused(String),
}

impl From<ApiError> for ToolError {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Refused(words) => Self::Refused(words),
            other => Self::Unclear(other),
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    returns::run::<Guarded, Unguarded>().await
}

/// The application: where the agent's calls come in.
struct Guarded {
    idem: Idem,
    providers: Providers,
}

impl Returns for Guarded {
    async fn open(ledger: &Path, providers: Providers) -> anyhow::Result<Self> {
        let path = ledger.to_str().context("the ledger's path is not UTF-8")?;
        let mut config = Config::default();
        // How long a process may be silent before its calls count as unknown. Short: one of the scenes waits for it.
        config.lease = Duration::from_secs(2);
        // How often a provider is asked before a person is. The default lasts through an outage of some hours.
        config.reconcile_passes_max = 2;
        let idem = Idem::builder().config(config).open(&format!("sqlite://{path}")).await;
        // The error names its cause itself.
        let idem = idem.map_err(|error| anyhow!("failed to {error}"))?;
        Ok(Self { idem, providers })
    }

    /// A service that stays up would also have it `run` as a task.
    async fn recover(&self) -> anyhow::Result<()> {
        let Providers { bank, desk, mail } = self.providers.clone();
        let tools = [send_refund_tool(bank), open_ticket_tool(desk), send_email_tool(mail)];
        self.idem.reconciler(tools).run_once().await?;
        Ok(())
    }

    async fn call(&self, call: Call) -> Value {
        let Providers { bank, desk, mail } = self.providers.clone();
        let of = |rma: &str| self.idem.call().tenant("acme").workflow(format!("return {rma}"));
        match call {
            Call::SendRefund { rma, cents } => send_refund_outcome(&of(&rma), bank, rma, cents).await.to_json(),
            Call::OpenTicket { rma, refund } => open_ticket_outcome(&of(&rma), desk, rma, refund).await.to_json(),
            Call::SendEmail { rma, refund, ticket, to, body } => {
                send_email_outcome(&of(&rma), mail, rma, refund, ticket, to, body).await.to_json()
            }
        }
    }
}

impl ByHand for Guarded {
    async fn settle_by_hand(&self, log: &[Value]) -> anyhow::Result<Detail> {
        let mia = self.idem.operator(&Tenant::new("acme")?, "mia")?;
        let in_review = Listing { states: vec![State::OperatorReview], records_max: 20, ..Listing::default() };
        let page = mia.list(&in_review).await?;
        let waiting = page.records.first().context("nothing waits for a person")?;
        let seen = mia.show(waiting.operation).await?.context("it is gone")?;
        let sent = log.first().context("the log is empty")?;
        let id = sent["id"].as_str();
        let decision = Resolution::succeeded(Some(sent), id);
        mia.resolve(&seen.record, decision, "it stands in the provider's delivery log", id).await?;
        Ok(seen)
    }
}

/// The contrast: the same calls as they are often written, each with a key of its own.
struct Unguarded {
    providers: Providers,
}

impl Returns for Unguarded {
    async fn open(_ledger: &Path, providers: Providers) -> anyhow::Result<Self> {
        Ok(Self { providers })
    }

    async fn recover(&self) -> anyhow::Result<()> {
        Ok(())
    }

    async fn call(&self, call: Call) -> Value {
        let Providers { bank, desk, mail } = &self.providers;
        let key = format!("{}-{}", call.tool(), std::process::id());
        let result = match call {
            Call::SendRefund { rma, cents } => {
                bank.create(&key, &json!({"rma": rma, "cents": cents})).await.map(|refund| json!(refund))
            }
            Call::OpenTicket { rma, refund } => {
                desk.create(&key, &json!({"rma": rma, "refund": refund})).await.map(|ticket| json!(ticket))
            }
            Call::SendEmail { rma, to, body, .. } => {
                mail.create(&key, &json!({"rma": rma, "to": to, "text": body})).await.map(|email| json!(email))
            }
        };
        match result {
            Ok(result) => json!({"outcome": "succeeded", "result": result}),
            Err(error) => json!({"outcome": "failed", "message": error.to_string()}),
        }
    }
}
