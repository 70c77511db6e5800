//! Where a case is played: a ledger, its clock, a provider and the tool's states on it.
//!
//! Must not know what is played.

use std::{path::Path, sync::Arc};

use super::{
    Fixture, Subject,
    store::{Quirks, Standing},
};
use crate::{
    Config, Idem, InlineCommit, MemoryStore,
    ledger::Store,
    testing::{Habits, Provider, TestClock, faults::Line, folder::Folder, provider::Sandbox},
};

/// On which ledger a case is played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ground {
    /// In memory: nothing outlives the process.
    Memory,
    /// In a file.
    #[cfg(feature = "sqlite")]
    Sqlite,
    /// On a server, at this address.
    #[cfg(feature = "postgres")]
    Postgres(String),
}

impl Ground {
    /// The one that every build has and that outlives most.
    pub(super) const fn usual() -> Self {
        #[cfg(feature = "sqlite")]
        return Self::Sqlite;
        #[cfg(not(feature = "sqlite"))]
        return Self::Memory;
    }

    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Memory => "memory",
            #[cfg(feature = "sqlite")]
            Self::Sqlite => "sqlite",
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => "postgres",
        }
    }

    pub(super) fn address(&self) -> Option<&str> {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(address) => Some(address),
            _ => None,
        }
    }
}

/// How a ledger is set up for a case.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Set {
    pub(super) quirks: Quirks,
    /// The largest result that is kept, in bytes.
    pub(super) result_bytes_max: Option<usize>,
    /// How often an operation is asked about at most.
    pub(super) passes_max: Option<u32>,
}

/// A stage.
pub(super) struct Stage<S> {
    pub(super) ground: Ground,
    pub(super) set: Set,
    pub(super) folder: Folder,
    pub(super) clock: TestClock,
    pub(super) provider: Provider,
    pub(super) sandbox: Option<Arc<dyn Sandbox>>,
    /// Between the ledger and its store.
    pub(super) line: Arc<Line>,
    pub(super) states: S,
    pub(super) idem: Idem,
}

impl<S: Clone> Stage<S> {
    pub(super) async fn set_up<A>(
        subject: &Subject<S, A>,
        fixture: &Fixture<S, A>,
        (ground, set, folder): (Ground, Set, Folder),
    ) -> Result<Self, String> {
        let (clock, line) = (TestClock::default(), Arc::<Line>::default());
        let provider = Provider::at(folder.path().join("provider.jsonl"), &clock, habits(subject, fixture));
        provider.aim(&fixture.effects);
        let sandbox = fixture.sandbox.as_ref().map(|sandbox| sandbox(&provider));
        let states = (fixture.build)(&provider);
        let idem = open(&ground, folder.path(), &clock, &line, set).await?;
        Ok(Self { ground, set, folder, clock, provider, sandbox, line, states, idem })
    }

    /// The same ledger, opened by whoever comes later: another process, or this one after its end.
    pub(super) async fn opened_again(&self, clock: &TestClock) -> Result<Idem, String> {
        open(&self.ground, self.folder.path(), clock, &self.line, self.set).await
    }
}

/// How the provider behaves with this tool, as far as its fixture does not say.
fn habits<S, A>(subject: &Subject<S, A>, fixture: &Fixture<S, A>) -> Habits {
    let habits = Habits::default();
    let habits = match subject.spec.key_window() {
        Some(window) => habits.keyed(window),
        // One that has keys would hide what a missing guard repeats.
        None => habits,
    };
    (fixture.habits)(habits)
}

#[cfg_attr(not(feature = "postgres"), expect(clippy::unused_async, reason = "only a server makes it wait"))]
async fn open(ground: &Ground, folder: &Path, clock: &TestClock, line: &Arc<Line>, set: Set) -> Result<Idem, String> {
    let quirks = set.quirks;
    // Only a file has a place in it.
    #[cfg(not(feature = "sqlite"))]
    let _ = folder;
    match ground {
        Ground::Memory => begin(Standing::new(MemoryStore::new(), line, quirks), clock, set),
        #[cfg(feature = "sqlite")]
        Ground::Sqlite => {
            let store = crate::SqliteStore::open(folder.join("idem.db")).map_err(|error| error.to_string())?;
            begin(Standing::new(store, line, quirks), clock, set)
        }
        #[cfg(feature = "postgres")]
        Ground::Postgres(address) => {
            let store = crate::PostgresStore::open(address).await.map_err(|error| error.to_string())?;
            begin(Standing::new(store, line, quirks), clock, set)
        }
    }
}

fn begin(store: impl Store, clock: &TestClock, set: Set) -> Result<Idem, String> {
    // The ledger's own thread commits: a disk that hangs must not hang its caller.
    let mut config = Config { inline_commit: InlineCommit::Never, ..Config::default() };
    if let Some(bytes) = set.result_bytes_max {
        config.result_bytes_max = bytes;
    }
    if let Some(passes) = set.passes_max {
        (config.reconcile_passes_max, config.reconcile_answers_max) = (passes, passes);
    }
    let builder = Idem::builder().clock(clock.clone()).config(config).jitter_seed(7);
    builder.with_store(store).map_err(|error| error.to_string())
}
