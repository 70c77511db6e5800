//! What needs a reconciler, of all tenants.
//!
//! Must not know who finds out. What is unsettled and what was started again have indexes of their own. A first attempt is
//! in none, so that no fresh call pays for one: those are found by walking the records that are new since the last time,
//! and the ones that were running then are looked at again.

use std::collections::BTreeSet;

use rusqlite::{Connection, ToSql};

use super::{
    catalogue::Catalogue,
    read::{TENANT, record_in, records},
};
use crate::{
    clock::Timestamp,
    ledger::{Sweep, Swept},
};

pub(super) const UNSETTLED: &str = "\
    select o.id from idem_operations o indexed by idem_operations_unsettled join idem_tools t on t.tool = o.tool
    where o.unknown_at is not null
      and ((o.state = 'outcome_unknown' and (o.next_at is null or o.next_at <= ?1))
           or (o.state = 'reconciling' and o.lease_until <= ?1))
      and t.name in (select value from json_each(?2))
    order by o.id limit ?3";

pub(super) const REOPENED: &str = "\
    select o.id from idem_operations o indexed by idem_operations_reopened join idem_tools t on t.tool = o.tool
    where o.attempt > 1 and o.state = 'in_progress' and o.lease_until <= ?1
      and t.name in (select value from json_each(?2))
    order by o.id limit ?3";

/// First attempts that are running, and whether each one is due.
pub(super) const STARTED: &str = "\
    select o.id, o.lease_until <= ?1 and t.name in (select value from json_each(?2))
    from idem_operations o join idem_tools t on t.tool = o.tool
    where o.id > ?3 and o.state = 'in_progress' and o.attempt = 1
    order by o.id";

pub(super) const STILL_RUNNING: &str = "\
    select o.id, o.lease_until <= ?1 and t.name in (select value from json_each(?2))
    from json_each(?3) seen cross join idem_operations o on o.id = seen.value join idem_tools t on t.tool = o.tool
    where o.state = 'in_progress' and o.attempt = 1";

const DUE: &str = records!("left join idem_results r on r.operation = o.id where o.id = ?1");

pub(super) fn sweep(
    db: &Connection,
    catalogue: &mut Catalogue,
    sweep: &Sweep,
    now: Timestamp,
) -> rusqlite::Result<Swept> {
    let (at, tools) = (now.as_nanos(), json(&sweep.tools));
    let mut due = BTreeSet::new();
    for query in [UNSETTLED, REOPENED] {
        let mut select = db.prepare_cached(query)?;
        for row in select.query_map((at, &tools, sweep.records_max), |row| row.get(0))? {
            due.insert(row?);
        }
    }
    // Of every tool: one whose operations are wanted later needs no walk from the beginning.
    let mut running = first_attempts(db, STILL_RUNNING, (at, &tools, &json(&sweep.running)), &mut due)?;
    running.extend(first_attempts(db, STARTED, (at, &tools, &sweep.seen_to), &mut due)?);
    let newest: Option<i64> =
        db.prepare_cached("select max(id) from idem_operations")?.query_row([], |row| row.get(0))?;
    let seen_to = newest.map_or(sweep.seen_to, |newest| newest.max(sweep.seen_to));

    let mut select = db.prepare_cached(DUE)?;
    let mut records = Vec::new();
    for row in due.into_iter().take(usize::try_from(sweep.records_max).unwrap_or(usize::MAX)) {
        let record = select.query_row([row], |row: &rusqlite::Row<'_>| {
            Ok((catalogue.tenant_named(db, row.get(TENANT)?)?, record_in(db, catalogue, row)?))
        })?;
        records.push(record);
    }
    Ok(Swept { due: records, next: Sweep { seen_to, running, ..sweep.clone() } })
}

/// The handles of first attempts that are running. Adds those that are due to `due`; they stay among the running ones, for
/// nobody has seen to them yet.
fn first_attempts(
    db: &Connection,
    query: &str,
    (at, tools, from): (i64, &str, &dyn ToSql),
    due: &mut BTreeSet<i64>,
) -> rusqlite::Result<Vec<i64>> {
    let mut select = db.prepare_cached(query)?;
    let mut running = Vec::new();
    for row in select.query_map((at, tools, from), |row| Ok((row.get(0)?, row.get(1)?)))? {
        let (row, is_due): (i64, bool) = row?;
        running.push(row);
        if is_due {
            due.insert(row);
        }
    }
    Ok(running)
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
