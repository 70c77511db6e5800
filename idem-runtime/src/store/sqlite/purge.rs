//! Removing what retention no longer covers.
//!
//! Walks the records in the order of their handles, a bounded number a call; only finished records are ever
//! touched, by conditional statements inside the transaction that read them.

use std::time::Duration;

use rusqlite::Result;

use super::write::Batch;
use crate::{identity::Digest, ledger::PurgeReport};

/// A digest and its generation, as the record keeps them.
pub(super) const PACKED: usize = 36;

/// Each digest with its generation.
pub(super) fn unpacked(packed: &[u8]) -> impl Iterator<Item = (Digest, u32)> {
    packed.chunks_exact(PACKED).filter_map(|one| {
        let (digest, generation) = one.split_at_checked(32)?;
        Some((digest.try_into().ok()?, u32::from_le_bytes(generation.try_into().ok()?)))
    })
}

impl Batch<'_> {
    /// Looks at `records_max` records behind `from`; says what was removed, and where to go on.
    pub(super) fn purge(&mut self, from: i64, records_max: u32, tombstone: Duration) -> Result<(PurgeReport, i64)> {
        let mut report = PurgeReport::default();
        let rows = self.ended(from, records_max, tombstone)?;
        if rows.iter().any(|(_, _, gone)| *gone) {
            // Handles are fencing tokens: that of a removed record must not be given again.
            self.db
                .prepare_cached(
                    "update idem_ledger set fence = max(fence, (select max(id) from idem_operations)) where one = 1",
                )?
                .execute([])?;
        }
        for (row, ended, gone) in &rows {
            report.looked_at += 1;
            if *gone {
                self.remove(*row)?;
                report.removed += 1;
            } else if *ended {
                let held = self.delete("delete from idem_results where operation = ?1", *row)?;
                self.delete("delete from idem_arguments where operation = ?1", *row)?;
                report.tombstones += held as u64;
            }
        }
        // At the end the walk begins anew.
        let walked_all = rows.len() < usize::try_from(records_max).unwrap_or(usize::MAX);
        if walked_all {
            self.forget_unclaimed(tombstone)?;
        }
        let to = if walked_all { 0 } else { rows.last().map_or(0, |(row, ..)| *row) };
        Ok((report, to))
    }

    /// The next records: whether retention has ended, and the tombstone's time with it.
    fn ended(&self, from: i64, records_max: u32, tombstone: Duration) -> Result<Vec<(i64, bool, bool)>> {
        let mut select = self.db.prepare_cached(
            "select id,
                    state in ('succeeded', 'failed_final') and retain_until <= ?3,
                    state in ('succeeded', 'failed_final') and retain_until <= ?4
             from idem_operations where id > ?1 order by id limit ?2",
        )?;
        let before = self.now.before(tombstone);
        let rows = select.query_map((from, records_max, self.now.as_nanos(), before.as_nanos()), |row| {
            Ok((
                row.get(0)?,
                row.get::<_, Option<bool>>(1)?.unwrap_or(false),
                row.get::<_, Option<bool>>(2)?.unwrap_or(false),
            ))
        })?;
        rows.collect()
    }

    fn delete(&mut self, statement: &str, row: i64) -> Result<usize> {
        let deleted = self.db.prepare_cached(statement)?.execute([row])?;
        self.rows += deleted;
        Ok(deleted)
    }

    fn remove(&mut self, row: i64) -> Result<()> {
        let of_record = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        let (tenant, scope, operation, identities): (i64, i64, Vec<u8>, Vec<u8>) = self
            .db
            .prepare_cached("select tenant, scope, operation, identities from idem_operations where id = ?1")?
            .query_row([row], of_record)?;
        for (digest, generation) in unpacked(&identities) {
            self.unname(row, scope, &digest, generation)?;
        }
        for statement in [
            "delete from idem_evidence where tenant = ?1 and operation = ?2",
            "delete from idem_links where tenant = ?1 and operation = ?2",
        ] {
            self.db.prepare_cached(statement)?.execute((tenant, &operation))?;
        }
        self.forget_resources(tenant, row)?;
        for statement in [
            "delete from idem_results where operation = ?1",
            "delete from idem_arguments where operation = ?1",
            "delete from idem_history where operation = ?1",
            "delete from idem_attempts where operation = ?1",
            "delete from idem_tallies where operation = ?1",
            "delete from idem_operations where id = ?1",
        ] {
            self.delete(statement, row)?;
        }
        Ok(())
    }

    /// Frees an identity of a removed record: in the last generation alone, so that whatever has a later one keeps a first
    /// one, and with it what removed records left behind, once no record is left.
    fn unname(&mut self, row: i64, scope: i64, digest: &Digest, generation: u32) -> Result<()> {
        self.db
            .prepare_cached(
                "delete from idem_identities
                 where scope = ?1 and digest = ?2 and generation = ?3 and operation = ?4
                   and (generation > 1 or not exists (
                       select 1 from idem_identities where scope = ?1 and digest = ?2 and generation > 1))",
            )?
            .execute((scope, digest, generation, row))?;
        self.db
            .prepare_cached(
                "delete from idem_identities
                 where scope = ?1 and digest = ?2 and not exists (
                     select 1 from idem_identities i join idem_operations o on o.id = i.operation
                     where i.scope = ?1 and i.digest = ?2 and o.id <> ?3)",
            )?
            .execute((scope, digest, row))?;
        Ok(())
    }

    /// Evidence about operations that never came.
    fn forget_unclaimed(&mut self, tombstone: Duration) -> Result<()> {
        self.rows += self
            .db
            .prepare_cached("delete from idem_evidence where weighed = 0 and at <= ?1")?
            .execute([self.now.before(tombstone).as_nanos()])?;
        self.waiting = None;
        Ok(())
    }
}
