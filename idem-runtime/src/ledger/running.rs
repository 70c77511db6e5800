//! Attempts that run in this process: whose leases to renew, and who waits for them.
//!
//! Must not know how a lease is renewed or what a waiter is.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::command::{Grant, Hold};
use crate::clock::Timestamp;

/// The running attempts of this process, each with those who wait for it.
#[derive(Debug)]
pub(super) struct Running<W> {
    attempts: FxHashMap<i64, Attempt<W>>,
}

#[derive(Debug)]
struct Attempt<W> {
    fence: i64,
    lease: Duration,
    began_at: Timestamp,
    renew_at: Timestamp,
    waiting: Vec<W>,
}

impl<W> Default for Running<W> {
    fn default() -> Self {
        Self { attempts: FxHashMap::default() }
    }
}

/// A lease is renewed this many times before it would end.
const RENEWALS_A_LEASE: u32 = 3;

impl<W> Running<W> {
    /// An attempt begins; says when its lease has to be renewed.
    pub(super) fn begin(&mut self, grant: &Grant, lease: Duration, now: Timestamp) -> Timestamp {
        let renew_at = now.after(lease / RENEWALS_A_LEASE);
        let attempt = Attempt { fence: grant.fence, lease, began_at: now, renew_at, waiting: Vec::new() };
        self.attempts.insert(grant.row, attempt);
        renew_at
    }

    pub(super) fn has(&self, row: i64, fence: i64) -> bool {
        self.attempts.get(&row).is_some_and(|attempt| attempt.fence == fence)
    }

    pub(super) fn park(&mut self, row: i64, waiter: W) {
        if let Some(attempt) = self.attempts.get_mut(&row) {
            attempt.waiting.push(waiter);
        }
    }

    /// The attempt has ended; gives back who waited for it. An older attempt's end concerns nobody here.
    pub(super) fn ended(&mut self, row: i64, fence: i64) -> Vec<W> {
        if self.has(row, fence) {
            self.attempts.remove(&row).map_or_else(Vec::new, |attempt| attempt.waiting)
        } else {
            Vec::new()
        }
    }

    /// The lease is not this process's any more: stop renewing it.
    pub(super) fn lost(&mut self, row: i64) {
        if let Some(attempt) = self.attempts.get_mut(&row) {
            attempt.renew_at = Timestamp::from_nanos(i64::MAX);
        }
    }

    /// When the next lease has to be renewed.
    pub(super) fn renewal_due(&self) -> Option<Timestamp> {
        self.attempts.values().map(|attempt| attempt.renew_at).min().filter(|at| at.as_nanos() < i64::MAX)
    }

    /// The leases to renew now. An attempt that has run for `run_max` is renewed no more: a hung body ends as
    /// unknown.
    pub(super) fn due(&mut self, now: Timestamp, run_max: Duration) -> Vec<Hold> {
        let mut holds = Vec::new();
        for (row, attempt) in &mut self.attempts {
            if now < attempt.renew_at {
                continue;
            }
            if now.since(attempt.began_at) >= run_max {
                attempt.renew_at = Timestamp::from_nanos(i64::MAX);
                continue;
            }
            attempt.renew_at = now.after(attempt.lease / RENEWALS_A_LEASE);
            holds.push(Hold { row: *row, fence: attempt.fence, lease: attempt.lease });
        }
        holds
    }
}
