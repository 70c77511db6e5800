//! Reading, on any caller's own thread: a pool of connections, one view of the file for each read.
//!
//! Must not know that there is a writer.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rusqlite::{Connection, Row};

use super::{catalogue::Catalogue, detail, failure::nothing, listing, open, read, sweep};
use crate::{
    clock::Timestamp,
    id::{OperationId, Tenant},
    ledger::{BoxFuture, Detail, Drifted, Find, Found, Listing, Reader, Record, StoreError, Sweep, Swept},
};

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

    /// A read of what one tenant has; `nothing_there` for one that has nothing.
    fn of_tenant<T: Send + 'static>(
        &self,
        tenant: &Tenant,
        nothing_there: T,
        read: impl FnOnce(&Connection, &mut Catalogue, i64) -> Result<T, StoreError>,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let answer = self.with(|db, catalogue| match catalogue.tenant(db, tenant).map_err(nothing)? {
            None => Ok(nothing_there),
            Some(tenant) => read(db, catalogue, tenant),
        });
        Box::pin(std::future::ready(answer))
    }
}

impl Reader for Readers {
    fn find<'a>(&'a self, find: Find<'a>) -> BoxFuture<'a, Found> {
        Box::pin(std::future::ready(self.with(|db, catalogue| found(db, catalogue, find))))
    }

    fn find_all<'a>(&'a self, finds: &'a [Find<'a>]) -> BoxFuture<'a, Vec<Found>> {
        let all = self.with(|db, catalogue| Ok(finds.iter().map(|find| found(db, catalogue, *find)).collect()));
        let all = all.unwrap_or_else(|error: StoreError| finds.iter().map(|_| Err(error.clone())).collect());
        Box::pin(std::future::ready(all))
    }

    fn show<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.of_tenant(tenant, None, |db, catalogue, tenant| {
            let Some(row) = read::row_of(db, tenant, operation).map_err(nothing)? else {
                return Ok(None);
            };
            read::record(db, catalogue, tenant, row)
        })
    }

    fn drifted<'a>(&'a self, tenant: &'a Tenant, records_max: u32) -> BoxFuture<'a, Result<Vec<Drifted>, StoreError>> {
        self.of_tenant(tenant, Vec::new(), |db, _, tenant| drifted(db, tenant, records_max).map_err(nothing))
    }

    fn detail<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Detail>, StoreError>> {
        self.of_tenant(tenant, None, |db, catalogue, tenant| detail::detail(db, catalogue, tenant, operation))
    }

    fn list<'a>(&'a self, tenant: &'a Tenant, listing: &'a Listing) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        self.of_tenant(tenant, Vec::new(), |db, catalogue, tenant| {
            listing::list(db, catalogue, tenant, listing).map_err(nothing)
        })
    }

    fn sweep<'a>(&'a self, sweep: &'a Sweep, now: Timestamp) -> BoxFuture<'a, Result<Swept, StoreError>> {
        let swept = self.with(|db, catalogue| sweep::sweep(db, catalogue, sweep, now).map_err(nothing));
        Box::pin(std::future::ready(swept))
    }
}

fn found(db: &Connection, catalogue: &mut Catalogue, find: Find<'_>) -> Found {
    match catalogue.scope(db, find.tenant, find.scope).map_err(nothing)? {
        None => Ok(vec![None; find.identities.len()]),
        Some(numbers) => read::matches(db, catalogue, numbers, find.identities),
    }
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
