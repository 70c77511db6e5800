//! Finished records by identity, bounded by memory.
//!
//! Must not know when a record still answers: [`decide`](crate::ledger::decide) says so, with the record's own
//! instants. A finished record does not change, so there is nothing to invalidate.

use quick_cache::{Weighter, sync};

use crate::{
    identity::{Digest, Identity},
    ledger::Match,
};

/// The bounded replay cache.
#[derive(Debug)]
pub(super) struct Cache(sync::Cache<Digest, Match, Weight>);

#[derive(Debug, Clone)]
struct Weight;

impl Weighter<Digest, Match> for Weight {
    fn weight(&self, digest: &Digest, found: &Match) -> u64 {
        (digest.len() + found.record.weight()) as u64
    }
}

/// What a finished record weighs about, to size the table.
const RECORD_BYTES: usize = 768;

impl Cache {
    pub(super) fn new(bytes: usize) -> Self {
        Self(sync::Cache::with_weighter(bytes / RECORD_BYTES, bytes as u64, Weight))
    }

    /// What all of `identities` lead to, or nothing: half an answer could hide a conflict.
    pub(super) fn find(&self, identities: &[Identity]) -> Option<Vec<Option<Match>>> {
        let known = |identity: &Identity| {
            let found = self.0.get(&identity.digest)?;
            identity.generation.is_none_or(|wanted| wanted == found.generation).then_some(Some(found))
        };
        identities.iter().map(known).collect()
    }

    pub(super) fn insert(&self, digest: Digest, found: Match) {
        self.0.insert(digest, found);
    }
}
