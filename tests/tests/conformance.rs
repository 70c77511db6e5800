//! The conformance suite, over every store, and over stores that each break one promise.
//!
//! It must not know how a store keeps its records. The broken stores are the control arm: each is an honest one behind a
//! decorator that changes one thing, and the suite has to say which.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use idem_runtime::{
    Clock, Idem, MemoryStore, OperationId, Refusal, RefusalKind, SqliteStore, Tenant, Timestamp, ToolCall, idempotent,
    ledger::{
        Begun, Bound, BoxFuture, Command, Detail, Drifted, Ending, Find, Flow, Found, Listing, Match, PurgeReport,
        Reader, Record, Reply, Reserve, Reserved, Resolution, Resolve, Settle, State, Store, StoreError, Sweep, Swept,
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

/// One server for all checks; each check has a ledger of its own. Several at once: what they wait for is the disk.
#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn the_postgres_store_conforms() {
    use idem_runtime::{PostgresStore, testing::postgres::Cluster};
    let cluster = Arc::new(Cluster::start().expect("a server"));
    let (seed, next) = (seed(), Arc::new(AtomicU32::new(0)));
    let mut lanes = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (cluster, next) = (Arc::clone(&cluster), Arc::clone(&next));
        lanes.spawn(async move {
            let mut wrong = Vec::new();
            while let Some(check) = CHECKS.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                // Two partitions: enough to tell tenants apart, and soon made.
                let address = cluster.ledger().expect("a schema") + "&idem_partitions=2";
                let store = PostgresStore::open(&address).await.expect("a ledger");
                wrong.extend(check.run(seed, store).await.err().map(|failures| failures.to_string()));
            }
            wrong
        });
    }
    let wrong = lanes.join_all().await.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
    /// Whoever decides or finds out is taken to have seen the record as it stands.
    AnyVersion,
    /// Whoever tells what was found out is taken for who was asked last.
    AnyVerdict,
    /// A key's window is used twice as long as it is open.
    LongWindow,
    /// What may have been sent before is forgotten when it is sent again.
    NoDoubt,
    /// Each delivery of an event is another one.
    NewEvents,
    /// Who finds out gets the token of the attempt.
    SameToken,
    /// Calls are not told apart.
    NoNonce,
    /// All calls are taken for one that was sent again.
    OneNonce,
    /// Attempts have no budget.
    NoBudget,
    /// No success needs a reference.
    NoReference,
    /// Resources are not written down.
    NoResources,
    /// Links are not written down.
    NoLinks,
    /// Arguments are not written down.
    NoArguments,
    /// What nobody could tell is due at once.
    NoPatience,
    /// No person is ever asked.
    NoPerson,
    /// Nobody's name is kept.
    NoActor,
    /// A page begins with the last record of the one before.
    Overlapping,
    /// A walk looks only at what is new since the last one.
    OnlyNew,
    /// A walk finds every tool's operations.
    EveryTool,
    /// Questions that are asked together get each other's answers.
    MixedUp,
    /// Characters that a database may not have are left out of names.
    PlainNames,
}

/// A store that is asked through a decorator.
#[derive(Debug)]
struct Decorated<S> {
    inner: S,
    change: Change,
    /// The newest token of each record.
    fences: HashMap<i64, i64>,
    /// The newest token of those who found out about it.
    finders: HashMap<i64, i64>,
    /// Whose each record is, and what it is called.
    operations: HashMap<i64, (Tenant, OperationId)>,
    events: u64,
    newest: Arc<AtomicI64>,
    reads: Arc<AtomicU64>,
}

impl<S: Store> Decorated<S> {
    fn new(inner: S, change: Change) -> Self {
        Self {
            inner,
            change,
            fences: HashMap::new(),
            finders: HashMap::new(),
            operations: HashMap::new(),
            events: 0,
            newest: Arc::default(),
            reads: Arc::default(),
        }
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
            (Change::NoTenant, command) => of_one_tenant(command),
            (Change::NoFence, Command::Settle(settle)) => {
                settle.fence = self.fences.get(&settle.row).copied().unwrap_or(settle.fence);
            }
            (Change::NoResults, Command::Settle(settle)) => settle.stored = None,
            (Change::ArgumentsOnly, Command::Reserve(reserve)) => Arc::make_mut(reserve).identities.truncate(1),
            (Change::NoFingerprint, Command::Reserve(reserve)) => Arc::make_mut(reserve).fingerprint = [0; 32],
            (Change::NoDoubt, Command::Reserve(reserve)) if reserve.resend.is_some() => {
                self.take_for_proof(reserve, now).await?;
            }
            (_, Command::Reserve(reserve)) => another_call(change, Arc::make_mut(reserve)),
            _ => self.about_the_unknown(change, &mut command).await?,
        }
        let tenant = match &command {
            Command::Reserve(reserve) => Some(reserve.tenant.clone()),
            _ => None,
        };
        let mut reply = self.single(command, now).await?;
        self.heard(change, tenant, &mut reply);
        Ok(reply)
    }

    /// Changes what is said about unknown outcomes.
    async fn about_the_unknown(&mut self, change: Change, command: &mut Command) -> Result<(), StoreError> {
        match (change, command) {
            (Change::AnyVersion, Command::Resolve(resolve)) => {
                resolve.version = self.version(resolve.row).await?.unwrap_or(resolve.version);
            }
            (Change::AnyVersion, Command::BeginReconcile(begin)) => {
                begin.version = self.version(begin.row).await?.unwrap_or(begin.version);
            }
            (Change::AnyVerdict | Change::SameToken, Command::Verdict(judge)) => {
                judge.fence = self.finders.get(&judge.row).copied().unwrap_or(judge.fence);
            }
            (Change::NoPatience, Command::Verdict(judge)) => judge.again_in = Duration::ZERO,
            (Change::NoPerson, Command::Verdict(judge)) => {
                judge.bound = Bound { answered_max: u32::MAX, passes_max: u32::MAX };
            }
            (Change::NoBudget, Command::Verdict(judge)) => judge.budget = None,
            (Change::NoBudget, Command::Settle(settle)) => settle.budget = None,
            (Change::NoActor, Command::Resolve(resolve)) => resolve.actor = "somebody".into(),
            (Change::NewEvents, Command::Evidence(evidence)) => {
                self.events += 1;
                evidence.event = format!("{} {}", evidence.event, self.events).into();
            }
            _ => {}
        }
        Ok(())
    }

    /// Learns from a reply, or changes it.
    fn heard(&mut self, change: Change, tenant: Option<Tenant>, reply: &mut Reply) {
        match reply {
            Reply::Reserved(Reserved::Granted(grant)) => {
                self.fences.insert(grant.row, grant.fence);
                self.newest.fetch_max(grant.row, Ordering::AcqRel);
                if let Some(tenant) = tenant {
                    self.operations.insert(grant.row, (tenant, grant.operation));
                }
                if change == Change::SameFence {
                    grant.fence = 1;
                }
            }
            Reply::Begun(Begun::Yours { fence, record }) => {
                self.finders.insert(record.row, *fence);
                if change == Change::SameToken {
                    *fence = record.fence;
                    Arc::make_mut(record).reconcile_fence = *fence;
                }
            }
            _ => {}
        }
    }

    async fn version(&mut self, row: i64) -> Result<Option<u64>, StoreError> {
        let Some((tenant, operation)) = self.operations.get(&row) else { return Ok(None) };
        let shown = self.inner.reader().show(tenant, *operation).await?;
        Ok(shown.map(|record| record.version))
    }

    /// Takes it for proved that what may have been sent before was not.
    async fn take_for_proof(&mut self, reserve: &Reserve, now: Timestamp) -> Result<(), StoreError> {
        let unknown = |record: &Arc<Record>| record.state == State::OutcomeUnknown;
        if let Some(record) = self.finds(reserve).await?.filter(unknown) {
            let resolve = Resolve {
                tenant: reserve.tenant.clone(),
                row: record.row,
                version: record.version,
                actor: "nobody".into(),
                reason: "it is sent again".into(),
                evidence: None,
                resolution: Resolution::Retryable,
            };
            self.single(Command::Resolve(Box::new(resolve)), now).await?;
        }
        Ok(())
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
                pause: Duration::ZERO,
                budget: None,
                resources: Arc::default(),
                looks: true,
            };
            self.single(Command::Settle(settle), now).await?;
        }
        Ok(())
    }
}

fn acme() -> Tenant {
    Tenant::new("acme").expect("a name")
}

fn of_one_tenant(command: &mut Command) {
    match command {
        Command::Reserve(reserve) => Arc::make_mut(reserve).tenant = acme(),
        Command::Settle(settle) => settle.tenant = acme(),
        Command::BeginReconcile(begin) => begin.tenant = acme(),
        Command::Verdict(judge) => judge.tenant = acme(),
        Command::Resolve(resolve) => resolve.tenant = acme(),
        Command::Evidence(evidence) => evidence.tenant = acme(),
        Command::EndLeases(silent) => silent.iter_mut().for_each(|silent| silent.tenant = acme()),
        Command::Renew(_) | Command::Tally(_) | Command::Purge { .. } => {}
    }
}

/// Changes what a call says of itself.
fn another_call(change: Change, reserve: &mut Reserve) {
    match change {
        Change::LongWindow => reserve.resend = reserve.resend.map(|window| window * 2),
        Change::NoNonce => reserve.nonce = 0,
        Change::OneNonce => reserve.nonce = 1,
        Change::NoBudget => reserve.budget = None,
        Change::NoReference => reserve.needs_reference = false,
        Change::NoResources => reserve.resources = Arc::default(),
        Change::NoLinks => reserve.link = None,
        Change::NoArguments => reserve.arguments = None,
        Change::PlainNames => {
            reserve.tenant = Tenant::new(reserve.tenant.as_str().replace('\0', "")).expect("a tenant");
        }
        _ => {}
    }
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
        Arc::new(Counting {
            inner: self.inner.reader(),
            change: self.change,
            newest: Arc::clone(&self.newest),
            reads: Arc::clone(&self.reads),
        })
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        self.inner.clock()
    }

    fn flow(&self) -> Flow {
        self.inner.flow()
    }

    fn close(&mut self) {
        self.inner.close();
    }
}

/// A reader that is counted, and changed like its store.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn Reader>,
    change: Change,
    newest: Arc<AtomicI64>,
    reads: Arc<AtomicU64>,
}

impl Reader for Counting {
    fn find<'a>(&'a self, find: Find<'a>) -> BoxFuture<'a, Result<Vec<Option<Match>>, StoreError>> {
        self.reads.fetch_add(1, Ordering::AcqRel);
        self.inner.find(find)
    }

    fn find_all<'a>(&'a self, finds: &'a [Find<'a>]) -> BoxFuture<'a, Vec<Found>> {
        Box::pin(async move {
            let mut found = self.inner.find_all(finds).await;
            if self.change == Change::MixedUp {
                found.reverse();
            }
            found
        })
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

    fn detail<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Detail>, StoreError>> {
        self.inner.detail(tenant, operation)
    }

    fn list<'a>(&'a self, tenant: &'a Tenant, listing: &'a Listing) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        let mut listing = listing.clone();
        if self.change == Change::Overlapping {
            listing.after = listing.after.saturating_sub(1);
        }
        Box::pin(async move { self.inner.list(tenant, &listing).await })
    }

    fn sweep<'a>(&'a self, sweep: &'a Sweep, now: Timestamp) -> BoxFuture<'a, Result<Swept, StoreError>> {
        Box::pin(async move {
            let mut asked = sweep.clone();
            if self.change == Change::EveryTool {
                asked.tools.extend(["bank::send".into(), "bank::refund".into(), "mail::send".into()]);
            }
            let mut swept = self.inner.sweep(&asked, now).await?;
            swept.next.tools.clone_from(&sweep.tools);
            if self.change == Change::OnlyNew {
                swept.due.retain(|(_, record)| record.row > sweep.seen_to);
                swept.next.seen_to = self.newest.load(Ordering::Acquire);
            }
            Ok(swept)
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decorator_that_changes_nothing_conforms() {
    check(async || Decorated::new(MemoryStore::new(), Change::Nothing)).await;
}

/// Each broken promise, and a check that has to notice it.
const BROKEN: &[(Change, &str)] = &[
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
    (Change::NoTenant, "another tenant finds out nothing"),
    (Change::NoTenant, "another tenant's person decides nothing"),
    (Change::AnyVersion, "a decision counts on the version that was seen"),
    (Change::AnyVersion, "finding out begins where the outcome is unknown"),
    (Change::AnyVerdict, "a stale verdict is evidence"),
    (Change::LongWindow, "the key's usable window ends at its instant"),
    (Change::Lax, "the key's usable window ends at its instant"),
    (Change::Strict, "the key's usable window ends at its instant"),
    (Change::NoDoubt, "in doubt, no effect of a later attempt proves nothing"),
    (Change::NoDoubt, "in doubt, late proof is kept"),
    (Change::NewEvents, "each event is weighed once"),
    (Change::SameToken, "tokens of attempts and of finding out are one ascending row, also after a purge"),
    (Change::NoNonce, "a reservation that is sent again gets the same attempt"),
    (Change::OneNonce, "a reservation that is sent again gets the same attempt"),
    (Change::NoBudget, "attempts end with the budget, and the last error is kept"),
    (Change::NoBudget, "every proof of no effect finds the budget"),
    (Change::Lax, "the budget's deadline ends attempts at its instant"),
    (Change::Strict, "the budget's deadline ends attempts at its instant"),
    (Change::NoReference, "success without the required reference is unknown"),
    (Change::NoReference, "without the required reference evidence proves nothing"),
    (Change::NoResources, "after another success on its resource equal arguments are a new operation"),
    (Change::NoLinks, "links are shown both ways"),
    (Change::NoArguments, "identities, scope and arguments are told to their tenant"),
    (Change::NoPatience, "what nobody could tell is asked about again, and not too soon"),
    (Change::NoPerson, "a person is asked when answers or passes run out, unless callers can go on"),
    (Change::NoActor, "who decided, and why, is kept"),
    (Change::Overlapping, "pages have no gaps and no doubles"),
    (Change::OnlyNew, "later walks find what is new, and what fell silent since"),
    (Change::EveryTool, "walks find the named tools' operations only"),
    (Change::MixedUp, "questions that are asked together are answered as if alone"),
    (Change::NoTenant, "questions that are asked together are answered as if alone"),
    (Change::PlainNames, "names are kept and told apart whatever their characters"),
    (Change::NoDoubt, "every legal move is made as `transition` says"),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_broken_promise_is_noticed() {
    let seed = seed();
    for (change, name) in BROKEN {
        let check = CHECKS.iter().find(|known| known.name() == *name);
        let check = check.unwrap_or_else(|| panic!("there is no check `{name}`"));
        let store = Decorated::new(MemoryStore::new(), *change);
        let Err(failures) = check.run(seed, store).await else { panic!("{change:?} was not noticed by `{name}`") };
        eprintln!("{change:?}: {failures}");
    }
}

/// Whatever is broken, the suite as a whole says so and comes to an end.
#[tokio::test(flavor = "multi_thread")]
async fn the_whole_suite_survives_a_broken_store() {
    for change in [Change::NoFence, Change::BackToFront, Change::NoDoubt] {
        let failures = conformance::run(seed(), async || Decorated::new(MemoryStore::new(), change)).await;
        assert!(failures.is_err_and(|failures| failures.names().len() > 1), "{change:?} was not noticed");
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
async fn r026_no_move_changes_the_fingerprint() {
    over_both("no move changes the fingerprint", &[Change::NoFingerprint]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r036_tokens_fence_where_the_clock_stands_still() {
    over_both("fencing tokens ascend, also after a purge", &[Change::SameFence]).await;
    let tokens = "tokens of attempts and of finding out are one ascending row, also after a purge";
    over_both(tokens, &[Change::SameFence, Change::SameToken]).await;
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
