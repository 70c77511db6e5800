//! A batch of commands in one transaction, and again from the beginning where another process came first.
//!
//! Must not know what a command does. A connection on which anything failed is closed, never used again; whoever was only
//! overtaken rolls back.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use sqlx::PgConnection;

use super::{
    PostgresStore,
    catalogue::Scopes,
    clock::{time, time_in},
    failure::{Stopped, at_commit, unavailable},
    open,
    work::{Gate, Key, Known, Work},
};
use crate::{
    clock::{Clock, ServerClock, Timestamp},
    ledger::{Command, Record, Reply, StoreError, StoreErrorKind},
};

/// How often a batch begins again because others came first.
const TRIES: u32 = 12;

/// The longest pause before it does; two that met must not meet again.
const PAUSE_MAX: Duration = Duration::from_millis(40);

/// How long a transaction may take before `commit` is sent, and how long `commit` may take. Whoever waits for longer does
/// not know whether the server is still there.
const TRANSACTION: Duration = Duration::from_secs(30);

/// The function sets what holds for this transaction, and holds the gate.
macro_rules! begin {
    ($first:expr, $alone:literal) => {
        concat!("begin isolation level read committed read write;", $first, "select idem_begin(", $alone, ")")
    };
}

/// How the gate is held, and whether the server is asked for its time as well.
pub(super) fn begin(gate: Gate, asks: bool) -> &'static str {
    match (gate, asks) {
        (Gate::Shared, false) => begin!("", "false"),
        (Gate::Shared, true) => begin!(time!(";"), "false"),
        (Gate::Alone, false) => begin!("", "true"),
        (Gate::Alone, true) => begin!(time!(";"), "true"),
    }
}

/// How many statements it is where the server is not asked.
pub(super) const BEGIN_STATEMENTS: usize = 2;

/// Where a function does the rest.
const BEGIN_ALONE: (&str, usize) = ("begin isolation level read committed read write", 1);

impl PostgresStore {
    pub(super) async fn apply_all(&mut self, commands: &[Command], now: Timestamp) -> Result<Vec<Reply>, StoreError> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let mut gate = Gate::Shared;
        let mut tries = 0;
        loop {
            tries += 1;
            // Taken out: only what went well comes back.
            let mut db = self.connected().await?;
            let mut purged_to = self.purged_to.load(Ordering::Relaxed);
            let known = Known { catalogue: &mut self.catalogue, begun: &self.begun, long_ways: &mut self.long_ways };
            match transact(&mut db, &self.clock, known, commands, now, &mut gate, &mut purged_to).await {
                Ok(replies) => {
                    self.writer = Some(db);
                    self.purged_to.store(purged_to, Ordering::Relaxed);
                    return Ok(replies);
                }
                Err(Stopped::Failed(error)) => return Err(error),
                Err(Stopped::Again(error)) if tries >= TRIES => return Err(error),
                Err(Stopped::Again(error)) => {
                    // A pooler would have to close what is left in the middle of a transaction.
                    if error.kind() == StoreErrorKind::Busy && sqlx::raw_sql("rollback").execute(&mut db).await.is_ok()
                    {
                        self.writer = Some(db);
                    }
                    tracing::debug!(%error, tries, "a batch begins again");
                    tokio::time::sleep(PAUSE_MAX.mul_f64(fastrand::f64())).await;
                }
            }
        }
    }

    /// Whether there is a connection that writes.
    pub(super) async fn is_connected(&mut self) -> bool {
        let connected = self.connected().await;
        if let Err(error) = &connected {
            tracing::debug!(%error, "a second connection that writes cannot be had");
        }
        self.writer = connected.ok();
        self.writer.is_some()
    }

    /// The connection that writes, a new one where there is none.
    async fn connected(&mut self) -> Result<PgConnection, StoreError> {
        if let Some(db) = self.writer.take() {
            return Ok(db);
        }
        // Another server may have taken over.
        self.catalogue.forget();
        open::connect(&self.options).await
    }
}

/// What a batch led to, once it is committed.
pub(super) struct Applied {
    pub(super) replies: Vec<Reply>,
    /// As they are now.
    pub(super) records: Vec<(Key, Arc<Record>)>,
    /// Numbers of scopes that had none.
    pub(super) scopes: Scopes,
}

/// How long plain batches go the long way after one that was not as plain as it looked: many more of its kind may follow.
const LONG_WAYS: u32 = 32;

async fn transact(
    db: &mut PgConnection,
    clock: &ServerClock,
    known: Known<'_>,
    commands: &[Command],
    now: Timestamp,
    gate: &mut Gate,
    purged_to: &mut i64,
) -> Result<Vec<Reply>, Stopped> {
    let Known { catalogue, begun, long_ways } = known;
    let asked = in_time(async {
        catalogue.learn(db, commands).await?;
        if !clock.is_stale() {
            return Ok(false);
        }
        // Alone: what the answer can be off by is half of the time that it took. To the last row: an error may come
        // behind the first.
        let asked = clock.uptime();
        let rows = sqlx::raw_sql(begin(*gate, true)).fetch_all(&mut *db).await?;
        if let Some(row) = rows.first() {
            clock.hear(asked, time_in(row)?);
        }
        Ok(true)
    });
    let mut is_open = asked.await?;
    if *long_ways == 0 && *gate == Gate::Shared {
        if let Some(plain) = Work::new(db, catalogue, begun, now, gate, purged_to).plain(commands).await? {
            let begin = (!is_open).then_some(BEGIN_ALONE);
            let applied = tokio::time::timeout(TRANSACTION, plain.carry_out(db, begin)).await;
            if let Some(applied) = applied.map_err(|late| at_commit(sqlx::Error::Io(late.into())))?? {
                catalogue.remember(applied.scopes);
                begun.remember(applied.records);
                return Ok(applied.replies);
            }
            (is_open, *long_ways) = (false, LONG_WAYS);
        }
    } else {
        *long_ways = long_ways.saturating_sub(1);
    }
    let (replies, writing, done) = in_time(async {
        let mut work = Work::new(db, catalogue, begun, now, gate, purged_to);
        work.is_open = is_open;
        let replies = work.carry_out(commands).await?;
        let writing = work.writing().await?;
        Ok((replies, writing, work.done()))
    })
    .await?;
    catalogue.remember(done.met);
    if done.rows == 0 {
        // Nothing was changed: there is nothing to make durable.
        sqlx::raw_sql("rollback").execute(db).await?;
        return Ok(replies);
    }
    match tokio::time::timeout(TRANSACTION, writing.commit(db)).await {
        Ok(committed) => drop(committed?),
        Err(late) => return Err(at_commit(sqlx::Error::Io(late.into()))),
    }
    catalogue.remember(done.interned);
    begun.remember(done.records);
    Ok(replies)
}

/// What comes before `commit` is sent.
async fn in_time<T>(prepared: impl Future<Output = Result<T, Stopped>>) -> Result<T, Stopped> {
    match tokio::time::timeout(TRANSACTION, prepared).await {
        Ok(prepared) => prepared,
        Err(_) => Err(Stopped::Failed(unavailable("the server took too long; the transaction was given up"))),
    }
}
