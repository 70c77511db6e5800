//! The runtime: an annotated tool, called by many callers of one process.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use idem_runtime::{Config, Idem};
use rusqlite::{Connection, OpenFlags};
use sqlx::Row;

use super::Keys;
use crate::{
    load::{Sample, as_f64, closed_loop},
    server, tool,
};

/// Where the ledger is.
#[derive(Debug, Clone)]
pub enum Place {
    /// In memory.
    Memory,
    /// In this file.
    Sqlite(PathBuf),
    /// In the database at this address.
    Postgres(String),
}

impl Place {
    /// The ledger's address.
    pub fn address(&self) -> String {
        match self {
            Self::Memory => "memory:".to_owned(),
            Self::Sqlite(path) => format!("sqlite://{}", path.display()),
            Self::Postgres(address) => address.clone(),
        }
    }

    /// Opens the ledger with these limits.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn open(&self, config: Config) -> Result<Idem> {
        let opened = Idem::builder().config(config).open(&self.address()).await;
        opened.context("open the ledger")
    }

    async fn last_operation(&self) -> Result<i64> {
        match self {
            Self::Memory => Ok(0),
            Self::Sqlite(path) => last_operation(path),
            Self::Postgres(address) => {
                let mut db = server::connect(address).await?;
                let there = sqlx::query("select to_regclass('idem_operations') is not null").fetch_one(&mut db).await?;
                if !there.try_get(0)? {
                    return Ok(0);
                }
                let last = sqlx::query("select coalesce(max(id), 0) from idem_operations").fetch_one(&mut db).await?;
                Ok(last.try_get(0)?)
            }
        }
    }

    /// Every call after operation `last` is there, finished; gives the number of transactions that wrote them, each of
    /// which stamps its rows with its own instant.
    async fn verify(&self, last: i64, calls: u64) -> Result<Option<u64>> {
        let (counted, commits) = match self {
            Self::Memory => return Ok(None),
            Self::Sqlite(path) => count(path, last)?,
            Self::Postgres(address) => {
                let mut db = server::connect(address).await?;
                let counted = sqlx::query(COUNTS).bind(last).fetch_one(&mut db).await?;
                let commits = sqlx::query(COMMITS).bind(last).fetch_one(&mut db).await?;
                ((counted.try_get(0)?, counted.try_get(1)?), commits.try_get(0)?)
            }
        };
        let calls = i64::try_from(calls)?;
        ensure!(counted == (calls, calls), "{calls} calls were made, the ledger holds {counted:?}");
        Ok(Some(u64::try_from(commits)?))
    }
}

const COUNTS: &str = "
    select count(*), count(*) filter (where o.state = 'succeeded' and r.bytes is not null)
    from idem_operations o left join idem_results r on r.tenant = o.tenant and r.operation = o.id where o.id > $1";

const COMMITS: &str = "
    select count(*) from (select reserved_at from idem_operations where id > $1
                          union select settled_at from idem_operations where id > $1) instants";

/// Lets `callers` call for `span`; every call is an operation of its own.
///
/// # Errors
/// When a call fails, or the ledger does not hold what was done.
pub async fn run(place: Place, keys: Keys, callers: u64, span: Duration) -> Result<Sample> {
    let last = place.last_operation().await?;
    let idem = place.open(Config::default()).await?;
    let runs = Arc::new(AtomicU64::new(0));
    let (of_run, counted) = (idem.clone(), Arc::clone(&runs));
    // Callers of an earlier run on this file had other numbers.
    let base = u64::try_from(last)?;
    let mut sample = closed_loop(callers, span, move |caller, number| {
        let (idem, runs) = (of_run.clone(), Arc::clone(&counted));
        async move {
            let caller = base + caller;
            let call = tool::call(&idem, keys, caller, number);
            tool::run(&call, keys, caller, number, &runs).await?;
            Ok(())
        }
    })
    .await?;
    // The ledger closes with its last clone; then the store holds everything.
    drop(idem);
    let ran = runs.load(Ordering::Relaxed);
    ensure!(ran == sample.calls, "{} operations were called, {ran} bodies ran", sample.calls);
    let commits = place.verify(last, sample.calls).await?;
    sample.calls_a_commit = commits.map(|commits| as_f64(sample.calls) / as_f64(commits.max(1)));
    Ok(sample)
}

fn look(path: &Path) -> Result<Connection> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).context("look into the ledger's file")
}

fn last_operation(path: &Path) -> Result<i64> {
    if !path.exists() {
        return Ok(0);
    }
    Ok(look(path)?.query_row("select coalesce(max(id), 0) from idem_operations", [], |row| row.get(0))?)
}

/// Operations after `last`, those of them that are finished, and the transactions that wrote them.
fn count(path: &Path, last: i64) -> Result<((i64, i64), i64)> {
    let db = look(path)?;
    let counted = db.query_row(
        "select count(*), count(*) filter (where o.state = 'succeeded' and r.bytes is not null)
         from idem_operations o left join idem_results r on r.operation = o.id where o.id > ?1",
        [last],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    Ok((counted, db.query_row(COMMITS, [last], |row| row.get(0))?))
}
