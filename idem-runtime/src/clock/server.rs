//! The clock of a server that several machines share, carried on by this machine's boot time between two readings.
//!
//! Must not know what server it is, nor how it is asked. The machine's wall clock is never read: who sets it changes nothing.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{Clock, Timestamp, boot_time};

/// A reading is good enough for as long as this; then the next message that is sent anyway asks again.
const FRESH: Duration = Duration::from_secs(1);

/// Two clocks that are kept in step by small changes of their speed (NTP's 500 parts in a million) move apart by no more
/// than this share of the time since they were compared.
const DRIFT_SHARE: u32 = 2_000;

/// While the server's clock is behind, after it was set back, time goes on slower by this share, until the server has caught
/// up: instants never go back, and no lease takes more than a seventh longer.
const SLOWER_SHARE: u32 = 8;

/// An instant that somebody wrote into the ledger is believed, where it is ahead of the server's clock, up to here. What is
/// further ahead did not come from this server's clock.
const AHEAD_MAX: Duration = Duration::from_hours(24);

/// This machine's time since some fixed point, counting suspend.
pub(crate) trait Local: Send + Sync + fmt::Debug + 'static {
    fn uptime(&self) -> Duration;
}

/// `CLOCK_BOOTTIME`, where there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Boot;

impl Local for Boot {
    fn uptime(&self) -> Duration {
        boot_time()
    }
}

/// What a server said its clock shows, between being asked and being heard.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// In the middle between the two, by the local clock.
    at: Duration,
    told: Timestamp,
    /// How far `told` may be from what the server's clock showed at that instant, at most.
    error: Duration,
}

/// A server's clock, as this process knows it.
pub(crate) struct ServerClock<L = Boot> {
    local: L,
    course: Mutex<Course>,
    /// Who wants to know that time has jumped: what is due by then is due now.
    watchers: Mutex<Vec<Arc<dyn Fn() + Send + Sync>>>,
}

/// How instants are derived from local time: the later one of what the server's clock shows by the reading, and of what was
/// given out before, carried on slower.
#[derive(Debug, Clone, Copy)]
struct Course {
    reading: Reading,
    /// When the server was last heard, also where the reading was not taken over.
    heard: Duration,
    /// Where the slower line begins.
    from: (Duration, Timestamp),
}

impl Reading {
    fn new(asked: Duration, heard: Duration, told: Timestamp) -> Self {
        let error = heard.saturating_sub(asked) / 2;
        // A server tells microseconds.
        Self { at: asked + error, told, error: error + Duration::from_micros(1) }
    }

    fn carried(&self, uptime: Duration) -> Timestamp {
        if uptime < self.at {
            return self.told.before(self.at.saturating_sub(uptime));
        }
        self.told.after(uptime.saturating_sub(self.at))
    }

    /// How far this reading may be off at `uptime`.
    fn error_at(&self, uptime: Duration) -> Duration {
        self.error + uptime.saturating_sub(self.at) / DRIFT_SHARE
    }
}

impl Course {
    fn at(&self, uptime: Duration) -> Timestamp {
        let (began, instant) = self.from;
        let since = uptime.saturating_sub(began);
        self.reading.carried(uptime).max(instant.after(since.saturating_sub(since / SLOWER_SHARE)))
    }

    /// Takes a reading over where it is the better one, or where the server's clock was set since the last. Says by how much it
    /// was set: forward, or back.
    fn take(&mut self, reading: Reading) -> Option<(Duration, Duration)> {
        let expected = self.reading.carried(reading.at);
        let (forward, back) = (reading.told.since(expected), expected.since(reading.told));
        let error = self.reading.error_at(reading.at);
        let set = forward.max(back) > error + reading.error;
        if set || reading.error <= error {
            self.reading = reading;
        }
        set.then_some((forward, back))
    }
}

impl ServerClock {
    /// A clock that begins with what the server told, asked when [`uptime`](Clock::uptime) was `asked`.
    pub(crate) fn new(asked: Duration, told: Timestamp) -> Self {
        Self::over(Boot, asked, told)
    }

    /// The local time to note before a server is asked for the first time.
    pub(crate) fn about_to_ask() -> Duration {
        Boot.uptime()
    }
}

impl<L: Local> ServerClock<L> {
    fn over(local: L, asked: Duration, told: Timestamp) -> Self {
        let heard = local.uptime();
        let reading = Reading::new(asked, heard, told);
        let course = Course { reading, heard, from: (heard, reading.carried(heard)) };
        Self { local, course: Mutex::new(course), watchers: Mutex::default() }
    }

    /// Whether the server should be asked again, where that costs no message of its own.
    pub(crate) fn is_stale(&self) -> bool {
        let course = self.course();
        self.local.uptime().saturating_sub(course.heard) >= FRESH
    }

    /// The server has told its time, `asked` being this clock's [`uptime`](Clock::uptime) before.
    pub(crate) fn hear(&self, asked: Duration, told: Timestamp) {
        let mut course = self.course();
        let heard = self.local.uptime();
        // From here on nothing is earlier than what was given out before.
        course.from = (heard, course.at(heard));
        course.heard = heard;
        let set = course.take(Reading::new(asked, heard, told));
        drop(course);
        if let Some((forward, back)) = set {
            let (forward, back) = (forward.as_secs_f64(), back.as_secs_f64());
            tracing::warn!(forward, back, "the clock of the ledger's server was set, or another server has taken over");
            let watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for moved in &watchers {
                moved();
            }
        }
    }

    /// Somebody has written this instant into the ledger: it is in the past, also where the server's clock has been set back
    /// since.
    pub(crate) fn not_before(&self, written: Timestamp) {
        let mut course = self.course();
        let uptime = self.local.uptime();
        let now = course.at(uptime);
        let ahead = written.since(now);
        if ahead > AHEAD_MAX {
            tracing::warn!(%written, "an instant in the ledger is far in the future: its leases will end then");
        } else {
            course.from = (uptime, now.max(written));
        }
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L: Local> Clock for ServerClock<L> {
    fn now(&self) -> Timestamp {
        let course = self.course();
        course.at(self.local.uptime())
    }

    fn uptime(&self) -> Duration {
        self.local.uptime()
    }

    fn watch(&self, moved: Arc<dyn Fn() + Send + Sync>) {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(moved);
    }
}

impl<L: Local> fmt::Debug for ServerClock<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerClock").field("course", &*self.course()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const HOUR: Duration = Duration::from_hours(1);
    const MILLI: Duration = Duration::from_millis(1);

    /// A machine whose time a test moves. Clones are the same machine.
    #[derive(Debug, Clone, Default)]
    struct Machine(Arc<Mutex<Duration>>);

    impl Machine {
        fn up_for(uptime: Duration) -> Self {
            Self(Arc::new(Mutex::new(uptime)))
        }

        fn pass(&self, span: Duration) {
            *self.0.lock().expect("a machine") += span;
        }
    }

    impl Local for Machine {
        fn uptime(&self) -> Duration {
            *self.0.lock().expect("a machine")
        }
    }

    fn noon() -> Timestamp {
        Timestamp::from_nanos(1_900_000_000_000_000_000)
    }

    /// A clock that heard the server say `told`; asking took `took`, evenly there and back.
    fn clock(machine: &Machine, told: Timestamp, took: Duration) -> ServerClock<Machine> {
        let asked = machine.uptime();
        machine.pass(took);
        ServerClock::over(machine.clone(), asked, told)
    }

    fn hear(clock: &ServerClock<Machine>, machine: &Machine, told: Timestamp, took: Duration) {
        let asked = machine.uptime();
        machine.pass(took);
        clock.hear(asked, told);
    }

    #[test]
    fn machines_agree_to_within_their_round_trips_whatever_their_own_clocks_show() {
        let (a, b) = (Machine::up_for(SECOND), Machine::up_for(900 * HOUR));
        // Both are asked at the same instant; one is far away.
        let (near, far) = (clock(&a, noon(), MILLI), clock(&b, noon(), 300 * MILLI));
        a.pass(HOUR + 299 * MILLI);
        b.pass(HOUR);
        let (near, far) = (near.now(), far.now());
        assert_eq!(near.since(noon()), HOUR + 299 * MILLI + MILLI / 2);
        assert!(near.since(far).max(far.since(near)) <= 151 * MILLI);
    }

    #[test]
    fn the_narrowest_reading_counts_until_it_has_grown_old() {
        let machine = Machine::default();
        let clock = clock(&machine, noon(), MILLI);
        // A reading that took long says less, and is not taken: it would put the clock 200 ms off.
        hear(&clock, &machine, noon().after(450 * MILLI), 500 * MILLI);
        assert_eq!(clock.now(), noon().after(500 * MILLI + MILLI / 2));
        // A day later the first one may be 43 s off.
        machine.pass(24 * HOUR);
        let told = clock.now().after(20 * MILLI);
        hear(&clock, &machine, told, 10 * MILLI);
        assert_eq!(clock.now(), told.after(5 * MILLI));
    }

    #[test]
    fn a_suspended_machine_wakes_up_at_the_right_time() {
        let machine = Machine::default();
        let clock = clock(&machine, noon(), Duration::ZERO);
        machine.pass(7 * HOUR);
        assert_eq!(clock.now(), noon().after(7 * HOUR));
        assert!(clock.is_stale());
    }

    #[test]
    fn a_server_that_is_set_forward_or_a_machine_that_stood_still_is_followed_at_once() {
        let machine = Machine::default();
        let clock = clock(&machine, noon(), MILLI);
        hear(&clock, &machine, noon().after(HOUR), MILLI);
        assert_eq!(clock.now(), noon().after(HOUR + MILLI / 2));
    }

    #[test]
    fn whoever_watches_is_told_that_the_server_was_set_and_not_that_time_passed() {
        let machine = Machine::default();
        let clock = clock(&machine, noon(), MILLI);
        let told = Arc::new(Mutex::new(0));
        let counts = Arc::clone(&told);
        clock.watch(Arc::new(move || *counts.lock().expect("a count") += 1));
        machine.pass(SECOND);
        hear(&clock, &machine, noon().after(SECOND + MILLI), MILLI);
        assert_eq!(*told.lock().expect("a count"), 0);
        hear(&clock, &machine, noon().after(HOUR), MILLI);
        assert_eq!(*told.lock().expect("a count"), 1);
    }

    #[test]
    fn a_server_that_is_set_back_neither_turns_time_back_nor_holds_a_lease() {
        let machine = Machine::default();
        let clock = clock(&machine, noon(), MILLI);
        let lease_until = clock.now().after(60 * SECOND);
        let before = clock.now();
        hear(&clock, &machine, noon().before(HOUR), MILLI);
        assert!(clock.now() >= before);
        machine.pass(60 * SECOND);
        assert!(clock.now() < lease_until, "time goes slower");
        machine.pass(10 * SECOND);
        assert!(clock.now() >= lease_until, "by a seventh, not by an hour");
        let mut last = clock.now();
        for _ in 0..9 {
            machine.pass(HOUR);
            assert!(clock.now() >= last);
            last = clock.now();
        }
        // Eight hours have been enough to catch up.
        assert_eq!(last, noon().before(HOUR).after(9 * HOUR + 70 * SECOND + MILLI / 2));
    }

    #[test]
    fn whoever_opens_after_a_step_back_begins_where_the_others_are() {
        let (a, c) = (Machine::default(), Machine::up_for(3 * HOUR));
        let old = clock(&a, noon(), MILLI);
        hear(&old, &a, noon().before(HOUR), MILLI);
        let written = old.now();
        let young = clock(&c, noon().before(HOUR), MILLI);
        young.not_before(written);
        assert_eq!(young.now(), written);
        // But an instant of another calendar is not followed.
        young.not_before(noon().after(900 * HOUR));
        assert_eq!(young.now(), written);
    }

    #[test]
    fn instants_never_go_back_whatever_the_server_says() {
        let machine = Machine::default();
        let clock = clock(&machine, noon(), MILLI);
        let mut state = 38_u64;
        let mut last = clock.now();
        for _ in 0..10_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (told, took) = (state >> 40, state >> 54);
            machine.pass(Duration::from_micros(took));
            hear(&clock, &machine, noon().after(Duration::from_millis(told)), Duration::from_micros(took));
            assert!(clock.now() >= last);
            last = clock.now();
        }
    }
}
