//! The embedded ledger: one SQLite file, shared by the processes of one machine.
//!
//! In reading order: [`open`] (pragmas, migrations), [`write`](mod@write) (a batch in one transaction), [`reserve`] and
//! [`settle`] (the two commits of nearly every call), [`save`] (any other change of a record), [`unsettled`], [`evidence`] and
//! [`resources`], [`upkeep`] (leases and counts), [`purge`]; [`read`] (records), [`readers`] (on any thread), [`detail`],
//! [`listing`], [`sweep`]; [`catalogue`] (names interned to numbers), [`checkpoint`] (off the hot path), and how SQLite's
//! [`failure`]s read in the ledger's words.

mod catalogue;
mod checkpoint;
mod detail;
mod evidence;
mod failure;
mod listing;
mod open;
mod purge;
mod read;
mod readers;
mod reserve;
mod resources;
mod save;
mod settle;
mod sweep;
mod unsettled;
mod upkeep;
mod write;

use std::{path::Path, sync::Arc};

use rusqlite::Connection;

use self::{catalogue::Catalogue, checkpoint::Checkpointer, readers::Readers};
use crate::{
    clock::{Clock, Timestamp},
    ledger::{BoxFuture, Command, Flow, Reader, Reply, Store, StoreError},
};

/// A ledger in one SQLite file: write-ahead log, `synchronous = full`, one writer a process.
#[derive(Debug)]
pub struct SqliteStore {
    writer: Connection,
    catalogue: Catalogue,
    readers: Arc<Readers>,
    checkpointer: Checkpointer,
    /// Where the next purge goes on.
    purged_to: i64,
}

impl SqliteStore {
    /// Opens the file at `path`, creates it if it is not there, and brings its schema up to date. Safe from several
    /// processes at once.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be opened, is no ledger, or was written by a newer version of this crate.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let writer = open::writer(path)?;
        let readers = Arc::new(Readers::new(path));
        let checkpointer = Checkpointer::start(path)?;
        Ok(Self { writer, catalogue: Catalogue::default(), readers, checkpointer, purged_to: 0 })
    }
}

impl Store for SqliteStore {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        let applied = self.apply_now(commands, now);
        Box::pin(std::future::ready(applied))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::<Readers>::clone(&self.readers)
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        None
    }

    fn flow(&self) -> Flow {
        Flow::Blocking
    }

    fn close(&mut self) {
        self.checkpointer.stop();
    }
}

#[cfg(all(test, unix))]
mod power;
#[cfg(test)]
mod tests;
