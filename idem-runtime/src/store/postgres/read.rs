//! Reading records: inside the writer's transaction, or in a reader's statement.
//!
//! Must not know who reads, nor why.

use std::{sync::Arc, time::Duration};

use sqlx::{Decode, Error, Postgres, Row, Type, postgres::PgRow};

use super::{
    failure::misread,
    text::{maybe_said, said},
};
use crate::{
    clock::Timestamp,
    id::{OperationId, Principal},
    identity::Digest,
    ledger::{Record, State, Stored, StoredKind, Tool},
};

/// What [`record_in`] reads of an operation `o` and its tool `t`.
macro_rules! columns {
    () => {
        "o.tenant, o.id, o.version, o.operation, o.principal, o.first_call, o.approval, o.fingerprint, o.parts, o.content,
         o.state, o.in_doubt, o.disproved, o.attempt, o.fence, o.nonce, o.reconcile_fence, o.passes, o.answered,
         o.lease_until, o.renewed_at, o.renewals, o.reserved_at, o.settled_at, o.unknown_at, o.next_at, o.settled_fence,
         o.has_resources, o.retain, o.retain_until, o.needs_reference, o.reference, o.review, t.name as tool_name,
         t.version as tool_version, t.params as tool_params"
    };
}

/// A query for records without their results; `$tables` is what follows the tool.
macro_rules! records {
    ($tables:literal) => {
        concat!(
            "select ",
            $crate::store::postgres::read::columns!(),
            " from idem_operations o join idem_tools t on t.tool = o.tool ",
            $tables
        )
    };
}

/// A query for whole records: for a single statement, which sees one state of the ledger. `$more` are further columns, each
/// behind a comma.
macro_rules! whole_records {
    ($more:literal, $tables:literal) => {
        concat!(
            "select ",
            $crate::store::postgres::read::columns!(),
            ", r.kind, r.bytes",
            $more,
            " from idem_operations o join idem_tools t on t.tool = o.tool
              left join idem_results r on r.tenant = o.tenant and r.operation = o.id ",
            $tables
        )
    };
}
pub(super) use {columns, records, whole_records};

/// The record in a row of a query for [`records`]; without its result.
pub(super) fn record_in(row: &PgRow) -> Result<Record, Error> {
    let instant = |name: &str| get::<Option<i64>>(row, name).map(|nanos| nanos.map(Timestamp::from_nanos));
    let principal = maybe_said(row, "principal")?.map(Principal::new).transpose();
    Ok(Record {
        row: get(row, "id")?,
        version: get::<i64>(row, "version")?.cast_unsigned(),
        operation: operation(row, "operation")?,
        tool: Arc::new(Tool {
            name: said(row, "tool_name")?,
            version: count(row, "tool_version")?,
            params: said(row, "tool_params")?,
        }),
        principal: principal.map_err(|_| misread("an operation has a blank principal"))?,
        first_call: get::<i64>(row, "first_call")?.cast_unsigned(),
        approval: maybe_said(row, "approval")?,
        fingerprint: digest(row, "fingerprint")?,
        parts: get::<Vec<u8>>(row, "parts")?.into(),
        content: get::<Vec<u8>>(row, "content")?.into(),
        state: state(row, "state")?,
        in_doubt: get(row, "in_doubt")?,
        disproved: get(row, "disproved")?,
        attempt: count(row, "attempt")?,
        fence: get(row, "fence")?,
        nonce: get::<i64>(row, "nonce")?.cast_unsigned(),
        reconcile_fence: get(row, "reconcile_fence")?,
        passes: count(row, "passes")?,
        answered: count(row, "answered")?,
        lease_until: instant("lease_until")?,
        renewed_at: instant("renewed_at")?,
        renewals: count(row, "renewals")?,
        reserved_at: Timestamp::from_nanos(get(row, "reserved_at")?),
        settled_at: instant("settled_at")?,
        unknown_at: instant("unknown_at")?,
        next_at: instant("next_at")?,
        settled_fence: get(row, "settled_fence")?,
        has_resources: get(row, "has_resources")?,
        retain: Duration::from_nanos(get::<i64>(row, "retain")?.unsigned_abs()),
        retain_until: instant("retain_until")?,
        needs_reference: get(row, "needs_reference")?,
        reference: maybe_said(row, "reference")?,
        review: get(row, "review")?,
        stored: None,
    })
}

/// The record in a row of a query for [`whole_records`].
pub(super) fn whole_record_in(row: &PgRow) -> Result<Record, Error> {
    Ok(Record { stored: stored(row)?, ..record_in(row)? })
}

/// The result in the columns `kind` and `bytes`.
pub(super) fn stored(row: &PgRow) -> Result<Option<Stored>, Error> {
    let Some(code) = get::<Option<i16>>(row, "kind")? else { return Ok(None) };
    let kind = u8::try_from(code).ok().and_then(StoredKind::from_code);
    let kind = kind.ok_or_else(|| misread("a result has an unknown kind"))?;
    Ok(Some(Stored { kind, bytes: get::<Vec<u8>>(row, "bytes")?.into() }))
}

pub(super) fn get<'r, T: Decode<'r, Postgres> + Type<Postgres>>(row: &'r PgRow, name: &str) -> Result<T, Error> {
    row.try_get(name)
}

/// A number that fits: this crate wrote it.
pub(super) fn count(row: &PgRow, name: &str) -> Result<u32, Error> {
    u32::try_from(get::<i64>(row, name)?).map_err(|_| misread("a count is out of its range"))
}

pub(super) fn digest(row: &PgRow, name: &str) -> Result<Digest, Error> {
    get(row, name)
}

pub(super) fn operation(row: &PgRow, name: &str) -> Result<OperationId, Error> {
    get(row, name).map(OperationId::from_bytes)
}

pub(super) fn state(row: &PgRow, name: &str) -> Result<State, Error> {
    State::from_name(get::<&str>(row, name)?).ok_or_else(|| misread("a state has an unknown name"))
}
