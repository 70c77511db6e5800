//! Whether the machine had nothing else to do.
//!
//! Without this gate a figure says more about the neighbours than about the code: on two busy cores a commit takes a
//! scheduler's tick instead of a disk's sync. Must not know what is measured.

use std::{
    cell::Cell,
    fs,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use crate::load::as_f64;

/// For how long the machine must have been quiet before a run.
const WINDOW: Duration = Duration::from_millis(300);

/// How busy a quiet machine may be.
const BUSY_MAX: f64 = 0.12;

/// How much of the machine others may have used during a run that counts.
pub const FOREIGN_MAX: f64 = 0.15;

/// How often a run is tried for each one that is wanted.
pub const TRIES: u32 = 3;

/// Processor time so far, in ticks.
#[derive(Debug, Clone, Copy)]
struct Ticks {
    busy: u64,
    all: u64,
    own: u64,
}

impl Ticks {
    fn now() -> Result<Self> {
        let stat = fs::read_to_string("/proc/stat").context("read the machine's processor time")?;
        let line = stat.lines().next().unwrap_or_default();
        // user nice system idle iowait irq softirq steal; guest time is in user already.
        let ticks: Vec<u64> =
            line.split_whitespace().skip(1).take(8).map(str::parse).collect::<Result<_, _>>().context("/proc/stat")?;
        let all = ticks.iter().sum();
        let idle: u64 = ticks.iter().skip(3).take(2).sum();
        let own = fs::read_to_string("/proc/self/stat").context("read this program's processor time")?;
        // The program's name may hold spaces; what follows its bracket does not. utime and stime are 14 and 15.
        let fields = own.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
        let own = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>).sum::<Result<_, _>>();
        Ok(Self { busy: all - idle, all, own: own.context("/proc/self/stat")? })
    }
}

/// What others used of the machine from the start of a run on.
#[derive(Debug)]
pub struct Foreign(Ticks);

impl Foreign {
    /// Begins to look.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn begin() -> Result<Self> {
        Ticks::now().map(Self)
    }

    /// The share of the machine that others used. Ticks are coarse: read it as give or take a tenth.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn share(&self) -> Result<f64> {
        let now = Ticks::now()?;
        let (busy, own) = (as_f64(now.busy - self.0.busy), as_f64(now.own - self.0.own));
        Ok((busy - own) / as_f64((now.all - self.0.all).max(1)))
    }
}

/// How long the whole program may still wait for a quiet machine. When it has run out, runs are done as they come, and
/// do not count.
#[derive(Debug)]
pub struct Patience {
    left: Cell<Duration>,
    /// No single wait takes more, so that one busy minute does not cost all later runs theirs.
    at_once: Duration,
}

/// How many waits there are at least, whatever the machine does.
const WAITS: u32 = 40;

impl Patience {
    /// So much of it.
    pub fn new(span: Duration) -> Self {
        Self { left: Cell::new(span), at_once: span.checked_div(WAITS).unwrap_or(span) }
    }

    /// Runs `work` until it was not disturbed, at most [`TRIES`] times; the least disturbed run is kept.
    ///
    /// # Errors
    /// Those of `work`, and when `/proc` cannot be read.
    pub fn gated<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<Gated<T>> {
        let mut best: Option<Gated<T>> = None;
        for _ in 0..TRIES {
            let was_quiet = self.wait()?;
            let watch = Foreign::begin()?;
            let run = work()?;
            let foreign = watch.share()?;
            let gated = Gated { run, foreign, quiet: was_quiet && foreign <= FOREIGN_MAX };
            if gated.quiet {
                return Ok(gated);
            }
            if best.as_ref().is_none_or(|best| foreign < best.foreign) {
                best = Some(gated);
            }
            if self.left.get().is_zero() {
                break;
            }
        }
        best.context("no run was tried")
    }

    /// Waits until the machine is quiet; says whether it was.
    fn wait(&self) -> Result<bool> {
        let mut at_once = self.at_once.min(self.left.get());
        loop {
            let begun = Instant::now();
            let before = Ticks::now()?;
            sleep(WINDOW);
            let after = Ticks::now()?;
            let busy = as_f64(after.busy - before.busy) / as_f64((after.all - before.all).max(1));
            if busy < BUSY_MAX {
                return Ok(true);
            }
            let waited = begun.elapsed();
            self.left.set(self.left.get().saturating_sub(waited));
            at_once = at_once.saturating_sub(waited);
            if at_once.is_zero() {
                return Ok(false);
            }
        }
    }
}

/// A run, and whether it counts.
#[derive(Debug, Clone)]
pub struct Gated<T> {
    /// What the run gave.
    pub run: T,
    /// What others used of the machine meanwhile.
    pub foreign: f64,
    /// Nobody disturbed it.
    pub quiet: bool,
}

impl<T> Gated<T> {
    /// The same run, told otherwise.
    pub fn map<U>(self, tell: impl FnOnce(T) -> U) -> Gated<U> {
        Gated { run: tell(self.run), foreign: self.foreign, quiet: self.quiet }
    }
}
