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

use super::Keys;
use crate::{
    load::{Sample, as_f64, closed_loop},
    tool,
};

/// Where the ledger is.
#[derive(Debug, Clone)]
pub enum Place {
    /// In memory.
    Memory,
    /// In this file.
    Sqlite(PathBuf),
}

impl Place {
    /// The ledger's address.
    pub fn address(&self) -> String {
        match self {
            Self::Memory => "memory:".to_owned(),
            Self::Sqlite(path) => format!("sqlite://{}", path.display()),
        }
    }

    /// Opens the ledger with these limits.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn open(&self, config: Config) -> Result<Idem> {
        let opened = Idem::builder().config(config).open(&self.address()).await;
        opened.with_context(|| format!("open {}", self.address()))
    }
}

/// Lets `callers` call for `span`; every call is an operation of its own.
///
/// # Errors
/// When a call fails, or the ledger does not hold what was done.
pub async fn run(place: Place, keys: Keys, callers: u64, span: Duration) -> Result<Sample> {
    let last = match &place {
        Place::Memory => 0,
        Place::Sqlite(path) => last_operation(path)?,
    };
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
    // The ledger closes with its last clone; then the file holds everything.
    drop(idem);
    let ran = runs.load(Ordering::Relaxed);
    ensure!(ran == sample.calls, "{} operations were called, {ran} bodies ran", sample.calls);
    if let Place::Sqlite(path) = &place {
        let commits = verify(path, last, sample.calls)?;
        sample.calls_a_commit = Some(as_f64(sample.calls) / as_f64(commits.max(1)));
    }
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

/// Every call after operation `last` is there, finished; gives the number of transactions that wrote them, each of
/// which stamps its rows with its own instant.
fn verify(path: &Path, last: i64, calls: u64) -> Result<u64> {
    let db = look(path)?;
    let counted: (i64, i64) = db.query_row(
        "select count(*), count(*) filter (where o.state = 'succeeded' and r.bytes is not null)
         from idem_operations o left join idem_results r on r.operation = o.id where o.id > ?1",
        [last],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let calls = i64::try_from(calls)?;
    ensure!(counted == (calls, calls), "{calls} calls were made, the ledger holds {counted:?}");
    let commits: i64 = db.query_row(
        "select count(*) from (select reserved_at from idem_operations where id > ?1
                               union select settled_at from idem_operations where id > ?1)",
        [last],
        |row| row.get(0),
    )?;
    Ok(u64::try_from(commits)?)
}
