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

/// A record, and what is known to lead to it.
#[derive(Debug, Clone)]
struct Known {
    generation: u32,
    record: Arc<Record>,
    names: Names,
}

type Names = Arc<[(Digest, u32)]>;

/// How many identities of one record are kept at hand.
const NAMES_MAX: usize = 8;

#[derive(Debug, Clone)]
struct Weight;

impl Weighter<Digest, Known> for Weight {
    fn weight(&self, _: &Digest, known: &Known) -> u64 {
        (known.record.weight() + size_of_val(&*known.names)) as u64
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
            matches.push(Some(Match { generation, record: Arc::clone(&known.record) }));
            fits.then_some(())
        };
        push(first, known.generation)?;
        for other in others {
            let (_, generation) = known.names.iter().find(|(digest, _)| *digest == other.digest)?;
            push(other, *generation)?;
        }
        Some(matches)
    }

    /// Keeps a finished record under the identities of a call, the first of which finds it.
    pub(super) fn insert(&self, identities: &[Identity], generations: &[u32], record: &Arc<Record>) {
        let named = identities.iter().zip(generations).map(|(identity, generation)| (identity.digest, *generation));
        let named = named.filter(|(_, generation)| *generation != NO_GENERATION);
        for (digest, generation) in named.clone() {
            let before = self.0.peek(&digest).filter(|known| known.record.row == record.row);
            let older = before.as_ref().map(|known| known.names.iter().copied());
            let older = older.into_iter().flatten().filter(|(digest, _)| named.clone().all(|(new, _)| new != *digest));
            let names: Names = named.clone().chain(older).take(NAMES_MAX).collect();
            self.0.insert(digest, Known { generation, record: Arc::clone(record), names });
        }
    }
}

/// Whether reading before reserving is worth its while: where hardly any call repeats what memory does not hold, the
/// reservation alone finds out as much.
#[derive(Debug)]
pub(super) struct Reading(AtomicU32);

impl Reading {
    const FULL: u32 = 1024;
    const HIT: u32 = 64;
    /// Even when it seems worthless, one call in so many reads, to notice when that changes.
    const SAMPLE: u32 = 32;

    pub(super) fn new() -> Self {
        Self(AtomicU32::new(Self::FULL))
    }

    /// Whether this call should read first.
    pub(super) fn pays(&self) -> bool {
        let credit = self.0.load(Ordering::Relaxed);
        credit >= Self::SAMPLE || {
            self.0.store(credit + 1, Ordering::Relaxed);
            credit + 1 == Self::SAMPLE
        }
    }

    /// An operation was there.
    pub(super) fn found(&self) {
        let credit = self.0.load(Ordering::Relaxed);
        self.0.store((credit + Self::HIT).min(Self::FULL), Ordering::Relaxed);
    }

    /// Reading found nothing.
    pub(super) fn missed(&self) {
        let credit = self.0.load(Ordering::Relaxed);
        self.0.store(if credit > Self::SAMPLE { credit - 1 } else { 0 }, Ordering::Relaxed);
    }
}
