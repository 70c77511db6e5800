//! Records and their identities, and what commands make of them.
//!
//! Must not know who reads.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use super::beside::{Beside, Kept};
use crate::{
    clock::Timestamp,
    id::{OperationId, Tenant},
    identity::Digest,
    ledger::{
        Aftermath, Alias, Answer, BeginReconcile, Begun, Command, Decision, Evidence, Grant, Hold, Identity, Illegal,
        Judge, Judged, Link, Match, NO_GENERATION, Record, Reply, Reserve, Reserved, Resolve, Resolved, Settle,
        Settled, Silent, State, StoreError, StoreErrorKind, Tally, Witnessed,
        course::{self, Change},
        decide,
    },
};

#[derive(Debug, Default)]
pub(super) struct Records {
    /// The last fencing token given.
    pub(super) fence: i64,
    /// Where the next purge goes on.
    pub(super) purged_to: i64,
    pub(super) by_row: BTreeMap<i64, Kept>,
    pub(super) by_identity: HashMap<(Tenant, Digest, Digest), BTreeMap<u32, i64>>,
    pub(super) by_operation: HashMap<(Tenant, OperationId), i64>,
    /// Of each resource, the latest first token of an operation that succeeded on it.
    pub(super) resources: HashMap<(Tenant, Digest), i64>,
    pub(super) beside: Beside,
}

impl Records {
    pub(super) fn apply(&mut self, command: &Command, now: Timestamp) -> Result<Reply, StoreError> {
        Ok(match command {
            Command::Reserve(reserve) => Reply::Reserved(self.reserve(reserve, now)?),
            Command::Settle(settle) => Reply::Settled(self.settle(settle, now)?),
            Command::Renew(holds) => Reply::Renewed { lost: self.renew(holds, now) },
            Command::Tally(tallies) => {
                for tally in tallies {
                    self.tally(tally, now);
                }
                Reply::Tallied
            }
            Command::Purge { records_max, tombstone } => Reply::Purged(self.purge(*records_max, *tombstone, now)),
            Command::EndLeases(silent) => Reply::LeasesEnded(self.end_leases(silent, now)?),
            Command::BeginReconcile(begin) => Reply::Begun(self.begin(begin, now)?),
            Command::Verdict(judge) => Reply::Judged(self.judge(judge, now)?),
            Command::Resolve(resolve) => Reply::Resolved(self.resolve(resolve, now)?),
            Command::Evidence(evidence) => Reply::Witnessed(self.witness(evidence, now)?),
        })
    }

    pub(super) fn matches(&self, tenant: &Tenant, scope: &Digest, identities: &[Identity]) -> Vec<Option<Match>> {
        let find = |identity: &Identity| {
            let generations = self.by_identity.get(&(tenant.clone(), *scope, identity.digest))?;
            let (generation, row) = match identity.generation {
                None => generations.last_key_value()?,
                Some(wanted) => generations.get_key_value(&wanted)?,
            };
            let kept = self.by_row.get(row)?;
            Some(Match { generation: *generation, record: Arc::clone(&kept.record), reopened: self.reopened(kept) })
        };
        identities.iter().map(find).collect()
    }

    /// Whether something else has succeeded on one of its resources that began after it had finished.
    fn reopened(&self, kept: &Kept) -> bool {
        let later = |resource: &Digest| {
            let last = self.resources.get(&(kept.tenant.clone(), *resource));
            last.is_some_and(|last| *last > kept.record.settled_fence)
        };
        kept.record.settled_fence > 0 && kept.resources.iter().any(later)
    }

    fn reserve(&mut self, reserve: &Reserve, now: Timestamp) -> Result<Reserved, StoreError> {
        let matches = self.matches(&reserve.tenant, &reserve.scope.digest, &reserve.identities);
        match decide(reserve, &matches, now) {
            Decision::Create { operation, generations } => self.create(reserve, operation, generations, now),
            Decision::Reopen(answer) => {
                self.fence += 1;
                let (change, grant) = course::reopen(&answer, reserve, self.fence, now).map_err(illegal)?;
                let row = self.write(change, now)?.row;
                answer.aliases.iter().for_each(|alias| self.name(row, *alias));
                self.kept(row)?.started(&grant, now);
                Ok(Reserved::Granted(grant))
            }
            Decision::GrantAgain(answer) => Ok(Reserved::Granted(course::granted(&answer.record, answer.generations))),
            Decision::EndLease(answer) => match course::end_lease(&answer.record, now).map_err(illegal)? {
                None => Ok(Reserved::Found(answer)),
                Some(change) => Ok(Reserved::Found(Answer { record: self.write(change, now)?, ..answer })),
            },
            Decision::GiveUp(answer) => {
                let change = course::give_up(&answer.record, self.fence, now).map_err(illegal)?;
                Ok(Reserved::Found(Answer { record: self.write(change, now)?, ..answer }))
            }
            Decision::Answer(answer) => Ok(Reserved::Found(answer)),
            Decision::Refuse(conflict) => Ok(Reserved::Refused(conflict)),
        }
    }

    fn create(
        &mut self,
        reserve: &Reserve,
        operation: OperationId,
        generations: Vec<u32>,
        now: Timestamp,
    ) -> Result<Reserved, StoreError> {
        self.fence += 1;
        let row = self.fence;
        let record = Record::created(reserve, operation, row, now);
        let grant = course::granted(&record, generations);
        self.by_operation.insert((reserve.tenant.clone(), operation), row);
        let mut kept = Kept::new(reserve, Arc::new(record));
        kept.started(&grant, now);
        self.by_row.insert(row, kept);
        for (identity, generation) in reserve.identities.iter().zip(&grant.generations) {
            if *generation != NO_GENERATION {
                let alias = Alias { source: identity.source, digest: identity.digest, generation: *generation };
                self.name(row, alias);
            }
        }
        if let Some(link) = reserve.link {
            self.beside.links.push((reserve.tenant.clone(), operation, link));
        }
        self.consume(reserve, grant, now)
    }

    /// What was said about the operation before its record was there.
    fn consume(&mut self, reserve: &Reserve, grant: Grant, now: Timestamp) -> Result<Reserved, StoreError> {
        let said = self.beside.said_before(&reserve.tenant, grant.operation);
        if said.is_empty() {
            return Ok(Reserved::Granted(grant));
        }
        let (row, fence) = (grant.row, self.fence);
        for evidence in said {
            let (change, _) = course::witness(&self.kept(row)?.record, &evidence, fence, now).map_err(illegal)?;
            self.write(change, now)?;
        }
        let kept = self.kept(row)?;
        if kept.record.state != State::Succeeded {
            return Ok(Reserved::Granted(grant));
        }
        kept.never_ran();
        let record = Arc::clone(&kept.record);
        let Some(first) = reserve.identities.first() else {
            return Ok(Reserved::Granted(grant));
        };
        let Grant { generations, .. } = grant;
        let (by, aliases) = (first.source, Vec::new());
        Ok(Reserved::Found(Answer { record, by, generations, aliases, retention_ended: false }))
    }

    fn settle(&mut self, settle: &Settle, now: Timestamp) -> Result<Settled, StoreError> {
        let Some(kept) = self.of_tenant(settle.row, &settle.tenant) else {
            return Ok(Settled::Gone);
        };
        for resource in settle.resources.iter() {
            if !kept.resources.contains(resource) {
                kept.resources.push(*resource);
            }
        }
        let record = Arc::clone(&kept.record);
        let (change, settled) = course::settle(&record, settle, self.fence, now).map_err(illegal)?;
        self.write(change, now)?;
        Ok(settled)
    }

    fn end_leases(&mut self, all: &[Silent], now: Timestamp) -> Result<u64, StoreError> {
        let mut moved = 0;
        for silent in all {
            let Some(kept) = self.of_tenant(silent.row, &silent.tenant) else { continue };
            if let Some(change) = course::silent(&kept.record, silent, now).map_err(illegal)? {
                self.write(change, now)?;
                moved += 1;
            }
        }
        Ok(moved)
    }

    fn begin(&mut self, begin: &BeginReconcile, now: Timestamp) -> Result<Begun, StoreError> {
        let fence = self.fence + 1;
        let Some(kept) = self.of_tenant(begin.row, &begin.tenant) else {
            return Ok(Begun::Gone);
        };
        let (change, begun) = course::begin(&kept.record, begin, fence, now).map_err(illegal)?;
        if let Some(change) = change {
            self.fence = fence;
            self.write(change, now)?;
        }
        Ok(begun)
    }

    fn judge(&mut self, judge: &Judge, now: Timestamp) -> Result<Judged, StoreError> {
        let fence = self.fence;
        let Some(kept) = self.of_tenant(judge.row, &judge.tenant) else {
            return Ok(Judged::Gone);
        };
        for resource in judge.resources.iter() {
            if !kept.resources.contains(resource) {
                kept.resources.push(*resource);
            }
        }
        let (change, judged) = course::judge(&kept.record, judge, fence, now).map_err(illegal)?;
        self.write(change, now)?;
        Ok(judged)
    }

    fn resolve(&mut self, resolve: &Resolve, now: Timestamp) -> Result<Resolved, StoreError> {
        let fence = self.fence;
        let Some(kept) = self.of_tenant(resolve.row, &resolve.tenant) else {
            return Ok(Resolved::Gone);
        };
        let (change, resolved) = course::resolve(&kept.record, resolve, fence, now).map_err(illegal)?;
        if let Some(change) = change {
            self.write(change, now)?;
        }
        Ok(resolved)
    }

    fn witness(&mut self, evidence: &Evidence, now: Timestamp) -> Result<Witnessed, StoreError> {
        let row = self.by_operation.get(&(evidence.tenant.clone(), evidence.operation)).copied();
        if !self.beside.hear(evidence, row.is_some(), now) {
            let record = row.and_then(|row| self.by_row.get(&row)).map(|kept| Arc::clone(&kept.record));
            return Ok(Witnessed::Known { record });
        }
        let Some(row) = row else { return Ok(Witnessed::Kept) };
        let fence = self.fence;
        let (change, witnessed) = course::witness(&self.kept(row)?.record, evidence, fence, now).map_err(illegal)?;
        self.write(change, now)?;
        Ok(witnessed)
    }

    fn renew(&mut self, holds: &[Hold], now: Timestamp) -> Vec<i64> {
        let mut lost = Vec::new();
        for hold in holds {
            let held = |kept: &&mut Kept| kept.record.fence == hold.fence && kept.record.state == State::InProgress;
            match self.by_row.get_mut(&hold.row).filter(held) {
                None => lost.push(hold.row),
                Some(kept) => {
                    let record = Arc::make_mut(&mut kept.record);
                    record.lease_until = Some(now.after(hold.lease));
                    record.renewed_at = Some(now);
                    record.renewals = record.renewals.saturating_add(1);
                }
            }
        }
        lost
    }

    fn tally(&mut self, tally: &Tally, now: Timestamp) {
        let Some(kept) = self.of_tenant(tally.row, &tally.tenant) else { return };
        kept.count(tally, now);
        tally.aliases.iter().for_each(|alias| self.name(tally.row, *alias));
    }

    /// A new identity of an operation that is there; one that leads elsewhere already stays as it is.
    fn name(&mut self, row: i64, alias: Alias) {
        let Some(kept) = self.by_row.get_mut(&row) else {
            return;
        };
        let generations = self.by_identity.entry((kept.tenant.clone(), kept.scope.digest, alias.digest)).or_default();
        if let std::collections::btree_map::Entry::Vacant(free) = generations.entry(alias.generation) {
            free.insert(row);
            kept.named.push(alias);
        }
    }

    pub(super) fn remove(&mut self, row: i64) {
        let Some(kept) = self.by_row.remove(&row) else {
            return;
        };
        let operation = kept.record.operation;
        self.by_operation.remove(&(kept.tenant.clone(), operation));
        self.beside.forget(&kept.tenant, operation);
        for alias in kept.named {
            let identity = (kept.tenant.clone(), kept.scope.digest, alias.digest);
            if let Some(generations) = self.by_identity.get_mut(&identity) {
                generations.remove(&alias.generation);
                if generations.is_empty() {
                    self.by_identity.remove(&identity);
                }
            }
        }
        let used: HashSet<&Digest> = self.by_row.values().flat_map(|kept| &kept.resources).collect();
        let unused: Vec<Digest> = kept.resources.into_iter().filter(|resource| !used.contains(resource)).collect();
        for resource in unused {
            self.resources.remove(&(kept.tenant.clone(), resource));
        }
    }

    fn of_tenant(&mut self, row: i64, tenant: &Tenant) -> Option<&mut Kept> {
        self.by_row.get_mut(&row).filter(|kept| kept.tenant == *tenant)
    }

    pub(super) fn kept(&mut self, row: i64) -> Result<&mut Kept, StoreError> {
        let gone = || StoreError::new(StoreErrorKind::Corrupt, Aftermath::Nothing, "a record is not there");
        self.by_row.get_mut(&row).ok_or_else(gone)
    }

    /// Writes what a command makes of a record.
    fn write(&mut self, change: Change, now: Timestamp) -> Result<Arc<Record>, StoreError> {
        let kept = self.kept(change.record.row)?;
        let before = kept.record.state;
        kept.record = Arc::new(change.record);
        kept.enter(change.entries, now);
        let record = Arc::clone(&kept.record);
        if record.state == State::Succeeded && before != State::Succeeded {
            let (tenant, resources) = (kept.tenant.clone(), kept.resources.clone());
            for resource in resources {
                let last = self.resources.entry((tenant.clone(), resource)).or_insert(0);
                *last = (*last).max(record.row);
            }
        }
        Ok(record)
    }
}

pub(super) fn illegal(error: Illegal) -> StoreError {
    StoreError::new(StoreErrorKind::Other, Aftermath::Nothing, error)
}

/// The operations that `operation` compensates or replaces, or that do so to it.
pub(super) fn links_of(links: &[(Tenant, OperationId, Link)], tenant: &Tenant, of: OperationId) -> [Vec<Link>; 2] {
    let own = links.iter().filter(|(owner, from, _)| owner == tenant && *from == of).map(|(_, _, link)| *link);
    let others = links.iter().filter(|(owner, _, link)| owner == tenant && link.to == of);
    [own.collect(), others.map(|(_, from, link)| Link { kind: link.kind, to: *from }).collect()]
}
