//! What somebody outside says about an effect, before its record is there or after.
//!
//! Must not know who says it, nor what it proves.

use std::sync::Arc;

use rusqlite::{Connection, Row, params};

use super::{
    failure::{illegal, misread, nothing},
    read,
    write::Batch,
};
use crate::{
    clock::Timestamp,
    id::OperationId,
    ledger::{
        Answer, Evidence, Finding, Grant, Reserve, Reserved, Said, State, StoreError, Stored, StoredKind, Witnessed,
        course,
    },
};

/// The same event is stored once. A result stays with it only until a record has weighed it.
const HEAR: &str = "\
    insert or ignore into idem_evidence
        (tenant, operation, source, event, nth, at, weighed, finding, kind, bytes, reference, actor, words)
    select ?1, ?2, ?3, ?4,
           coalesce((select max(nth) from idem_evidence where tenant = ?1 and operation = ?2), 0) + 1,
           ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12";

/// Whether any evidence waits for its record.
pub(super) const ANYTHING: &str = "select exists (select 1 from idem_evidence where weighed = 0)";

const WAITING: &str = "\
    select source, event, finding, kind, bytes, reference, actor, words from idem_evidence
    where tenant = ?1 and operation = ?2 and weighed = 0 order by nth";

impl Batch<'_> {
    pub(super) fn witness(&mut self, evidence: &Evidence) -> Result<Witnessed, StoreError> {
        let tenant = self.catalogue.intern_tenant(self.db, &evidence.tenant).map_err(nothing)?;
        let row = read::row_of(self.db, tenant, evidence.operation).map_err(nothing)?;
        let record = match row {
            None => None,
            Some(row) => read::record(self.db, self.catalogue, tenant, row)?,
        };
        if !self.hear(tenant, evidence, record.is_some()).map_err(nothing)? {
            return Ok(Witnessed::Known { record: record.map(Arc::new) });
        }
        let Some(record) = record else {
            self.waiting = Some(true);
            return Ok(Witnessed::Kept);
        };
        let last_fence = self.order(&record, &[])?;
        let (change, witnessed) = course::witness(&record, evidence, last_fence, self.now).map_err(illegal)?;
        self.save(tenant, &record, change)?;
        Ok(witnessed)
    }

    /// Keeps evidence; says whether it is new.
    fn hear(&mut self, tenant: i64, evidence: &Evidence, weighed: bool) -> rusqlite::Result<bool> {
        let Evidence { operation, source, event, actor, finding, words, .. } = evidence;
        let stored = match finding {
            Finding::Applied { stored, .. } => stored.as_ref().filter(|_| !weighed),
            Finding::NotApplied | Finding::Inconclusive => None,
        };
        let heard = self.db.prepare_cached(HEAR)?.execute(params![
            tenant,
            operation.as_bytes(),
            &**source,
            &**event,
            self.now.as_nanos(),
            weighed,
            finding.name(),
            stored.map(|stored| stored.kind.code()),
            stored.map(|stored| &*stored.bytes),
            finding.reference().map(|reference| &**reference),
            actor.as_deref(),
            words.as_deref(),
        ])?;
        self.rows += heard;
        Ok(heard == 1)
    }

    /// Weighs what was said about a new operation before its record was there.
    pub(super) fn consume(&mut self, reserve: &Reserve, grant: Grant, tenant: i64) -> Result<Reserved, StoreError> {
        // Hardly ever does anything wait: that is asked once a batch.
        let waiting = match self.waiting {
            Some(waiting) => waiting,
            None => self.anything_waits().map_err(nothing)?,
        };
        if !waiting {
            return Ok(Reserved::Granted(grant));
        }
        let said = waiting_for(self.db, reserve, tenant, grant.operation).map_err(nothing)?;
        if said.is_empty() {
            return Ok(Reserved::Granted(grant));
        }
        self.weighed(tenant, grant.operation).map_err(nothing)?;
        let Some(mut record) = read::record(self.db, self.catalogue, tenant, grant.row)? else {
            return Ok(Reserved::Granted(grant));
        };
        for evidence in said {
            let last_fence = self.order(&record, &[])?;
            let (change, _) = course::witness(&record, &evidence, last_fence, self.now).map_err(illegal)?;
            record = self.save(tenant, &record, change)?;
        }
        let Some(first) = reserve.identities.first().filter(|_| record.state == State::Succeeded) else {
            return Ok(Reserved::Granted(grant));
        };
        self.never_ran(grant.row).map_err(nothing)?;
        record.attempt = 0;
        let (record, by, generations, aliases) = (Arc::new(record), first.source, grant.generations, Vec::new());
        Ok(Reserved::Found(Answer { record, by, generations, aliases, retention_ended: false }))
    }

    fn anything_waits(&mut self) -> rusqlite::Result<bool> {
        let waits: bool = self.db.prepare_cached(ANYTHING)?.query_row([], |row| row.get(0))?;
        self.waiting = Some(waits);
        Ok(waits)
    }

    fn weighed(&mut self, tenant: i64, operation: OperationId) -> rusqlite::Result<()> {
        self.db
            .prepare_cached(
                "update idem_evidence set weighed = 1, kind = null, bytes = null
                 where tenant = ?1 and operation = ?2 and weighed = 0",
            )?
            .execute((tenant, operation.as_bytes()))?;
        Ok(())
    }

    /// Evidence was there before the first attempt: none was granted after all.
    fn never_ran(&mut self, row: i64) -> rusqlite::Result<()> {
        self.db.prepare_cached("update idem_operations set attempt = 0 where id = ?1")?.execute([row])?;
        Ok(())
    }
}

fn waiting_for(
    db: &Connection,
    reserve: &Reserve,
    tenant: i64,
    operation: OperationId,
) -> rusqlite::Result<Vec<Evidence>> {
    let mut select = db.prepare_cached(WAITING)?;
    let said = select.query_map((tenant, operation.as_bytes()), |row| {
        Ok(Evidence {
            tenant: reserve.tenant.clone(),
            operation,
            source: row.get(0)?,
            event: row.get(1)?,
            actor: row.get(6)?,
            finding: finding(row)?,
            words: row.get(7)?,
        })
    })?;
    said.collect()
}

/// What a row of [`WAITING`] says.
fn finding(row: &Row<'_>) -> rusqlite::Result<Finding> {
    let name: String = row.get(2)?;
    if name == Finding::NotApplied.name() {
        return Ok(Finding::NotApplied);
    }
    if name == Finding::Inconclusive.name() {
        return Ok(Finding::Inconclusive);
    }
    let applied = Finding::Applied { stored: stored(row, 3)?, reference: row.get(5)? };
    if name == applied.name() { Ok(applied) } else { Err(misread(2, "evidence has an unknown finding")) }
}

/// The result in column `at`, its kind, and the next one, its bytes.
pub(super) fn stored(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Stored>> {
    let Some(code) = row.get::<_, Option<u8>>(at)? else { return Ok(None) };
    let kind = StoredKind::from_code(code).ok_or_else(|| misread(at, "a result has an unknown kind"))?;
    let bytes: Vec<u8> = row.get(at + 1)?;
    Ok(Some(Stored { kind, bytes: bytes.into() }))
}

/// What was said about an operation, in order of arrival.
pub(super) fn said(db: &Connection, tenant: i64, operation: OperationId) -> rusqlite::Result<Vec<Said>> {
    let mut select = db.prepare_cached(
        "select source, event, finding, reference, actor, words, at from idem_evidence
         where tenant = ?1 and operation = ?2 order by nth",
    )?;
    let said = select.query_map((tenant, operation.as_bytes()), |row| {
        Ok(Said {
            source: row.get(0)?,
            event: row.get(1)?,
            finding: row.get(2)?,
            reference: row.get(3)?,
            actor: row.get(4)?,
            words: row.get(5)?,
            at: Timestamp::from_nanos(row.get(6)?),
        })
    })?;
    said.collect()
}
