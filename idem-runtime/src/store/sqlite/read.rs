//! Reading records: inside the writer's transaction, or in a reader's.
//!
//! Must not know who reads, nor why.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row};

use super::{
    catalogue::Catalogue,
    evidence,
    failure::{misread, nothing},
    resources,
};
use crate::{
    clock::Timestamp,
    id::{OperationId, Principal},
    identity::where_to_look,
    ledger::{Identity, Match, Record, State, StoreError},
};

const NEWEST: &str = "\
    select generation, operation from idem_identities
    where scope = ?1 and digest = ?2
    order by generation desc limit 1";

const EXACT: &str = "\
    select generation, operation from idem_identities
    where scope = ?1 and digest = ?2 and generation = ?3";

/// A query for whole records, as [`record_in`] reads them. `$tables` begins behind the name `o` of the operations.
macro_rules! records {
    ($tables:literal) => {
        concat!(
            "select o.id, o.version, o.operation, o.tool, o.principal, o.approval, o.fingerprint, o.parts, o.content,
                    o.state, o.in_doubt, o.disproved, o.attempt, o.fence, o.nonce, o.reconcile_fence, o.passes,
                    o.answered, o.lease_until, o.renewed_at, o.renewals, o.reserved_at, o.settled_at, o.unknown_at,
                    o.next_at, o.settled_fence, o.has_resources, o.retain, o.retain_until, o.needs_reference,
                    o.reference, o.review, r.kind, r.bytes, o.tenant, o.first_call
             from idem_operations o ",
            $tables
        )
    };
}
pub(super) use records;

/// The column of a record's query with the tenant's number.
pub(super) const TENANT: usize = 34;

const RECORD: &str = records!("left join idem_results r on r.operation = o.id where o.id = ?1 and o.tenant = ?2");

/// What each of `identities` leads to in a scope.
pub(super) fn matches(
    db: &Connection,
    catalogue: &mut Catalogue,
    (tenant, scope): (i64, i64),
    identities: &[Identity],
) -> Result<Vec<Option<Match>>, StoreError> {
    let mut matches: Vec<Option<Match>> = Vec::with_capacity(identities.len());
    for identity in identities {
        let at = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let found: Option<(u32, i64)> = match identity.generation {
            None => db
                .prepare_cached(NEWEST)
                .and_then(|mut newest| newest.query_row((scope, &identity.digest), at).optional()),
            Some(generation) => db
                .prepare_cached(EXACT)
                .and_then(|mut exact| exact.query_row((scope, &identity.digest, generation), at).optional()),
        }
        .map_err(nothing)?;
        let Some((generation, row)) = found else {
            matches.push(None);
            continue;
        };
        let known = matches.iter().flatten().find(|known| known.record.row == row);
        let found = match known {
            Some(known) => Some(Match { generation, ..known.clone() }),
            None => match record(db, catalogue, tenant, row)? {
                None => None,
                Some(record) => {
                    let reopened = resources::reopened(db, tenant, &record).map_err(nothing)?;
                    Some(Match { generation, record: Arc::new(record), reopened })
                }
            },
        };
        matches.push(found);
    }
    Ok(matches)
}

/// The tenant's record with this handle.
pub(super) fn record(
    db: &Connection,
    catalogue: &mut Catalogue,
    tenant: i64,
    row: i64,
) -> Result<Option<Record>, StoreError> {
    let mut select = db.prepare_cached(RECORD).map_err(nothing)?;
    select.query_row((row, tenant), |row| record_in(db, catalogue, row)).optional().map_err(nothing)
}

/// The record in a row of a query for [`records`].
pub(super) fn record_in(db: &Connection, catalogue: &mut Catalogue, row: &Row<'_>) -> rusqlite::Result<Record> {
    let instant = |at: usize| row.get::<_, Option<i64>>(at).map(|nanos| nanos.map(Timestamp::from_nanos));
    let principal = row.get::<_, Option<Arc<str>>>(4)?.map(Principal::new).transpose();
    Ok(Record {
        row: row.get(0)?,
        version: row.get::<_, i64>(1)?.cast_unsigned(),
        operation: OperationId::from_bytes(row.get(2)?),
        tool: catalogue.tool(db, row.get(3)?)?,
        principal: principal.map_err(|_| misread(4, "an operation has a blank principal"))?,
        first_call: row.get::<_, i64>(35)?.cast_unsigned(),
        approval: row.get(5)?,
        fingerprint: row.get(6)?,
        parts: row.get(7)?,
        content: row.get(8)?,
        state: state(row, 9)?,
        in_doubt: row.get(10)?,
        disproved: row.get(11)?,
        attempt: row.get(12)?,
        fence: row.get(13)?,
        nonce: row.get::<_, i64>(14)?.cast_unsigned(),
        reconcile_fence: row.get(15)?,
        passes: row.get(16)?,
        answered: row.get(17)?,
        lease_until: instant(18)?,
        renewed_at: instant(19)?,
        renewals: row.get(20)?,
        reserved_at: Timestamp::from_nanos(row.get(21)?),
        settled_at: instant(22)?,
        unknown_at: instant(23)?,
        next_at: instant(24)?,
        settled_fence: row.get(25)?,
        has_resources: row.get(26)?,
        retain: std::time::Duration::from_nanos(row.get::<_, i64>(27)?.unsigned_abs()),
        retain_until: instant(28)?,
        needs_reference: row.get(29)?,
        reference: row.get(30)?,
        review: row.get(31)?,
        stored: evidence::stored(row, 32)?,
    })
}

/// The state in column `at`.
pub(super) fn state(row: &Row<'_>, at: usize) -> rusqlite::Result<State> {
    let name = row.get_ref(at)?.as_str()?;
    State::from_name(name).ok_or_else(|| misread(at, "a state has an unknown name"))
}

/// The handle of the tenant's operation with this id.
pub(super) fn row_of(db: &Connection, tenant: i64, operation: OperationId) -> rusqlite::Result<Option<i64>> {
    let [scopes, identities] = where_to_look(operation);
    db.prepare_cached(
        "select o.id
         from idem_scopes s
         join idem_identities i on i.scope = s.scope and i.digest between ?4 and ?5
         join idem_operations o on o.id = i.operation
         where s.tenant = ?1 and s.digest between ?2 and ?3 and o.tenant = ?1 and o.operation = ?6
         limit 1",
    )?
    .query_row((tenant, &scopes.0, &scopes.1, &identities.0, &identities.1, operation.as_bytes()), |row| row.get(0))
    .optional()
}
