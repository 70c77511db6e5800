//! Counts and aliases that are written later, together.
//!
//! Must not know when later is; the front decides.

use std::{
    collections::hash_map::Entry,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustc_hash::FxHashMap;

use super::command::Tally;
use crate::id::Tenant;

/// How many aliases of one operation are kept until they are written; a storm of new ids for one operation
/// changes nothing once its arguments lead to it.
const ALIASES_MAX: usize = 64;

/// So many replays are added up at the latest.
const REPLAYS_MAX: usize = 32 * 1024;

/// How many records are written at once: a storm of replays must not hold up those who wait.
const ROWS_MAX: usize = 1_000;

/// What was put off, by record.
#[derive(Debug, Default)]
pub(super) struct Tallies(Mutex<Pending>);

#[derive(Debug, Default)]
struct Pending {
    /// Replays that brought nothing new, as they came: to be added up later.
    replays: Vec<(i64, Tenant)>,
    by_row: FxHashMap<i64, Tally>,
    since: Option<Instant>,
    /// Some of it are new identities.
    names: bool,
}

impl Tallies {
    /// Adds one; says whether it is the first since the last was taken.
    pub(super) fn add(&self, tally: Tally) -> bool {
        let mut pending = self.held();
        let first = pending.since.is_none();
        pending.since.get_or_insert_with(Instant::now);
        pending.names |= !tally.aliases.is_empty();
        pending.put(tally);
        first
    }

    /// Adds a replay that brought nothing new; says whether it is the first since the last was taken.
    pub(super) fn replayed(&self, tenant: Tenant, row: i64) -> bool {
        let mut pending = self.held();
        let first = pending.since.is_none();
        pending.since.get_or_insert_with(Instant::now);
        pending.replays.push((row, tenant));
        if pending.replays.len() >= REPLAYS_MAX {
            pending.add_up();
        }
        first
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held().since.is_none()
    }

    /// Whether there are new identities among it.
    pub(super) fn name_anything(&self) -> bool {
        self.held().names
    }

    /// What has to be written now: all new identities, and as many counts as fit.
    pub(super) fn take(&self) -> Option<Vec<Tally>> {
        let mut pending = self.held();
        let since = pending.since?;
        pending.add_up();
        if pending.by_row.len() <= ROWS_MAX {
            return Some(pending.take_all());
        }
        let mut left = ROWS_MAX;
        let taken = pending.by_row.extract_if(|_, tally| {
            let fits = left > 0;
            left = left.saturating_sub(1);
            fits || !tally.aliases.is_empty()
        });
        let taken = taken.map(|(_, tally)| tally).collect();
        pending.names = false;
        pending.since = Some(since);
        Some(taken)
    }

    pub(super) fn take_all(&self) -> Option<Vec<Tally>> {
        let mut pending = self.held();
        pending.since?;
        pending.add_up();
        Some(pending.take_all())
    }

    pub(super) fn take_if_older(&self, than: Duration) -> Option<Vec<Tally>> {
        let old = self.held().since.is_some_and(|since| since.elapsed() >= than);
        if old { self.take() } else { None }
    }

    fn held(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending {
    /// Counts the replays by record.
    fn add_up(&mut self) {
        self.replays.sort_unstable_by_key(|(row, _)| *row);
        let mut replays = std::mem::take(&mut self.replays);
        for same in replays.chunk_by(|(left, _), (right, _)| left == right) {
            let [(row, tenant), ..] = same else { continue };
            let tally = Tally {
                tenant: tenant.clone(),
                row: *row,
                replays: same.len() as u64,
                drifts: 0,
                parameters: Vec::new(),
                aliases: Vec::new(),
            };
            self.put(tally);
        }
        replays.clear();
        self.replays = replays;
    }

    fn put(&mut self, tally: Tally) {
        match self.by_row.entry(tally.row) {
            Entry::Vacant(free) => {
                free.insert(tally);
            }
            Entry::Occupied(mut so_far) => merge(so_far.get_mut(), tally),
        }
    }

    fn take_all(&mut self) -> Vec<Tally> {
        self.since = None;
        self.names = false;
        std::mem::take(&mut self.by_row).into_values().collect()
    }
}

fn merge(so_far: &mut Tally, more: Tally) {
    so_far.replays = so_far.replays.saturating_add(more.replays);
    so_far.drifts = so_far.drifts.saturating_add(more.drifts);
    if more.drifts > 0 {
        so_far.parameters = more.parameters;
    }
    for alias in more.aliases {
        if so_far.aliases.len() < ALIASES_MAX && !so_far.aliases.contains(&alias) {
            so_far.aliases.push(alias);
        }
    }
}
