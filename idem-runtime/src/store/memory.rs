//! A ledger in memory, for tests and for programs whose effects do not outlive them.
//!
//! Applies the same decisions and the same transition function as every other store; a batch is one critical
//! section.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use crate::{
    clock::Timestamp,
    id::{OperationId, Tenant},
    identity::Digest,
    ledger::{
        Aftermath, Alias, Answer, BoxFuture, Command, Decision, Drifted, Ending, Event, Find, Flow, Grant, Hold,
        Identity, Match, Moved, PurgeReport, Reader, Record, Reply, Reserve, Reserved, Settle, Settled, State, Store,
        StoreError, StoreErrorKind, Tally, decide, transition,
    },
};

/// Records in this process's memory: nothing survives it.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: Arc<RwLock<Records>>,
}

#[derive(Debug, Default)]
struct Records {
    fence: i64,
    /// Where the next purge goes on.
    purged_to: i64,
    by_row: BTreeMap<i64, Kept>,
    by_identity: HashMap<(Tenant, Digest, Digest), BTreeMap<u32, i64>>,
}

#[derive(Debug)]
struct Kept {
    tenant: Tenant,
    scope: Digest,
    record: Arc<Record>,
    named: Vec<Alias>,
    replays: u64,
    drifted: Option<Drifted>,
}

impl MemoryStore {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for MemoryStore {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        let replies = commands.iter().map(|command| records.apply(command, now)).collect();
        Box::pin(std::future::ready(replies))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(MemoryReader(Arc::clone(&self.records)))
    }

    fn flow(&self) -> Flow {
        Flow::Blocking
    }

    fn close(&mut self) {}
}

impl Records {
    fn apply(&mut self, command: &Command, now: Timestamp) -> Result<Reply, StoreError> {
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
        })
    }

    fn matches(&self, tenant: &Tenant, scope: &Digest, identities: &[Identity]) -> Vec<Option<Match>> {
        let find = |identity: &Identity| {
            let generations = self.by_identity.get(&(tenant.clone(), *scope, identity.digest))?;
            let (generation, row) = match identity.generation {
                None => generations.last_key_value()?,
                Some(wanted) => generations.get_key_value(&wanted)?,
            };
            let record = Arc::clone(&self.by_row.get(row)?.record);
            Some(Match { generation: *generation, record })
        };
        identities.iter().map(find).collect()
    }

    fn reserve(&mut self, reserve: &Reserve, now: Timestamp) -> Result<Reserved, StoreError> {
        let matches = self.matches(&reserve.tenant, &reserve.scope.digest, &reserve.identities);
        match decide(reserve, &matches, now) {
            Decision::Create { operation, generations } => Ok(self.create(reserve, operation, generations, now)),
            Decision::Reopen(answer) => self.reopen(reserve, answer, now),
            Decision::EndLease(answer) => {
                let record = self.change(answer.record.row, |record| {
                    record.state = moved(record.state, Event::LeaseEnded)?;
                    record.settled_at = Some(now);
                    record.lease_until = None;
                    Ok(())
                })?;
                Ok(Reserved::Found(Answer { record, ..answer }))
            }
            Decision::Answer(answer) => Ok(Reserved::Found(answer)),
            Decision::Refuse(conflict) => Ok(Reserved::Refused(conflict)),
        }
    }

    fn create(&mut self, reserve: &Reserve, operation: OperationId, generations: Vec<u32>, now: Timestamp) -> Reserved {
        self.fence += 1;
        let row = self.fence;
        let lease_until = now.after(reserve.lease);
        let record = Record {
            row,
            operation,
            tool: Arc::clone(&reserve.tool),
            principal: reserve.principal.clone(),
            fingerprint: reserve.fingerprint,
            parts: Arc::clone(&reserve.parts),
            content: Arc::clone(&reserve.content),
            state: State::InProgress,
            attempt: 1,
            fence: row,
            lease_until: Some(lease_until),
            renewed_at: None,
            renewals: 0,
            reserved_at: now,
            settled_at: None,
            retain_until: None,
            reference: None,
            review: false,
            stored: None,
        };
        let kept = Kept {
            tenant: reserve.tenant.clone(),
            scope: reserve.scope.digest,
            record: Arc::new(record),
            named: Vec::new(),
            replays: 0,
            drifted: None,
        };
        self.by_row.insert(row, kept);
        for (identity, generation) in reserve.identities.iter().zip(&generations) {
            let alias = Alias { source: identity.source, digest: identity.digest, generation: *generation };
            self.name(row, alias);
        }
        Reserved::Granted(Grant { row, operation, attempt: 1, fence: row, reserved_at: now, lease_until, generations })
    }

    fn reopen(&mut self, reserve: &Reserve, answer: Answer, now: Timestamp) -> Result<Reserved, StoreError> {
        self.fence += 1;
        let fence = self.fence;
        let lease_until = now.after(reserve.lease);
        let record = self.change(answer.record.row, |record| {
            record.state = moved(record.state, Event::Reserve)?;
            record.attempt = record.attempt.saturating_add(1);
            record.fence = fence;
            record.lease_until = Some(lease_until);
            record.content = Arc::clone(&reserve.content);
            record.settled_at = None;
            Ok(())
        })?;
        answer.aliases.iter().for_each(|alias| self.name(record.row, *alias));
        Ok(Reserved::Granted(Grant {
            row: record.row,
            operation: record.operation,
            attempt: record.attempt,
            fence,
            reserved_at: record.reserved_at,
            lease_until,
            generations: answer.generations,
        }))
    }

    fn settle(&mut self, settle: &Settle, now: Timestamp) -> Result<Settled, StoreError> {
        let Some(kept) = self.by_row.get(&settle.row).filter(|kept| kept.tenant == settle.tenant) else {
            return Ok(Settled::Gone);
        };
        let holds = kept.record.state == State::InProgress && kept.record.fence == settle.fence;
        let last = kept.record.fence == settle.fence;
        let event = match (settle.ending, holds) {
            (Ending::Ok, true) => Event::SettleOk,
            (Ending::Retryable, true) => Event::SettleRetryable,
            (Ending::Final, true) => Event::SettleFinal,
            (Ending::Unknown, true) => Event::SettleUnknown,
            (Ending::NotStarted, true) => Event::NotStarted,
            (Ending::Ok, false) => Event::LateOk,
            (Ending::Retryable | Ending::Final | Ending::NotStarted, false) if last => Event::LateNoEffect,
            (Ending::Retryable | Ending::Final | Ending::NotStarted | Ending::Unknown, false) => Event::LateUnknown,
        };
        let (to, review) = match transition(kept.record.state, event).map_err(illegal)? {
            Moved::To(to) => (to, false),
            Moved::ToWithReview(to) => (to, true),
            Moved::Kept => {
                return Ok(Settled::Late { record: Arc::clone(&kept.record) });
            }
        };
        let record = self.change(settle.row, |record| {
            if record.state != to {
                record.settled_at = Some(now);
            }
            record.state = to;
            record.review |= review;
            record.lease_until = None;
            if holds || event == Event::LateOk {
                record.retain_until = to.is_finished().then(|| now.after(settle.retain));
                record.reference = settle.reference.clone().or(record.reference.take());
                record.stored = settle.stored.clone().or(record.stored.take());
            }
            Ok(())
        })?;
        Ok(if holds {
            Settled::Recorded { state: to, settled_at: now, retain_until: record.retain_until }
        } else {
            Settled::Late { record }
        })
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
        let Some(kept) = self.by_row.get_mut(&tally.row).filter(|kept| kept.tenant == tally.tenant) else {
            return;
        };
        kept.replays = kept.replays.saturating_add(tally.replays);
        if tally.drifts > 0 {
            let before = kept.drifted.as_ref().map_or(0, |drifted| drifted.count);
            kept.drifted = Some(Drifted {
                operation: kept.record.operation,
                tool: kept.record.tool.name.to_string(),
                parameters: tally.parameters.clone(),
                count: before.saturating_add(tally.drifts),
                last_at: now,
            });
        }
        tally.aliases.iter().for_each(|alias| self.name(tally.row, *alias));
    }

    /// A new identity of an operation that is there; one that leads elsewhere already stays as it is.
    fn name(&mut self, row: i64, alias: Alias) {
        let Some(kept) = self.by_row.get_mut(&row) else {
            return;
        };
        let generations = self.by_identity.entry((kept.tenant.clone(), kept.scope, alias.digest)).or_default();
        if let std::collections::btree_map::Entry::Vacant(free) = generations.entry(alias.generation) {
            free.insert(row);
            kept.named.push(alias);
        }
    }

    fn purge(&mut self, records_max: u32, tombstone: Duration, now: Timestamp) -> PurgeReport {
        let mut report = PurgeReport::default();
        let behind = (Bound::Excluded(self.purged_to), Bound::Unbounded);
        let looked_at: Vec<i64> = self
            .by_row
            .range(behind)
            .map(|(row, _)| *row)
            .take(usize::try_from(records_max).unwrap_or(usize::MAX))
            .collect();
        report.looked_at = looked_at.len() as u64;
        // At the end the walk begins anew.
        let walked_all = looked_at.len() < usize::try_from(records_max).unwrap_or(usize::MAX);
        self.purged_to = looked_at.last().copied().filter(|_| !walked_all).unwrap_or(0);
        let ended = |row: &i64| self.by_row.get(row).is_some_and(|kept| kept.record.retention_ended(now));
        for row in looked_at.into_iter().filter(ended).collect::<Vec<_>>() {
            let Some(kept) = self.by_row.get_mut(&row) else {
                continue;
            };
            if kept.record.retain_until.is_some_and(|until| now >= until.after(tombstone)) {
                self.remove(row);
                report.removed += 1;
            } else if Arc::make_mut(&mut kept.record).stored.take().is_some() {
                report.tombstones += 1;
            }
        }
        report
    }

    fn remove(&mut self, row: i64) {
        let Some(kept) = self.by_row.remove(&row) else {
            return;
        };
        for alias in kept.named {
            let identity = (kept.tenant.clone(), kept.scope, alias.digest);
            if let Some(generations) = self.by_identity.get_mut(&identity) {
                generations.remove(&alias.generation);
                if generations.is_empty() {
                    self.by_identity.remove(&identity);
                }
            }
        }
    }

    fn change(
        &mut self,
        row: i64,
        change: impl FnOnce(&mut Record) -> Result<(), StoreError>,
    ) -> Result<Arc<Record>, StoreError> {
        let gone = || StoreError::new(StoreErrorKind::Corrupt, Aftermath::Nothing, "a record is not there");
        let kept = self.by_row.get_mut(&row).ok_or_else(gone)?;
        change(Arc::make_mut(&mut kept.record))?;
        Ok(Arc::clone(&kept.record))
    }
}

fn moved(state: State, event: Event) -> Result<State, StoreError> {
    match transition(state, event).map_err(illegal)? {
        Moved::To(to) | Moved::ToWithReview(to) => Ok(to),
        Moved::Kept => Ok(state),
    }
}

fn illegal(error: crate::ledger::Illegal) -> StoreError {
    StoreError::new(StoreErrorKind::Other, Aftermath::Nothing, error)
}

#[derive(Debug)]
struct MemoryReader(Arc<RwLock<Records>>);

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
    fn find<'a>(&'a self, find: Find<'a>) -> BoxFuture<'a, Result<Vec<Option<Match>>, StoreError>> {
        self.read(|records| records.matches(find.tenant, find.scope, find.identities))
    }

    fn show<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.read(|records| {
            let mut kept = records.by_row.values();
            let kept = kept.find(|kept| kept.tenant == *tenant && kept.record.operation == operation);
            kept.map(|kept| Record::clone(&kept.record))
        })
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
}
