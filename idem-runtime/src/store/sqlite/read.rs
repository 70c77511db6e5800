//! Reading records: inside the writer's transaction, or on any caller's own thread.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::{Connection, OptionalExtension, Row};

use super::{
    catalogue::Catalogue,
    failure::{corrupt, nothing},
    open,
};
use crate::{
    clock::Timestamp,
    id::{OperationId, Principal, Tenant},
    identity::where_to_look,
    ledger::{BoxFuture, Drifted, Find, Identity, Match, Reader, Record, State, StoreError, Stored, StoredKind},
};

const NEWEST: &str = "\
    select generation, operation from idem_identities
    where scope = ?1 and digest = ?2
    order by generation desc limit 1";

const EXACT: &str = "\
    select generation, operation from idem_identities
    where scope = ?1 and digest = ?2 and generation = ?3";

const RECORD: &str = "\
    select o.operation, o.tool, o.principal, o.fingerprint, o.parts, o.content, o.state, o.attempt, o.fence,
           o.lease_until, o.renewed_at, o.renewals, o.reserved_at, o.settled_at, o.retain_until, o.reference,
           o.review, r.kind, r.bytes
    from idem_operations o left join idem_results r on r.operation = o.id
    where o.id = ?1 and o.tenant = ?2";

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
        let record = match known {
            Some(known) => Some(Arc::clone(&known.record)),
            None => record(db, catalogue, tenant, row)?.map(Arc::new),
        };
        matches.push(record.map(|record| Match { generation, record }));
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
    let raw = select.query_row((row, tenant), Raw::read).optional().map_err(nothing)?;
    let Some(raw) = raw else { return Ok(None) };
    let tool = catalogue.tool(db, raw.tool).map_err(nothing)?;
    raw.into_record(row, tool).map(Some)
}

/// A row as SQLite gives it, before it is known to make sense.
struct Raw {
    tool: i64,
    state: String,
    kind: Option<u8>,
    bytes: Option<Vec<u8>>,
    principal: Option<String>,
    record: Record,
}

impl Raw {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let instant = |at: usize| row.get::<_, Option<i64>>(at).map(|nanos| nanos.map(Timestamp::from_nanos));
        let reference: Option<String> = row.get(15)?;
        let tool = Arc::new(crate::ledger::Tool { name: "".into(), version: 0, params: "".into() });
        let record = Record {
            row: 0,
            operation: OperationId::from_bytes(row.get(0)?),
            tool,
            principal: None,
            fingerprint: row.get(3)?,
            parts: row.get::<_, Vec<u8>>(4)?.into(),
            content: row.get::<_, Vec<u8>>(5)?.into(),
            state: State::OutcomeUnknown,
            attempt: row.get(7)?,
            fence: row.get(8)?,
            lease_until: instant(9)?,
            renewed_at: instant(10)?,
            renewals: row.get(11)?,
            reserved_at: Timestamp::from_nanos(row.get(12)?),
            settled_at: instant(13)?,
            retain_until: instant(14)?,
            reference: reference.map(Into::into),
            review: row.get(16)?,
            stored: None,
        };
        let (tool, principal, state) = (row.get(1)?, row.get(2)?, row.get(6)?);
        Ok(Self { tool, state, kind: row.get(17)?, bytes: row.get(18)?, principal, record })
    }

    fn into_record(self, row: i64, tool: Arc<crate::ledger::Tool>) -> Result<Record, StoreError> {
        let state = State::from_name(&self.state).ok_or_else(|| corrupt("an operation has an unknown state"))?;
        let principal = self.principal.map(Principal::new).transpose();
        let principal = principal.map_err(|_| corrupt("an operation has a blank principal"))?;
        let stored = match (self.kind, self.bytes) {
            (Some(kind), Some(bytes)) => {
                let kind = StoredKind::from_code(kind).ok_or_else(|| corrupt("a result has an unknown kind"))?;
                Some(Stored { kind, bytes: bytes.into() })
            }
            _ => None,
        };
        Ok(Record { row, tool, principal, state, stored, ..self.record })
    }
}

/// Connections for reading, lent to whichever thread reads.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<(Connection, Catalogue)>>,
}

/// More idle connections than this are closed.
const IDLE_MAX: usize = 8;

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), idle: Mutex::default() }
    }

    fn with<T>(
        &self,
        read: impl FnOnce(&Connection, &mut Catalogue) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let (connection, mut catalogue) = match idle {
            Some(idle) => idle,
            None => (open::reader(&self.path)?, Catalogue::default()),
        };
        // One transaction for all statements: one view of the file, and one round of its locks. After an error the
        // connection is closed, and the transaction with it.
        connection.prepare_cached("begin").and_then(|mut begin| begin.execute([])).map_err(nothing)?;
        let answer = read(&connection, &mut catalogue)?;
        connection.prepare_cached("commit").and_then(|mut commit| commit.execute([])).map_err(nothing)?;
        catalogue.committed();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push((connection, catalogue));
        }
        Ok(answer)
    }
}

impl Reader for Readers {
    fn find<'a>(&'a self, find: Find<'a>) -> BoxFuture<'a, Result<Vec<Option<Match>>, StoreError>> {
        let found = self.with(|db, catalogue| match catalogue.scope(db, find.tenant, find.scope).map_err(nothing)? {
            None => Ok(vec![None; find.identities.len()]),
            Some(numbers) => matches(db, catalogue, numbers, find.identities),
        });
        Box::pin(std::future::ready(found))
    }

    fn show<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let shown = self.with(|db, catalogue| {
            let Some(tenant) = catalogue.tenant(db, tenant).map_err(nothing)? else {
                return Ok(None);
            };
            let Some(row) = row_of(db, tenant, operation).map_err(nothing)? else {
                return Ok(None);
            };
            record(db, catalogue, tenant, row)
        });
        Box::pin(std::future::ready(shown))
    }

    fn drifted<'a>(&'a self, tenant: &'a Tenant, records_max: u32) -> BoxFuture<'a, Result<Vec<Drifted>, StoreError>> {
        let drifted = self.with(|db, catalogue| {
            let Some(tenant) = catalogue.tenant(db, tenant).map_err(nothing)? else {
                return Ok(Vec::new());
            };
            drifted(db, tenant, records_max).map_err(nothing)
        });
        Box::pin(std::future::ready(drifted))
    }
}

/// The handle of the tenant's operation with this id.
fn row_of(db: &Connection, tenant: i64, operation: OperationId) -> rusqlite::Result<Option<i64>> {
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

fn drifted(db: &Connection, tenant: i64, records_max: u32) -> rusqlite::Result<Vec<Drifted>> {
    let read = |row: &Row<'_>| {
        let parameters: String = row.get(2)?;
        Ok(Drifted {
            operation: OperationId::from_bytes(row.get(0)?),
            tool: row.get(1)?,
            parameters: parameters.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            count: row.get::<_, i64>(3)?.unsigned_abs(),
            last_at: Timestamp::from_nanos(row.get(4)?),
        })
    };
    db.prepare_cached(
        "select o.operation, t.name, d.parameters, d.drifts, d.last_at
         from idem_tallies d
         join idem_operations o on o.id = d.operation and o.tenant = d.tenant
         join idem_tools t on t.tool = o.tool
         where d.tenant = ?1 and d.drifts > 0
         order by d.last_at desc limit ?2",
    )?
    .query_map((tenant, records_max), read)?
    .collect()
}
