//! Calls of one imagined tool, as the ledger would hand them to a store.
//!
//! The tool sends `cents` for an `order` with a `note`; its key is `args(order) | tool_call_id`.

use std::{sync::Arc, time::Duration};

use sha2::{Digest as _, Sha256};

use super::subject::{Checked, Wrong};
use crate::{
    OperationId, Source, Tenant, Timestamp,
    ledger::{
        AfterRetention, Decision, Digest, Ending, Grant, Identity, Reserve, Scope, Settle, Stored, StoredKind, Tool,
        decide,
    },
};

pub(super) const LEASE: Duration = Duration::from_secs(30);
pub(super) const WINDOW: Duration = Duration::from_mins(10);
pub(super) const RETAIN: Duration = Duration::from_hours(24);
pub(super) const TOMBSTONE: Duration = Duration::from_hours(48);
pub(super) const NANO: Duration = Duration::from_nanos(1);

/// A nanosecond less.
pub(super) const fn just_under(span: Duration) -> Duration {
    span.saturating_sub(NANO)
}

/// The tenant of every call that does not say otherwise.
pub(super) fn tenant() -> Tenant {
    named("acme")
}

/// A tenant by its name.
pub(super) fn named(name: &'static str) -> Tenant {
    match Tenant::new(name) {
        Ok(tenant) => tenant,
        Err(_) => unreachable!("the suite names its tenants in words"),
    }
}

pub(super) fn digest(of: &str) -> Digest {
    Sha256::digest(of).into()
}

pub(super) fn scope() -> Scope {
    Scope { kind: "conversation".into(), value: Some("c-1".into()), digest: digest("scope c-1") }
}

pub(super) fn by_args(order: &str) -> Identity {
    Identity { source: Source::Args, digest: digest(&format!("args {order}")), generation: None }
}

pub(super) fn by_id(id: &str) -> Identity {
    Identity { source: Source::ToolCallId, digest: digest(&format!("id {id}")), generation: None }
}

/// A call with arguments, under a tool call id.
pub(super) fn call(order: &str, cents: u64, id: &str) -> Reserve {
    let parts = [digest(order), digest(&cents.to_string())];
    Reserve {
        tenant: tenant(),
        principal: None,
        scope: scope(),
        tool: Arc::new(Tool { name: "bank::send".into(), version: 1, params: "order,cents;note".into() }),
        identities: vec![by_args(order), by_id(id)],
        resumed: None,
        fingerprint: digest(&format!("{order} {cents}")),
        parts: parts.iter().flat_map(|part| &part[..8]).copied().collect(),
        content: digest("a note")[..8].into(),
        window: None,
        after_retention: AfterRetention::Tell,
        lease: LEASE,
        nonce: 0,
        resend: None,
        paused: false,
        budget: None,
        retain: RETAIN,
        needs_reference: false,
        approval: None,
        link: None,
        resources: Arc::default(),
        arguments: None,
    }
}

/// The same call, carrying the record of an attempt.
pub(super) fn resumed(call: Reserve, operation: OperationId, generations: &[u32]) -> Reserve {
    let mut call = Reserve { resumed: Some(operation), ..call };
    for (identity, generation) in call.identities.iter_mut().zip(generations) {
        identity.generation = Some(*generation);
    }
    call
}

/// How the attempt of `grant` ends; what it stores and refers to tells its token.
pub(super) fn end(grant: &Grant, ending: Ending) -> Settle {
    let kind = match ending {
        Ending::Ok => StoredKind::Value,
        Ending::Retryable | Ending::Final | Ending::Unknown | Ending::NotStarted => StoredKind::Text,
    };
    Settle {
        tenant: tenant(),
        row: grant.row,
        fence: grant.fence,
        attempt: grant.attempt,
        ending,
        reference: Some(format!("ref_{}", grant.fence).into()),
        retain: RETAIN,
        stored: Some(Stored { kind, bytes: format!("\"{ending:?} {}\"", grant.fence).into_bytes().into() }),
        pause: Duration::ZERO,
        budget: None,
        resources: Arc::default(),
        looks: true,
    }
}

/// The id that a call's operation would have if there were none yet.
pub(super) fn operation_of(call: &Reserve, now: Timestamp) -> Checked<OperationId> {
    let nothing = vec![None; call.identities.len()];
    match decide(call, &nothing, now) {
        Decision::Create { operation, .. } => Ok(operation),
        other => Err(Wrong::new(format!("`decide` should create what is not there: {other:?}"))),
    }
}
