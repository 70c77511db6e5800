//! One ledger by way of two processes in turn, each batch on a connection of its own.

use std::sync::Arc;

use idem_runtime::{
    Clock, Timestamp,
    ledger::{BoxFuture, Command, Flow, Reader, Reply, Store, StoreError},
};
use idem_tests::store::AnyStore;

/// Two processes' stores, which take the batches in turn.
#[derive(Debug)]
pub(crate) struct InTurn {
    processes: [AnyStore; 2],
    batches: usize,
}

impl InTurn {
    pub(crate) const fn of(processes: [AnyStore; 2]) -> Self {
        Self { processes, batches: 0 }
    }
}

impl Store for InTurn {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        let [first, second] = &self.processes;
        let process = if self.batches.is_multiple_of(2) { first } else { second };
        self.batches += 1;
        let mut twin = process.twin().expect("a store of a server has one");
        Box::pin(async move { twin.apply(commands, now).await })
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.processes[0].reader()
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        self.processes[0].clock()
    }

    fn flow(&self) -> Flow {
        self.processes[0].flow()
    }

    fn close(&mut self) {
        self.processes.iter_mut().for_each(Store::close);
    }
}
