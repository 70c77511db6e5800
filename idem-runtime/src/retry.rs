//! How long to wait between attempts: exponential, with full jitter.
//!
//! Must not know what is tried again. Waits are drawn from one seedable source, so that a test sees the same ones.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use backon::{BackoffBuilder, ExponentialBuilder};

/// The source of chance of one runtime.
#[derive(Debug)]
pub(crate) struct Jitter(Mutex<fastrand::Rng>);

impl Jitter {
    /// From a seed, or from chance.
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Self(Mutex::new(seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed)))
    }

    /// The wait before try `next`, counted from 2: anything from nothing to `base` doubled with each try, `cap` at most.
    pub(crate) fn wait(&self, base: Duration, cap: Duration, next: u32) -> Duration {
        let most = u64::try_from(ceiling(base, cap, next).as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.0.lock().unwrap_or_else(PoisonError::into_inner).u64(0..=most))
    }
}

/// A number that is not 0 and that no other call of a ledger has: from the thread's own source, which no seed reaches.
pub(crate) fn nonce() -> u64 {
    fastrand::u64(1..)
}

/// The longest wait before try `next`.
fn ceiling(base: Duration, cap: Duration, next: u32) -> Duration {
    // Doubled more often than this, any wait is beyond any cap.
    let before = usize::try_from(next.saturating_sub(2)).unwrap_or(usize::MAX).min(64);
    let mut waits = ExponentialBuilder::new().with_min_delay(base).with_max_delay(cap).without_max_times().build();
    waits.nth(before).unwrap_or(cap).min(cap)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(200);
    const CAP: Duration = Duration::from_secs(5);

    #[test]
    fn waits_double_up_to_their_cap() {
        let ceilings = (2..10).map(|next| ceiling(BASE, CAP, next).as_millis());
        assert_eq!(ceilings.collect::<Vec<_>>(), [200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
        assert_eq!(ceiling(BASE, CAP, u32::MAX), CAP);
    }

    #[test]
    fn jitter_is_full_and_comes_from_its_seed() {
        let draw = |seed| {
            let jitter = Jitter::new(Some(seed));
            (0..1_000).map(|_| jitter.wait(BASE, CAP, 4)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        let waits = draw(7);
        let most = Duration::from_millis(800);
        assert!(waits.iter().all(|wait| *wait <= most));
        assert!(waits.iter().any(|wait| *wait < most / 10) && waits.iter().any(|wait| *wait > most / 10 * 9));
    }
}
