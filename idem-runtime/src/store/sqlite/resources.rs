//! Which operations change which resources, and which of them came last.
//!
//! Must not know what a resource is: a digest.

use rusqlite::Connection;

use super::write::Batch;
use crate::{identity::Digest, ledger::Record};

impl Batch<'_> {
    /// An operation changes these resources.
    pub(super) fn touches(&mut self, row: i64, resources: &[Digest]) -> rusqlite::Result<()> {
        for digest in resources {
            let insert = "insert or ignore into idem_operation_resources (operation, digest) values (?1, ?2)";
            self.rows += self.db.prepare_cached(insert)?.execute((row, digest))?;
        }
        Ok(())
    }

    /// An operation has succeeded on all of its resources.
    pub(super) fn succeeded_on_resources(&mut self, tenant: i64, row: i64) -> rusqlite::Result<()> {
        self.rows += self
            .db
            .prepare_cached(
                "insert into idem_resources (tenant, digest, last)
                 select ?1, digest, ?2 from idem_operation_resources where operation = ?2
                 on conflict (tenant, digest) do update set last = max(last, excluded.last)",
            )?
            .execute((tenant, row))?;
        Ok(())
    }

    /// An operation is removed, and with it the resources that no other one names.
    pub(super) fn forget_resources(&mut self, tenant: i64, row: i64) -> rusqlite::Result<()> {
        self.db
            .prepare_cached(
                "delete from idem_resources where tenant = ?1 and digest in (
                     select digest from idem_operation_resources own where operation = ?2 and not exists (
                         select 1 from idem_operation_resources other
                         where other.digest = own.digest and other.operation <> ?2))",
            )?
            .execute((tenant, row))?;
        self.db.prepare_cached("delete from idem_operation_resources where operation = ?1")?.execute([row])?;
        Ok(())
    }
}

/// Whether something else has succeeded on one of a record's resources that began after it had finished.
pub(super) fn reopened(db: &Connection, tenant: i64, record: &Record) -> rusqlite::Result<bool> {
    if !record.has_resources || record.settled_fence == 0 {
        return Ok(false);
    }
    db.prepare_cached(
        "select exists (
             select 1 from idem_operation_resources own
             join idem_resources r on r.tenant = ?1 and r.digest = own.digest
             where own.operation = ?2 and r.last > ?3)",
    )?
    .query_row((tenant, record.row, record.settled_fence), |row| row.get(0))
}
