//! Which runs are done, in which order, and what is kept of them.
//!
//! The arms of one setting take turns (ours, raw, store, naive, ours, raw, …), so that whatever changes on the machine
//! changes for all of them, and what is divided was measured within seconds of each other.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use tokio::runtime::Runtime;

use crate::{
    arm::{Keys, disk, naive, ours, ours::Place, raw, store},
    cli::{Cli, StoreKind},
    load::{Quantile, Sample, as_f64},
    quiet::{Gated, Patience},
};

/// One way to guard a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// Two syncs.
    Disk,
    /// One thread, one small table.
    Raw,
    /// The ledger's store alone.
    Store,
    /// A pool, a transaction a step.
    Naive,
    /// The runtime.
    Ours,
}

/// What all arms of a row group have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Finished operations that the file holds before.
    pub rows: u64,
    /// Where keys lie.
    pub keys: Keys,
    /// Callers at once.
    pub callers: u64,
}

/// One arm under one setting, over all its runs.
#[derive(Debug, Clone)]
pub struct Row {
    /// Under which setting.
    pub setting: Setting,
    /// Which arm.
    pub arm: Arm,
    runs: Vec<Gated<Sample>>,
    of_raw: Vec<Ratio>,
    of_naive: Vec<Ratio>,
}

/// This arm's rate by another's, of one turn.
#[derive(Debug, Clone, Copy)]
struct Ratio {
    figure: f64,
    quiet: bool,
}

/// What several turns say together.
#[derive(Debug, Clone, Copy)]
pub struct Ratios {
    /// The median; of the turns that nobody disturbed, if there are any.
    pub median: f64,
    /// At least one turn was not disturbed, in neither arm.
    pub quiet: bool,
}

impl Ratios {
    fn of(turns: &[Ratio]) -> Option<Self> {
        let quiet = turns.iter().any(|turn| turn.quiet);
        let counted = turns.iter().filter(|turn| turn.quiet || !quiet).map(|turn| turn.figure);
        Some(Self { median: Spread::of(counted)?.median, quiet })
    }
}

/// A median with its range.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// The one in the middle.
    pub median: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        let (min, max) = (*figures.first()?, *figures.last()?);
        let upper = figures.len() / 2;
        let lower = (figures.len() - 1) / 2;
        Some(Self { min, median: f64::midpoint(*figures.get(lower)?, *figures.get(upper)?), max })
    }
}

impl Row {
    /// The runs that nobody disturbed; all of them, when there was none.
    fn counted(&self) -> impl Iterator<Item = &Gated<Sample>> {
        let any = self.is_quiet();
        self.runs.iter().filter(move |run| run.quiet || !any)
    }

    /// At least one run was not disturbed.
    pub fn is_quiet(&self) -> bool {
        self.runs.iter().any(|run| run.quiet)
    }

    /// Calls a second.
    pub fn rate(&self) -> Option<Spread> {
        Spread::of(self.counted().map(|run| run.run.rate()))
    }

    /// How long this part of the calls took at most.
    pub fn quantile(&self, part: Quantile) -> Option<Duration> {
        let spread = Spread::of(self.counted().map(|run| run.run.quantile(part).as_secs_f64()))?;
        Some(Duration::from_secs_f64(spread.median))
    }

    /// Calls that one transaction committed.
    pub fn calls_a_commit(&self) -> Option<f64> {
        Some(Spread::of(self.counted().filter_map(|run| run.run.calls_a_commit))?.median)
    }

    /// The rate as a part of the raw limit's, at the same group of rows a transaction.
    pub fn of_raw(&self) -> Option<Ratios> {
        Ratios::of(&self.of_raw)
    }

    /// The rate as a multiple of the naive way's.
    pub fn of_naive(&self) -> Option<Ratios> {
        Ratios::of(&self.of_naive)
    }

    /// What others used of the machine.
    pub fn foreign(&self) -> Option<f64> {
        Some(Spread::of(self.counted().map(|run| run.foreign))?.max)
    }
}

/// Does the runs.
#[derive(Debug)]
pub struct Plan<'a> {
    /// What was asked for.
    pub cli: &'a Cli,
    /// What the callers run on.
    pub runtime: &'a Runtime,
    /// Where files are made.
    pub folder: &'a Path,
    /// What is left of the time to wait for a quiet machine.
    pub patience: &'a Patience,
}

/// The files of one setting; those with rows in them are used again for the next number of callers.
struct Files {
    ours: PathBuf,
    raw: PathBuf,
    store: PathBuf,
}

impl Plan<'_> {
    /// Every setting in turn; `done` hears of each row as soon as it is there.
    ///
    /// # Errors
    /// The first run that failed, or whose file does not hold what it should.
    pub fn run(&self, mut done: impl FnMut(&Row)) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        let disk = self.disk()?;
        done(&disk);
        rows.push(disk);
        let sizes = if self.cli.rows == 0 || self.cli.ci { vec![0] } else { vec![0, self.cli.rows] };
        let callers: &[u64] = if self.cli.ci { &[1, 64] } else { &self.cli.callers };
        for size in sizes {
            for keys in [Keys::Scoped, Keys::Random] {
                if self.cli.ci && keys == Keys::Random {
                    continue;
                }
                let files = (size > 0).then(|| self.prefilled(keys, size)).transpose()?;
                for callers in callers {
                    let setting = Setting { rows: size, keys, callers: *callers };
                    let of_setting = self.setting(setting, files.as_ref())?;
                    of_setting.iter().for_each(&mut done);
                    rows.extend(of_setting);
                }
            }
        }
        Ok(rows)
    }

    fn disk(&self) -> Result<Row> {
        let setting = Setting { rows: 0, keys: Keys::Scoped, callers: 1 };
        let run = || self.gated(|| disk::run(self.folder, self.cli.span()));
        let runs = (0..self.cli.reps).map(|_| run()).collect::<Result<_>>()?;
        Ok(Row { setting, arm: Arm::Disk, runs, of_raw: Vec::new(), of_naive: Vec::new() })
    }

    fn gated<T>(&self, work: impl FnMut() -> Result<T>) -> Result<Gated<T>> {
        self.patience.gated(work)
    }

    /// All arms under one setting, in turn.
    fn setting(&self, setting: Setting, files: Option<&Files>) -> Result<Vec<Row>> {
        let arms: &[Arm] = match self.cli.store {
            StoreKind::Memory => &[Arm::Ours],
            StoreKind::Sqlite => &[Arm::Ours, Arm::Raw, Arm::Store, Arm::Naive],
        };
        let empty = |arm| Row { setting, arm, runs: Vec::new(), of_raw: Vec::new(), of_naive: Vec::new() };
        let mut rows: Vec<Row> = arms.iter().copied().map(empty).collect();
        for _ in 0..self.cli.reps {
            // The group that the raw limit is given: as many rows a transaction as ours came to in this turn.
            let mut group = setting.callers.div_ceil(2);
            for row in &mut rows {
                let run = self.gated(|| self.one(row.arm, setting, group, files))?;
                if let (Arm::Ours, Some(calls)) = (row.arm, run.run.calls_a_commit) {
                    group = rounded(calls * 2.0);
                }
                row.runs.push(run);
            }
            compare(&mut rows);
        }
        Ok(rows)
    }

    fn one(&self, arm: Arm, setting: Setting, group: u64, files: Option<&Files>) -> Result<Sample> {
        let Setting { keys, callers, .. } = setting;
        let span = self.cli.span();
        let fresh = tempfile::tempdir_in(self.folder)?;
        let own = fresh.path().join("fresh.db");
        let path = |of: fn(&Files) -> &PathBuf| files.map_or(&own, of).clone();
        match arm {
            Arm::Disk => disk::run(self.folder, span),
            Arm::Raw => raw::run(&path(|files| &files.raw), keys, group, span),
            Arm::Store => store::run(&path(|files| &files.store), keys, group, span),
            Arm::Naive => self.on_a_worker(naive::run(path(|files| &files.raw), keys, callers, span)),
            Arm::Ours => {
                let place = match self.cli.store {
                    StoreKind::Memory => Place::Memory,
                    StoreKind::Sqlite => Place::Sqlite(path(|files| &files.ours)),
                };
                self.on_a_worker(ours::run(place, keys, callers, span))
            }
        }
    }

    /// The main thread is none of the runtime's workers; an application's callers are.
    fn on_a_worker<T: Send + 'static>(&self, work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
        self.runtime.block_on(self.runtime.spawn(work)).context("a run panicked")?
    }

    fn prefilled(&self, keys: Keys, rows: u64) -> Result<Files> {
        let at = |name: &str| self.folder.join(format!("{name}-{keys}-{rows}.db"));
        let files = Files { ours: at("ours"), raw: at("raw"), store: at("store") };
        if self.cli.store == StoreKind::Sqlite {
            store::prefill(&files.ours, keys, rows)?;
            std::fs::copy(&files.ours, &files.store).context("copy the prefilled ledger")?;
            raw::prefill(&files.raw, keys, rows)?;
        }
        Ok(files)
    }
}

/// Adds what the last turn says of each arm beside the raw limit and the naive way.
fn compare(rows: &mut [Row]) {
    let last = |row: &Row| row.runs.last().map(|run| (run.run.rate(), run.quiet));
    let of_arm = |rows: &[Row], arm| rows.iter().find(|row| row.arm == arm).and_then(last);
    let (raw, naive) = (of_arm(rows, Arm::Raw), of_arm(rows, Arm::Naive));
    for row in rows {
        let Some((rate, quiet)) = last(row) else { continue };
        let by = |(other, other_quiet): (f64, bool)| Ratio { figure: rate / other, quiet: quiet && other_quiet };
        row.of_raw.extend(raw.map(by));
        row.of_naive.extend(naive.map(by));
    }
}

/// The nearest count, at least one.
fn rounded(figure: f64) -> u64 {
    (1..4_096_u64).find(|count| as_f64(*count) + 0.5 > figure).unwrap_or(4_096)
}
