//! How attempts end, owners that fell silent, reconciliations, verdicts, and what people decide.
//!
//! Must not know when any of it is due or allowed.

use std::sync::Arc;

use super::{
    failure::Stopped,
    work::{Key, Work},
};
use crate::{
    id::Tenant,
    ledger::{BeginReconcile, Begun, Judge, Judged, Record, Resolve, Resolved, Settle, Settled, Silent, course},
};

impl Work<'_> {
    /// The tenant's record with this handle.
    fn of_tenant(&self, tenant: &Tenant, row: i64) -> Option<(Key, Arc<Record>)> {
        let key = (self.catalogue.tenant(tenant)?, row);
        Some((key, self.held(key)?))
    }

    pub(super) fn settle(&mut self, settle: &Settle) -> Result<Settled, Stopped> {
        let Some((key, record)) = self.of_tenant(&settle.tenant, settle.row) else {
            return Ok(Settled::Gone);
        };
        self.beside.touch(key, &settle.resources);
        let (change, settled) = course::settle(&record, settle, self.last_fence(), self.now)?;
        self.save(key, &record, change)?;
        Ok(settled)
    }

    /// Says how many records moved.
    pub(super) fn end_leases(&mut self, all: &[Silent]) -> Result<u64, Stopped> {
        let mut moved = 0;
        for silent in all {
            let Some((key, record)) = self.of_tenant(&silent.tenant, silent.row) else { continue };
            if let Some(change) = course::silent(&record, silent, self.now)? {
                self.save(key, &record, change)?;
                moved += 1;
            }
        }
        Ok(moved)
    }

    pub(super) fn begin(&mut self, begin: &BeginReconcile) -> Result<Begun, Stopped> {
        let Some((key, record)) = self.of_tenant(&begin.tenant, begin.row) else {
            return Ok(Begun::Gone);
        };
        // Where it is not given, it is never seen: a gap.
        let fence = self.fence()?;
        let (change, begun) = course::begin(&record, begin, fence, self.now)?;
        if let Some(change) = change {
            self.save(key, &record, change)?;
        }
        Ok(begun)
    }

    pub(super) fn judge(&mut self, judge: &Judge) -> Result<Judged, Stopped> {
        let Some((key, record)) = self.of_tenant(&judge.tenant, judge.row) else {
            return Ok(Judged::Gone);
        };
        self.beside.touch(key, &judge.resources);
        let (change, judged) = course::judge(&record, judge, self.last_fence(), self.now)?;
        self.save(key, &record, change)?;
        Ok(judged)
    }

    pub(super) fn resolve(&mut self, resolve: &Resolve) -> Result<Resolved, Stopped> {
        let Some((key, record)) = self.of_tenant(&resolve.tenant, resolve.row) else {
            return Ok(Resolved::Gone);
        };
        let (change, resolved) = course::resolve(&record, resolve, self.last_fence(), self.now)?;
        if let Some(change) = change {
            self.save(key, &record, change)?;
        }
        Ok(resolved)
    }
}
