//! Writing what a command makes of a record.
//!
//! Must not know which command it was: one statement writes every field that can change, where the version is the one that
//! was read.

use rusqlite::params;

use super::{
    failure::{corrupt, nothing},
    read,
    reserve::nanos,
    write::{Batch, hot},
};
use crate::{
    clock::Timestamp,
    id::Tenant,
    identity::Digest,
    ledger::{
        Record, State, StoreError, Stored,
        course::{Change, Entry},
    },
};

const SAVE: &str = "\
    update idem_operations
    set version = ?3, state = ?4, in_doubt = ?5, disproved = ?6, attempt = ?7, fence = ?8, nonce = ?9,
        reconcile_fence = ?10, passes = ?11, answered = ?12, lease_until = ?13, settled_at = ?14, unknown_at = ?15,
        next_at = ?16, settled_fence = ?17, has_resources = ?18, retain = ?19, retain_until = ?20, reference = ?21,
        review = ?22, content = ?23
    where id = ?1 and version = ?2";

const RESULT: &str = "insert or replace into idem_results (operation, kind, bytes) values (?1, ?2, ?3)";

impl Batch<'_> {
    /// The tenant's record with this handle, and the tenant's number.
    pub(super) fn load(&mut self, tenant: &Tenant, row: i64) -> Result<Option<(i64, Record)>, StoreError> {
        let Some(tenant) = self.catalogue.tenant(self.db, tenant).map_err(nothing)? else {
            return Ok(None);
        };
        Ok(read::record(self.db, self.catalogue, tenant, row)?.map(|record| (tenant, record)))
    }

    /// The last fencing token given, for a record that asks for it or may from now on.
    pub(super) fn order(&mut self, record: &Record, resources: &[Digest]) -> Result<i64, StoreError> {
        if record.has_resources || !resources.is_empty() { self.last_fence().map_err(nothing) } else { Ok(0) }
    }

    /// Writes a change of `before`, which this transaction has read; gives the record as it is now.
    pub(super) fn save(&mut self, tenant: i64, before: &Record, change: Change) -> Result<Record, StoreError> {
        let Change { record, entries } = change;
        if self.update(before, &record).map_err(nothing)? != 1 {
            return Err(corrupt("an operation changed inside the transaction that read it"));
        }
        self.rows += 1;
        self.history(record.row, entries).map_err(nothing)?;
        if record.stored != before.stored {
            self.result(record.row, record.stored.as_ref()).map_err(nothing)?;
        }
        if record.has_resources && record.state == State::Succeeded && before.state != State::Succeeded {
            self.succeeded_on_resources(tenant, record.row).map_err(nothing)?;
        }
        Ok(record)
    }

    fn update(&mut self, before: &Record, record: &Record) -> rusqlite::Result<usize> {
        let instant = |instant: Option<Timestamp>| instant.map(Timestamp::as_nanos);
        self.db.prepare_cached(SAVE)?.execute(params![
            record.row,
            before.version.cast_signed(),
            record.version.cast_signed(),
            record.state.name(),
            record.in_doubt,
            record.disproved,
            record.attempt,
            record.fence,
            record.nonce.cast_signed(),
            record.reconcile_fence,
            record.passes,
            record.answered,
            instant(record.lease_until),
            instant(record.settled_at),
            instant(record.unknown_at),
            instant(record.next_at),
            record.settled_fence,
            record.has_resources,
            nanos(record.retain),
            instant(record.retain_until),
            record.reference.as_deref(),
            record.review,
            &*record.content,
        ])
    }

    fn history(&mut self, row: i64, entries: Vec<Entry>) -> rusqlite::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut insert = self.db.prepare_cached(
            "insert into idem_history (operation, version, at, attempt, event, state, actor, detail)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        for entry in entries {
            self.rows += 1;
            insert.execute((
                row,
                entry.version.cast_signed(),
                self.now.as_nanos(),
                entry.attempt,
                entry.event,
                entry.state.name(),
                entry.actor.as_deref(),
                entry.detail.as_deref(),
            ))?;
        }
        Ok(())
    }

    pub(super) fn result(&mut self, row: i64, stored: Option<&Stored>) -> rusqlite::Result<()> {
        let Some(stored) = stored else { return Ok(()) };
        self.rows += 1;
        hot(&mut self.hot.result, self.db, RESULT)?.execute((row, stored.kind.code(), &*stored.bytes))?;
        Ok(())
    }
}
