//! A store of any kind, and one whose batches a test watches, some of which it makes fail.
//!
//! Must not decide anything: what it lets through, the real store behind it carries out.

use std::sync::{Arc, Mutex, PoisonError};

#[cfg(feature = "postgres")]
use idem_runtime::PostgresStore;
use idem_runtime::{
    MemoryStore, SqliteStore, Timestamp,
    ledger::{Aftermath, BoxFuture, Command, Reply, Store, StoreError, StoreErrorKind},
};

/// What a store that stands before another one, its field, leaves to that one: all but its batches. It has no twin, so every
/// batch passes by it.
#[macro_export]
macro_rules! behind {
    ($inner:tt) => {
        fn reader(&self) -> std::sync::Arc<dyn idem_runtime::ledger::Reader> {
            self.$inner.reader()
        }

        $crate::behind_but_reader!($inner);
    };
}

/// The same where what is read passes by the store in front, too.
#[macro_export]
macro_rules! behind_but_reader {
    ($inner:tt) => {
        fn clock(&self) -> Option<std::sync::Arc<dyn idem_runtime::Clock>> {
            self.$inner.clock()
        }

        fn flow(&self) -> idem_runtime::ledger::Flow {
            self.$inner.flow()
        }

        fn close(&mut self) {
            self.$inner.close();
        }
    };
}

/// A store, whichever it is: what tests put before a store need not know it.
#[derive(Debug)]
pub struct AnyStore(Box<dyn Store>);

impl AnyStore {
    /// The store at an address.
    ///
    /// # Panics
    /// When it does not open.
    #[cfg_attr(not(feature = "postgres"), expect(clippy::unused_async, reason = "only a server makes it wait"))]
    pub async fn at(address: &str) -> Self {
        if address == "memory:" {
            return Self(Box::new(MemoryStore::new()));
        }
        if let Some(path) = address.strip_prefix("sqlite://") {
            return Self(Box::new(SqliteStore::open(path).expect("a ledger in a file")));
        }
        #[cfg(feature = "postgres")]
        return Self(Box::new(PostgresStore::open(address).await.expect("a ledger in a server")));
        #[cfg(not(feature = "postgres"))]
        panic!("no store of this build: {address}");
    }
}

impl Store for AnyStore {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        self.0.apply(commands, now)
    }

    fn twin(&self) -> Option<Box<dyn Store>> {
        self.0.twin()
    }

    fn ready(&mut self) -> BoxFuture<'_, bool> {
        self.0.ready()
    }

    crate::behind!(0);
}

/// How a batch fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The disk is full: nothing of it was applied.
    Full,
    /// It was applied, and the answer was lost.
    AnswerLost,
}

/// Which batches fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Failing {
    /// None.
    #[default]
    Never,
    /// The one with this number, counted from 1.
    Only(usize, Fault),
    /// That one and all after it.
    From(usize, Fault),
    /// Those in which an attempt ends.
    Settling(Fault),
}

/// What a test sees of a [`Watched`] store, and what it decides. Clones see the same store.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    failing: Failing,
    batches: Vec<Vec<Command>>,
    failed: usize,
}

impl Watch {
    /// Decides which batches fail from here on.
    pub fn fail(&self, failing: Failing) {
        self.with(|seen| seen.failing = failing);
    }

    /// The batches that reached the store, whatever became of them.
    pub fn batches(&self) -> Vec<Vec<Command>> {
        self.with(|seen| seen.batches.clone())
    }

    /// How many failed.
    pub fn failed(&self) -> usize {
        self.with(|seen| seen.failed)
    }

    fn with<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn next(&self, commands: &[Command]) -> Option<Fault> {
        self.with(|seen| {
            seen.batches.push(commands.to_vec());
            let number = seen.batches.len();
            let fault = match seen.failing {
                Failing::Only(only, fault) if number == only => Some(fault),
                Failing::From(from, fault) if number >= from => Some(fault),
                Failing::Settling(fault) if commands.iter().any(|it| matches!(it, Command::Settle(_))) => Some(fault),
                _ => None,
            };
            seen.failed += usize::from(fault.is_some());
            fault
        })
    }
}

/// A store that is watched.
#[derive(Debug)]
pub struct Watched<S> {
    store: S,
    watch: Watch,
}

impl<S: Store> Watched<S> {
    /// `store`, with `watch` looking on.
    pub fn new(store: S, watch: &Watch) -> Self {
        Self { store, watch: watch.clone() }
    }
}

impl<S: Store> Store for Watched<S> {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        let failed = |kind, aftermath, words: &'static str| -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
            Box::pin(std::future::ready(Err(StoreError::new(kind, aftermath, words))))
        };
        match self.watch.next(commands) {
            None => self.store.apply(commands, now),
            Some(Fault::Full) => failed(StoreErrorKind::Full, Aftermath::Nothing, "no space left on the device"),
            Some(Fault::AnswerLost) => {
                let applied = self.store.apply(commands, now);
                Box::pin(async move {
                    applied.await?;
                    Err(StoreError::new(StoreErrorKind::Other, Aftermath::Unknown, "the answer was lost"))
                })
            }
        }
    }

    crate::behind!(store);
}
