//! Reading, on any thread.
//!
//! Must not know that there is a writer: it sees whole batches only.

use std::sync::{Arc, PoisonError, RwLock};

use super::{
    beside::Kept,
    records::{Records, links_of},
};
use crate::{
    clock::Timestamp,
    id::{OperationId, Tenant},
    ledger::{BoxFuture, Detail, Drifted, Find, Found, Listing, Reader, Record, State, StoreError, Sweep, Swept},
};

#[derive(Debug)]
pub(super) struct MemoryReader(pub(super) Arc<RwLock<Records>>);

impl MemoryReader {
    fn read<T>(&self, read: impl FnOnce(&Records) -> T) -> BoxFuture<'static, Result<T, StoreError>>
    where
        T: Send + 'static,
    {
        let records = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Box::pin(std::future::ready(Ok(read(&records))))
    }
}

impl Reader for MemoryReader {
    fn find<'a>(&'a self, find: Find<'a>) -> BoxFuture<'a, Found> {
        self.read(|records| records.matches(find.tenant, find.scope, find.identities))
    }

    fn find_all<'a>(&'a self, finds: &'a [Find<'a>]) -> BoxFuture<'a, Vec<Found>> {
        let records = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let found = finds.iter().map(|find| Ok(records.matches(find.tenant, find.scope, find.identities))).collect();
        Box::pin(std::future::ready(found))
    }

    fn show<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.read(|records| kept(records, tenant, operation).map(|kept| Record::clone(&kept.record)))
    }

    fn drifted<'a>(&'a self, tenant: &'a Tenant, records_max: u32) -> BoxFuture<'a, Result<Vec<Drifted>, StoreError>> {
        self.read(|records| {
            let of_tenant = records.by_row.values().filter(|kept| kept.tenant == *tenant);
            let mut drifted: Vec<Drifted> = of_tenant.filter_map(|kept| kept.drifted.clone()).collect();
            drifted.sort_by_key(|drifted| std::cmp::Reverse(drifted.last_at));
            drifted.truncate(usize::try_from(records_max).unwrap_or(usize::MAX));
            drifted
        })
    }

    fn detail<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Detail>, StoreError>> {
        self.read(|records| {
            let kept = kept(records, tenant, operation)?;
            let [links, linked_from] = links_of(&records.beside.links, tenant, operation);
            Some(Detail {
                record: Record::clone(&kept.record),
                scope_kind: kept.scope.kind.as_ref().into(),
                scope_value: kept.scope.value.clone(),
                scope: kept.scope.digest,
                identities: kept.named.clone(),
                attempts: kept.attempts.clone(),
                history: kept.history.clone(),
                evidence: records.beside.said(tenant, operation),
                links,
                linked_from,
                arguments: kept.arguments.clone(),
            })
        })
    }

    fn list<'a>(&'a self, tenant: &'a Tenant, listing: &'a Listing) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        self.read(|records| {
            let behind = records.by_row.range(listing.after.saturating_add(1)..);
            let of_tenant = behind.map(|(_, kept)| kept).filter(|kept| kept.tenant == *tenant);
            let wanted = of_tenant.filter(|kept| {
                let record = &kept.record;
                let since = record.settled_at.unwrap_or(record.reserved_at);
                (listing.states.is_empty() || listing.states.contains(&record.state))
                    && (!listing.in_review || record.review)
                    && listing.before.is_none_or(|before| since < before)
            });
            let page = wanted.take(usize::try_from(listing.records_max).unwrap_or(usize::MAX));
            page.map(|kept| Record::clone(&kept.record)).collect()
        })
    }

    fn sweep<'a>(&'a self, sweep: &'a Sweep, now: Timestamp) -> BoxFuture<'a, Result<Swept, StoreError>> {
        self.read(|records| {
            let due = records.by_row.values().filter(|kept| {
                let record = &kept.record;
                let wanted = sweep.tools.contains(&record.tool.name);
                let unknown = record.state == State::OutcomeUnknown && record.next_at.is_none_or(|at| now >= at);
                wanted && (unknown || record.lease_ended(now))
            });
            let due = due.take(usize::try_from(sweep.records_max).unwrap_or(usize::MAX));
            let due = due.map(|kept| (kept.tenant.clone(), Record::clone(&kept.record))).collect();
            Swept { due, next: sweep.clone() }
        })
    }
}

fn kept<'a>(records: &'a Records, tenant: &Tenant, operation: OperationId) -> Option<&'a Kept> {
    let row = records.by_operation.get(&(tenant.clone(), operation))?;
    records.by_row.get(row)
}
