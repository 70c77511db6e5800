//! How attempts end in the file.
//!
//! Must not know what a late or an unlucky end means for its record; only what nearly every call comes to, a first attempt
//! that succeeds, is written here in one statement of its own.

use super::{
    failure::{illegal, nothing},
    reserve::nanos,
    write::{Batch, hot},
};
use crate::ledger::{Ending, Settle, Settled, State, StoreError, course};

/// A first attempt that is running has nothing of what a success clears: nobody doubts it or asks about it. One that changes
/// resources or lacks a reference it needs is no plain success.
const SETTLE: &str = "\
    update idem_operations
    set state = 'succeeded', settled_at = ?1, retain = ?2, retain_until = ?3, reference = coalesce(?4, reference),
        lease_until = null, version = version + 1
    where id = ?5 and tenant = ?6 and fence = ?7 and state = 'in_progress' and attempt = 1 and has_resources = 0
      and (needs_reference = 0 or ?4 is not null)";

impl Batch<'_> {
    pub(super) fn settle(&mut self, settle: &Settle) -> Result<Settled, StoreError> {
        let first = settle.ending == Ending::Ok && settle.attempt == 1 && !settle.looks && settle.resources.is_empty();
        if first && let Some(settled) = self.succeeded(settle)? {
            return Ok(settled);
        }
        let Some((tenant, record)) = self.load(&settle.tenant, settle.row)? else {
            return Ok(Settled::Gone);
        };
        self.touches(record.row, &settle.resources).map_err(nothing)?;
        let last_fence = self.order(&record, &settle.resources)?;
        let (change, settled) = course::settle(&record, settle, last_fence, self.now).map_err(illegal)?;
        self.save(tenant, &record, change)?;
        Ok(settled)
    }

    /// A first attempt that holds its lease succeeded; it leaves no history but what its record says. `None` where it is
    /// not so.
    fn succeeded(&mut self, settle: &Settle) -> Result<Option<Settled>, StoreError> {
        let Some(tenant) = self.catalogue.tenant(self.db, &settle.tenant).map_err(nothing)? else {
            return Ok(Some(Settled::Gone));
        };
        let retain_until = self.now.after(settle.retain);
        let changed = hot(&mut self.hot.settle, self.db, SETTLE)
            .and_then(|update| {
                update.execute((
                    self.now.as_nanos(),
                    nanos(settle.retain),
                    retain_until.as_nanos(),
                    settle.reference.as_deref(),
                    settle.row,
                    tenant,
                    settle.fence,
                ))
            })
            .map_err(nothing)?;
        if changed == 0 {
            return Ok(None);
        }
        self.rows += 1;
        self.result(settle.row, settle.stored.as_ref()).map_err(nothing)?;
        let (state, settled_at) = (State::Succeeded, self.now);
        Ok(Some(Settled::Recorded { state, settled_at, retain_until: Some(retain_until) }))
    }
}
