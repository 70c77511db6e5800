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

/// After about so many changed rows a checkpoint is worth its sync.
const ROWS: usize = 16_000;

/// The checkpoint thread, as the writer sees it.
#[derive(Debug)]
pub(super) struct Checkpointer {
    ask: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    copied: Arc<AtomicBool>,
    rows: usize,
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
        Ok(Self { ask: Some(ask), thread: Some(thread), copied, rows: 0 })
    }

    /// The writer committed so many rows: perhaps it is time.
    pub(super) fn committed(&mut self, writer: &Connection, rows: usize) {
        if self.copied.swap(false, Ordering::Acquire)
            && let Err(error) = checkpoint(writer, "restart")
        {
            tracing::debug!(%error, "the ledger's log could not be started over; it will be next time");
        }
        self.rows += rows;
        if self.rows >= ROWS
            && let Some(ask) = &self.ask
        {
            match ask.try_send(()) {
                // One is under way: this one would find the same pages.
                Ok(()) | Err(TrySendError::Full(())) => self.rows = 0,
                Err(TrySendError::Disconnected(())) => self.ask = None,
            }
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

fn checkpoint(connection: &Connection, mode: &str) -> Result<(), StoreError> {
    connection.query_row(&format!("pragma wal_checkpoint({mode})"), [], |_| Ok(())).map_err(nothing)
}
