//! Moving the log's pages into the file, on a thread of its own.
//!
//! A passive checkpoint copies what it can without stopping anybody; then the writer starts the log over, which
//! takes no time once nearly everything is copied. Without this the log would grow under steady load, or a commit
//! now and then would take a hundred times as long.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
};

use rusqlite::Connection;

use super::{failure::nothing, open};
use crate::ledger::{Aftermath, StoreError, StoreErrorKind};

/// At so many pages in the log a checkpoint is due: a quarter less than the log was grown to, so that commits go on
/// overwriting while it runs.
const PAGES: i64 = 3_000;

/// The log is measured after so many commits.
const COMMITS: u32 = 8;

/// The checkpoint thread, as the writer sees it.
#[derive(Debug)]
pub(super) struct Checkpointer {
    ask: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    copied: Arc<AtomicBool>,
    commits: u32,
}

impl Checkpointer {
    pub(super) fn start(path: &Path) -> Result<Self, StoreError> {
        let connection = open::connect(path)?;
        let (ask, asked) = sync_channel::<()>(1);
        let copied = Arc::new(AtomicBool::new(false));
        let tell = Arc::clone(&copied);
        let work = move || {
            while asked.recv().is_ok() {
                match checkpoint(&connection, "passive") {
                    Ok(()) => tell.store(true, Ordering::Release),
                    Err(error) => {
                        tracing::warn!(%error, "the ledger's log could not be checkpointed");
                    }
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("idem-checkpoint".to_owned())
            .spawn(work)
            .map_err(|error| StoreError::new(StoreErrorKind::Unavailable, Aftermath::Nothing, error))?;
        Ok(Self { ask: Some(ask), thread: Some(thread), copied, commits: 0 })
    }

    /// The writer committed: perhaps it is time.
    pub(super) fn committed(&mut self, writer: &Connection) {
        if self.copied.swap(false, Ordering::Acquire)
            && let Err(error) = checkpoint(writer, "restart")
        {
            tracing::debug!(%error, "the ledger's log could not be started over; it will be next time");
        }
        self.commits += 1;
        if self.commits < COMMITS {
            return;
        }
        self.commits = 0;
        let due = pages(writer).is_ok_and(|pages| pages >= PAGES);
        if due
            && let Some(ask) = &self.ask
            && let Err(TrySendError::Disconnected(())) = ask.try_send(())
        {
            self.ask = None;
        }
    }

    pub(super) fn stop(&mut self) {
        self.ask = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was reported there, and loses nothing: the log holds every commit.
            let _ = thread.join();
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(super) fn checkpoint(connection: &Connection, mode: &str) -> Result<(), StoreError> {
    connection.query_row(&format!("pragma wal_checkpoint({mode})"), [], |_| Ok(())).map_err(nothing)
}

/// How many pages are in the log.
fn pages(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("pragma wal_checkpoint(noop)")?.query_row([], |row| row.get(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_measured_without_a_checkpoint() {
        let folder = tempfile::tempdir().expect("a folder");
        let writer = open::writer(&folder.path().join("idem.db")).expect("a ledger");
        let before = pages(&writer).expect("a number");
        writer.execute("insert into idem_tenants (name) values ('acme')", []).expect("a row");
        let after = pages(&writer).expect("a number");
        assert!(after > before, "{before} then {after}");
        checkpoint(&writer, "restart").expect("a checkpoint");
        writer.execute("insert into idem_tenants (name) values ('other')", []).expect("a row");
        assert!(pages(&writer).expect("a number") < after, "the log began anew");
    }
}
