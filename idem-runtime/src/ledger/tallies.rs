//! Counts and aliases that are written later, together.
//!
//! Must not know when later is; the front decides.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::command::Tally;

/// How many aliases of one operation are kept until they are written; a storm of new ids for one operation
/// changes nothing once its arguments lead to it.
const ALIASES_MAX: usize = 64;

/// What was put off, by record.
#[derive(Debug, Default)]
pub(super) struct Tallies(Mutex<Pending>);

#[derive(Debug, Default)]
struct Pending {
    by_row: HashMap<i64, Tally>,
    since: Option<Instant>,
}

impl Tallies {
    /// Adds one; says whether it is the first since the last was taken.
    pub(super) fn add(&self, tally: Tally) -> bool {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = pending.since.is_none();
        pending.since.get_or_insert_with(Instant::now);
        match pending.by_row.get_mut(&tally.row) {
            None => {
                pending.by_row.insert(tally.row, tally);
            }
            Some(so_far) => {
                so_far.replays = so_far.replays.saturating_add(tally.replays);
                so_far.drifts = so_far.drifts.saturating_add(tally.drifts);
                if tally.drifts > 0 {
                    so_far.parameters = tally.parameters;
                }
                for alias in tally.aliases {
                    if so_far.aliases.len() < ALIASES_MAX && !so_far.aliases.contains(&alias) {
                        so_far.aliases.push(alias);
                    }
                }
            }
        }
        first
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).since.is_none()
    }

    pub(super) fn take(&self) -> Option<Vec<Tally>> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.since.take()?;
        Some(std::mem::take(&mut pending.by_row).into_values().collect())
    }

    pub(super) fn take_if_older(&self, than: Duration) -> Option<Vec<Tally>> {
        let old = {
            let pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            pending.since.is_some_and(|since| since.elapsed() >= than)
        };
        if old { self.take() } else { None }
    }
}
