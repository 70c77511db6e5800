//! A refund: the smallest tool with generated tests. The chapter shows it piece by piece.

use async_trait::async_trait;
use idem_runtime::{EffectError, Refusal, ToolCall, idempotent};
use serde::{Deserialize, Serialize};

/// Money that went back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refund {
    /// The bank's id of it.
    pub id: String,
    /// How much.
    pub cents: u64,
}

/// Why there is no refund to show.
#[derive(Debug, thiserror::Error, EffectError)]
pub enum RefundError {
    /// The guard says no, or tells how things stand.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The bank is busy, and did nothing.
    #[error("the bank is busy")]
    #[effect(retryable)]
    Busy,
    /// The bank says no, and did nothing.
    #[error("the bank declined")]
    #[effect(final)]
    Declined,
    /// Nobody knows.
    #[error("no answer from the bank")]
    #[effect(unknown)]
    NoAnswer,
}

/// What the tool needs of a bank.
#[async_trait]
pub trait Bank: Send + Sync {
    /// Sends money back; the same key twice is one refund, at a bank that knows keys.
    async fn refund(&self, key: &str, order_id: &str, cents: u64) -> Result<Refund, RefundError>;
}

/// Gives a customer money back.
///
/// # Errors
/// [`RefundError`], which says what it proves.
#[idempotent(scope = "conversation", key = "tool_call_id|args", name = "billing.refund", harness = refund_fixture)]
pub async fn send_refund(
    call: &ToolCall,
    #[idem(state)] bank: &dyn Bank,
    order_id: String,
    cents: u64,
) -> Result<Refund, RefundError> {
    let refund = bank.refund(call.provider_key("refund").as_str(), &order_id, cents).await?;
    call.reference(&refund.id);
    Ok(refund)
}

#[cfg(test)]
use {
    idem_runtime::{
        ErrorClass,
        testing::{Provider, ProviderError, Request, assert_guarded, harness::Fixture},
    },
    std::sync::Arc,
};

#[cfg(test)]
fn refund_fixture() -> Fixture<Arc<dyn Bank>, (String, u64)> {
    Fixture::of(|provider| Arc::new(TestBank(provider.clone())) as Arc<dyn Bank>)
        .arguments(("A-1".into(), 4_900))
        .other(("A-2".into(), 1_200))
        .drift("cents", ("A-1".into(), 9_400))
        .drift("order_id", ("A-9".into(), 4_900))
        .effect("refund")
}

/// A bank that is the provider of the test.
#[cfg(test)]
struct TestBank(Provider);

#[cfg(test)]
#[async_trait]
impl Bank for TestBank {
    async fn refund(&self, key: &str, order_id: &str, cents: u64) -> Result<Refund, RefundError> {
        let request = Request::of("refund").object(order_id).key(key).field("cents", cents);
        let reply = self.0.commit(request).await?;
        Ok(Refund { id: reply.reference, cents })
    }
}

#[cfg(test)]
impl From<ProviderError> for RefundError {
    fn from(error: ProviderError) -> Self {
        match error.class() {
            ErrorClass::Retryable => Self::Busy,
            ErrorClass::Final => Self::Declined,
            ErrorClass::Unknown => Self::NoAnswer,
        }
    }
}

/// Nothing has dropped the attribute on the way to the compiler.
#[cfg(test)]
#[test]
fn the_refund_is_guarded() {
    struct Nobody;

    #[async_trait]
    impl Bank for Nobody {
        async fn refund(&self, _: &str, _: &str, _: u64) -> Result<Refund, RefundError> {
            unreachable!("a probe starts no body")
        }
    }

    let idem = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let call = idem.block_on(idem_runtime::Idem::open("memory:")).expect("a ledger").call();
    assert_guarded!(send_refund(&call, &Nobody, "A-1".into(), 4_900));
}
