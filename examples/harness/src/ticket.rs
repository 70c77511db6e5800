//! A ticket at a help desk without idempotency keys: the tool is a method, and looks up what became of a lost answer.

use std::sync::Arc;

use async_trait::async_trait;
use idem_runtime::{EffectError, Refusal, ToolCall, Unsettled, Verdict, idempotent};
use serde::{Deserialize, Serialize};

/// A ticket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// Its number at the help desk.
    pub number: String,
}

/// Why there is no ticket to show.
#[derive(Debug, thiserror::Error, EffectError)]
pub enum TicketError {
    /// The guard says no, or tells how things stand.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The help desk did nothing, and may be asked again.
    #[error("the help desk is busy")]
    #[effect(retryable)]
    Busy,
    /// The help desk did nothing, and will not.
    #[error("the help desk declined")]
    #[effect(final)]
    Declined,
    /// Nobody knows.
    #[error("no answer from the help desk")]
    NoAnswer,
}

/// The help desk's own interface.
#[async_trait]
pub trait HelpDesk: Send + Sync {
    /// Opens a ticket, as often as it is told.
    async fn open(&self, customer: &str, subject: &str, tag: &str) -> Result<Ticket, TicketError>;

    /// The ticket that carries a tag.
    async fn tagged(&self, tag: &str) -> Result<Option<Ticket>, TicketError>;
}

/// The support team's tools.
pub struct Support {
    desk: Box<dyn HelpDesk>,
}

impl std::fmt::Debug for Support {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Support").finish_non_exhaustive()
    }
}

impl Support {
    /// On a help desk.
    pub fn new(desk: impl HelpDesk + 'static) -> Arc<Self> {
        Arc::new(Self { desk: Box::new(desk) })
    }

    /// Opens a ticket for a customer. The operation's key goes along as a tag, so that a look-up can find it.
    ///
    /// # Errors
    /// [`TicketError`], which says what it proves.
    #[idempotent(
        scope = "workflow",
        key = "args",
        name = "support.open_ticket",
        recover(lookup = Self::find_ticket, then = operator),
        settles_in = "2m",
        harness
    )]
    pub async fn open_ticket(&self, call: &ToolCall, customer: String, subject: String) -> Result<Ticket, TicketError> {
        let tag = call.provider_key("ticket").to_string();
        let ticket = self.desk.open(&customer, &subject, &tag).await?;
        call.reference(&ticket.number);
        Ok(ticket)
    }

    async fn find_ticket(&self, operation: Unsettled) -> Result<Verdict<Ticket>, TicketError> {
        let found = self.desk.tagged(operation.provider_key("ticket").as_str()).await?;
        Ok(found.map_or_else(
            || Verdict::not_applied("no ticket has the tag"),
            |ticket| Verdict::applied(ticket.clone(), ticket.number),
        ))
    }
}

#[cfg(test)]
idem_runtime::harness!(Support::open_ticket, ticket_fixture);

#[cfg(test)]
use idem_runtime::{
    ErrorClass,
    testing::{Provider, ProviderError, Reply, Request, harness::Fixture},
};

#[cfg(test)]
fn ticket_fixture() -> Fixture<Arc<Support>, (String, String)> {
    Fixture::of(|provider| Support::new(TestDesk(provider.clone())))
        .arguments(("ann".into(), "no heating".into()))
        .other(("cid".into(), "no heating".into()))
        .drift("customer", ("bob".into(), "no heating".into()))
        .drift("subject", ("ann".into(), "no water".into()))
        .effect("ticket")
        .provider(idem_runtime::testing::Habits::unkeyed)
        .owner("support tools team")
}

/// A help desk that is the provider of the test.
#[cfg(test)]
struct TestDesk(Provider);

#[cfg(test)]
#[async_trait]
impl HelpDesk for TestDesk {
    async fn open(&self, customer: &str, subject: &str, tag: &str) -> Result<Ticket, TicketError> {
        let request = Request::of("ticket").object(subject).recipient(customer).key(tag);
        Ok(self.0.commit(request).await?.into())
    }

    async fn tagged(&self, tag: &str) -> Result<Option<Ticket>, TicketError> {
        Ok(self.0.lookup(tag).await?.map(Ticket::from))
    }
}

#[cfg(test)]
impl From<Reply> for Ticket {
    fn from(reply: Reply) -> Self {
        Self { number: reply.reference }
    }
}

#[cfg(test)]
impl From<ProviderError> for TicketError {
    fn from(error: ProviderError) -> Self {
        match error.class() {
            ErrorClass::Retryable => Self::Busy,
            ErrorClass::Final => Self::Declined,
            ErrorClass::Unknown => Self::NoAnswer,
        }
    }
}
