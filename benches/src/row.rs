//! What is kept of an arm's runs.
//!
//! Must not know how a run is done. Ratios are those of one turn: what is divided was measured within seconds.

use std::time::Duration;

use crate::{
    arm::Keys,
    cli::Kind,
    load::{Quantile, Sample, as_f64},
    quiet::Gated,
};

/// One way to guard a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// Two syncs.
    Disk,
    /// One connection, one small table.
    Raw,
    /// The ledger's store alone.
    Store,
    /// A pool, a transaction a step.
    Naive,
    /// The runtime.
    Ours,
    /// Finished operations, asked for again, with nothing remembered in the process.
    Replay,
    /// A pool, a statement for each row.
    Reads,
}

impl Arm {
    /// The naive way to do the same.
    const fn naive(self) -> Self {
        match self {
            Self::Replay | Self::Reads => Self::Reads,
            Self::Disk | Self::Raw | Self::Store | Self::Naive | Self::Ours => Self::Naive,
        }
    }
}

/// What all arms of a row group have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Where the ledger is.
    pub store: Kind,
    /// Finished operations that the ledger holds before.
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
    of_empty: Vec<Ratio>,
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
    /// Of these figures, if there are any.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        let (min, max) = (*figures.first()?, *figures.last()?);
        let upper = figures.len() / 2;
        let lower = (figures.len() - 1) / 2;
        Some(Self { min, median: f64::midpoint(*figures.get(lower)?, *figures.get(upper)?), max })
    }
}

impl Row {
    /// Without any runs yet.
    pub const fn new(setting: Setting, arm: Arm) -> Self {
        Self { setting, arm, runs: Vec::new(), of_raw: Vec::new(), of_naive: Vec::new(), of_empty: Vec::new() }
    }

    /// Adds a run.
    pub fn add(&mut self, run: Gated<Sample>) {
        self.runs.push(run);
    }

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

    /// Microseconds of processor time that one call took: this program's, and the server's.
    pub fn processor(&self) -> Option<(f64, f64)> {
        let a_call = |of: fn(&Gated<Sample>) -> Duration| {
            let each = self.counted().map(|run| of(run).as_secs_f64() * 1e6 / as_f64(run.run.calls.max(1)));
            Some(Spread::of(each)?.median)
        };
        Some((a_call(|run| run.used.own)?, a_call(|run| run.used.server)?))
    }

    /// The rate as a part of the raw limit's, at the same group of rows a transaction.
    pub fn of_raw(&self) -> Option<Ratios> {
        Ratios::of(&self.of_raw)
    }

    /// The rate as a multiple of the naive way's.
    pub fn of_naive(&self) -> Option<Ratios> {
        Ratios::of(&self.of_naive)
    }

    /// The rate as a part of that on a ledger that was empty before.
    pub fn of_empty(&self) -> Option<Ratios> {
        Ratios::of(&self.of_empty)
    }

    /// What others used of the machine.
    pub fn foreign(&self) -> Option<f64> {
        Some(Spread::of(self.counted().map(|run| run.used.foreign))?.max)
    }
}

/// Adds what the last turn says of each row beside the others of that turn.
pub fn compare(rows: &mut [Row]) {
    let last = |row: &Row| Some((row.setting, row.arm, row.runs.last().map(|run| (run.run.rate(), run.quiet))?));
    let turn: Vec<_> = rows.iter().filter_map(last).collect();
    let of = |setting: Setting, arm: Arm| {
        turn.iter().find(|(other, by, _)| (*other, *by) == (setting, arm)).map(|(.., rate)| *rate)
    };
    for row in rows {
        let Some((rate, quiet)) = of(row.setting, row.arm) else { continue };
        let by = |(other, other_quiet): (f64, bool)| Ratio { figure: rate / other, quiet: quiet && other_quiet };
        row.of_naive.extend(of(row.setting, row.arm.naive()).map(by));
        if row.arm.naive() == Arm::Naive {
            row.of_raw.extend(of(row.setting, Arm::Raw).map(by));
        }
        if row.setting.rows > 0 {
            row.of_empty.extend(of(Setting { rows: 0, ..row.setting }, row.arm).map(by));
        }
    }
}
