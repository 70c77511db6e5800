//! Whether the machine had nothing else to do.
//!
//! Without this gate a figure says more about the neighbours than about the code: on two busy cores a commit takes a
//! scheduler's tick instead of a disk's sync. Must not know what is measured; a database server's work is the run's own.

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
    /// Of a database server on this machine.
    server: u64,
}

impl Ticks {
    fn now(postmaster: Option<u32>) -> Result<Self> {
        let stat = fs::read_to_string("/proc/stat").context("read the machine's processor time")?;
        let line = stat.lines().next().unwrap_or_default();
        // user nice system idle iowait irq softirq steal; guest time is in user already.
        let ticks: Vec<u64> =
            line.split_whitespace().skip(1).take(8).map(str::parse).collect::<Result<_, _>>().context("/proc/stat")?;
        let all = ticks.iter().sum();
        let idle: u64 = ticks.iter().skip(3).take(2).sum();
        let own = Process::read("self").context("read this program's processor time")?.ticks;
        Ok(Self { busy: all - idle, all, own, server: postmaster.map_or(0, of_server) })
    }
}

/// What `/proc` says of a process.
struct Process {
    parent: u32,
    ticks: u64,
    /// Of its children that have ended.
    of_children: u64,
}

impl Process {
    fn read(process: &str) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // Its name may hold spaces; what follows its bracket does not. The parent is field 4, utime and stime are 14 and
        // 15, those of children 16 and 17.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            ticks: number(11)? + number(12)?,
            of_children: number(13)? + number(14)?,
        })
    }
}

/// A database server's time: of the process that started all others, and of those that it has.
fn of_server(postmaster: u32) -> u64 {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = all.filter_map(|entry| Process::read(entry.file_name().to_str()?));
    let children: u64 = processes.filter(|process| process.parent == postmaster).map(|process| process.ticks).sum();
    Process::read(&postmaster.to_string()).map_or(0, |process| process.ticks + process.of_children + children)
}

/// Who used the machine from the start of a run on.
#[derive(Debug)]
pub struct Watch {
    begun: Ticks,
    postmaster: Option<u32>,
}

/// Who used the machine during a run. Ticks are coarse: read shares as give or take a tenth.
#[derive(Debug, Clone, Copy)]
pub struct Used {
    /// The share of the machine that others used.
    pub foreign: f64,
    /// This program's processor time.
    pub own: Duration,
    /// The database server's.
    pub server: Duration,
}

/// What the kernel counts in, on every machine that Linux runs on today.
const TICK: Duration = Duration::from_millis(10);

impl Watch {
    /// Begins to look.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn begin(postmaster: Option<u32>) -> Result<Self> {
        Ok(Self { begun: Ticks::now(postmaster)?, postmaster })
    }

    /// What was used since.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn used(&self) -> Result<Used> {
        let now = Ticks::now(self.postmaster)?;
        let since = |of: fn(&Ticks) -> u64| of(&now).saturating_sub(of(&self.begun));
        let (own, server) = (since(|ticks| ticks.own), since(|ticks| ticks.server));
        let foreign = as_f64(since(|ticks| ticks.busy)) - as_f64(own) - as_f64(server);
        Ok(Used {
            foreign: foreign / as_f64(since(|ticks| ticks.all).max(1)),
            own: TICK.mul_f64(as_f64(own)),
            server: TICK.mul_f64(as_f64(server)),
        })
    }
}

/// How long the whole program may still wait for a quiet machine. When it has run out, runs are done as they come, and
/// do not count.
#[derive(Debug)]
pub struct Patience {
    left: Cell<Duration>,
    /// No single wait takes more, so that one busy minute does not cost all later runs theirs.
    at_once: Duration,
    /// Of the server whose work counts as the run's.
    postmaster: Option<u32>,
}

/// How many waits there are at least, whatever the machine does.
const WAITS: u32 = 40;

impl Patience {
    /// So much of it; `postmaster` is the first process of the database server whose work counts as the run's.
    pub fn new(span: Duration, postmaster: Option<u32>) -> Self {
        Self { left: Cell::new(span), at_once: span.checked_div(WAITS).unwrap_or(span), postmaster }
    }

    /// Runs `work` until it was not disturbed, at most [`TRIES`] times; the least disturbed run is kept.
    ///
    /// # Errors
    /// Those of `work`, and when `/proc` cannot be read.
    pub fn gated<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<Gated<T>> {
        let mut best: Option<Gated<T>> = None;
        for _ in 0..TRIES {
            let was_quiet = self.wait()?;
            let watch = Watch::begin(self.postmaster)?;
            let run = work()?;
            let used = watch.used()?;
            let gated = Gated { run, used, quiet: was_quiet && used.foreign <= FOREIGN_MAX };
            if gated.quiet {
                return Ok(gated);
            }
            if best.as_ref().is_none_or(|best| used.foreign < best.used.foreign) {
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
            let before = Ticks::now(None)?;
            sleep(WINDOW);
            let after = Ticks::now(None)?;
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
    /// Who used the machine meanwhile.
    pub used: Used,
    /// Nobody disturbed it.
    pub quiet: bool,
}

impl<T> Gated<T> {
    /// The same run, told otherwise.
    pub fn map<U>(self, tell: impl FnOnce(T) -> U) -> Gated<U> {
        Gated { run: tell(self.run), used: self.used, quiet: self.quiet }
    }
}
