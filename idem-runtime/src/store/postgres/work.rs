//! What a transaction works on: records that it has read and holds, moved in memory, and written together at the end.
//!
//! Must not know what a command means for a record: [`course`](crate::ledger::course) says so. A record is read under a row
//! lock, so nobody moves it before this transaction has ended; what identities lead to is read without one, and whoever takes
//! an identity that somebody else took meanwhile is told so by the unique key, and begins again.

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashMap;
use sqlx::{PgConnection, Row};

use super::{
    begun::Begun,
    beside::Beside,
    catalogue::{Catalogue, Scopes},
    failure::{Stopped, corrupt, moved},
    read::{self, get, records},
    script::{Answered, Script},
    sql,
    transact::{BEGIN_STATEMENTS, begin},
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
    /// Its identities.
    pub(super) packed: Vec<u8>,
}

/// An identity to be taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name {
    pub(super) tenant: i64,
    pub(super) scope: i64,
    pub(super) row: i64,
    pub(super) alias: Alias,
    /// It came after the record's creation.
    pub(super) later: bool,
    /// The call names this very generation.
    pub(super) exact: bool,
}

impl Name {
    /// In the order of these whoever takes several takes them, however it does. A scope's number is not known to everybody
    /// beforehand, so it comes last.
    pub(super) const fn key(&self) -> (Digest, u32, i64, i64) {
        (self.alias.digest, self.alias.generation, self.tenant, self.scope)
    }

    /// The first generation of this one, which leads nowhere.
    pub(super) const fn first(&self) -> Self {
        let Self { tenant, scope, alias: Alias { source, digest, .. }, .. } = *self;
        let alias = Alias { source, digest, generation: 1 };
        Self { tenant, scope, row: 0, alias, later: false, exact: false }
    }
}

/// What generations of a digest lead to, by tenant and scope: those that somebody asks for.
type Names = FxHashMap<(i64, i64, Digest), BTreeMap<u32, i64>>;

/// What this process knows of the ledger.
pub(super) struct Known<'a> {
    pub(super) catalogue: &'a mut Catalogue,
    pub(super) begun: &'a Begun,
    /// How many batches still go the long way, though they look plain.
    pub(super) long_ways: &'a mut u32,
}

/// What a transaction leaves behind, once it is committed.
pub(super) struct Done {
    /// Rows changed.
    pub(super) rows: u64,
    pub(super) interned: Scopes,
    /// These hold also where it is not.
    pub(super) met: Scopes,
    pub(super) records: Vec<(Key, Arc<Record>)>,
}

/// One transaction under way.
pub(super) struct Work<'a> {
    pub(super) db: &'a mut PgConnection,
    pub(super) catalogue: &'a Catalogue,
    begun: &'a Begun,
    /// Whether `begin` was sent.
    pub(super) is_open: bool,
    /// Scopes that this transaction interned: they have a number once it is committed.
    interned: Scopes,
    /// Scopes that somebody had interned.
    met: Scopes,
    /// As they are now, of earlier parts of the batch.
    left: Vec<(Key, Arc<Record>)>,
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

/// In the order of their handles, so that two batches do not wait for each other. The one tenant of a batch is not named: before
/// the first `analyze` a planner takes its rows for few, and looks at each of them. Results are read afterwards: a record that
/// had to be waited for is newer than what else this statement sees.
const HOLD: &str = records!(
    "join unnest($1::bigint[], $2::bigint[]) as asked (tenant, id) on o.tenant = asked.tenant and o.id = asked.id
     order by o.id for update of o"
);

const RESULTS: &str = "\
    select r.tenant, r.operation, r.kind, r.bytes from unnest($1::bigint[], $2::bigint[]) as asked (tenant, id)
    join idem_results r on r.tenant = asked.tenant and r.operation = asked.id";

/// Draws so many tokens, after every row is held: so a record's next token is greater than its last one.
pub(super) fn tokens(many: usize) -> String {
    format!("select * from idem_tokens({many})")
}

impl<'a> Work<'a> {
    pub(super) fn new(
        db: &'a mut PgConnection,
        catalogue: &'a Catalogue,
        begun: &'a Begun,
        now: Timestamp,
        gate: &'a mut Gate,
        purged_to: &'a mut i64,
    ) -> Self {
        Self {
            db,
            catalogue,
            begun,
            is_open: false,
            interned: Scopes::default(),
            met: Scopes::default(),
            left: Vec::new(),
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
            if !replies.is_empty() {
                self.flush().await?;
                self.let_go();
            }
            if together.iter().any(alone) {
                self.open().await?;
            }
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
        }
        Ok(replies)
    }

    /// What is left when all is written.
    pub(super) fn done(mut self) -> Done {
        self.let_go();
        Done { rows: self.rows, interned: self.interned, met: self.met, records: self.left }
    }

    /// What was read so far is read anew.
    fn let_go(&mut self) {
        self.left.extend(self.records.drain().map(|(key, held)| (key, held.record)));
        self.names.clear();
    }

    /// Sends `begin`, where it was not sent yet.
    async fn open(&mut self) -> Result<(), Stopped> {
        let mut script = Script::default();
        self.opening(&mut script);
        if script.len() > 0 {
            script.send(&mut *self.db).await?;
        }
        Ok(())
    }

    /// `begin`, where it was not sent yet.
    pub(super) fn opening(&mut self, script: &mut Script) {
        if !self.is_open {
            self.is_open = true;
            script.say(begin(*self.gate, false), BEGIN_STATEMENTS);
        }
    }

    /// A record that this process began, as it was committed.
    pub(super) fn begun(&self, key: Key) -> Option<Arc<Record>> {
        self.begun.get(key)
    }

    /// The number of a scope that this transaction interned, or met.
    pub(super) fn learned(&mut self, tenant: i64, digest: Digest, scope: i64, is_new: bool) {
        let scopes = if is_new { &mut self.interned } else { &mut self.met };
        scopes.insert((tenant, digest), scope);
    }

    /// The number of a scope.
    pub(super) fn scope(&self, tenant: i64, digest: &Digest) -> Option<i64> {
        let here =
            || [&self.interned, &self.met].into_iter().find_map(|scopes| scopes.get(&(tenant, *digest)).copied());
        self.catalogue.scope(tenant, digest).or_else(here)
    }

    async fn move_records(&mut self, commands: &[Command], replies: &mut Vec<Reply>) -> Result<(), Stopped> {
        self.read(commands).await?;
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

    pub(super) fn named(&mut self, tenant: i64, scope: i64, digest: Digest) -> &mut BTreeMap<u32, i64> {
        self.names.entry((tenant, scope, digest)).or_default()
    }

    /// Reads these records, and keeps everybody else from moving them.
    pub(super) async fn hold(&mut self, keys: Vec<Key>) -> Result<(), Stopped> {
        if keys.is_empty() {
            return Ok(());
        }
        let (tenants, rows): (Vec<i64>, Vec<i64>) = keys.into_iter().unzip();
        let query = sql(HOLD).bind(tenants).bind(rows);
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
        for row in sql(RESULTS).bind(tenants).bind(rows).fetch_all(&mut *self.db).await? {
            let key = (get::<i64>(&row, "tenant")?, get::<i64>(&row, "operation")?);
            if let Some(held) = self.records.get_mut(&key) {
                Arc::make_mut(&mut held.record).stored = read::stored(&row)?;
            }
        }
        Ok(())
    }

    pub(super) async fn draw(&mut self, many: usize) -> Result<(), Stopped> {
        let mut script = Script::default();
        script.say(&tokens(many), 1);
        let answers = script.send(&mut *self.db).await?;
        self.drawn(answers.first())
    }

    /// Instead of tokens, numbers below 0: the nth stands for the nth token that the server will give.
    pub(super) fn provide(&mut self, many: usize) {
        self.tokens = (1..).take(many).map(|nth: i64| -nth).collect();
        self.tokens.reverse();
    }

    /// Takes what [`tokens`] gave.
    pub(super) fn drawn(&mut self, answer: Option<&Answered>) -> Result<(), Stopped> {
        let row = answer.and_then(|answer| answer.rows.first()).ok_or_else(|| corrupt("no tokens were given"))?;
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
