//! The conformance suite, over every store, and over stores that each break one promise.
//!
//! It must not know how a store keeps its records. The broken stores are the control arm: each is an honest one behind a
//! decorator that changes one thing, and the suite has to say which.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use idem_runtime::{
    Idem, MemoryStore, OperationId, Refusal, RefusalKind, SqliteStore, Tenant, Timestamp, ToolCall, idempotent,
    ledger::{
        BoxFuture, Command, Drifted, Ending, Find, Flow, Match, PurgeReport, Reader, Record, Reply, Reserve, Reserved,
        Settle, Store, StoreError,
    },
    testing::conformance::{self, CHECKS},
};

const NANO: Duration = Duration::from_nanos(1);
const YEAR: Duration = Duration::from_hours(400 * 24);

/// A seed that is another one in each run; it is printed, and `IDEM_SEED` gives it again.
fn seed() -> u64 {
    let given = std::env::var("IDEM_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    let seed = given.unwrap_or(u64::from(now));
    eprintln!("IDEM_SEED={seed}");
    seed
}

async fn check<S: Store>(open: impl AsyncFn() -> S) {
    if let Err(failures) = conformance::run(seed(), open).await {
        panic!("{failures}");
    }
}

/// Stores in files of their own, in a folder that outlives them.
struct Files {
    folder: tempfile::TempDir,
    opened: AtomicU32,
}

impl Files {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), opened: AtomicU32::new(0) }
    }

    fn open(&self) -> SqliteStore {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        SqliteStore::open(self.folder.path().join(format!("{number}.db"))).expect("a ledger")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_memory_store_conforms() {
    check(async || MemoryStore::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sqlite_store_conforms() {
    let files = Files::new();
    check(async || files.open()).await;
}

/// What a decorator changes of an honest store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Nothing.
    Nothing,
    /// Whoever settles is taken for the holder of the lease.
    NoFence,
    /// There is one tenant.
    NoTenant,
    /// What ended counts as ended a nanosecond too late.
    Lax,
    /// What will end counts as ended a nanosecond too early.
    Strict,
    /// Instants are cut to milliseconds.
    Millis,
    /// A lease that ended frees the operation.
    SilenceFrees,
    /// A purge takes retention for nothing.
    EagerPurge,
    /// A purge removes nothing.
    NoPurge,
    /// Commands of a batch are carried out back to front.
    BackToFront,
    /// Each command of a batch is committed by itself.
    OneByOne,
    /// Counts and aliases are dropped.
    NoTally,
    /// Call ids are not looked up.
    ArgumentsOnly,
    /// Calls are granted whatever their amount.
    NoFingerprint,
    /// Fencing tokens are given twice.
    SameFence,
    /// A renewal is claimed and not written.
    NoRenewal,
    /// Results are not kept.
    NoResults,
}

/// A store that is asked through a decorator.
#[derive(Debug)]
struct Decorated<S> {
    inner: S,
    change: Change,
    /// The newest token of each record.
    fences: HashMap<i64, i64>,
    reads: Arc<AtomicU64>,
}

impl<S: Store> Decorated<S> {
    fn new(inner: S, change: Change) -> Self {
        Self { inner, change, fences: HashMap::new(), reads: Arc::default() }
    }

    async fn changed(&mut self, commands: &[Command], now: Timestamp) -> Result<Vec<Reply>, StoreError> {
        match self.change {
            Change::Nothing => self.inner.apply(commands, now).await,
            Change::Millis => {
                let millis = Timestamp::from_nanos(now.as_nanos() / 1_000_000 * 1_000_000);
                self.inner.apply(commands, millis).await
            }
            Change::BackToFront => {
                let reversed: Vec<Command> = commands.iter().rev().cloned().collect();
                let replies = self.inner.apply(&reversed, now).await?;
                Ok(replies.into_iter().rev().collect())
            }
            change => {
                let mut replies = Vec::new();
                for command in commands {
                    if change == Change::OneByOne && commands.len() == 2 && replies.len() == 1 {
                        self.let_somebody_read();
                    }
                    replies.push(self.one(change, command, now).await?);
                }
                Ok(replies)
            }
        }
    }

    /// Gives a reader that is there the time for two reads.
    fn let_somebody_read(&self) {
        let until = self.reads.load(Ordering::Acquire) + 2;
        (0..20_000).take_while(|_| self.reads.load(Ordering::Acquire) < until).for_each(|_| std::thread::yield_now());
    }

    async fn one(&mut self, change: Change, command: &Command, mut now: Timestamp) -> Result<Reply, StoreError> {
        let mut command = command.clone();
        match (change, &mut command) {
            (Change::NoTally, Command::Tally(_)) => return Ok(Reply::Tallied),
            (Change::NoRenewal, Command::Renew(_)) => return Ok(Reply::Renewed { lost: Vec::new() }),
            (Change::NoPurge, Command::Purge { .. }) => return Ok(Reply::Purged(PurgeReport::default())),
            (Change::EagerPurge, Command::Purge { .. }) => return self.single(command, now.after(YEAR)).await,
            (Change::SilenceFrees, Command::Reserve(reserve)) => self.free(reserve, now).await?,
            (Change::Lax, Command::Reserve(reserve)) if self.finds(reserve).await?.is_some() => now = now.before(NANO),
            (Change::Strict, Command::Reserve(reserve)) if self.finds(reserve).await?.is_some() => {
                now = now.after(NANO);
            }
            (Change::NoTenant, Command::Settle(settle)) => settle.tenant = acme(),
            (Change::NoTenant, Command::Reserve(reserve)) => Arc::make_mut(reserve).tenant = acme(),
            (Change::NoFence, Command::Settle(settle)) => {
                settle.fence = self.fences.get(&settle.row).copied().unwrap_or(settle.fence);
            }
            (Change::NoResults, Command::Settle(settle)) => settle.stored = None,
            (Change::ArgumentsOnly, Command::Reserve(reserve)) => Arc::make_mut(reserve).identities.truncate(1),
            (Change::NoFingerprint, Command::Reserve(reserve)) => Arc::make_mut(reserve).fingerprint = [0; 32],
            _ => {}
        }
        let mut reply = self.single(command, now).await?;
        if let Reply::Reserved(Reserved::Granted(grant)) = &mut reply {
            self.fences.insert(grant.row, grant.fence);
            if change == Change::SameFence {
                grant.fence = 1;
            }
        }
        Ok(reply)
    }

    async fn single(&mut self, command: Command, now: Timestamp) -> Result<Reply, StoreError> {
        let replies = self.inner.apply(&[command], now).await?;
        Ok(replies.into_iter().next().expect("a reply"))
    }

    async fn finds(&mut self, reserve: &Reserve) -> Result<Option<Arc<Record>>, StoreError> {
        let (tenant, scope) = (&reserve.tenant, &reserve.scope.digest);
        let found = self.inner.reader().find(Find { tenant, scope, identities: &reserve.identities }).await?;
        Ok(found.into_iter().flatten().map(|found| found.record).next())
    }

    /// Takes silence for proof that nothing happened.
    async fn free(&mut self, reserve: &Reserve, now: Timestamp) -> Result<(), StoreError> {
        if let Some(silent) = self.finds(reserve).await?.filter(|record| record.lease_ended(now)) {
            let settle = Settle {
                tenant: reserve.tenant.clone(),
                row: silent.row,
                fence: silent.fence,
                attempt: silent.attempt,
                ending: Ending::Retryable,
                reference: None,
                stored: None,
                retain: YEAR,
            };
            self.single(Command::Settle(settle), now).await?;
        }
        Ok(())
    }
}

fn acme() -> Tenant {
    Tenant::new("acme").expect("a name")
}

impl<S: Store> Store for Decorated<S> {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        Box::pin(self.changed(commands, now))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(Counting { inner: self.inner.reader(), reads: Arc::clone(&self.reads) })
    }

    fn flow(&self) -> Flow {
        self.inner.flow()
    }

    fn close(&mut self) {
        self.inner.close();
    }
}

/// A reader that is counted.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn Reader>,
    reads: Arc<AtomicU64>,
}

impl Reader for Counting {
    fn find<'a>(&'a self, find: Find<'a>) -> BoxFuture<'a, Result<Vec<Option<Match>>, StoreError>> {
        self.reads.fetch_add(1, Ordering::AcqRel);
        self.inner.find(find)
    }

    fn show<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.inner.show(tenant, operation)
    }

    fn drifted<'a>(&'a self, tenant: &'a Tenant, records_max: u32) -> BoxFuture<'a, Result<Vec<Drifted>, StoreError>> {
        self.inner.drifted(tenant, records_max)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decorator_that_changes_nothing_conforms() {
    check(async || Decorated::new(MemoryStore::new(), Change::Nothing)).await;
}

/// Each broken promise, and a check that has to notice it.
const BROKEN: [(Change, &str); 20] = [
    (Change::NoFence, "an older holder changes nothing, though the clock stands still"),
    (Change::NoTenant, "another tenant sees nothing"),
    (Change::Lax, "a lease that ended leads to unknown, at its instant and only there"),
    (Change::Lax, "equal arguments mean a finished operation until the window ends"),
    (Change::Lax, "a record answers with its result until retention ends"),
    (Change::Strict, "a lease that ended leads to unknown, at its instant and only there"),
    (Change::Strict, "equal arguments mean a finished operation until the window ends"),
    (Change::Strict, "a record answers with its result until retention ends"),
    (Change::Millis, "a record answers with its result until retention ends"),
    (Change::SilenceFrees, "a lease that ended leads to unknown, at its instant and only there"),
    (Change::EagerPurge, "a purge removes results, then tombstones, at their instants"),
    (Change::NoPurge, "a purge goes on where it stopped"),
    (Change::BackToFront, "a batch keeps its order"),
    (Change::OneByOne, "a reader sees no half of a batch"),
    (Change::NoTally, "counts of drifts add up and are listed, newest first"),
    (Change::ArgumentsOnly, "identities that lead to two operations are refused"),
    (Change::NoFingerprint, "drift names the parameters that differ"),
    (Change::SameFence, "fencing tokens ascend, also after a purge"),
    (Change::NoRenewal, "a renewal extends the lease and tells which are lost"),
    (Change::NoResults, "late success settles an unknown outcome"),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_broken_promise_is_noticed() {
    let seed = seed();
    for (change, check) in BROKEN {
        assert!(CHECKS.iter().any(|known| known.name() == check), "there is no check `{check}`");
        let Err(failures) = conformance::run(seed, async || Decorated::new(MemoryStore::new(), change)).await else {
            panic!("{change:?} was not noticed")
        };
        eprintln!("{change:?}: noticed by {} of {} checks", failures.names().len(), CHECKS.len());
        assert!(failures.names().contains(&check), "{change:?} was not noticed by `{check}`: {failures}");
    }
}

/// One check, over both stores; stores that break the promise fail it.
async fn over_both(name: &str, broken: &[Change]) {
    let check = CHECKS.iter().find(|check| check.name() == name).expect("a check of this name");
    let (seed, files) = (seed(), Files::new());
    for failures in [check.run(seed, MemoryStore::new()).await, check.run(seed, files.open()).await] {
        failures.unwrap_or_else(|failures| panic!("{failures}"));
    }
    for change in broken {
        let memory = check.run(seed, Decorated::new(MemoryStore::new(), *change)).await;
        let sqlite = check.run(seed, Decorated::new(files.open(), *change)).await;
        assert!(memory.is_err() && sqlite.is_err(), "{change:?} was not noticed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r036_tokens_fence_where_the_clock_stands_still() {
    over_both("fencing tokens ascend, also after a purge", &[Change::SameFence]).await;
    over_both("an older holder changes nothing, though the clock stands still", &[Change::NoFence]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r084_retention_ends_at_its_instant() {
    let broken = [Change::Lax, Change::Strict, Change::Millis];
    over_both("whatever the instants, retention ends at its own", &broken).await;
    over_both("a record answers with its result until retention ends", &broken).await;
    over_both("equal arguments mean a finished operation until the window ends", &broken[..2]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r087_a_purge_between_two_reservations_hides_no_truth() {
    over_both("a purge between two reservations leaves both with the truth", &[Change::NoPurge]).await;
}

/// The disk is full under the last row of a reservation, say: then nothing of it is there, and nothing runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_fails_half_way_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("idem.db");
    let idem = Idem::open(&format!("sqlite://{}", path.display())).await.expect("a ledger");
    let effects = AtomicU32::new(0);
    let call = idem.call().tenant("acme");
    pay(&call, "A".to_owned(), &effects).await.expect("a payment");
    let db = rusqlite::Connection::open(&path).expect("the file");
    let rows = || -> i64 {
        let all = "select (select count(*) from idem_operations) + (select count(*) from idem_identities)
                   + (select count(*) from idem_attempts) + (select count(*) from idem_history)";
        db.query_row(all, [], |row| row.get(0)).expect("a count")
    };
    let before = rows();
    // The identities are the last rows that a reservation writes.
    db.execute_batch(
        "create trigger full before insert on idem_identities begin select raise(abort, 'no space left'); end",
    )
    .expect("a trigger");
    let told = pay(&call, "B".to_owned(), &effects).await.expect_err("nothing runs without a reservation");
    assert_eq!(told.kind(), &RefusalKind::LedgerUnavailable);
    assert_eq!((rows(), effects.load(Ordering::SeqCst)), (before, 1));
    db.execute_batch("drop trigger full").expect("space again");
    pay(&call, "B".to_owned(), &effects).await.expect("a payment");
    assert_eq!((rows() > before, effects.load(Ordering::SeqCst)), (true, 2));
}

#[idempotent(scope = "tenant", key = "args")]
async fn pay(_call: &ToolCall, order: String, #[idem(state)] effects: &AtomicU32) -> Result<String, Refusal> {
    effects.fetch_add(1, Ordering::SeqCst);
    Ok(order)
}
