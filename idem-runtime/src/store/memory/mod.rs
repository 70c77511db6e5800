//! A ledger in memory, for tests and for programs whose effects do not outlive them.
//!
//! Applies the same decisions and the same changes as every other store; a batch is one critical section. In reading
//! order: the [`records`] and how commands change them, what goes [`beside`] them, and [`read`]s.

mod beside;
mod read;
mod records;

use std::sync::{Arc, PoisonError, RwLock};

use self::{read::MemoryReader, records::Records};
use crate::{
    clock::{Clock, Timestamp},
    ledger::{BoxFuture, Command, Flow, Reader, Reply, Store, StoreError},
};

/// Records in this process's memory: nothing survives it.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: Arc<RwLock<Records>>,
}

impl MemoryStore {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for MemoryStore {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        let replies = commands.iter().map(|command| records.apply(command, now)).collect();
        Box::pin(std::future::ready(replies))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(MemoryReader(Arc::clone(&self.records)))
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        None
    }

    fn flow(&self) -> Flow {
        Flow::Blocking
    }

    fn close(&mut self) {}
}
