//! How attempts end in the file: settlements, late evidence, ended leases, and the history of all of it.

use std::sync::Arc;

use super::{
    failure::nothing,
    read,
    write::{Batch, hot, illegal, moved},
};
use crate::{
    clock::Timestamp,
    ledger::{
        Answer, Ending, Event, Moved, Record, Reserved, Settle, Settled, State, StoreError, Stored, StoredKind,
        transition,
    },
};

const SETTLE: &str = "\
    update idem_operations
    set state = ?1, settled_at = ?2, retain_until = ?3, reference = coalesce(?4, reference), lease_until = null,
        version = version + 1
    where id = ?5 and tenant = ?6 and fence = ?7 and state = 'in_progress'";

const RESULT: &str = "insert or replace into idem_results (operation, kind, bytes) values (?1, ?2, ?3)";

/// How much of a contradicting error's words the history keeps.
const DETAIL_CHARS: usize = 1_000;

impl Batch<'_> {
    pub(super) fn end_lease(&mut self, answer: Answer) -> Result<Reserved, StoreError> {
        let to = moved(answer.record.state, Event::LeaseEnded)?;
        let mut record = Record::clone(&answer.record);
        self.move_record(&mut record, Event::LeaseEnded, to, None, None).map_err(nothing)?;
        Ok(Reserved::Found(Answer { record: Arc::new(record), ..answer }))
    }

    pub(super) fn settle(&mut self, settle: &Settle) -> Result<Settled, StoreError> {
        let event = match settle.ending {
            Ending::Ok => Event::SettleOk,
            Ending::Retryable => Event::SettleRetryable,
            Ending::Final => Event::SettleFinal,
            Ending::Unknown => Event::SettleUnknown,
            Ending::NotStarted => Event::NotStarted,
        };
        let state = moved(State::InProgress, event)?;
        let tenant = self.catalogue.tenant(self.db, &settle.tenant).map_err(nothing)?;
        let Some(tenant) = tenant else {
            return Ok(Settled::Gone);
        };
        let retain_until = state.is_finished().then(|| self.now.after(settle.retain));
        let changed = hot(&mut self.hot.settle, self.db, SETTLE)
            .and_then(|update| {
                update.execute((
                    state.name(),
                    self.now.as_nanos(),
                    retain_until.map(Timestamp::as_nanos),
                    settle.reference.as_deref(),
                    settle.row,
                    tenant,
                    settle.fence,
                ))
            })
            .map_err(nothing)?;
        if changed == 0 {
            return self.late(settle, tenant);
        }
        self.rows += 1;
        self.result(settle.row, settle.stored.as_ref()).map_err(nothing)?;
        // A first attempt that succeeded has no history but what its record says.
        if settle.attempt > 1 || event != Event::SettleOk {
            self.history(settle.row, settle.attempt, event, state, None).map_err(nothing)?;
        }
        Ok(Settled::Recorded { state, settled_at: self.now, retain_until })
    }

    /// The attempt does not hold the lease any more: what it says is evidence, and stays in the history.
    fn late(&mut self, settle: &Settle, tenant: i64) -> Result<Settled, StoreError> {
        let Some(mut record) = read::record(self.db, self.catalogue, tenant, settle.row)? else {
            return Ok(Settled::Gone);
        };
        let last = settle.fence == record.fence;
        let event = match settle.ending {
            Ending::Ok => Event::LateOk,
            Ending::Retryable | Ending::Final | Ending::NotStarted if last => Event::LateNoEffect,
            // Proof about an older attempt says nothing about the last one.
            Ending::Retryable | Ending::Final | Ending::NotStarted | Ending::Unknown => Event::LateUnknown,
        };
        let said = settle.stored.as_ref();
        let (to, review) = match transition(record.state, event).map_err(illegal)? {
            Moved::To(to) => (to, false),
            Moved::ToWithReview(to) => (to, true),
            Moved::Kept => {
                self.kept(&record, settle.attempt, event, said).map_err(nothing)?;
                return Ok(Settled::Late { record: Arc::new(record) });
            }
        };
        record.review |= review;
        let mut retain_until = None;
        if event == Event::LateOk {
            retain_until = Some(self.now.after(settle.retain));
            record.reference = settle.reference.clone().or(record.reference);
            record.retain_until = retain_until;
            record.stored = said.cloned().or(record.stored);
            self.result(record.row, said).map_err(nothing)?;
        }
        self.move_record(&mut record, event, to, retain_until, said).map_err(nothing)?;
        Ok(Settled::Late { record: Arc::new(record) })
    }

    /// Evidence that changes nothing.
    fn kept(&mut self, record: &Record, attempt: u32, event: Event, said: Option<&Stored>) -> rusqlite::Result<()> {
        self.db
            .prepare_cached("update idem_operations set version = version + 1 where id = ?1 and fence = ?2")?
            .execute((record.row, record.fence))?;
        self.history(record.row, attempt, event, record.state, said)
    }

    /// Moves a record that this transaction has read.
    fn move_record(
        &mut self,
        record: &mut Record,
        event: Event,
        to: State,
        retain_until: Option<Timestamp>,
        detail: Option<&Stored>,
    ) -> rusqlite::Result<()> {
        self.db
            .prepare_cached(
                "update idem_operations
                 set state = ?1, settled_at = case when state = ?1 then settled_at else ?2 end, lease_until = null,
                     retain_until = coalesce(?3, retain_until), reference = ?4, review = ?5, version = version + 1
                 where id = ?6 and fence = ?7 and state = ?8",
            )?
            .execute((
                to.name(),
                self.now.as_nanos(),
                retain_until.map(Timestamp::as_nanos),
                record.reference.as_deref(),
                record.review,
                record.row,
                record.fence,
                record.state.name(),
            ))?;
        self.history(record.row, record.attempt, event, to, detail)?;
        if record.state != to {
            record.settled_at = Some(self.now);
        }
        record.state = to;
        record.lease_until = None;
        Ok(())
    }

    fn result(&mut self, row: i64, stored: Option<&Stored>) -> rusqlite::Result<()> {
        let Some(stored) = stored else { return Ok(()) };
        self.rows += 1;
        hot(&mut self.hot.result, self.db, RESULT)?.execute((row, stored.kind.code(), &*stored.bytes))?;
        Ok(())
    }

    /// What happened, under the version that the record came to by it.
    fn history(
        &mut self,
        row: i64,
        attempt: u32,
        event: Event,
        state: State,
        detail: Option<&Stored>,
    ) -> rusqlite::Result<()> {
        self.rows += 2;
        let detail = detail.filter(|detail| detail.kind != StoredKind::Value);
        let words =
            detail.map(|detail| String::from_utf8_lossy(&detail.bytes).chars().take(DETAIL_CHARS).collect::<String>());
        self.db
            .prepare_cached(
                "insert into idem_history (operation, version, at, attempt, event, state, detail)
                 select id, version, ?2, ?3, ?4, ?5, ?6 from idem_operations where id = ?1",
            )?
            .execute((row, self.now.as_nanos(), attempt, event.name(), state.name(), words))?;
        Ok(())
    }
}
