//! What is said about operations whose outcome is not known: reconciliations, verdicts, decisions, evidence.
//!
//! Must not know what a store makes of it.

use std::{sync::Arc, time::Duration};

use super::calls::{LEASE, tenant};
use crate::{
    OperationId,
    ledger::{
        BeginReconcile, Bound, Evidence, Finding, Judge, Record, Resolution, Resolve, Silent, Stored, StoredKind,
    },
};

/// When an unknown outcome is asked about again.
pub(super) const AGAIN: Duration = Duration::from_mins(5);
/// How often it is asked about before a person is.
pub(super) const BOUND: Bound = Bound { answered_max: 3, passes_max: 5 };

/// Somebody wants to find out about `record`, as it stands.
pub(super) fn begin(record: &Record) -> BeginReconcile {
    BeginReconcile { tenant: tenant(), row: record.row, version: record.version, lease: LEASE, by_hand: false }
}

/// What the reconciliation that `record` is under found out.
pub(super) fn verdict(record: &Record, finding: Finding) -> Judge {
    Judge {
        tenant: tenant(),
        row: record.row,
        fence: record.reconcile_fence,
        finding,
        steps: Vec::new(),
        counted: true,
        bound: BOUND,
        spare_operators: false,
        again_in: AGAIN,
        budget: None,
        resources: Arc::default(),
    }
}

/// An inconclusive verdict after which nobody is left to ask but a person.
pub(super) fn last_verdict(record: &Record) -> Judge {
    Judge { bound: Bound { answered_max: 0, passes_max: 0 }, ..verdict(record, Finding::Inconclusive) }
}

/// What a person decided about `record`, as it stands.
pub(super) fn decision(record: &Record, resolution: Resolution) -> Resolve {
    Resolve {
        tenant: tenant(),
        row: record.row,
        version: record.version,
        actor: "ada@example.com".into(),
        reason: "the bank says so".into(),
        evidence: None,
        resolution,
    }
}

/// What the provider's webhook says about an operation.
pub(super) fn says(operation: OperationId, event: &str, finding: Finding) -> Evidence {
    Evidence {
        tenant: tenant(),
        operation,
        source: "bank".into(),
        event: event.into(),
        actor: None,
        finding,
        words: None,
    }
}

/// The owner of `record` was silent.
pub(super) fn silent(record: &Record) -> Silent {
    Silent { tenant: tenant(), row: record.row, version: record.version }
}

/// It happened, with this result and under this reference.
pub(super) fn applied(result: Option<&str>, reference: Option<&str>) -> Finding {
    Finding::Applied { stored: result.map(value), reference: reference.map(Into::into) }
}

/// A person says that it happened, with this result and under this reference.
pub(super) fn succeeded(result: Option<&str>, reference: Option<&str>) -> Resolution {
    Resolution::Succeeded { stored: result.map(value), reference: reference.map(Into::into) }
}

/// A result.
pub(super) fn value(json: &str) -> Stored {
    Stored { kind: StoredKind::Value, bytes: json.as_bytes().into() }
}
