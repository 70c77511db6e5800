//! Callers in a closed loop: each starts its next call when the last one is answered.
//!
//! Must not know what is called.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use tokio::sync::Barrier;

/// What one run of some callers gave.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Calls answered, also before the clock began to run.
    pub calls: u64,
    /// From the first call that was timed to the last answer.
    pub wall: Duration,
    /// Each timed call's time, ascending.
    latencies: Vec<Duration>,
    /// How many calls were committed by one transaction, counted in the file.
    pub calls_a_commit: Option<f64>,
}

impl Sample {
    /// A run whose calls took `latencies`.
    pub fn new(wall: Duration, mut latencies: Vec<Duration>) -> Self {
        latencies.sort_unstable();
        Self { calls: latencies.len() as u64, wall, latencies, calls_a_commit: None }
    }

    /// Calls a second.
    pub fn rate(&self) -> f64 {
        as_f64(self.latencies.len() as u64) / self.wall.as_secs_f64()
    }

    /// The time within which this part of all calls was answered.
    pub fn quantile(&self, part: Quantile) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        let at = match part {
            Quantile::Half => last / 2,
            Quantile::NinetyNine => last - last / 100,
        };
        self.latencies.get(at).copied().unwrap_or_default()
    }
}

/// A part of all calls.
#[derive(Debug, Clone, Copy)]
pub enum Quantile {
    /// The faster half.
    Half,
    /// All but the slowest hundredth.
    NinetyNine,
}

/// A count as a number to calculate with; no run counts so far that it matters.
#[expect(clippy::cast_precision_loss, reason = "counts here stay far below 2^53")]
pub const fn as_f64(count: u64) -> f64 {
    count as f64
}

/// Lets `callers` call for `span`, after a call of each that is not timed: with it connections are opened and statements planned.
/// `call` is given the caller's number and the number of its call.
///
/// # Errors
/// The first call that failed.
pub async fn closed_loop<C, F>(callers: u64, span: Duration, call: C) -> Result<Sample>
where
    C: Fn(u64, u64) -> F + Send + Sync + Clone + 'static,
    F: Future<Output = Result<()>> + Send,
{
    let barrier = Arc::new(Barrier::new(usize::try_from(callers).unwrap_or(usize::MAX)));
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let (barrier, call) = (Arc::clone(&barrier), call.clone());
            tokio::spawn(async move {
                // Whatever becomes of it: the others wait for this caller.
                let untimed = call(caller, 0).await;
                barrier.wait().await;
                untimed?;
                let first = Instant::now();
                let mut latencies = Vec::with_capacity(4_096);
                for number in 1.. {
                    let begun = Instant::now();
                    if begun - first >= span {
                        break;
                    }
                    call(caller, number).await?;
                    latencies.push(begun.elapsed());
                }
                anyhow::Ok((first, Instant::now(), latencies))
            })
        })
        .collect();
    let mut latencies = Vec::new();
    let mut ends: Option<(Instant, Instant)> = None;
    for task in tasks {
        let (first, last, of_caller) = task.await.context("a caller panicked")??;
        ends = Some(ends.map_or((first, last), |ends| (ends.0.min(first), ends.1.max(last))));
        latencies.extend(of_caller);
    }
    let wall = ends.map_or(Duration::ZERO, |(first, last)| last - first);
    let mut sample = Sample::new(wall, latencies);
    sample.calls += callers;
    Ok(sample)
}
