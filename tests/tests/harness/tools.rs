//! Tools that are as they should be, of each kind that the harness has to know; their suites are part of these tests.

use std::sync::Arc;

use idem_runtime::{
    Attempt, EffectError, ErrorClass, Refusal, ToolCall, Unsettled, Verdict, idempotent,
    testing::{Provider, ProviderError, Reply, Request, harness::Fixture},
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refund {
    pub(crate) reference: String,
    pub(crate) cents: u64,
}

#[derive(Debug, thiserror::Error, EffectError)]
pub(crate) enum PayError {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("{0}")]
    #[effect(transparent)]
    Provider(#[from] ProviderError),
    #[error("there is nothing to refund")]
    #[effect(final)]
    Nothing,
}

/// A bank, as the author of a tool writes one.
#[derive(Debug)]
pub(crate) struct Bank(pub(crate) Provider);

fn found(reply: &Reply) -> Verdict<Refund> {
    let refund = Refund { reference: reply.reference.clone(), cents: reply.number("cents") };
    Verdict::applied(refund, reply.reference.clone())
}

impl Bank {
    pub(crate) async fn send(&self, attempt: &Attempt, order: &str, cents: u64) -> Result<Refund, PayError> {
        let request = Request::of("refund").object(order).recipient("customer").key(attempt.provider_key("refund"));
        let reply = self.0.commit(request.field("cents", cents)).await?;
        attempt.reference(&reply.reference);
        Ok(Refund { reference: reply.reference, cents })
    }

    async fn look_up(&self, operation: Unsettled) -> Result<Verdict<Refund>, ProviderError> {
        let reply = self.0.lookup(operation.provider_key("refund")).await?;
        Ok(reply.as_ref().map_or_else(|| Verdict::not_applied("no refund under the key"), found))
    }
}

async fn look_up(bank: &Bank, operation: Unsettled) -> Result<Verdict<Refund>, ProviderError> {
    bank.look_up(operation).await
}

async fn search(bank: &Bank, operation: Unsettled) -> Result<Verdict<Refund>, ProviderError> {
    let Some(order) = operation.argument::<String>("order") else {
        return Ok(Verdict::inconclusive("the order is not known"));
    };
    let reply = bank.0.search(&order).await?;
    Ok(reply.as_ref().map_or_else(|| Verdict::not_applied("no refund of the order"), found))
}

#[expect(clippy::unused_async, reason = "a check is async")]
async fn check(bank: &Bank, order: &str, cents: &u64) -> Result<(), PayError> {
    let _ = (bank, order);
    if *cents == 0 { Err(PayError::Nothing) } else { Ok(()) }
}

/// What every tool here is called with.
fn refunds() -> Fixture<Arc<Bank>, (String, u64)> {
    Fixture::of(|provider| Arc::new(Bank(provider.clone())))
        .arguments(("A-1".into(), 4_900))
        .other(("A-2".into(), 1_200))
        .drift("order", ("A-9".into(), 4_900))
        .drift("cents", ("A-1".into(), 9_400))
        .effect("refund")
}

/// Nothing but a guard: what is unknown is a person's to decide.
pub(crate) mod alone {
    use super::*;

    pub(crate) fn fixture() -> Fixture<Arc<Bank>, (String, u64)> {
        refunds()
    }

    /// Sends money back.
    #[idempotent(scope = "conversation", key = "tool_call_id|args", name = "alone", harness = fixture)]
    pub(crate) async fn send_refund(
        call: &ToolCall,
        #[idem(state)] bank: Arc<Bank>,
        order: String,
        cents: u64,
    ) -> Result<Refund, PayError> {
        bank.send(call, &order, cents).await
    }
}

/// The provider knows keys, and the arguments are checked first.
pub(crate) mod keyed {
    use super::*;

    pub(crate) fn fixture() -> Fixture<Arc<Bank>, (String, u64)> {
        refunds().invalid(("A-1".into(), 0)).missing((String::new(), 4_900))
    }

    /// Sends money back.
    #[idempotent(
        scope = "tenant", key = "template:refund-{order}", name = "keyed", harness = fixture,
        validate = check, recover(provider_key = "24h", then = operator)
    )]
    pub(crate) async fn send_refund(
        call: &ToolCall,
        #[idem(state)] bank: Arc<Bank>,
        order: String,
        cents: u64,
    ) -> Result<Refund, PayError> {
        bank.send(call, &order, cents).await
    }
}

/// The provider can be asked, and the body stays where it was called.
pub(crate) mod looked_up {
    use super::*;

    pub(crate) fn fixture() -> Fixture<Arc<Bank>, (String, u64)> {
        refunds()
    }

    /// Sends money back.
    #[idempotent(
        scope = "user", key = "tool_call_id|args", name = "looked_up", harness = fixture, detach = false,
        on_busy = "tell", recover(lookup = look_up, then = operator), settles_in = "2m", reference = required
    )]
    pub(crate) async fn send_refund(
        call: &ToolCall,
        #[idem(state)] bank: &Bank,
        order: String,
        cents: u64,
    ) -> Result<Refund, PayError> {
        bank.send(call, &order, cents).await
    }
}

/// The provider can be searched, under the platform's own ids.
pub(crate) mod searched {
    use super::*;

    pub(crate) fn fixture() -> Fixture<Arc<Bank>, (String, u64)> {
        refunds()
    }

    /// Sends money back.
    #[idempotent(
        scope = "workflow", key = "operation_id", name = "searched", harness = fixture, store_arguments,
        recover(search = search, then = operator), settles_in = "2m", after_retention = "run"
    )]
    pub(crate) async fn send_refund(
        call: &ToolCall,
        #[idem(state)] bank: &Bank,
        order: String,
        cents: u64,
    ) -> Result<Refund, PayError> {
        bank.send(call, &order, cents).await
    }
}

/// It tries again by itself, and asks.
pub(crate) mod retried {
    use super::*;

    pub(crate) fn fixture() -> Fixture<Arc<Bank>, (String, u64)> {
        refunds()
    }

    fn classify(error: &PayError) -> ErrorClass {
        error.effect_class()
    }

    /// Sends money back.
    #[idempotent(
        scope = "global", key = "args(order)", name = "retried", harness = fixture, classify = classify,
        retry(max = 3, base = "1ms", cap = "2ms", deadline = "1m"),
        recover(provider_key = "24h", lookup = look_up, then = operator), store_arguments
    )]
    pub(crate) async fn send_refund(
        call: &ToolCall,
        #[idem(state)] bank: &Bank,
        order: String,
        cents: u64,
    ) -> Result<Refund, PayError> {
        bank.send(call, &order, cents).await
    }
}
