//! The tool under test, the till that it takes money at, and how a test asks about both.
//!
//! Must not know what befalls the server.

use std::sync::Arc;

use idem_runtime::{
    Idem, OperationId, Outcome, Refusal, RefusalKind, Tenant, ToolCall, idempotent, ledger::Record,
    testing::postgres::Cluster,
};
use idem_tests::{
    timing::Gate,
    wire::{Proxy, through},
    world::{TENANT, World},
};

/// Where money is taken: counts effects by order, at a provider that knows no keys.
#[derive(Clone, Default)]
pub(crate) struct Till {
    pub(crate) world: World,
    /// Where the body stands before anything happens.
    pub(crate) gate: Option<Gate>,
    /// What a test does when it has happened, before it is told.
    pub(crate) then: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Till {
    pub(crate) fn at(gate: &Gate) -> Self {
        Self { gate: Some(gate.clone()), ..Self::default() }
    }

    pub(crate) fn then(&self, then: impl Fn() + Send + Sync + 'static) -> Self {
        Self { then: Some(Arc::new(then)), ..self.clone() }
    }

    pub(crate) fn count(&self, order: &str) -> usize {
        self.world.count(order)
    }

    async fn take(&self, order: &str) -> Result<String, Refusal> {
        if let Some(gate) = &self.gate {
            gate.pass().await;
        }
        self.world.effect(order);
        if let Some(then) = &self.then {
            then();
        }
        Ok(format!("paid {order}"))
    }
}

#[idempotent(scope = "conversation", key = "args")]
pub(crate) async fn pay(call: &ToolCall, order: String, #[idem(state)] till: Till) -> Result<String, Refusal> {
    till.take(&order).await
}

/// The same under a lease that a test can wait for.
#[idempotent(scope = "conversation", key = "args", lease = "4s")]
pub(crate) async fn pay_soon(call: &ToolCall, order: String, #[idem(state)] till: Till) -> Result<String, Refusal> {
    till.take(&order).await
}

pub(crate) fn call(idem: &Idem) -> ToolCall {
    idem.call().tenant(TENANT).conversation("c-1")
}

/// A ledger of its own in this server, by way of a wire that can be cut.
pub(crate) async fn wired(cluster: &Cluster) -> (Proxy, String, Idem) {
    let ledger = cluster.ledger().expect("a schema");
    let proxy = Proxy::to(cluster.port().expect("a port"));
    let idem = Idem::open(&through(&ledger, proxy.port())).await.expect("a ledger");
    (proxy, ledger, idem)
}

pub(crate) async fn record(idem: &Idem, operation: OperationId) -> Option<Record> {
    idem.show(&Tenant::new(TENANT).expect("a tenant"), operation).await.expect("a ledger that answers")
}

/// Why a call was refused; none where it was not.
pub(crate) fn refused<T>(outcome: &Outcome<T>) -> Option<&RefusalKind> {
    match outcome {
        Outcome::Refused(refusal) => Some(refusal.kind()),
        Outcome::Succeeded(_) => None,
    }
}
