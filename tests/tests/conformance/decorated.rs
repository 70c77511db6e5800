//! Stores that each break one promise: an honest one behind a decorator that changes one thing.
//!
//! Must not know which check notices it.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use idem_runtime::{
    OperationId, Tenant, Timestamp,
    ledger::{
        Begun, Bound, BoxFuture, Command, Detail, Drifted, Ending, Find, Found, Listing, Match, PurgeReport, Reader,
        Record, Reply, Reserve, Reserved, Resolution, Resolve, Settle, State, Store, StoreError, Sweep, Swept,
    },
};

const NANO: Duration = Duration::from_nanos(1);
const YEAR: Duration = Duration::from_hours(400 * 24);

/// What a decorator changes of an honest store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
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
pub(crate) struct Decorated<S> {
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
    nobody_reads: bool,
}

impl<S: Store> Decorated<S> {
    pub(crate) fn new(inner: S, change: Change) -> Self {
        Self {
            inner,
            change,
            fences: HashMap::new(),
            finders: HashMap::new(),
            operations: HashMap::new(),
            events: 0,
            newest: Arc::default(),
            reads: Arc::default(),
            nobody_reads: false,
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

    /// Gives a reader that is there the time for two reads. One that has read and reads no more has seen enough.
    fn let_somebody_read(&mut self) {
        if self.nobody_reads {
            return;
        }
        let before = self.reads.load(Ordering::Acquire);
        let reads = || self.reads.load(Ordering::Acquire);
        (0..20_000).take_while(|_| reads() < before + 2).for_each(|_| std::thread::yield_now());
        self.nobody_reads = before > 0 && reads() == before;
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

    idem_tests::behind_but_reader!(inner);
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
