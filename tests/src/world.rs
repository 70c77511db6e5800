//! Ledgers under test, their clocks, and the world outside them.
//!
//! Must not know the tools. A test gets its ledgers from [`both`] or [`both_with`], so that every one of them runs over
//! memory and over a real SQLite file.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use idem_runtime::{
    Builder, Config, Idem, MemoryStore, OperationId, SqliteStore, Tenant, ToolCall, ledger::Record, testing::TestClock,
};
use rusqlite::{Connection, types::FromSql};
use tempfile::TempDir;

use crate::store::{Watch, Watched};

/// The tenant of calls that name no other.
pub const TENANT: &str = "acme";

/// The world outside: every effect, by business identifier, in order. Clones are the same world.
#[derive(Debug, Clone, Default)]
pub struct World(Arc<Mutex<Vec<String>>>);

impl World {
    /// Something happens; says as which effect, from 1.
    pub fn effect(&self, what: impl Into<String>) -> usize {
        let mut effects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        effects.push(what.into());
        effects.len()
    }

    /// Everything that happened.
    pub fn effects(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often this happened.
    pub fn count(&self, what: &str) -> usize {
        self.effects().iter().filter(|effect| *effect == what).count()
    }
}

/// The default configuration, changed.
pub fn config(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::default();
    change(&mut config);
    config
}

/// One ledger under test.
#[derive(Debug)]
pub struct Setup {
    /// The ledger.
    pub idem: Idem,
    /// The clock of ledger and leases; stands still.
    pub clock: TestClock,
    /// The world outside.
    pub world: World,
    /// The file, unless the ledger is in memory.
    pub file: Option<LedgerFile>,
}

/// A ledger in memory and one in an SQLite file.
pub async fn both() -> [Setup; 2] {
    both_with(Idem::builder).await
}

/// The same, set up otherwise.
pub async fn both_with(builder: impl Fn() -> Builder) -> [Setup; 2] {
    [memory(builder()).await, sqlite(builder()).await]
}

/// A ledger in memory.
///
/// # Panics
/// When it does not open.
pub async fn memory(builder: Builder) -> Setup {
    let clock = TestClock::default();
    let idem = builder.clock(clock.clone()).open("memory:").await.expect("a ledger in memory");
    Setup { idem, clock, world: World::default(), file: None }
}

/// A ledger in a new SQLite file.
///
/// # Panics
/// When it does not open.
pub async fn sqlite(builder: Builder) -> Setup {
    let clock = TestClock::default();
    let file = LedgerFile::new();
    let idem = builder.clock(clock.clone()).open(&file.address()).await.expect("a ledger in a file");
    Setup { idem, clock, world: World::default(), file: Some(file) }
}

/// A ledger whose store is watched, in memory or in a new file.
///
/// # Panics
/// When it does not open.
pub fn watched(config: &Config, in_file: bool) -> (Setup, Watch) {
    let (clock, watch) = (TestClock::default(), Watch::default());
    let builder = Idem::builder().config(config.clone()).clock(clock.clone());
    let file = in_file.then(LedgerFile::new);
    let idem = match &file {
        None => builder.with_store(Watched::new(MemoryStore::new(), &watch)),
        Some(file) => {
            let store = SqliteStore::open(file.path()).expect("a store");
            builder.with_store(Watched::new(store, &watch))
        }
    };
    (Setup { idem: idem.expect("a ledger"), clock, world: World::default(), file }, watch)
}

impl Setup {
    /// A call of the usual tenant in the usual conversation.
    pub fn call(&self) -> ToolCall {
        self.idem.call().tenant(TENANT).conversation("c-1")
    }

    /// That call, under an id in a turn.
    pub fn call_as(&self, id: &str, turn: u64) -> ToolCall {
        self.call().tool_call_id(id).turn(turn)
    }

    /// How many operations the ledger holds, of all tenants.
    ///
    /// # Panics
    /// When it cannot be asked.
    pub async fn operations(&self) -> u64 {
        match &self.file {
            Some(file) => file.count("idem_operations"),
            // Nothing has ended where this is asked: a purge only counts.
            None => self.idem.purge(u32::MAX).await.expect("a purge").looked_at,
        }
    }

    /// The record of an operation of the usual tenant.
    ///
    /// # Panics
    /// When there is none.
    pub async fn record(&self, operation: OperationId) -> Record {
        let tenant = Tenant::new(TENANT).expect("a tenant");
        self.idem.show(&tenant, operation).await.expect("a readable ledger").expect("a record")
    }

    /// The name of the state that the operation is in.
    pub async fn state(&self, operation: OperationId) -> &'static str {
        self.record(operation).await.state.name()
    }

    /// Which ledger it is, for messages.
    pub fn name(&self) -> &'static str {
        if self.file.is_some() { "sqlite" } else { "memory" }
    }
}

/// A ledger's SQLite file, looked into from outside.
#[derive(Debug)]
pub struct LedgerFile {
    folder: TempDir,
}

impl Default for LedgerFile {
    fn default() -> Self {
        Self::new()
    }
}

impl LedgerFile {
    /// A place for one.
    ///
    /// # Panics
    /// Without a temporary folder.
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    /// Where it lies.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("idem.db")
    }

    /// Its folder, for what stands beside it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What opens it.
    pub fn address(&self) -> String {
        format!("sqlite://{}", self.path().display())
    }

    /// Another connection to it.
    ///
    /// # Panics
    /// When there is no such file.
    pub fn connect(&self) -> Connection {
        Connection::open(self.path()).expect("the ledger's file")
    }

    /// The first column of every row.
    ///
    /// # Panics
    /// When the query cannot be answered.
    pub fn column<T: FromSql>(&self, query: &str) -> Vec<T> {
        let connection = self.connect();
        let mut statement = connection.prepare(query).expect("a query");
        let rows = statement.query_map([], |row| row.get(0)).expect("rows");
        rows.map(|row| row.expect("a column")).collect()
    }

    /// How many rows a table has.
    ///
    /// # Panics
    /// When there is no such table.
    pub fn count(&self, table: &str) -> u64 {
        self.column::<i64>(&format!("select count(*) from {table}"))[0].unsigned_abs()
    }

    /// How many rows all of its tables have.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn rows(&self) -> u64 {
        let tables: Vec<String> =
            self.column("select name from sqlite_schema where type = 'table' and name like 'idem%'");
        tables.iter().map(|table| self.count(table)).sum()
    }

    /// Every byte of the file and of the log beside it.
    ///
    /// # Panics
    /// When they cannot be read.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for entry in std::fs::read_dir(self.folder.path()).expect("a folder") {
            bytes.extend(std::fs::read(entry.expect("a file").path()).expect("its bytes"));
        }
        bytes
    }

    /// Whether these bytes stand anywhere in it.
    pub fn holds(&self, text: &str) -> bool {
        self.bytes().windows(text.len()).any(|window| window == text.as_bytes())
    }
}
