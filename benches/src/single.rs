//! What one thread can do: keys, and replays of finished operations; those of a database by many callers, too.

use std::{
    hint::black_box,
    path::Path,
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use idem_runtime::{Config, Idem};
use sha2::{Digest, Sha256};

use crate::{
    arguments::Keyed,
    arm::{Keys, ours::Place},
    load::{Sample, as_f64, closed_loop},
    random::Random,
    tool,
};

/// Enough for every record of a benchmark.
const CACHE_LARGE: usize = 4 * 1024 * 1024 * 1024;

/// Too little for any.
const CACHE_SMALL: usize = 1;

/// For how long one way is measured before the other one is.
const SLICE: Duration = Duration::from_millis(25);

/// Time for one key, by both ways, in turn.
///
/// # Errors
/// When a key cannot be derived.
pub fn keys(of: &impl Keyed, span: Duration) -> Result<(Duration, Duration)> {
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    while begun.elapsed() < span {
        ours.push(slice(|| of.ours())?);
        reference.push(slice(|| of.reference())?);
    }
    Ok((median(ours), median(reference)))
}

/// Time for SHA-256 of 1,000 bytes: how fast this processor is now, whatever else it is doing.
pub fn digest() -> Duration {
    let bytes = [7_u8; 1_000];
    // A digest cannot fail.
    slice(|| Ok(Sha256::digest(black_box(bytes)))).unwrap_or_default()
}

fn slice<T>(mut work: impl FnMut() -> Result<T>) -> Result<Duration> {
    const ROUND: u32 = 64;
    let begun = Instant::now();
    let mut rounds = 0_u32;
    while begun.elapsed() < SLICE {
        for _ in 0..ROUND {
            black_box(work()?);
        }
        rounds += 1;
    }
    Ok(begun.elapsed() / (rounds * ROUND).max(1))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// How many callers made the finished operations that are replayed.
const CALLERS: u64 = 128;

/// Finished operations, and the ledger that replays them.
#[derive(Debug, Clone)]
pub struct Finished {
    idem: Idem,
    operations: u64,
    runs: Arc<AtomicU64>,
    random: Random,
}

impl Finished {
    /// Operations that stay in memory.
    ///
    /// # Errors
    /// When a call fails.
    pub async fn in_memory(operations: u64) -> Result<Self> {
        let mut config = Config::default();
        config.cache_bytes = CACHE_LARGE;
        Self::at(&Place::Memory, config, operations).await
    }

    /// Operations that are read from the file at every replay.
    ///
    /// # Errors
    /// When a call fails.
    pub async fn in_file(folder: &Path, operations: u64) -> Result<Self> {
        Self::forgotten(&Place::Sqlite(folder.join("finished.db")), operations).await
    }

    /// Operations that are read from `place` at every replay.
    ///
    /// # Errors
    /// When a call fails.
    pub async fn forgotten(place: &Place, operations: u64) -> Result<Self> {
        let mut config = Config::default();
        config.cache_bytes = CACHE_SMALL;
        Self::at(place, config, operations).await
    }

    async fn at(place: &Place, config: Config, operations: u64) -> Result<Self> {
        let idem = place.open(config).await?;
        let runs = Arc::new(AtomicU64::new(0));
        let tasks: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let (idem, runs) = (idem.clone(), Arc::clone(&runs));
                tokio::spawn(async move {
                    for number in 0..operations / CALLERS {
                        let call = tool::call(&idem, Keys::Scoped, caller, number);
                        tool::run(&call, Keys::Scoped, caller, number, &runs).await?;
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        for task in tasks {
            task.await??;
        }
        Ok(Self { idem, operations, runs, random: Random::new(7) })
    }

    /// Replays one of them, chosen at random: the call is made anew, as a retry makes it.
    ///
    /// # Errors
    /// When the call fails.
    pub async fn replay(&mut self) -> Result<()> {
        let at = self.random.below(self.operations / CALLERS * CALLERS);
        let (caller, number) = (at % CALLERS, at / CALLERS);
        let call = tool::call(&self.idem, Keys::Scoped, caller, number);
        black_box(tool::run(&call, Keys::Scoped, caller, number, &self.runs).await?);
        Ok(())
    }

    /// Makes the call without calling anything: what a replay's figure holds that is the caller's own.
    pub fn make(&mut self) {
        let at = self.random.below(self.operations / CALLERS * CALLERS);
        black_box(tool::call(&self.idem, Keys::Scoped, at % CALLERS, at / CALLERS));
        black_box(format!("A-{}-{}", at % CALLERS, at / CALLERS));
    }

    /// Time for one replay, without what making the call takes.
    ///
    /// # Errors
    /// When a call fails, or a body ran again.
    pub async fn replays(&mut self, span: Duration) -> Result<Duration> {
        const ROUND: u32 = 256;
        let begun = Instant::now();
        let mut times = Vec::new();
        while begun.elapsed() < span {
            let of_round = Instant::now();
            for _ in 0..ROUND {
                self.make();
            }
            let making = of_round.elapsed();
            let of_round = Instant::now();
            for _ in 0..ROUND {
                self.replay().await?;
            }
            times.push(of_round.elapsed().saturating_sub(making) / ROUND);
        }
        self.ran_once()?;
        Ok(mean(&times))
    }

    /// Lets `callers` replay, each at random, for `span`.
    ///
    /// # Errors
    /// When a call fails, or a body ran again.
    pub async fn replays_of(self, callers: u64, span: Duration) -> Result<Sample> {
        let of_run = self.clone();
        let sample = closed_loop(callers, span, move |caller, number| {
            let mut finished = Self { random: Random::new(caller << 32 ^ number), ..of_run.clone() };
            async move { finished.replay().await }
        })
        .await?;
        self.ran_once()?;
        Ok(sample)
    }

    fn ran_once(&self) -> Result<()> {
        let ran = self.runs.load(std::sync::atomic::Ordering::Relaxed);
        let made = self.operations / CALLERS * CALLERS;
        ensure!(ran == made, "{made} operations were called, {ran} bodies ran");
        Ok(())
    }
}

/// Counts and timers flush now and then; a median would hide what they cost.
fn mean(times: &[Duration]) -> Duration {
    let sum: f64 = times.iter().map(Duration::as_secs_f64).sum();
    Duration::from_secs_f64(sum / as_f64(times.len().max(1) as u64))
}
