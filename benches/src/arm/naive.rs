//! What an application writes first: a pool of eight connections, a transaction for the reservation and one for the
//! result, each on a thread that may block.
//!
//! The same table as the raw limit, SQLite's own settings but for the write-ahead log and `synchronous = full`.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{Keys, RESULT_BYTES, raw};
use crate::{
    load::{Sample, closed_loop},
    random::Random,
    tool::CALLS_A_CONVERSATION,
};

const CONNECTIONS: usize = 8;

struct Pool {
    free: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    fn open(path: &Path) -> Result<Self> {
        raw::open(path)?;
        let open = || {
            let db = Connection::open(path)?;
            db.busy_timeout(Duration::from_secs(30))?;
            db.execute_batch("pragma synchronous = full")?;
            anyhow::Ok(db)
        };
        let idle = (0..CONNECTIONS).map(|_| open()).collect::<Result<_>>()?;
        Ok(Self { free: Semaphore::new(CONNECTIONS), idle: Mutex::new(idle) })
    }

    /// Runs `work` on a connection, on a thread that may block.
    async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let _one = self.free.acquire().await?;
        let pool = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            let db = pool.idle.lock().unwrap_or_else(PoisonError::into_inner).pop().context("the pool is empty")?;
            let done = work(&db);
            pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
            done
        })
        .await?
    }
}

/// Lets `callers` call for `span`.
///
/// # Errors
/// When the file cannot be written, or does not hold what was written.
pub async fn run(path: PathBuf, keys: Keys, callers: u64, span: Duration) -> Result<Sample> {
    let pool = Arc::new(Pool::open(&path)?);
    let max = |db: &Connection| Ok(db.query_row("select coalesce(max(id), 0) from calls", [], |row| row.get(0))?);
    let last: i64 = pool.with(max).await?;
    let base = u64::try_from(last)?;
    let of_run = Arc::clone(&pool);
    let mut sample = closed_loop(callers, span, move |caller, number| {
        let pool = Arc::clone(&of_run);
        async move {
            let scope = match keys {
                Keys::Scoped => base + (number / CALLS_A_CONVERSATION) * callers + caller,
                Keys::Random => 0,
            };
            let mut random = Random::new(base << 40 ^ caller << 32 ^ number);
            let id = pool.with(move |db| raw::insert(db, scope, &random.digest())).await?;
            pool.with(move |db| raw::update(db, id, &[b'r'; RESULT_BYTES])).await
        }
    })
    .await?;
    let calls = sample.calls;
    pool.with(move |db| raw::verify(db, last, calls)).await?;
    sample.calls_a_commit = Some(0.5);
    Ok(sample)
}
