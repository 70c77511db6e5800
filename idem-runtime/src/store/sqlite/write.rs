//! A batch of commands in one transaction.
//!
//! Must not know what a command means for a record: [`course`](crate::ledger::course) says so. Every update names the record
//! in the version, or the state and the fencing token, in which this transaction read it.

use rusqlite::{CachedStatement, Connection, TransactionBehavior};

use super::{
    SqliteStore,
    catalogue::Catalogue,
    failure::{at_commit, nothing},
};
use crate::{
    clock::Timestamp,
    ledger::{Command, Reply, StoreError},
};

/// The statements that every fresh call needs, looked up once a batch.
#[derive(Default)]
pub(super) struct Hot<'a> {
    pub(super) name: Option<CachedStatement<'a>>,
    pub(super) create: Option<CachedStatement<'a>>,
    pub(super) settle: Option<CachedStatement<'a>>,
    pub(super) result: Option<CachedStatement<'a>>,
}

/// The statement in `slot`, prepared when it is first needed.
pub(super) fn hot<'s, 'a>(
    slot: &'s mut Option<CachedStatement<'a>>,
    db: &'a Connection,
    sql: &str,
) -> rusqlite::Result<&'s mut CachedStatement<'a>> {
    let statement = match slot.take() {
        Some(statement) => statement,
        None => db.prepare_cached(sql)?,
    };
    Ok(slot.insert(statement))
}

/// One transaction under way.
pub(super) struct Batch<'a> {
    pub(super) db: &'a Connection,
    pub(super) catalogue: &'a mut Catalogue,
    pub(super) now: Timestamp,
    /// The last fencing token given, once one was needed.
    last_fence: Option<i64>,
    /// Whether evidence waits for a record of any operation, once that was asked.
    pub(super) waiting: Option<bool>,
    /// Rows changed.
    pub(super) rows: usize,
    pub(super) hot: Hot<'a>,
}

impl SqliteStore {
    pub(super) fn apply_now(&mut self, commands: &[Command], now: Timestamp) -> Result<Vec<Reply>, StoreError> {
        let applied = self.transact(commands, now);
        match &applied {
            Ok((_, 0)) | Err(_) => self.catalogue.rolled_back(),
            Ok(_) => {
                self.catalogue.committed();
                self.checkpointer.committed(&self.writer);
            }
        }
        applied.map(|(replies, _)| replies)
    }

    fn transact(&mut self, commands: &[Command], now: Timestamp) -> Result<(Vec<Reply>, usize), StoreError> {
        let transaction = self.writer.transaction_with_behavior(TransactionBehavior::Immediate).map_err(nothing)?;
        let mut batch = Batch {
            db: &transaction,
            catalogue: &mut self.catalogue,
            now,
            last_fence: None,
            waiting: None,
            rows: 0,
            hot: Hot::default(),
        };
        let mut replies = Vec::with_capacity(commands.len());
        for command in commands {
            replies.push(batch.carry_out(command, &mut self.purged_to)?);
        }
        let rows = batch.rows;
        drop(batch);
        if rows == 0 {
            // Nothing was changed: there is nothing to make durable.
            transaction.rollback().map_err(nothing)?;
        } else {
            transaction.commit().map_err(at_commit)?;
        }
        Ok((replies, rows))
    }
}

impl Batch<'_> {
    fn carry_out(&mut self, command: &Command, purged_to: &mut i64) -> Result<Reply, StoreError> {
        Ok(match command {
            Command::Reserve(reserve) => Reply::Reserved(self.reserve(reserve)?),
            Command::Settle(settle) => Reply::Settled(self.settle(settle)?),
            Command::Renew(holds) => Reply::Renewed { lost: self.renew(holds).map_err(nothing)? },
            Command::Tally(tallies) => {
                for tally in tallies {
                    self.tally(tally).map_err(nothing)?;
                }
                Reply::Tallied
            }
            Command::EndLeases(silent) => Reply::LeasesEnded(self.end_leases(silent)?),
            Command::BeginReconcile(begin) => Reply::Begun(self.begin(begin)?),
            Command::Verdict(judge) => Reply::Judged(self.judge(judge)?),
            Command::Resolve(resolve) => Reply::Resolved(self.resolve(resolve)?),
            Command::Evidence(evidence) => Reply::Witnessed(self.witness(evidence)?),
            Command::Purge { records_max, tombstone } => {
                let (report, to) = self.purge(*purged_to, *records_max, *tombstone).map_err(nothing)?;
                *purged_to = to;
                Reply::Purged(report)
            }
        })
    }

    /// A fencing token that was never given before, in this file, by any process.
    pub(super) fn fence(&mut self) -> rusqlite::Result<i64> {
        let fence = self.last_fence()? + 1;
        self.last_fence = Some(fence);
        Ok(fence)
    }

    /// The last fencing token that was given: every record's handle is one, and the ledger's own row remembers those of later
    /// attempts, of reconciliations, and of records that were purged.
    pub(super) fn last_fence(&mut self) -> rusqlite::Result<i64> {
        if let Some(last) = self.last_fence {
            return Ok(last);
        }
        let last = self
            .db
            .prepare_cached(
                "select max(fence, coalesce((select max(id) from idem_operations), 0)) from idem_ledger where one = 1",
            )?
            .query_row([], |row| row.get(0))?;
        self.last_fence = Some(last);
        Ok(last)
    }

    /// The token that was given last was not used.
    pub(super) fn give_back(&mut self, fence: i64) {
        self.last_fence = Some(fence - 1);
    }

    /// Writes down a token that is no record's handle.
    pub(super) fn remember(&mut self, fence: i64) -> rusqlite::Result<()> {
        self.rows += 1;
        self.db.prepare_cached("update idem_ledger set fence = ?1 where one = 1 and fence < ?1")?.execute([fence])?;
        Ok(())
    }
}
