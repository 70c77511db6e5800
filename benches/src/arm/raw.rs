//! The limit: one thread, two commits for each group of calls, one small row a call.
//!
//! One table, nothing but what a guard needs at least: key, state, result. The same pragmas as the ledger's, and a
//! log that was grown before.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use rusqlite::{Connection, OptionalExtension};

use super::{Keys, RESULT_BYTES};
use crate::{load::Sample, random::Random, tool::CALLS_A_CONVERSATION};

const SCHEMA: &str = "
    create table if not exists calls (
        id integer primary key, scope integer not null, key blob not null, state integer not null, result blob,
        unique (scope, key)
    ) strict";

const INSERT: &str = "insert into calls (scope, key, state) values (?1, ?2, 0) on conflict do nothing";
const UPDATE: &str = "update calls set state = 1, result = ?2 where id = ?1 and state = 0";

/// A file with the table, and `rows` finished calls in it.
///
/// # Errors
/// When the file cannot be written.
pub fn prefill(path: &Path, keys: Keys, rows: u64) -> Result<()> {
    let mut db = open(path)?;
    db.execute_batch("pragma wal_autocheckpoint = 20000")?;
    let mut writer = Writer::new(keys, 0);
    let mut left = rows;
    while left > 0 {
        let some = left.min(20_000);
        let transaction = db.transaction()?;
        let ids: Vec<i64> = (0..some).map(|_| writer.insert(&transaction)).collect::<Result<_>>()?;
        ids.iter().try_for_each(|id| writer.update(&transaction, *id))?;
        transaction.commit()?;
        left -= some;
    }
    db.execute_batch("pragma wal_checkpoint(truncate)")?;
    Ok(())
}

/// Runs groups of `group` calls for `span`.
///
/// # Errors
/// When the file cannot be written, or does not hold what was written.
pub fn run(path: &Path, keys: Keys, group: u64, span: Duration) -> Result<Sample> {
    let mut db = open(path)?;
    warm(&mut db)?;
    let last: i64 = db.query_row("select coalesce(max(id), 0) from calls", [], |row| row.get(0))?;
    let mut writer = Writer::new(keys, u64::try_from(last)?);
    let begun = Instant::now();
    let mut latencies = Vec::new();
    while begun.elapsed() < span {
        let of_group = Instant::now();
        if group == 1 {
            let id = writer.insert(&db)?;
            writer.update(&db, id)?;
        } else {
            let transaction = db.transaction()?;
            let ids: Vec<i64> = (0..group).map(|_| writer.insert(&transaction)).collect::<Result<_>>()?;
            transaction.commit()?;
            let transaction = db.transaction()?;
            ids.iter().try_for_each(|id| writer.update(&transaction, *id))?;
            transaction.commit()?;
        }
        let took = of_group.elapsed();
        latencies.extend((0..group).map(|_| took));
    }
    let mut sample = Sample::new(begun.elapsed(), latencies);
    verify(&db, last, sample.calls)?;
    sample.calls_a_commit = Some(crate::load::as_f64(group) / 2.0);
    Ok(sample)
}

/// Opens the file as the ledger opens its own.
pub(super) fn open(path: &Path) -> Result<Connection> {
    let db = Connection::open(path)?;
    db.busy_timeout(Duration::from_secs(30))?;
    db.execute_batch("pragma journal_mode = wal; pragma synchronous = full")?;
    db.execute_batch("pragma cache_size = -65536; pragma mmap_size = 1073741824")?;
    db.execute_batch(SCHEMA)?;
    Ok(db)
}

/// Grows the log once, so that later commits overwrite it.
fn warm(db: &mut Connection) -> Result<()> {
    db.execute_batch("pragma wal_autocheckpoint = 1000")?;
    let transaction = db.transaction()?;
    transaction.execute_batch(
        "create table filling (bytes blob) strict;
         insert into filling select zeroblob(4000)
             from (with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000) select i from n);
         drop table filling",
    )?;
    transaction.commit()?;
    let restarted: Option<i64> = db.query_row("pragma wal_checkpoint(restart)", [], |row| row.get(0)).optional()?;
    ensure!(restarted == Some(0), "the log could not be started over");
    Ok(())
}

/// Every call after row `last` is there, and finished.
pub(super) fn verify(db: &Connection, last: i64, calls: u64) -> Result<()> {
    let counted: (i64, i64) = db.query_row(
        "select count(*), count(*) filter (where state = 1 and result is not null) from calls where id > ?1",
        [last],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let calls = i64::try_from(calls)?;
    ensure!(counted == (calls, calls), "{calls} calls were made, the file holds {counted:?}");
    Ok(())
}

struct Writer {
    keys: Keys,
    random: Random,
    number: u64,
    result: Vec<u8>,
}

impl Writer {
    fn new(keys: Keys, number: u64) -> Self {
        Self { keys, random: Random::new(number ^ 0x5EED), number, result: vec![b'r'; RESULT_BYTES] }
    }

    fn insert(&mut self, db: &Connection) -> Result<i64> {
        self.number += 1;
        let scope = match self.keys {
            Keys::Scoped => self.number / CALLS_A_CONVERSATION,
            Keys::Random => 0,
        };
        insert(db, scope, &self.random.digest())
    }

    fn update(&self, db: &Connection, id: i64) -> Result<()> {
        update(db, id, &self.result)
    }
}

pub(super) fn insert(db: &Connection, scope: u64, key: &[u8; 32]) -> Result<i64> {
    let inserted = db.prepare_cached(INSERT)?.execute((i64::try_from(scope)?, key))?;
    ensure!(inserted == 1, "a key was there already");
    Ok(db.last_insert_rowid())
}

pub(super) fn update(db: &Connection, id: i64, result: &[u8]) -> Result<()> {
    let updated = db.prepare_cached(UPDATE)?.execute((id, result))?;
    ensure!(updated == 1, "a row was not as it was left");
    Ok(())
}
