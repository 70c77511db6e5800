//! The tool that the harness is tried with, and its fixture.

use std::sync::Arc;

use idem_runtime::{
    EffectError, Refusal, ToolCall, idempotent,
    testing::{
        Provider, ProviderError, Request,
        harness::{Fixture, Subject, asked},
    },
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
}

/// A bank, as the tool's author writes one.
#[derive(Debug)]
pub(crate) struct Bank(pub(crate) Provider);

#[idempotent(scope = "conversation", key = "tool_call_id|args")]
pub(crate) async fn send_refund(
    call: &ToolCall,
    #[idem(state)] bank: &Bank,
    order: String,
    cents: u64,
) -> Result<Refund, PayError> {
    let request = Request::of("refund").object(&order).recipient("customer").key(call.provider_key("refund"));
    let reply = bank.0.commit(request.field("cents", cents)).await?;
    call.reference(&reply.reference);
    Ok(Refund { reference: reply.reference, cents })
}

pub(crate) fn refund_subject() -> Subject<Arc<Bank>, (String, u64)> {
    Subject::new(__idem_send_refund_spec(), |call, bank: Arc<Bank>, (order, cents)| {
        Box::pin(asked(async move { send_refund(&call, &bank, order, cents).await }))
    })
}

fn __idem_send_refund_spec() -> &'static idem_runtime::ToolSpec {
    static SPEC: idem_runtime::ToolSpec = idem_runtime::ToolSpec::new("send_refund", module_path!());
    &SPEC
}

pub(crate) fn refund_fixture() -> Fixture<Arc<Bank>, (String, u64)> {
    Fixture::of(|provider| Arc::new(Bank(provider.clone())))
        .arguments(("A-1".into(), 4_900))
        .other(("A-2".into(), 1_200))
        .drift("order", ("A-9".into(), 4_900))
        .drift("cents", ("A-1".into(), 9_400))
        .effect("refund")
}
