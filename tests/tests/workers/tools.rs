//! One refund by three tools: one whose provider honours keys, one that can only look up, one that has neither.
//!
//! Must not know that workers are killed.

use std::{net::SocketAddr, time::Duration};

use idem_runtime::{
    Attempt, BoundTool, Config, Idem, OperationId, Outcome, ToolCall, Unsettled, Verdict, idempotent, prepare,
};
use idem_tests::{
    provider::{Bank, BankError, Refund, SendError, classify},
    world::TENANT,
};

const CENTS: u64 = 4_900;
const RECIPIENT: &str = "ann";

/// The ways of recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tool {
    Keyed,
    LookedUp,
    Alone,
}

/// The provider's two addresses.
#[derive(Debug, Clone)]
pub(crate) struct Banks {
    pub(crate) keyed: Bank,
    pub(crate) plain: Bank,
}

impl Banks {
    pub(crate) fn at(keyed: SocketAddr, plain: SocketAddr) -> Self {
        Self { keyed: Bank::at(keyed), plain: Bank::at(plain) }
    }
}

pub(crate) fn order(number: u64) -> String {
    format!("R-{number}")
}

/// Leases and pauses as short as a run of seconds needs them.
pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config.lease = Duration::from_secs(6);
    config.wait = Duration::from_secs(10);
    config.reconcile_every = Duration::from_millis(250);
    config.reconcile_base = Duration::from_millis(250);
    config.reconcile_cap = Duration::from_secs(1);
    config
}

impl Tool {
    /// The tool of an order.
    pub(crate) fn of(number: u64) -> Self {
        [Self::LookedUp, Self::Keyed, Self::LookedUp, Self::Alone][usize::try_from(number % 4).unwrap_or_default()]
    }

    /// The name that the ledger knows it by.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [(Self::Keyed, "workers.keyed"), (Self::LookedUp, "workers.looked_up"), (Self::Alone, "workers.alone")]
            .into_iter()
            .find_map(|(tool, known)| (known == name).then_some(tool))
    }

    pub(crate) async fn refund(self, idem: &Idem, banks: &Banks, number: u64) -> Outcome<Refund> {
        let (call, order) = (idem.call().tenant(TENANT), order(number));
        match self {
            Self::Keyed => keyed_outcome(&call, banks.keyed.clone(), order).await,
            Self::LookedUp => looked_up_outcome(&call, banks.plain.clone(), order).await,
            Self::Alone => alone_outcome(&call, banks.plain.clone(), order).await,
        }
    }

    /// The operation of an order, reserved or not.
    pub(crate) async fn operation(self, idem: &Idem, banks: &Banks, number: u64) -> OperationId {
        let (call, order) = (idem.call().tenant(TENANT), order(number));
        let prepared = match self {
            Self::Keyed => prepare(keyed(&call, banks.keyed.clone(), order)).await,
            Self::LookedUp => prepare(looked_up(&call, banks.plain.clone(), order)).await,
            Self::Alone => prepare(alone(&call, banks.plain.clone(), order)).await,
        };
        prepared.expect("a record").operation()
    }
}

/// All that a reconciler can see to.
pub(crate) fn bound(banks: &Banks) -> [BoundTool; 2] {
    [keyed_tool(banks.keyed.clone()), looked_up_tool(banks.plain.clone())]
}

#[idempotent(
    scope = "tenant", key = "template:refund-{order}", name = "workers.keyed", classify = classify,
    recover(provider_key = "24h", lookup = find, then = operator), settles_in = "4s", reference = required
)]
async fn keyed(call: &ToolCall, #[idem(state)] bank: Bank, order: String) -> Result<Refund, SendError> {
    sent(call, &bank, &order).await
}

#[idempotent(
    scope = "tenant", key = "template:refund-{order}", name = "workers.looked_up", classify = classify,
    recover(lookup = find, then = operator), settles_in = "4s", reference = required
)]
async fn looked_up(call: &ToolCall, #[idem(state)] bank: Bank, order: String) -> Result<Refund, SendError> {
    sent(call, &bank, &order).await
}

#[idempotent(scope = "tenant", key = "template:refund-{order}", name = "workers.alone", classify = classify)]
async fn alone(call: &ToolCall, #[idem(state)] bank: Bank, order: String) -> Result<Refund, SendError> {
    sent(call, &bank, &order).await
}

async fn sent(attempt: &Attempt, bank: &Bank, order: &str) -> Result<Refund, SendError> {
    let refund = bank.send(attempt.provider_key("refund").as_str(), order, CENTS, RECIPIENT).await?;
    attempt.reference(&refund.id);
    Ok(refund)
}

async fn find(bank: &Bank, operation: Unsettled) -> Result<Verdict<Refund>, BankError> {
    Ok(match bank.by_key(operation.provider_key("refund").as_str()).await? {
        None => Verdict::not_applied("no refund under this key"),
        Some(refund) => Verdict::applied(refund.clone(), refund.id),
    })
}

/// What a worker does without a guard, with a key of its own for every call.
pub(crate) async fn unguarded(banks: &Banks, number: u64, nth: u64) -> Option<Refund> {
    let key = format!("made up by {} as {nth}", std::process::id());
    banks.plain.send(&key, &order(number), CENTS, RECIPIENT).await.ok()
}
