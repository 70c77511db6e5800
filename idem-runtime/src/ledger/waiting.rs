//! Waiting for what goes on elsewhere: whoever is due at a tick is asked for together with all others who are, once.
//!
//! Must not know what the answers mean, nor which store is behind the reader. Pauses are whole ticks, one twice as long as the
//! last, and end where a pause of that length ends for everybody: so a long one always ends with a short one, and one query
//! serves all waiters of a process, whenever each of them came. There is no task that outlives them: the first who wakes asks.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time::Instant};

use super::{
    command::Reserve,
    store::{Find, Found, Reader},
};

/// The shortest pause: what a fast tool takes, and no more than 200 queries a second of a process, however many wait.
const TICK: Duration = Duration::from_millis(5);

/// How long whoever waits does nothing before the next look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pause {
    /// A power of two.
    ticks: u32,
}

impl Pause {
    /// Before the first look.
    pub(crate) const FIRST: Self = Self { ticks: 1 };

    /// Three looks a second: what waited for so long may come a third of a second late.
    const LONGEST: Self = Self { ticks: 64 };

    /// It lasts no longer than this.
    pub(crate) fn at_most(self) -> Duration {
        TICK * self.ticks
    }

    /// Before the look after this one.
    pub(crate) fn longer(self) -> Self {
        Self { ticks: (self.ticks * 2).min(Self::LONGEST.ticks) }
    }

    /// The tick at which it ends when it begins so long after the first one.
    fn ends(self, begins: Duration) -> u64 {
        let ticks = u64::from(self.ticks);
        let now = u64::try_from(begins.as_nanos() / TICK.as_nanos()).unwrap_or(u64::MAX / 2);
        (now / ticks + 1) * ticks
    }
}

/// Who waits for which tick.
#[derive(Debug)]
pub(super) struct Waiting {
    began: Instant,
    due: Mutex<BTreeMap<u64, Vec<Waiter>>>,
}

#[derive(Debug)]
struct Waiter {
    reserve: Arc<Reserve>,
    reply: oneshot::Sender<Found>,
}

impl Waiting {
    /// Nobody waits; ticks are counted from now on.
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), due: Mutex::default() }
    }

    /// What the identities of `reserve` lead to after `pause`.
    pub(super) async fn find(&self, reader: &Arc<dyn Reader>, reserve: &Arc<Reserve>, pause: Pause) -> Found {
        loop {
            let tick = pause.ends(self.began.elapsed());
            let (reply, answer) = oneshot::channel();
            let waiter = Waiter { reserve: Arc::clone(reserve), reply };
            self.due.lock().unwrap_or_else(PoisonError::into_inner).entry(tick).or_default().push(waiter);
            let ends = Duration::from_nanos(u64::try_from(TICK.as_nanos()).unwrap_or(u64::MAX).saturating_mul(tick));
            tokio::time::sleep_until(self.began + ends).await;
            let due = self.take(tick);
            if !due.is_empty() {
                // A task of its own: a caller that vanishes leaves the others their answers.
                tokio::spawn(ask(Arc::clone(reader), due));
            }
            if let Ok(found) = answer.await {
                return found;
            }
            // Whose runtime asked for all has ended: then somebody else asks, at the next tick.
        }
    }

    /// Whoever is due at `tick`, or was before and is still here.
    fn take(&self, tick: u64) -> Vec<Waiter> {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let later = due.split_off(&(tick + 1));
        let now = mem::replace(&mut *due, later);
        now.into_values().flatten().filter(|waiter| !waiter.reply.is_closed()).collect()
    }
}

async fn ask(reader: Arc<dyn Reader>, due: Vec<Waiter>) {
    let finds: Vec<Find<'_>> = due.iter().map(|waiter| Find::of(&waiter.reserve)).collect();
    let found = reader.find_all(&finds).await;
    for (waiter, found) in due.into_iter().zip(found) {
        // Whoever waited may be gone.
        let _ = waiter.reply.send(found);
    }
}

#[cfg(test)]
mod tests;
