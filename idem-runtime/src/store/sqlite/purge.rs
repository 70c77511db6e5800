//! Removing what retention no longer covers.
//!
//! Walks the records in the order of their handles, a bounded number a call; only finished records are ever
//! touched, by conditional statements inside the transaction that read them.

use std::time::Duration;

use rusqlite::{Connection, Result};

use crate::{clock::Timestamp, ledger::PurgeReport};

/// A digest and its generation, as the record keeps them.
pub(super) const PACKED: usize = 36;

/// Looks at `records_max` records behind `from`; says what was removed, and where to go on.
pub(super) fn purge(
    db: &Connection,
    from: i64,
    records_max: u32,
    tombstone: Duration,
    now: Timestamp,
) -> Result<(PurgeReport, i64)> {
    let mut report = PurgeReport::default();
    let rows: Vec<(i64, bool, bool)> = db
        .prepare_cached(
            "select id,
                    state in ('succeeded', 'failed_final') and retain_until <= ?3,
                    state in ('succeeded', 'failed_final') and retain_until <= ?4
             from idem_operations where id > ?1 order by id limit ?2",
        )?
        .query_map((from, records_max, now.as_nanos(), now.before(tombstone).as_nanos()), |row| {
            Ok((
                row.get(0)?,
                row.get::<_, Option<bool>>(1)?.unwrap_or(false),
                row.get::<_, Option<bool>>(2)?.unwrap_or(false),
            ))
        })?
        .collect::<Result<_>>()?;
    if rows.iter().any(|(_, _, gone)| *gone) {
        // Handles are fencing tokens: that of a removed record must not be given again.
        db.prepare_cached(
            "update idem_ledger set fence = max(fence, (select max(id) from idem_operations)) where one = 1",
        )?
        .execute([])?;
    }
    for (row, ended, gone) in &rows {
        report.looked_at += 1;
        if *gone {
            remove(db, *row)?;
            report.removed += 1;
        } else if *ended {
            let held = db.prepare_cached("delete from idem_results where operation = ?1")?.execute([row])?;
            report.tombstones += held as u64;
        }
    }
    // At the end the walk begins anew.
    let walked_all = rows.len() < usize::try_from(records_max).unwrap_or(usize::MAX);
    let to = if walked_all { 0 } else { rows.last().map_or(0, |(row, ..)| *row) };
    Ok((report, to))
}

fn remove(db: &Connection, row: i64) -> Result<()> {
    let (scope, identities): (i64, Vec<u8>) = db
        .prepare_cached("select scope, identities from idem_operations where id = ?1")?
        .query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for packed in identities.chunks_exact(PACKED) {
        let (digest, generation) = packed.split_at(32);
        let generation = generation.try_into().map_or(0, u32::from_le_bytes);
        unname(db, row, scope, digest, generation)?;
    }
    for statement in [
        "delete from idem_results where operation = ?1",
        "delete from idem_history where operation = ?1",
        "delete from idem_attempts where operation = ?1",
        "delete from idem_tallies where operation = ?1",
        "delete from idem_operations where id = ?1",
    ] {
        db.prepare_cached(statement)?.execute([row])?;
    }
    Ok(())
}

/// Frees an identity of a removed record: in the last generation alone, so that whatever has a later one keeps a first one,
/// and with it what removed records left behind, once no record is left.
fn unname(db: &Connection, row: i64, scope: i64, digest: &[u8], generation: u32) -> Result<()> {
    db.prepare_cached(
        "delete from idem_identities
         where scope = ?1 and digest = ?2 and generation = ?3 and operation = ?4
           and (generation > 1 or not exists (
               select 1 from idem_identities where scope = ?1 and digest = ?2 and generation > 1))",
    )?
    .execute((scope, digest, generation, row))?;
    db.prepare_cached(
        "delete from idem_identities
         where scope = ?1 and digest = ?2 and not exists (
             select 1 from idem_identities i join idem_operations o on o.id = i.operation
             where i.scope = ?1 and i.digest = ?2 and o.id <> ?3)",
    )?
    .execute((scope, digest, row))?;
    Ok(())
}
