//! A clock that stands still until a test moves it.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::{Clock, Timestamp};

/// A clock under a test's control. Clones are the same clock; every store and the ledger's own timers follow it.
#[derive(Clone)]
pub struct TestClock(Arc<Mutex<Inner>>);

struct Inner {
    now: Timestamp,
    uptime: Duration,
    watchers: Vec<Arc<dyn Fn() + Send + Sync>>,
}

impl TestClock {
    /// Stands at `now`.
    pub fn new(now: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(Inner { now, uptime: Duration::ZERO, watchers: Vec::new() })))
    }

    /// Moves forward by `span`.
    pub fn advance(&self, span: Duration) {
        let watchers = {
            let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            inner.now = inner.now.after(span);
            inner.uptime += span;
            inner.watchers.clone()
        };
        for moved in watchers {
            moved();
        }
    }
}

impl Default for TestClock {
    /// Stands at the first instant of 2030.
    fn default() -> Self {
        Self::new(Timestamp::from_nanos(1_893_456_000_000_000_000))
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).now
    }

    fn uptime(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).uptime
    }

    fn watch(&self, moved: Arc<dyn Fn() + Send + Sync>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).watchers.push(moved);
    }
}

impl fmt::Debug for TestClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestClock").field(&self.now()).finish()
    }
}
