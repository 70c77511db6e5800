//! The tool that the faults strike, and its provider.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use idem_runtime::{ToolCall, Unsettled, Verdict, idempotent};
use idem_tests::{
    timing::Gate,
    tools::{ToolError, classify},
    world::World,
};
use serde::{Deserialize, Serialize};

use crate::faults::{Checkpoint, Kind};

/// A provider that does what one key asks for once, and knows its keys.
#[derive(Debug, Default)]
pub(crate) struct Provider {
    pub(crate) world: World,
    keys: Mutex<HashMap<String, String>>,
}

impl Provider {
    fn keys(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, key: String, order: &str) -> String {
        let answer = || format!("rf_{}", self.world.effect(order));
        self.keys().entry(key).or_insert_with(answer).clone()
    }
}

/// Which fault strikes, once. Clones are the same plan.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) provider: Arc<Provider>,
    fault: Arc<Mutex<Option<(Checkpoint, Kind)>>>,
    /// Where a body stands that somebody is about to stop.
    pub(crate) gate: Gate,
    /// Whether the look-up can tell.
    works: bool,
}

impl Plan {
    pub(crate) fn new(checkpoint: Checkpoint, kind: Kind, works: bool) -> Self {
        let fault = Arc::new(Mutex::new(Some((checkpoint, kind))));
        Self { provider: Arc::default(), fault, gate: Gate::new(), works }
    }

    /// The fault of this checkpoint, if it has not struck yet.
    fn strikes(&self, here: Checkpoint) -> Option<Kind> {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.take_if(|(at, _)| *at == here).map(|(_, kind)| kind)
    }

    pub(crate) fn has_struck(&self) -> bool {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Whether this very fault strikes now.
    fn is(&self, here: Checkpoint, kind: Kind) -> bool {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.take_if(|planned| *planned == (here, kind)).is_some()
    }

    async fn pass(&self, here: Checkpoint) -> Result<(), ToolError> {
        match self.strikes(here) {
            None => Ok(()),
            Some(Kind::TypedError) => Err(ToolError::Busy),
            Some(Kind::Panic) => panic!("a fault at {here:?}"),
            Some(Kind::Hangs | Kind::Cancelled | Kind::RuntimeLost) => {
                self.gate.pass().await;
                Ok(())
            }
            Some(_) => Err(ToolError::Timeout),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Refund {
    pub(crate) id: String,
}

#[idempotent(
    scope = "conversation",
    key = "tool_call_id|args",
    name = "test.refund",
    classify = classify,
    validate = check_refund,
    lease = "60s",
    recover(provider_key = "24h", lookup = find_refund, then = operator),
    settles_in = "2m"
)]
pub(crate) async fn refund(call: &ToolCall, order: String, #[idem(state)] plan: Plan) -> Result<Refund, ToolError> {
    plan.pass(Checkpoint::Dispatch).await?;
    let key = call.provider_key("refund").to_string();
    let mut id = plan.provider.request(key.clone(), &order);
    if plan.is(Checkpoint::ProviderCommit, Kind::Duplicate) {
        id = plan.provider.request(key, &order);
    }
    plan.pass(Checkpoint::ProviderCommit).await?;
    if plan.is(Checkpoint::ReceiveResponse, Kind::Corrupt) {
        id = "<html>502</html>".into();
    }
    plan.pass(Checkpoint::ReceiveResponse).await?;
    if !id.starts_with("rf_") {
        return Err(ToolError::Timeout);
    }
    call.reference(&id);
    Ok(Refund { id })
}

async fn check_refund(_: &str, plan: &Plan) -> Result<(), ToolError> {
    plan.pass(Checkpoint::Validate).await
}

#[expect(clippy::unused_async, reason = "a look-up is async: a real one asks over the network")]
async fn find_refund(plan: &Plan, operation: Unsettled) -> Verdict<Refund> {
    if !plan.works {
        return Verdict::inconclusive("the provider does not say");
    }
    match plan.provider.keys().get(&operation.provider_key("refund").to_string()) {
        Some(id) => Verdict::applied(Refund { id: id.clone() }, id.clone()),
        None => Verdict::not_applied("no request came under this key"),
    }
}
