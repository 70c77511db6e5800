//! What is kept beside a record: attempts, history, counts, links, and what somebody outside said.
//!
//! Must not know how a record moves.

use std::{ops::Bound, sync::Arc, time::Duration};

use super::records::Records;
use crate::{
    clock::Timestamp,
    id::{OperationId, Tenant},
    identity::Digest,
    ledger::{
        Alias, Drifted, Evidence, Grant, Happened, Link, PurgeReport, Record, Reserve, Said, Scope, Tally, Tried,
        course::Entry,
    },
};

/// A record and what belongs to it.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) tenant: Tenant,
    pub(super) scope: Scope,
    pub(super) record: Arc<Record>,
    pub(super) named: Vec<Alias>,
    pub(super) resources: Vec<Digest>,
    pub(super) arguments: Option<Arc<[u8]>>,
    pub(super) attempts: Vec<Tried>,
    pub(super) history: Vec<Happened>,
    pub(super) drifted: Option<Drifted>,
    replays: u64,
}

/// What belongs to operations rather than to records: it may be there before them.
#[derive(Debug, Default)]
pub(super) struct Beside {
    pub(super) links: Vec<(Tenant, OperationId, Link)>,
    said: Vec<Heard>,
}

/// One piece of evidence.
#[derive(Debug)]
struct Heard {
    evidence: Evidence,
    at: Timestamp,
    /// A record has weighed it.
    weighed: bool,
}

impl Kept {
    pub(super) fn new(reserve: &Reserve, record: Arc<Record>) -> Self {
        Self {
            tenant: reserve.tenant.clone(),
            scope: reserve.scope.clone(),
            record,
            named: Vec::new(),
            resources: reserve.resources.to_vec(),
            arguments: reserve.arguments.clone(),
            attempts: Vec::new(),
            history: Vec::new(),
            drifted: None,
            replays: 0,
        }
    }

    /// An attempt was granted.
    pub(super) fn started(&mut self, grant: &Grant, now: Timestamp) {
        self.attempts.push(Tried { number: grant.attempt, fence: grant.fence, started_at: now });
    }

    /// Evidence was there before the first attempt: none was granted after all.
    pub(super) fn never_ran(&mut self) {
        self.attempts.clear();
        Arc::make_mut(&mut self.record).attempt = 0;
    }

    pub(super) fn enter(&mut self, entries: Vec<Entry>, now: Timestamp) {
        let happened = |entry: Entry| Happened {
            version: entry.version,
            at: now,
            attempt: entry.attempt,
            event: entry.event.into(),
            state: entry.state,
            actor: entry.actor,
            detail: entry.detail,
        };
        self.history.extend(entries.into_iter().map(happened));
    }

    pub(super) fn count(&mut self, tally: &Tally, now: Timestamp) {
        self.replays = self.replays.saturating_add(tally.replays);
        if tally.drifts == 0 {
            return;
        }
        let before = self.drifted.as_ref().map_or(0, |drifted| drifted.count);
        self.drifted = Some(Drifted {
            operation: self.record.operation,
            tool: self.record.tool.name.to_string(),
            parameters: tally.parameters.clone(),
            count: before.saturating_add(tally.drifts),
            last_at: now,
        });
    }
}

impl Beside {
    /// Keeps evidence; says whether it is new.
    pub(super) fn hear(&mut self, evidence: &Evidence, weighed: bool, now: Timestamp) -> bool {
        let same = |heard: &Heard| {
            let before = &heard.evidence;
            (&before.tenant, before.operation) == (&evidence.tenant, evidence.operation)
                && (&before.source, &before.event) == (&evidence.source, &evidence.event)
        };
        if self.said.iter().any(same) {
            return false;
        }
        self.said.push(Heard { evidence: evidence.clone(), at: now, weighed });
        true
    }

    /// What was said before there was a record; from now on it is weighed.
    pub(super) fn said_before(&mut self, tenant: &Tenant, operation: OperationId) -> Vec<Evidence> {
        let waiting = self.said.iter_mut().filter(|heard| !heard.weighed);
        let of = waiting.filter(|heard| heard.evidence.tenant == *tenant && heard.evidence.operation == operation);
        of.map(|heard| {
            heard.weighed = true;
            heard.evidence.clone()
        })
        .collect()
    }

    pub(super) fn said(&self, tenant: &Tenant, operation: OperationId) -> Vec<Said> {
        let of = self.said.iter().filter(|heard| heard.evidence.tenant == *tenant);
        let of = of.filter(|heard| heard.evidence.operation == operation);
        let said = of.map(|Heard { evidence, at, .. }| Said {
            source: Arc::clone(&evidence.source),
            event: Arc::clone(&evidence.event),
            finding: evidence.finding.name().into(),
            reference: evidence.finding.reference().cloned(),
            actor: evidence.actor.clone(),
            words: evidence.words.clone(),
            at: *at,
        });
        said.collect()
    }

    pub(super) fn forget(&mut self, tenant: &Tenant, operation: OperationId) {
        self.said.retain(|heard| heard.evidence.tenant != *tenant || heard.evidence.operation != operation);
        self.links.retain(|(owner, from, _)| owner != tenant || *from != operation);
    }

    /// Evidence about operations that never came.
    fn forget_unclaimed(&mut self, before: Timestamp) {
        self.said.retain(|heard| heard.weighed || heard.at > before);
    }
}

impl Records {
    pub(super) fn purge(&mut self, records_max: u32, tombstone: Duration, now: Timestamp) -> PurgeReport {
        let mut report = PurgeReport::default();
        let behind = (Bound::Excluded(self.purged_to), Bound::Unbounded);
        let records_max = usize::try_from(records_max).unwrap_or(usize::MAX);
        let looked_at: Vec<i64> = self.by_row.range(behind).map(|(row, _)| *row).take(records_max).collect();
        report.looked_at = looked_at.len() as u64;
        // At the end the walk begins anew.
        let walked_all = looked_at.len() < records_max;
        self.purged_to = looked_at.last().copied().filter(|_| !walked_all).unwrap_or(0);
        let ended = |row: &i64| self.by_row.get(row).is_some_and(|kept| kept.record.retention_ended(now));
        for row in looked_at.into_iter().filter(ended).collect::<Vec<_>>() {
            let Some(kept) = self.by_row.get_mut(&row) else {
                continue;
            };
            if kept.record.retain_until.is_some_and(|until| now >= until.after(tombstone)) {
                self.remove(row);
                report.removed += 1;
            } else {
                kept.arguments = None;
                let held = Arc::make_mut(&mut kept.record).stored.take().is_some();
                report.tombstones += u64::from(held);
            }
        }
        if walked_all {
            self.beside.forget_unclaimed(now.before(tombstone));
        }
        report
    }
}
