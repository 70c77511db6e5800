//! Time as an argument: instants of one unit, and the clock that gives them.
//!
//! Must not know what an instant is used for. Every instant in the ledger is a [`Timestamp`]:
//! one unit (nanoseconds) from the clock to the column, so that no boundary depends on a conversion.

use std::{fmt, sync::Arc, time::Duration};

#[cfg(feature = "postgres")]
mod server;

#[cfg(feature = "postgres")]
pub(crate) use self::server::ServerClock;

/// An instant: nanoseconds since 1970-01-01T00:00:00Z, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The instant `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// This instant moved forward; saturates at the last one that can be written (year 2262).
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)))
    }

    /// This instant moved backward; saturates at the earliest one.
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)))
    }

    /// The time from `earlier` to this instant; zero when `earlier` is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339, UTC, as many decimals as the instant has.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_nanosecond(i128::from(self.0)) {
            Ok(instant) => instant.fmt(f),
            Err(_) => write!(f, "{} ns after 1970", self.0),
        }
    }
}

/// Where the ledger's instants come from.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The instant now. Never earlier than one it gave before.
    fn now(&self) -> Timestamp;

    /// Time since some fixed point of this process, counting time that the machine was suspended.
    fn uptime(&self) -> Duration;

    /// Registers a call for whenever the clock is moved other than by time passing, so that what became due is
    /// noticed. The machine's clock is never moved so.
    fn watch(&self, moved: Arc<dyn Fn() + Send + Sync>);
}

/// The machine's clock: the wall clock as it stood when this value was made, carried forward by
/// `CLOCK_BOOTTIME`. A step of the wall clock therefore neither shortens nor lengthens a lease.
#[derive(Debug)]
pub struct SystemClock {
    started_at: Timestamp,
    started: Duration,
}

impl SystemClock {
    /// Reads both clocks once.
    pub fn new() -> Self {
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self { started_at: Timestamp(0).after(wall), started: boot_time() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        self.started_at.after(boot_time().saturating_sub(self.started))
    }

    fn uptime(&self) -> Duration {
        boot_time()
    }

    fn watch(&self, _moved: Arc<dyn Fn() + Send + Sync>) {}
}

/// `CLOCK_BOOTTIME` where there is one: it goes on while the machine is suspended, `Instant` does not.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn boot_time() -> Duration {
    let at = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(at.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(at.tv_nsec).unwrap_or(0))
}

/// Elsewhere the monotonic clock, which on macOS and Windows counts suspend only in part.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn boot_time() -> Duration {
    use std::{sync::OnceLock, time::Instant};
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_as_rfc_3339() {
        assert_eq!(Timestamp::from_nanos(1_500_000_000_000_000_001).to_string(), "2017-07-14T02:40:00.000000001Z");
    }

    #[test]
    fn arithmetic_saturates() {
        let last = Timestamp::from_nanos(i64::MAX);
        assert_eq!(last.after(Duration::from_secs(1)), last);
        assert_eq!(Timestamp::from_nanos(5).since(Timestamp::from_nanos(9)), Duration::ZERO);
    }

    #[test]
    fn the_system_clock_goes_forward() {
        let clock = SystemClock::new();
        let first = clock.now();
        assert!(clock.now() >= first);
    }
}
