//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};

/// How fast guarded calls are, beside what the disk, SQLite and a naive guard do on this machine.
///
/// A run counts only when nobody else used the machine meanwhile: it waits until all processors together were less than
/// 12 % busy for 300 ms, and is done again, up to three times, when others then used more than 15 %.
#[derive(Debug, Clone, Parser)]
#[command(name = "bench", version)]
pub struct Cli {
    /// Where our ledger is.
    #[arg(long, value_enum, default_value_t = StoreKind::Sqlite)]
    pub store: StoreKind,

    /// How long one run takes, in milliseconds.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(50..))]
    dur_ms: u64,

    /// How often each run is done; figures are medians.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..100))]
    pub reps: u64,

    /// How many callers call at once.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64, 256, 1_024])]
    pub callers: Vec<u64>,

    /// How many finished operations the larger file holds; 0 leaves it out.
    #[arg(long, default_value_t = 1_000_000)]
    pub rows: u64,

    /// How long to wait for a quiet machine, all waits together, in seconds (10 at most under `--ci`).
    #[arg(long, default_value_t = 600)]
    patience_s: u64,

    /// Where the files are made; must lie on a disk, not in memory.
    #[arg(long)]
    pub folder: Option<PathBuf>,

    /// Asserts only what holds on a busy machine: ours / naive ≥ 5 at 64 callers, ours / raw ≥ 50 %.
    #[arg(long)]
    pub ci: bool,

    /// Only runs our own arm, ungated and for the first number of callers, under a profiler.
    #[arg(long, value_enum)]
    pub profile: Option<Profile>,
}

/// Where a ledger is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StoreKind {
    /// In a file.
    Sqlite,
    /// In memory.
    Memory,
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
    /// Replays from the file.
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
