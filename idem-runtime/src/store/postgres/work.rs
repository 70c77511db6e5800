//! What a transaction works on: records that it has read and holds, moved in memory, and written together at the end.
//!
//! Must not know what a command means for a record: [`course`](crate::ledger::course) says so. A record is read under a row
//! lock, so nobody moves it before this transaction has ended; what identities lead to is read without one, and whoever takes
//! an identity that somebody else took meanwhile is told so by the unique key, and begins again.

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::{FxHashMap, FxHashSet};
use sqlx::{PgConnection, Row};

use super::{
    beside::Beside,
    catalogue::Catalogue,
    failure::{Stopped, corrupt, moved},
    read::{self, get, records},
    sql,
};
use crate::{
    clock::Timestamp,
    identity::Digest,
    ledger::{Alias, Command, Record, Reply, State, course::Change},
};

/// How the gate between new records and early evidence is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    /// Among others who create records.
    Shared,
    /// Alone: evidence is kept whose record is not there.
    Alone,
}

/// Tenant and handle.
pub(super) type Key = (i64, i64);

/// A record as this transaction holds it.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) record: Arc<Record>,
    /// The version in which the table has it.
    pub(super) version: u64,
    /// What only a new record brings.
    pub(super) fresh: Option<Fresh>,
    pub(super) moved: bool,
    pub(super) told: bool,
}

#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) scope: i64,
    pub(super) tool: i64,
    pub(super) names: Vec<Alias>,
}

/// An identity to be taken.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) tenant: i64,
    pub(super) scope: i64,
    pub(super) row: i64,
    pub(super) alias: Alias,
    /// It came after the record's creation.
    pub(super) later: bool,
}

/// What generations of a digest lead to, by tenant and scope: those that somebody asks for.
type Names = FxHashMap<(i64, i64, Digest), BTreeMap<u32, i64>>;

/// The one tenant of a statement, if it has one. The planner leaves the partitions of all others out where it is named: each
/// statement is planned anew, and planning is most of what a small batch costs.
pub(super) fn only(tenants: &[i64]) -> Option<i64> {
    let first = *tenants.first()?;
    tenants.iter().all(|tenant| *tenant == first).then_some(first)
}

/// One transaction under way.
pub(super) struct Work<'a> {
    pub(super) db: &'a mut PgConnection,
    pub(super) catalogue: &'a Catalogue,
    pub(super) now: Timestamp,
    pub(super) gate: &'a mut Gate,
    purged_to: &'a mut i64,
    names: Names,
    pub(super) records: FxHashMap<Key, Held>,
    pub(super) taken: Vec<Name>,
    pub(super) beside: Beside,
    /// Tokens that this transaction drew and has not given yet, in reverse.
    tokens: Vec<i64>,
    last_fence: i64,
    /// Whether evidence waits for a record of any operation.
    pub(super) waiting: bool,
    /// Rows changed.
    pub(super) rows: u64,
}

/// The newest generation of each, or the one that is asked for.
const NAMES: &str = "\
    select i.tenant, i.scope, i.digest, i.generation, i.operation
    from unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[]) as asked (tenant, scope, digest, generation)
    join idem_identities i on i.tenant = asked.tenant and i.scope = asked.scope and i.digest = asked.digest
        and ($5::bigint is null or i.tenant = $5)
        and i.generation = coalesce(asked.generation, (
            select max(newest.generation) from idem_identities newest
            where newest.tenant = asked.tenant and newest.scope = asked.scope and newest.digest = asked.digest
                and ($5 is null or newest.tenant = $5)))";

/// In the order of their handles, so that two batches do not wait for each other. Results are read afterwards: a record that
/// had to be waited for is newer than what else this statement sees.
const HOLD: &str = records!(
    "join unnest($1::bigint[], $2::bigint[]) as asked (tenant, id) on o.tenant = asked.tenant and o.id = asked.id
     where $3::bigint is null or o.tenant = $3
     order by o.id for update of o"
);

const RESULTS: &str = "\
    select r.tenant, r.operation, r.kind, r.bytes from unnest($1::bigint[], $2::bigint[]) as asked (tenant, id)
    join idem_results r on r.tenant = asked.tenant and r.operation = asked.id
    where $3::bigint is null or r.tenant = $3";

/// Drawn after every row is held: so a record's next token is greater than its last one.
const TOKENS: &str = "\
    select coalesce(array(select nextval('idem_fence') from generate_series(1, $1)), '{}') as tokens,
           (select last_value from idem_fence) as last,
           exists (select 1 from idem_evidence where not weighed) as waiting,
           (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint as server";

impl<'a> Work<'a> {
    pub(super) fn new(
        db: &'a mut PgConnection,
        catalogue: &'a Catalogue,
        now: Timestamp,
        gate: &'a mut Gate,
        purged_to: &'a mut i64,
    ) -> Self {
        Self {
            db,
            catalogue,
            now,
            gate,
            purged_to,
            names: Names::default(),
            records: FxHashMap::default(),
            taken: Vec::new(),
            beside: Beside::default(),
            tokens: Vec::new(),
            last_fence: 0,
            waiting: false,
            rows: 0,
        }
    }

    pub(super) async fn carry_out(&mut self, commands: &[Command]) -> Result<Vec<Reply>, Stopped> {
        let mut replies = Vec::with_capacity(commands.len());
        // What is not about single records stands alone, and sees what was written before it.
        let alone = |command: &Command| {
            matches!(command, Command::Renew(_) | Command::Tally(_) | Command::Purge { .. } | Command::Evidence(_))
        };
        for together in commands.chunk_by(|left, right| !alone(left) && !alone(right)) {
            match together {
                [Command::Renew(holds)] => replies.push(Reply::Renewed { lost: self.renew(holds).await? }),
                [Command::Tally(tallies)] => {
                    self.tally(tallies).await?;
                    replies.push(Reply::Tallied);
                }
                [Command::Evidence(evidence)] => replies.push(Reply::Witnessed(self.witness(evidence).await?)),
                [Command::Purge { records_max, tombstone }] => {
                    let (report, to) = self.purge(*self.purged_to, *records_max, *tombstone).await?;
                    *self.purged_to = to;
                    replies.push(Reply::Purged(report));
                }
                _ => self.move_records(together, &mut replies).await?,
            }
            self.flush().await?;
            self.records.clear();
            self.names.clear();
        }
        Ok(replies)
    }

    async fn move_records(&mut self, commands: &[Command], replies: &mut Vec<Reply>) -> Result<(), Stopped> {
        self.read_names(commands).await?;
        self.hold_all(commands).await?;
        self.draw_tokens(commands).await?;
        for command in commands {
            replies.push(match command {
                Command::Reserve(reserve) => Reply::Reserved(self.reserve(reserve).await?),
                Command::Settle(settle) => Reply::Settled(self.settle(settle)?),
                Command::EndLeases(silent) => Reply::LeasesEnded(self.end_leases(silent)?),
                Command::BeginReconcile(begin) => Reply::Begun(self.begin(begin)?),
                Command::Verdict(judge) => Reply::Judged(self.judge(judge)?),
                Command::Resolve(resolve) => Reply::Resolved(self.resolve(resolve)?),
                Command::Renew(_) | Command::Tally(_) | Command::Purge { .. } | Command::Evidence(_) => {
                    return Err(corrupt("a command that stands alone came among others").into());
                }
            });
        }
        Ok(())
    }

    async fn read_names(&mut self, commands: &[Command]) -> Result<(), Stopped> {
        let (mut tenants, mut scopes) = (Vec::new(), Vec::new());
        let (mut digests, mut generations) = (Vec::new(), Vec::new());
        let mut asked = FxHashSet::default();
        for command in commands {
            let Command::Reserve(reserve) = command else { continue };
            let (tenant, scope) = self.place(reserve)?;
            for identity in &reserve.identities {
                if asked.insert((tenant, scope, identity.digest, identity.generation)) {
                    tenants.push(tenant);
                    scopes.push(scope);
                    digests.push(identity.digest.as_slice());
                    generations.push(identity.generation.map(i64::from));
                }
            }
        }
        if asked.is_empty() {
            return Ok(());
        }
        let only = only(&tenants);
        let query = sql(NAMES).bind(tenants).bind(scopes).bind(digests).bind(generations).bind(only);
        for row in query.fetch_all(&mut *self.db).await? {
            let (tenant, scope, operation) = (get(&row, "tenant")?, get(&row, "scope")?, get(&row, "operation")?);
            let (digest, generation) = (read::digest(&row, "digest")?, read::count(&row, "generation")?);
            self.named(tenant, scope, digest).insert(generation, operation);
        }
        Ok(())
    }

    pub(super) fn named(&mut self, tenant: i64, scope: i64, digest: Digest) -> &mut BTreeMap<u32, i64> {
        self.names.entry((tenant, scope, digest)).or_default()
    }

    async fn hold_all(&mut self, commands: &[Command]) -> Result<(), Stopped> {
        let mut wanted: FxHashSet<Key> = FxHashSet::default();
        for ((tenant, ..), generations) in &self.names {
            wanted.extend(generations.values().map(|row| (*tenant, *row)));
        }
        let mut add = |tenant: Option<i64>, row: i64| wanted.extend(tenant.map(|tenant| (tenant, row)));
        for command in commands {
            match command {
                Command::Settle(settle) => add(self.catalogue.tenant(&settle.tenant), settle.row),
                Command::BeginReconcile(begin) => add(self.catalogue.tenant(&begin.tenant), begin.row),
                Command::Verdict(judge) => add(self.catalogue.tenant(&judge.tenant), judge.row),
                Command::Resolve(resolve) => add(self.catalogue.tenant(&resolve.tenant), resolve.row),
                Command::EndLeases(all) => {
                    for silent in all {
                        add(self.catalogue.tenant(&silent.tenant), silent.row);
                    }
                }
                _ => {}
            }
        }
        self.hold(wanted.into_iter().collect()).await
    }

    /// Reads these records, and keeps everybody else from moving them.
    pub(super) async fn hold(&mut self, keys: Vec<Key>) -> Result<(), Stopped> {
        if keys.is_empty() {
            return Ok(());
        }
        let (tenants, rows): (Vec<i64>, Vec<i64>) = keys.into_iter().unzip();
        let only = only(&tenants);
        let query = sql(HOLD).bind(tenants).bind(rows).bind(only);
        let (mut tenants, mut rows) = (Vec::new(), Vec::new());
        for row in query.fetch_all(&mut *self.db).await? {
            let (tenant, record) = (get::<i64>(&row, "tenant")?, read::record_in(&row)?);
            // The first attempt of a call has told nothing yet.
            if record.state != State::InProgress || record.attempt != 1 {
                tenants.push(tenant);
                rows.push(record.row);
            }
            let version = record.version;
            let held = Held { record: Arc::new(record), version, fresh: None, moved: false, told: false };
            self.records.insert((tenant, held.record.row), held);
        }
        if rows.is_empty() {
            return Ok(());
        }
        for row in sql(RESULTS).bind(tenants).bind(rows).bind(only).fetch_all(&mut *self.db).await? {
            let key = (get::<i64>(&row, "tenant")?, get::<i64>(&row, "operation")?);
            if let Some(held) = self.records.get_mut(&key) {
                Arc::make_mut(&mut held.record).stored = read::stored(&row)?;
            }
        }
        Ok(())
    }

    async fn draw_tokens(&mut self, commands: &[Command]) -> Result<(), Stopped> {
        let draws = |command: &&Command| matches!(command, Command::Reserve(_) | Command::BeginReconcile(_));
        let many = i64::try_from(commands.iter().filter(draws).count()).unwrap_or(i64::MAX);
        let asks = self.records.values().any(|held| held.record.has_resources)
            || commands.iter().any(|command| match command {
                Command::Settle(settle) => !settle.resources.is_empty(),
                Command::Verdict(judge) => !judge.resources.is_empty(),
                _ => false,
            });
        if many > 0 || asks {
            self.draw(many).await?;
        }
        Ok(())
    }

    pub(super) async fn draw(&mut self, many: i64) -> Result<(), Stopped> {
        let row = sql(TOKENS).bind(many).fetch_one(&mut *self.db).await?;
        if !self.catalogue.is_of(row.try_get("server")?) {
            return Err(moved());
        }
        self.tokens = row.try_get("tokens")?;
        self.tokens.reverse();
        self.last_fence = row.try_get("last")?;
        self.waiting = row.try_get("waiting")?;
        Ok(())
    }

    /// A fencing token that was never given before, by any process.
    pub(super) fn fence(&mut self) -> Result<i64, Stopped> {
        let fence = self.tokens.pop().ok_or_else(|| corrupt("more tokens were needed than were drawn"))?;
        self.last_fence = fence;
        Ok(fence)
    }

    /// The last fencing token given: whoever gets one later began later.
    pub(super) fn last_fence(&self) -> i64 {
        self.tokens.last().map_or(self.last_fence, |next| next - 1)
    }

    pub(super) fn held(&self, key: Key) -> Option<Arc<Record>> {
        self.records.get(&key).map(|held| Arc::clone(&held.record))
    }

    /// Notes a change of `before`, which this transaction holds; gives the record as it is now.
    pub(super) fn save(&mut self, key: Key, before: &Record, change: Change) -> Result<Arc<Record>, Stopped> {
        let Change { record, entries } = change;
        let held = self.records.get_mut(&key).filter(|held| held.record.version == before.version);
        let held = held.ok_or_else(|| corrupt("an operation changed inside the transaction that holds it"))?;
        held.moved = true;
        held.told |= record.stored != before.stored;
        if record.has_resources && record.state == State::Succeeded && before.state != State::Succeeded {
            self.beside.succeeded.push(key);
        }
        self.beside.history.extend(entries.into_iter().map(|entry| (key, entry)));
        held.record = Arc::new(record);
        Ok(Arc::clone(&held.record))
    }
}
