//! Opening the file: pragmas that make a commit durable, and the schema.

use std::{
    fs::OpenOptions,
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior};

use super::failure::nothing;
use crate::ledger::{Aftermath, StoreError, StoreErrorKind};

/// The schema, one step a version; a step is never changed once released.
const MIGRATIONS: &[&str] = &[include_str!("schema.sql")];

/// How long a writer waits for another process before it reports a busy ledger.
const BUSY: Duration = Duration::from_secs(10);

/// How long between two tries where SQLite itself does not wait.
const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// SQLite before this version can lose a commit when a checkpoint and a restart of the log race.
const SQLITE_MIN: i32 = 3_051_003;

/// The log is grown to this size once, so that later commits overwrite instead of append: a third faster.
const LOG_BYTES: u64 = 16 * 1024 * 1024;

const CACHE_KIB: i64 = 64 * 1024;
const MMAP_BYTES: i64 = 1024 * 1024 * 1024;
/// More than there are statements: none is prepared twice.
const STATEMENTS: usize = 128;

/// The one connection that writes.
pub(super) fn writer(path: &Path) -> Result<Connection, StoreError> {
    if rusqlite::version_number() < SQLITE_MIN {
        return Err(unavailable(format!("SQLite {} is too old, 3.51.3 is needed", rusqlite::version())));
    }
    let mut connection = connect(path)?;
    let mode = write_ahead(&connection)?;
    if mode != "wal" {
        return Err(unavailable(format!("the file cannot have a write-ahead log (its mode is `{mode}`)")));
    }
    migrate(&mut connection)?;
    grow_log(&mut connection, path)?;
    Ok(connection)
}

/// Gives the file a write-ahead log; says which mode it came to. Two openers of a new file can each hold what the other
/// needs: SQLite then answers that it is busy without waiting, so the waiting is done here.
fn write_ahead(connection: &Connection) -> Result<String, StoreError> {
    let started = Instant::now();
    loop {
        match connection.query_row("pragma journal_mode = wal", [], |row| row.get(0)) {
            Err(error) if is_busy(&error) && started.elapsed() < BUSY => std::thread::sleep(BUSY_PAUSE),
            mode => return mode.map_err(nothing),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// A connection that only reads.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreError> {
    let connection = connect(path)?;
    connection.pragma_update(None, "query_only", true).map_err(nothing)?;
    Ok(connection)
}

/// A connection with the pragmas that every one has.
pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open(path).map_err(nothing)?;
    connection.busy_timeout(BUSY).map_err(nothing)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A reservation that power loss can take back would let its effect happen twice.
    connection.pragma_update(None, "synchronous", "full").map_err(nothing)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB).map_err(nothing)?;
    connection.pragma_update(None, "mmap_size", MMAP_BYTES).map_err(nothing)?;
    // Checkpoints have a thread of their own.
    connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(nothing)?;
    Ok(connection)
}

fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(nothing)?;
    transaction
        .execute_batch(
            "create table if not exists idem_migrations (version integer primary key, name text not null) strict",
        )
        .map_err(nothing)?;
    let done: Option<i64> = transaction
        .query_row("select max(version) from idem_migrations", [], |row| row.get(0))
        .optional()
        .map_err(nothing)?
        .flatten();
    let done = usize::try_from(done.unwrap_or(0)).unwrap_or(usize::MAX);
    if done > MIGRATIONS.len() {
        let known = MIGRATIONS.len();
        return Err(unavailable(format!("its schema has version {done}, this crate knows up to {known}")));
    }
    for (at, step) in MIGRATIONS.iter().enumerate().skip(done) {
        transaction.execute_batch(step).map_err(nothing)?;
        transaction
            .execute(
                "insert into idem_migrations (version, name) values (?1, ?2)",
                (i64::try_from(at + 1).unwrap_or(i64::MAX), "schema"),
            )
            .map_err(nothing)?;
    }
    transaction.commit().map_err(nothing)
}

/// Writes zeros behind the end of the log. They are no frames, so SQLite overwrites them; nobody else appends
/// meanwhile, since this connection holds the right to write.
fn grow_log(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let log = log_of(path);
    let writing = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(nothing)?;
    let grown = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(&log)?;
        let len = file.seek(SeekFrom::End(0))?;
        let zeros = vec![0; usize::try_from(LOG_BYTES.saturating_sub(len)).unwrap_or(0)];
        file.write_all(&zeros)?;
        file.sync_all()
    };
    if let Err(error) = grown() {
        // Only speed is lost.
        tracing::debug!(%error, "the ledger's log was not grown in advance");
    }
    writing.rollback().map_err(nothing)
}

fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn unavailable(what: String) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, Aftermath::Nothing, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_of_a_newer_version_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("idem.db");
        let connection = writer(&path).expect("a new ledger");
        connection
            .execute("insert into idem_migrations (version, name) values (99, 'later')", [])
            .expect("a later step");
        let refused = writer(&path).expect_err("too new").to_string();
        assert!(refused.contains("version 99"), "{refused}");
    }

    #[test]
    fn every_connection_waits_for_the_disk() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("idem.db");
        for connection in [writer(&path), reader(&path)] {
            let connection = connection.expect("a connection");
            let level: i64 = connection.query_row("pragma synchronous", [], |row| row.get(0)).expect("a level");
            assert_eq!(level, 2, "2 is full");
        }
    }

    #[test]
    fn eight_openers_at_once_make_one_schema() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("idem.db");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| writer(&path).expect("opened"));
            }
        });
        let connection = reader(&path).expect("a connection");
        let steps: i64 =
            connection.query_row("select count(*) from idem_migrations", [], |row| row.get(0)).expect("a count");
        assert_eq!(usize::try_from(steps), Ok(MIGRATIONS.len()));
    }
}
