//! A batch of commands in one transaction.
//!
//! Every update names tenant, state and fencing token in its `where`: what no longer is as it was read changes
//! nothing.

use rusqlite::{CachedStatement, Connection, TransactionBehavior, params};

use super::{
    SqliteStore,
    catalogue::Catalogue,
    failure::{at_commit, corrupt, nothing},
    purge, read,
};
use crate::{
    clock::Timestamp,
    ledger::{
        Aftermath, Alias, Answer, Command, Decision, Event, Grant, Match, Moved, NO_GENERATION, Reply, Reserve,
        Reserved, State, StoreError, StoreErrorKind, decide, transition,
    },
};

const NAME: &str = "\
    insert into idem_identities (scope, digest, generation, operation, source)
    values (?1, ?2, 1, ?3, ?4) on conflict do nothing";

const CREATE: &str = "\
    insert into idem_operations
        (id, tenant, scope, operation, tool, principal, state, attempt, fence, lease_until,
         fingerprint, parts, content, identities, reserved_at)
    values (?1, ?2, ?3, ?4, ?5, ?6, 'in_progress', ?7, ?1, ?8, ?9, ?10, ?11, ?12, ?13)";

/// The statements that every fresh call needs, looked up once a batch.
#[derive(Default)]
pub(super) struct Hot<'a> {
    name: Option<CachedStatement<'a>>,
    create: Option<CachedStatement<'a>>,
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
    /// Rows changed.
    pub(super) rows: usize,
    pub(super) hot: Hot<'a>,
}

impl SqliteStore {
    pub(super) fn apply_now(&mut self, commands: &[Command], now: Timestamp) -> Result<Vec<Reply>, StoreError> {
        let applied = self.transact(commands, now);
        match &applied {
            Ok((_, rows)) => {
                self.catalogue.committed();
                if *rows > 0 {
                    self.checkpointer.committed(&self.writer);
                }
            }
            Err(_) => self.catalogue.rolled_back(),
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
            rows: 0,
            hot: Hot::default(),
        };
        let mut replies = Vec::with_capacity(commands.len());
        for command in commands {
            replies.push(match command {
                Command::Reserve(reserve) => Reply::Reserved(batch.reserve(reserve)?),
                Command::Settle(settle) => Reply::Settled(batch.settle(settle)?),
                Command::Renew(holds) => Reply::Renewed { lost: batch.renew(holds).map_err(nothing)? },
                Command::Tally(tallies) => {
                    for tally in tallies {
                        batch.tally(tally).map_err(nothing)?;
                    }
                    Reply::Tallied
                }
                Command::Purge { records_max, tombstone } => {
                    let (report, purged_to) =
                        purge::purge(&transaction, self.purged_to, *records_max, *tombstone, now).map_err(nothing)?;
                    self.purged_to = purged_to;
                    batch.rows += usize::try_from(report.tombstones + report.removed).unwrap_or(usize::MAX);
                    Reply::Purged(report)
                }
            });
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
    fn reserve(&mut self, reserve: &Reserve) -> Result<Reserved, StoreError> {
        let numbers = self.catalogue.scope(self.db, &reserve.tenant, &reserve.scope.digest).map_err(nothing)?;
        let nothing_known = || vec![None; reserve.identities.len()];
        let Some(numbers) = numbers else {
            return self.decided(reserve, &nothing_known(), None);
        };
        if reserve.resumed.is_none()
            && let Some(row) = self.take_names(reserve, numbers).map_err(nothing)?
        {
            return self.decided(reserve, &nothing_known(), Some(row));
        }
        let matches = read::matches(self.db, self.catalogue, numbers, &reserve.identities)?;
        self.decided(reserve, &matches, None)
    }

    /// Carries a decision out. `row` already has the call's identities, if they were free.
    fn decided(
        &mut self,
        reserve: &Reserve,
        matches: &[Option<Match>],
        row: Option<i64>,
    ) -> Result<Reserved, StoreError> {
        match decide(reserve, matches, self.now) {
            Decision::Create { operation, generations } => {
                let named = row.is_some();
                let fence = row.map_or_else(|| self.fence(), Ok).map_err(nothing)?;
                let (attempt, reserved_at) = (1, self.now);
                let lease_until = self.now.after(reserve.lease);
                let grant = Grant { row: fence, operation, attempt, fence, reserved_at, lease_until, generations };
                self.create(reserve, &grant, named).map_err(nothing)?;
                Ok(Reserved::Granted(grant))
            }
            Decision::Reopen(answer) => self.reopen(reserve, answer),
            Decision::EndLease(answer) => self.end_lease(answer),
            Decision::Answer(answer) => Ok(Reserved::Found(answer)),
            Decision::Refuse(conflict) => Ok(Reserved::Refused(conflict)),
        }
    }

    /// Creates if absent, without looking first: takes all identities of a call in their first generation, for the handle
    /// that is returned. Takes none if one of them was ever taken: whatever has a later generation has a first one.
    fn take_names(&mut self, reserve: &Reserve, (_, scope): (i64, i64)) -> rusqlite::Result<Option<i64>> {
        let row = self.fence()?;
        for (at, identity) in reserve.identities.iter().enumerate() {
            let taken = hot(&mut self.hot.name, self.db, NAME)?.execute((
                scope,
                &identity.digest,
                row,
                identity.source.code(),
            ))?;
            if taken == 1 {
                continue;
            }
            for taken in &reserve.identities[..at] {
                self.db
                    .prepare_cached(
                        "delete from idem_identities
                         where scope = ?1 and digest = ?2 and generation = 1 and operation = ?3",
                    )?
                    .execute((scope, &taken.digest, row))?;
            }
            self.last_fence = Some(row - 1);
            return Ok(None);
        }
        Ok(Some(row))
    }

    /// The record's handle is its first fencing token: ascending, and never given again after a purge.
    fn create(&mut self, reserve: &Reserve, grant: &Grant, named: bool) -> rusqlite::Result<()> {
        let (tenant, scope) = self.catalogue.intern_scope(self.db, &reserve.tenant, &reserve.scope)?;
        let tool = self.catalogue.intern_tool(self.db, &reserve.tool)?;
        let names = reserve.identities.iter().zip(&grant.generations);
        let names = names.filter(|(_, generation)| **generation != NO_GENERATION);
        let names: Vec<Alias> = names
            .map(|(identity, generation)| Alias {
                source: identity.source,
                digest: identity.digest,
                generation: *generation,
            })
            .collect();
        hot(&mut self.hot.create, self.db, CREATE)?.execute(params![
            grant.row,
            tenant,
            scope,
            grant.operation.as_bytes(),
            tool,
            reserve.principal.as_ref().map(crate::id::Principal::as_str),
            grant.attempt,
            grant.lease_until.as_nanos(),
            &reserve.fingerprint,
            &*reserve.parts,
            &*reserve.content,
            packed(&names),
            self.now.as_nanos(),
        ])?;
        if !named {
            for name in &names {
                self.name(scope, grant.row, name)?;
            }
        }
        self.rows += 3;
        Ok(())
    }

    /// An identity of a new record. What a purged record left under it is replaced; what has a later generation keeps a
    /// first one, so that the next call finds it taken.
    fn name(&mut self, scope: i64, row: i64, name: &Alias) -> rusqlite::Result<()> {
        if name.generation > 1 {
            self.db
                .prepare_cached(
                    "insert into idem_identities (scope, digest, generation, operation, source)
                     values (?1, ?2, 1, 0, ?3) on conflict do nothing",
                )?
                .execute((scope, &name.digest, name.source.code()))?;
        }
        self.db
            .prepare_cached(
                "insert or replace into idem_identities (scope, digest, generation, operation, source)
                 values (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute((scope, &name.digest, name.generation, row, name.source.code()))?;
        Ok(())
    }

    /// An attempt after the first, which the record itself tells of.
    fn attempt(&mut self, grant: &Grant) -> rusqlite::Result<()> {
        self.rows += 2;
        self.db
            .prepare_cached(
                "insert into idem_attempts (operation, attempt, fence, started_at) values (?1, ?2, ?3, ?4)",
            )?
            .execute((grant.row, grant.attempt, grant.fence, self.now.as_nanos()))?;
        Ok(())
    }

    fn reopen(&mut self, reserve: &Reserve, answer: Answer) -> Result<Reserved, StoreError> {
        let Answer { record, generations, aliases, .. } = answer;
        let moved = moved(record.state, Event::Reserve)?;
        let fence = self.fence().map_err(nothing)?;
        let lease_until = self.now.after(reserve.lease);
        let changed = self
            .db
            .prepare_cached(
                "update idem_operations
                 set state = ?1, attempt = attempt + 1, fence = ?2, lease_until = ?3, content = ?4,
                     settled_at = null, version = version + 1
                 where id = ?5 and fence = ?6 and state = ?7",
            )
            .and_then(|mut update| {
                update.execute((
                    moved.name(),
                    fence,
                    lease_until.as_nanos(),
                    &*reserve.content,
                    record.row,
                    record.fence,
                    record.state.name(),
                ))
            })
            .map_err(nothing)?;
        if changed != 1 {
            return Err(corrupt("an operation changed inside the transaction that read it"));
        }
        let grant = Grant {
            row: record.row,
            operation: record.operation,
            attempt: record.attempt.saturating_add(1),
            fence,
            reserved_at: record.reserved_at,
            lease_until,
            generations,
        };
        self.attempt(&grant).map_err(nothing)?;
        self.db
            .prepare_cached("update idem_ledger set fence = ?1 where one = 1 and fence < ?1")
            .and_then(|mut update| update.execute([fence]))
            .map_err(nothing)?;
        self.aliases(&reserve.tenant, record.row, &aliases).map_err(nothing)?;
        Ok(Reserved::Granted(grant))
    }

    /// A fencing token that was never given before, in this file, by any process: beyond every record's handle, and
    /// beyond what the ledger's own row remembers of later attempts and of records that were purged.
    fn fence(&mut self) -> rusqlite::Result<i64> {
        let last = match self.last_fence {
            Some(last) => last,
            None => self
                .db
                .prepare_cached(
                    "select max(fence, coalesce((select max(id) from idem_operations), 0)) from idem_ledger where one = 1",
                )?
                .query_row([], |row| row.get(0))?,
        };
        self.last_fence = Some(last + 1);
        Ok(last + 1)
    }
}

/// Where `event` moves a record in `state`, for the pairs that always move.
pub(super) fn moved(state: State, event: Event) -> Result<State, StoreError> {
    match transition(state, event).map_err(illegal)? {
        Moved::To(to) | Moved::ToWithReview(to) => Ok(to),
        Moved::Kept => Ok(state),
    }
}

pub(super) fn illegal(error: crate::ledger::Illegal) -> StoreError {
    StoreError::new(StoreErrorKind::Other, Aftermath::Nothing, error)
}

/// Digest and generation of each identity, so that a purge finds them without an index.
pub(super) fn packed(aliases: &[Alias]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(aliases.len() * purge::PACKED);
    for alias in aliases {
        packed.extend_from_slice(&alias.digest);
        packed.extend_from_slice(&alias.generation.to_le_bytes());
    }
    packed
}
