//! Owners that fell silent, reconciliations, verdicts, and what people decide.
//!
//! Must not know when any of it is due or allowed.

use super::{
    failure::{illegal, nothing},
    write::Batch,
};
use crate::ledger::{BeginReconcile, Begun, Judge, Judged, Resolve, Resolved, Silent, StoreError, course};

impl Batch<'_> {
    /// Says how many records moved.
    pub(super) fn end_leases(&mut self, all: &[Silent]) -> Result<u64, StoreError> {
        let mut moved = 0;
        for silent in all {
            let Some((tenant, record)) = self.load(&silent.tenant, silent.row)? else { continue };
            if let Some(change) = course::silent(&record, silent, self.now).map_err(illegal)? {
                self.save(tenant, &record, change)?;
                moved += 1;
            }
        }
        Ok(moved)
    }

    pub(super) fn begin(&mut self, begin: &BeginReconcile) -> Result<Begun, StoreError> {
        let Some((tenant, record)) = self.load(&begin.tenant, begin.row)? else {
            return Ok(Begun::Gone);
        };
        let fence = self.fence().map_err(nothing)?;
        let (change, begun) = course::begin(&record, begin, fence, self.now).map_err(illegal)?;
        match change {
            None => self.give_back(fence),
            Some(change) => {
                self.save(tenant, &record, change)?;
                self.remember(fence).map_err(nothing)?;
            }
        }
        Ok(begun)
    }

    pub(super) fn judge(&mut self, judge: &Judge) -> Result<Judged, StoreError> {
        let Some((tenant, record)) = self.load(&judge.tenant, judge.row)? else {
            return Ok(Judged::Gone);
        };
        self.touches(record.row, &judge.resources).map_err(nothing)?;
        let last_fence = self.order(&record, &judge.resources)?;
        let (change, judged) = course::judge(&record, judge, last_fence, self.now).map_err(illegal)?;
        self.save(tenant, &record, change)?;
        Ok(judged)
    }

    pub(super) fn resolve(&mut self, resolve: &Resolve) -> Result<Resolved, StoreError> {
        let Some((tenant, record)) = self.load(&resolve.tenant, resolve.row)? else {
            return Ok(Resolved::Gone);
        };
        let last_fence = self.order(&record, &[])?;
        let (change, resolved) = course::resolve(&record, resolve, last_fence, self.now).map_err(illegal)?;
        if let Some(change) = change {
            self.save(tenant, &record, change)?;
        }
        Ok(resolved)
    }
}
