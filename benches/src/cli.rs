//! The command line.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use clap::{Parser, ValueEnum};

/// How fast guarded calls are, beside what the disk, the database and a naive guard do on this machine.
///
/// A run counts only when nobody else used the machine meanwhile: it waits until all processors together were less than
/// 12 % busy for 300 ms, and is done again, up to three times, when others then used more than 15 %.
#[derive(Debug, Clone, Parser)]
#[command(name = "bench", version)]
pub struct Cli {
    /// Where our ledger is: `sqlite`, `memory`, `postgres` (a server is started for it) or `postgres://…` (one that is
    /// there; every table is made in a schema that is dropped afterwards). Several take turns in one run.
    #[arg(long, value_delimiter = ',', default_values_t = [Store::Sqlite])]
    pub store: Vec<Store>,

    /// How long one run takes, in milliseconds.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(50..))]
    dur_ms: u64,

    /// How often each run is done; figures are medians.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..100))]
    pub reps: u64,

    /// How many callers call at once.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64, 256, 1_024])]
    pub callers: Vec<u64>,

    /// How many finished operations the larger ledger holds; 0 leaves it out.
    #[arg(long, default_value_t = 1_000_000)]
    pub rows: u64,

    /// How long to wait for a quiet machine, all waits together, in seconds (10 at most under `--ci`).
    #[arg(long, default_value_t = 600)]
    patience_s: u64,

    /// Where the files are made; must lie on a disk, not in memory.
    #[arg(long)]
    pub folder: Option<PathBuf>,

    /// Asserts only what holds on a busy machine, such as ours / naive at 64 callers.
    #[arg(long)]
    pub ci: bool,

    /// Only runs our own arm, ungated and for the first number of callers, under a profiler.
    #[arg(long, value_enum)]
    pub profile: Option<Profile>,
}

/// Where a ledger is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Store {
    /// In a file.
    Sqlite,
    /// In memory.
    Memory,
    /// In a PostgreSQL database; without an address, of a server that is started for it.
    Postgres(Option<String>),
}

impl Store {
    /// Which kind it is.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Sqlite => Kind::Sqlite,
            Self::Memory => Kind::Memory,
            Self::Postgres(_) => Kind::Postgres,
        }
    }
}

impl FromStr for Store {
    type Err = &'static str;

    fn from_str(words: &str) -> Result<Self, Self::Err> {
        match words {
            "sqlite" => Ok(Self::Sqlite),
            "memory" => Ok(Self::Memory),
            "postgres" => Ok(Self::Postgres(None)),
            _ if words.starts_with("postgres://") || words.starts_with("postgresql://") => {
                Ok(Self::Postgres(Some(words.to_owned())))
            }
            _ => Err("it is `sqlite`, `memory`, `postgres` or `postgres://…`"),
        }
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An address may hold a password.
        write!(f, "{}", self.kind())
    }
}

/// What kind of store holds a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    Sqlite,
    /// Memory.
    Memory,
    /// A PostgreSQL database.
    Postgres,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "sqlite",
            Self::Memory => "memory",
            Self::Postgres => "postgres",
        })
    }
}

/// What to run under a profiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// New operations, scoped.
    Fresh,
    /// New operations, random.
    FreshRandom,
    /// The ledger's store alone, in groups of as many as callers.
    Store,
    /// Replays from memory.
    ReplayMemory,
    /// Replays from the file, or as many at once as callers from the database.
    ReplayFile,
    /// Keys of 1 KB.
    Key,
}

impl Cli {
    /// How long one run takes.
    pub fn span(&self) -> Duration {
        Duration::from_millis(if self.ci { 300 } else { self.dur_ms })
    }

    /// How long all waits for a quiet machine may take together.
    pub fn patience(&self) -> Duration {
        Duration::from_secs(if self.ci { self.patience_s.min(10) } else { self.patience_s })
    }
}
