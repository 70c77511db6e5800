//! Everything that is kept about one operation.
//!
//! Must not know how any of it came about.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row};

use super::{
    catalogue::Catalogue,
    evidence,
    failure::{misread, nothing},
    purge::unpacked,
    read,
};
use crate::{
    clock::Timestamp,
    id::OperationId,
    identity::Source,
    ledger::{Alias, Detail, Happened, Link, LinkKind, Record, StoreError, Tried},
};

/// The detail of the tenant's operation with this id.
pub(super) fn detail(
    db: &Connection,
    catalogue: &mut Catalogue,
    tenant: i64,
    operation: OperationId,
) -> Result<Option<Detail>, StoreError> {
    let Some(row) = read::row_of(db, tenant, operation).map_err(nothing)? else {
        return Ok(None);
    };
    let Some(record) = read::record(db, catalogue, tenant, row)? else {
        return Ok(None);
    };
    beside(db, tenant, record).map(Some).map_err(nothing)
}

fn beside(db: &Connection, tenant: i64, record: Record) -> rusqlite::Result<Detail> {
    let of_scope = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?));
    let (number, packed, scope_kind, scope_value, scope): (i64, Vec<u8>, _, _, _) = db
        .prepare_cached(
            "select o.scope, o.identities, s.kind, s.value, s.digest
             from idem_operations o join idem_scopes s on s.scope = o.scope where o.id = ?1",
        )?
        .query_row([record.row], of_scope)?;
    let (row, operation) = (record.row, record.operation);
    Ok(Detail {
        scope_kind,
        scope_value,
        scope,
        identities: identities(db, number, row, &packed)?,
        attempts: attempts(db, &record)?,
        history: history(db, row)?,
        evidence: evidence::said(db, tenant, operation)?,
        links: links(
            db,
            "select kind, other from idem_links where tenant = ?1 and operation = ?2 order by id",
            tenant,
            operation,
        )?,
        linked_from: links(
            db,
            "select kind, operation from idem_links where tenant = ?1 and other = ?2 order by id",
            tenant,
            operation,
        )?,
        arguments: arguments(db, row)?,
        record,
    })
}

fn identities(db: &Connection, scope: i64, operation: i64, packed: &[u8]) -> rusqlite::Result<Vec<Alias>> {
    let mut select = db.prepare_cached(
        "select source from idem_identities where scope = ?1 and digest = ?2 and generation = ?3 and operation = ?4",
    )?;
    let mut identities = Vec::new();
    for (digest, generation) in unpacked(packed) {
        let found = select.query_row((scope, &digest, generation, operation), |row| row.get(0)).optional()?;
        let Some(code) = found else { continue };
        let source = Source::from_code(code).ok_or_else(|| misread(0, "an identity has an unknown source"))?;
        identities.push(Alias { source, digest, generation });
    }
    Ok(identities)
}

/// The first attempt is told of by the record itself, unless evidence was there before it.
fn attempts(db: &Connection, record: &Record) -> rusqlite::Result<Vec<Tried>> {
    let first = Tried { number: 1, fence: record.row, started_at: record.reserved_at };
    let mut attempts: Vec<Tried> = (record.attempt > 0).then_some(first).into_iter().collect();
    let mut select = db
        .prepare_cached("select attempt, fence, started_at from idem_attempts where operation = ?1 order by attempt")?;
    let later = select.query_map([record.row], |row| {
        Ok(Tried { number: row.get(0)?, fence: row.get(1)?, started_at: Timestamp::from_nanos(row.get(2)?) })
    })?;
    for tried in later {
        attempts.push(tried?);
    }
    Ok(attempts)
}

fn history(db: &Connection, operation: i64) -> rusqlite::Result<Vec<Happened>> {
    let mut select = db.prepare_cached(
        "select version, at, attempt, event, state, actor, detail from idem_history
         where operation = ?1 order by version",
    )?;
    let happened = select.query_map([operation], |row| {
        Ok(Happened {
            version: row.get::<_, i64>(0)?.cast_unsigned(),
            at: Timestamp::from_nanos(row.get(1)?),
            attempt: row.get(2)?,
            event: row.get(3)?,
            state: read::state(row, 4)?,
            actor: row.get(5)?,
            detail: row.get(6)?,
        })
    })?;
    happened.collect()
}

fn links(db: &Connection, select: &str, tenant: i64, operation: OperationId) -> rusqlite::Result<Vec<Link>> {
    let mut select = db.prepare_cached(select)?;
    let links = select.query_map((tenant, operation.as_bytes()), |row| {
        let kind = LinkKind::from_name(row.get_ref(0)?.as_str()?);
        let kind = kind.ok_or_else(|| misread(0, "a link has an unknown kind"))?;
        Ok(Link { kind, to: OperationId::from_bytes(row.get(1)?) })
    })?;
    links.collect()
}

fn arguments(db: &Connection, operation: i64) -> rusqlite::Result<Option<Arc<[u8]>>> {
    db.prepare_cached("select bytes from idem_arguments where operation = ?1")?
        .query_row([operation], |row| row.get(0))
        .optional()
}
