//! Finished records by identity, bounded by memory.
//!
//! Must not know when a record still answers: [`decide`](crate::ledger::decide) says so, with the record's own
//! instants. A finished record does not change, so there is nothing to invalidate.

use std::{
    hash::BuildHasherDefault,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use quick_cache::{Weighter, sync};
use rustc_hash::FxHasher;

use crate::{
    identity::{Digest, Identity},
    ledger::{Match, NO_GENERATION, Record},
};

/// The bounded replay cache.
#[derive(Debug)]
pub(super) struct Cache(sync::Cache<Digest, Known, Weight, BuildHasherDefault<FxHasher>>);

/// A record under its most stable identity, with others that lead to it.
#[derive(Debug, Clone)]
struct Known {
    generation: u32,
    others: [Option<(Digest, u32)>; OTHERS_MAX],
    record: Arc<Record>,
}

/// How many further identities of a record are kept beside it, the last ones that were used.
const OTHERS_MAX: usize = 2;

#[derive(Debug, Clone)]
struct Weight;

impl Weighter<Digest, Known> for Weight {
    fn weight(&self, _: &Digest, known: &Known) -> u64 {
        (known.record.weight() + size_of::<Known>()) as u64
    }
}

/// What a finished record weighs about, to size the table.
const RECORD_BYTES: usize = 768;

impl Cache {
    pub(super) fn new(bytes: usize) -> Self {
        let hasher = BuildHasherDefault::default();
        Self(sync::Cache::with(bytes / RECORD_BYTES, bytes as u64, Weight, hasher, sync::DefaultLifecycle::default()))
    }

    /// What all of `identities` lead to, if it is one record, or nothing: half an answer could hide a conflict.
    pub(super) fn find(&self, identities: &[Identity]) -> Option<Vec<Option<Match>>> {
        let (first, others) = identities.split_first()?;
        let known = self.0.get(&first.digest)?;
        let mut matches = Vec::with_capacity(identities.len());
        let mut push = |identity: &Identity, generation: u32| {
            let fits = identity.generation.is_none_or(|wanted| wanted == generation);
            matches.push(Some(Match { generation, record: Arc::clone(&known.record), reopened: false }));
            fits.then_some(())
        };
        push(first, known.generation)?;
        for other in others {
            let (_, generation) = known.others.iter().flatten().find(|(digest, _)| *digest == other.digest)?;
            push(other, *generation)?;
        }
        Some(matches)
    }

    /// Keeps a finished record under the most stable identity of a call, beside the call's others.
    pub(super) fn insert(&self, identities: &[Identity], generations: &[u32], record: &Arc<Record>) {
        let mut named = identities.iter().zip(generations).map(|(identity, generation)| (identity.digest, *generation));
        let Some((digest, generation)) = named.next().filter(|(_, generation)| *generation != NO_GENERATION) else {
            return;
        };
        let before = self.0.peek(&digest).filter(|known| known.record.row == record.row);
        let mut others = [None; OTHERS_MAX];
        let older = before.iter().flat_map(|known| known.others.iter().flatten().copied());
        let older = older.filter(|(digest, _)| identities.iter().all(|identity| identity.digest != *digest));
        let named = named.filter(|(_, generation)| *generation != NO_GENERATION);
        for (place, other) in others.iter_mut().zip(named.chain(older)) {
            *place = Some(other);
        }
        self.0.insert(digest, Known { generation, others, record: Arc::clone(record) });
    }
}

/// Whether reading before reserving is worth its while: where hardly any call repeats what memory does not hold, the
/// reservation alone finds out as much, and is counted here as well.
#[derive(Debug)]
pub(super) struct Reading(AtomicU32);

impl Reading {
    const FULL: u32 = 1024;
    /// So many reads in vain are worth one that was not.
    const HIT: u32 = 64;

    /// At first a few calls read: a process that was started again has calls to repeat.
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(Self::HIT))
    }

    /// Whether this call should read first.
    pub(super) fn pays(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// An operation was there.
    pub(super) fn found(&self) {
        let credit = self.0.load(Ordering::Relaxed);
        self.0.store((credit + Self::HIT).min(Self::FULL), Ordering::Relaxed);
    }

    /// Reading found nothing.
    pub(super) fn missed(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
    }
}
