//! Records of first attempts that this process began, as they were committed: whoever settles one need not read it again.
//!
//! Must not be believed: another process may have moved a record meanwhile, so the ledger compares version and nonce.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::work::Key;
use crate::ledger::{Record, State};

/// By tenant and handle; of all connections of this process.
#[derive(Debug, Clone, Default)]
pub(super) struct Begun(Arc<Mutex<FxHashMap<Key, Arc<Record>>>>);

/// More attempts of this process than this are not remembered; then all are forgotten, and read where they are settled.
const BEGUN_MAX: usize = 100_000;

impl Begun {
    pub(super) fn get(&self, key: Key) -> Option<Arc<Record>> {
        self.held().get(&key).map(Arc::clone)
    }

    /// Remembers first attempts under way, and forgets those that are over.
    pub(super) fn remember(&self, records: Vec<(Key, Arc<Record>)>) {
        let mut begun = self.held();
        if begun.len() > BEGUN_MAX {
            begun.clear();
        }
        for (key, record) in records {
            if record.state == State::InProgress && record.attempt == 1 && record.stored.is_none() {
                begun.insert(key, record);
            } else {
                begun.remove(&key);
            }
        }
    }

    /// Every change is made in one piece, so a panic elsewhere leaves nothing half done.
    fn held(&self) -> MutexGuard<'_, FxHashMap<Key, Arc<Record>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
