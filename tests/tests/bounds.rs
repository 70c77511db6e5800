//! Where an outcome may become unknown, and that none stays so.
//!
//! One tool with a provider that keeps keys and a look-up that works is driven through faults at every named checkpoint, in
//! process. What happened at the provider is counted there.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use idem_runtime::{
    BoundTool, Config, Held, Idem, InlineCommit, OperationId, Operator, Outcome, Tenant, Timestamp, ToolCall,
    Unsettled, Verdict, idempotent,
    ledger::{BoxFuture, Command, Listing, Reply, State, Store, StoreError},
    prepare,
    testing::TestClock,
};
use idem_tests::{
    home::Place,
    store::{Failing, Fault, Watch, Watched},
    timing::{Gate, until},
    tools::{ToolError, classify},
    world::{Setup, TENANT, World, config, decorated},
};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

/// The named places where a fault can strike, in the order of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Checkpoint {
    Validate,
    Reserve,
    Dispatch,
    ProviderCommit,
    ReceiveResponse,
    PersistResult,
    Return,
}

/// What goes wrong there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// An error whose type says that nothing happened.
    TypedError,
    /// An error that says nothing: a reset connection, a timeout, a lost response.
    Error,
    /// A response that cannot be read.
    Corrupt,
    /// The request is delivered a second time.
    Duplicate,
    Panic,
    /// Nothing goes on any more; the owner's lease ends.
    Hangs,
    /// The caller is dropped.
    Cancelled,
    /// The runtime is shut down under the body.
    RuntimeLost,
    /// The ledger's disk is full for a moment.
    Full,
    /// The ledger wrote, and its answer is lost.
    AnswerLost,
    /// The ledger's disk is full until the process ends.
    FullToTheEnd,
}

/// What the ledger says after the fault.
type After = Option<State>;

const UNKNOWN: After = Some(State::OutcomeUnknown);
const DONE: After = Some(State::Succeeded);
const FREE: After = Some(State::FailedRetryable);
const NOTHING: After = None;

/// Every fault, and what stands in the ledger after it.
const FAULTS: [(Checkpoint, Kind, After); 28] = {
    use Checkpoint as C;
    use Kind as K;
    [
        (C::Validate, K::TypedError, NOTHING),
        (C::Validate, K::Error, NOTHING),
        (C::Validate, K::Panic, NOTHING),
        (C::Validate, K::Cancelled, NOTHING),
        (C::Validate, K::RuntimeLost, NOTHING),
        (C::Reserve, K::Full, NOTHING),
        (C::Reserve, K::AnswerLost, DONE),
        (C::Reserve, K::Cancelled, FREE),
        (C::Dispatch, K::TypedError, FREE),
        (C::Dispatch, K::Error, UNKNOWN),
        (C::Dispatch, K::Panic, UNKNOWN),
        (C::Dispatch, K::Hangs, UNKNOWN),
        (C::Dispatch, K::Cancelled, DONE),
        (C::Dispatch, K::RuntimeLost, UNKNOWN),
        (C::ProviderCommit, K::Error, UNKNOWN),
        (C::ProviderCommit, K::Duplicate, DONE),
        (C::ProviderCommit, K::Panic, UNKNOWN),
        (C::ProviderCommit, K::Hangs, UNKNOWN),
        (C::ProviderCommit, K::Cancelled, DONE),
        (C::ProviderCommit, K::RuntimeLost, UNKNOWN),
        (C::ReceiveResponse, K::Error, UNKNOWN),
        (C::ReceiveResponse, K::Corrupt, UNKNOWN),
        (C::ReceiveResponse, K::Panic, UNKNOWN),
        (C::ReceiveResponse, K::RuntimeLost, UNKNOWN),
        (C::PersistResult, K::Full, DONE),
        (C::PersistResult, K::AnswerLost, DONE),
        (C::PersistResult, K::FullToTheEnd, UNKNOWN),
        (C::Return, K::Cancelled, DONE),
    ]
};

/// The only faults that may leave an outcome unknown: from the moment a request may have left until its answer is written.
fn may_be_unknown(checkpoint: Checkpoint, kind: Kind) -> bool {
    match checkpoint {
        Checkpoint::Dispatch | Checkpoint::ProviderCommit | Checkpoint::ReceiveResponse => true,
        Checkpoint::PersistResult => kind == Kind::FullToTheEnd,
        Checkpoint::Validate | Checkpoint::Reserve | Checkpoint::Return => false,
    }
}

/// A provider that does what one key asks for once, and knows its keys.
#[derive(Debug, Default)]
struct Provider {
    world: World,
    keys: Mutex<HashMap<String, String>>,
}

impl Provider {
    fn keys(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, key: String, order: &str) -> String {
        let answer = || format!("rf_{}", self.world.effect(order));
        self.keys().entry(key).or_insert_with(answer).clone()
    }
}

/// Which fault strikes, once. Clones are the same plan.
#[derive(Debug, Clone)]
struct Plan {
    provider: Arc<Provider>,
    fault: Arc<Mutex<Option<(Checkpoint, Kind)>>>,
    /// Where a body stands that somebody is about to stop.
    gate: Gate,
    /// Whether the look-up can tell.
    works: bool,
}

impl Plan {
    fn new(checkpoint: Checkpoint, kind: Kind, works: bool) -> Self {
        let fault = Arc::new(Mutex::new(Some((checkpoint, kind))));
        Self { provider: Arc::default(), fault, gate: Gate::new(), works }
    }

    /// The fault of this checkpoint, if it has not struck yet.
    fn strikes(&self, here: Checkpoint) -> Option<Kind> {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.take_if(|(at, _)| *at == here).map(|(_, kind)| kind)
    }

    fn has_struck(&self) -> bool {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Whether this very fault strikes now.
    fn is(&self, here: Checkpoint, kind: Kind) -> bool {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.take_if(|planned| *planned == (here, kind)).is_some()
    }

    async fn pass(&self, here: Checkpoint) -> Result<(), ToolError> {
        match self.strikes(here) {
            None => Ok(()),
            Some(Kind::TypedError) => Err(ToolError::Busy),
            Some(Kind::Panic) => panic!("a fault at {here:?}"),
            Some(Kind::Hangs | Kind::Cancelled | Kind::RuntimeLost) => {
                self.gate.pass().await;
                Ok(())
            }
            Some(_) => Err(ToolError::Timeout),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Refund {
    id: String,
}

#[idempotent(
    scope = "conversation",
    key = "tool_call_id|args",
    name = "test.refund",
    classify = classify,
    validate = check_refund,
    lease = "60s",
    recover(provider_key = "24h", lookup = find_refund, then = operator),
    settles_in = "2m"
)]
async fn refund(call: &ToolCall, order: String, #[idem(state)] plan: Plan) -> Result<Refund, ToolError> {
    plan.pass(Checkpoint::Dispatch).await?;
    let key = call.provider_key("refund").to_string();
    let mut id = plan.provider.request(key.clone(), &order);
    if plan.is(Checkpoint::ProviderCommit, Kind::Duplicate) {
        id = plan.provider.request(key, &order);
    }
    plan.pass(Checkpoint::ProviderCommit).await?;
    if plan.is(Checkpoint::ReceiveResponse, Kind::Corrupt) {
        id = "<html>502</html>".into();
    }
    plan.pass(Checkpoint::ReceiveResponse).await?;
    if !id.starts_with("rf_") {
        return Err(ToolError::Timeout);
    }
    call.reference(&id);
    Ok(Refund { id })
}

async fn check_refund(_: &str, plan: &Plan) -> Result<(), ToolError> {
    plan.pass(Checkpoint::Validate).await
}

#[expect(clippy::unused_async, reason = "a look-up is async: a real one asks over the network")]
async fn find_refund(plan: &Plan, operation: Unsettled) -> Verdict<Refund> {
    if !plan.works {
        return Verdict::inconclusive("the provider does not say");
    }
    match plan.provider.keys().get(&operation.provider_key("refund").to_string()) {
        Some(id) => Verdict::applied(Refund { id: id.clone() }, id.clone()),
        None => Verdict::not_applied("no request came under this key"),
    }
}

fn tenant() -> Tenant {
    Tenant::new(TENANT).expect("a tenant")
}

/// How an operation is seen to after the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arm {
    /// The same call comes again while the provider knows its keys: it sends again under the same one.
    Caller,
    /// It comes after that: it asks.
    LateCaller,
    /// Nobody calls: the reconciler asks.
    Reconciler,
}

/// What came of it all.
#[derive(Debug, Default)]
struct Tally {
    cells: usize,
    duplicates_served: usize,
    unknown: usize,
    settled: usize,
    left_for_an_operator: usize,
    /// Where outcomes became unknown.
    seen_at: BTreeMap<Checkpoint, BTreeSet<Kind>>,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cells, duplicates_served, unknown, settled, left_for_an_operator, .. } = self;
        write!(f, "{cells} faults: duplicates served {duplicates_served}, unknown {unknown}, settled {settled}, ")?;
        write!(f, "left for an operator {left_for_an_operator}")
    }
}

/// One fault on one ledger.
struct Cell {
    setup: Setup,
    watch: Watch,
    pause: Arc<Pause>,
    plan: Plan,
    operation: OperationId,
    checkpoint: Checkpoint,
    kind: Kind,
}

/// One look-up that cannot tell is enough for a person to be asked; a refused settlement is tried again soon; a reservation
/// is no part of its caller's first poll.
fn settings() -> Config {
    config(|it| {
        it.reconcile_answers_max = 1;
        it.run_max = Duration::from_secs(1);
        it.tally_every = Duration::from_millis(1);
        it.inline_commit = InlineCommit::Never;
    })
}

/// Whether a store takes batches, and whether a reservation waits for that.
#[derive(Debug, Default)]
struct Pause {
    on: AtomicBool,
    reached: AtomicBool,
}

/// A store that takes no batch while it is paused.
#[derive(Debug)]
struct Pausing<S> {
    store: Watched<S>,
    pause: Arc<Pause>,
}

impl<S: Store> Store for Pausing<S> {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        while self.pause.on.load(Ordering::SeqCst) {
            if commands.iter().any(|it| matches!(it, Command::Reserve(_))) {
                self.pause.reached.store(true, Ordering::SeqCst);
            }
            std::thread::yield_now();
        }
        self.store.apply(commands, now)
    }

    idem_tests::behind!(store);
}

/// A new ledger, watched and able to pause.
async fn ledger(place: Place) -> (Setup, Watch, Arc<Pause>) {
    let (watch, pause) = (Watch::default(), Arc::<Pause>::default());
    let begin = |clock: &TestClock, store| {
        let store = Pausing { store: Watched::new(store, &watch), pause: Arc::clone(&pause) };
        Idem::builder().config(settings()).clock(clock.clone()).with_store(store).expect("a ledger")
    };
    (decorated(place, begin).await, watch, pause)
}

impl Cell {
    async fn new(place: Place, checkpoint: Checkpoint, kind: Kind, works: bool) -> Self {
        let (setup, watch, pause) = ledger(place).await;
        let plan = Plan::new(checkpoint, kind, works);
        let prepared = prepare(refund(&setup.call_as("call_1", 1), "A-1".into(), plan.clone())).await;
        let operation = prepared.expect("a record").operation();
        Self { setup, watch, pause, plan, operation, checkpoint, kind }
    }

    fn name(&self) -> String {
        format!("{}: {:?} at {:?}", self.setup.name(), self.kind, self.checkpoint)
    }

    fn told(&self, call: ToolCall) -> impl Future<Output = Outcome<Refund>> + Send + use<> {
        let plan = self.plan.clone();
        async move { refund_outcome(&call, "A-1".into(), plan).await }
    }

    fn first_call(&self) -> impl Future<Output = Outcome<Refund>> + Send + use<> {
        self.told(self.setup.call_as("call_1", 1))
    }

    fn operator(&self) -> Operator {
        self.setup.idem.operator(&tenant(), "mia").expect("an operator")
    }

    fn tool(&self) -> BoundTool {
        refund_tool(self.plan.clone())
    }

    async fn state(&self) -> After {
        self.setup.idem.show(&tenant(), self.operation).await.expect("a readable ledger").map(|record| record.state)
    }

    async fn comes_to(&self, after: After) {
        until(&format!("{}: {after:?}", self.name()), async || (self.state().await == after).then_some(())).await;
    }

    /// The first call, and the fault. Returns when the ledger knows all that it will be told.
    async fn strike(&mut self, after: After) {
        match (self.checkpoint, self.kind) {
            (_, Kind::TypedError | Kind::Error | Kind::Corrupt | Kind::Duplicate)
            | (Checkpoint::Return, Kind::Cancelled) => drop(self.first_call().await),
            (_, Kind::Panic) => {
                let panicked = tokio::spawn(self.first_call()).await.expect_err("it panics");
                assert!(panicked.is_panic());
            }
            (_, Kind::Hangs) => {
                tokio::spawn(self.first_call());
                self.plan.gate.arrived().await;
                // Its lease ends; whoever comes next sees to it.
                return;
            }
            (_, Kind::RuntimeLost) => {
                let runtime = runtime();
                runtime.spawn(self.first_call());
                self.plan.gate.arrived().await;
                runtime.shutdown_background();
            }
            (Checkpoint::Reserve, Kind::Cancelled) => {
                // Its reservation is on its way, and the caller goes before it is answered.
                self.pause.on.store(true, Ordering::SeqCst);
                let mut caller = Box::pin(self.first_call());
                tokio::select! {
                    told = &mut caller => panic!("{}: {told:?}", self.name()),
                    () = until("its reservation", async || self.pause.reached.load(Ordering::SeqCst).then_some(())) => {}
                }
                drop(caller);
                self.pause.on.store(false, Ordering::SeqCst);
            }
            (_, Kind::Cancelled) => {
                let caller = tokio::spawn(self.first_call());
                self.plan.gate.arrived().await;
                caller.abort();
                assert!(caller.await.expect_err("it was dropped").is_cancelled());
                self.plan.gate.open();
            }
            (Checkpoint::Reserve, _) => {
                let next = self.watch.batches().len() + 1;
                self.watch.fail(match self.kind {
                    Kind::AnswerLost => Failing::Only(next, Fault::AnswerLost),
                    _ => Failing::From(next, Fault::Full),
                });
                assert_eq!(self.first_call().await.value().is_some(), after == DONE, "{}", self.name());
                self.watch.fail(Failing::Never);
            }
            (_, Kind::Full | Kind::AnswerLost | Kind::FullToTheEnd) => {
                self.watch.fail(Failing::Settling(self.store_fault()));
                let Outcome::Succeeded(first) = self.first_call().await else { panic!("{}: no result", self.name()) };
                assert!(matches!(first.told.held, Held::NotYet(_)), "{}: {:?}", self.name(), first.told.held);
                if self.kind == Kind::FullToTheEnd {
                    self.restart().await;
                    return;
                }
                self.watch.fail(Failing::Never);
            }
        }
        let in_the_tool =
            !matches!(self.checkpoint, Checkpoint::Reserve | Checkpoint::PersistResult | Checkpoint::Return);
        assert!(!in_the_tool || self.plan.has_struck(), "{}: it never struck", self.name());
        self.comes_to(after).await;
    }

    fn store_fault(&self) -> Fault {
        if self.kind == Kind::AnswerLost { Fault::AnswerLost } else { Fault::Full }
    }

    /// The process ends, and another one opens the ledger.
    async fn restart(&mut self) {
        let address = self.setup.home.as_ref().expect("a home").address().to_owned();
        let builder = || Idem::builder().config(settings()).clock(self.setup.clock.clone());
        // The old one goes with all that it still owed.
        self.setup.idem = builder().open("memory:").await.expect("a ledger");
        self.setup.idem = builder().open(&address).await.expect("the same ledger");
        assert_eq!(self.state().await, Some(State::InProgress), "{}: nobody wrote how it ended", self.name());
    }

    /// Sees to it, calls again, and looks what came of it.
    async fn settle(&self, arm: Arm, tally: &mut Tally) {
        let wait = match arm {
            Arm::Caller | Arm::Reconciler => Duration::from_mins(3),
            Arm::LateCaller => Duration::from_hours(25),
        };
        self.setup.clock.advance(wait);
        if arm == Arm::Reconciler {
            let mut reconciler = self.setup.idem.reconciler([self.tool()]);
            reconciler.run_once().await.expect("a ledger");
            let settled = self.state().await;
            assert!(!settled.is_some_and(State::is_unsettled), "{}: {settled:?}", self.name());
        }
        for (id, turn) in [("call_1", 1), ("call_1", 1), ("call_2", 2), ("call_1", 1)] {
            let again = self.told(self.setup.call_as(id, turn)).await;
            let served = again.value().map(|refund| refund.id.as_str());
            assert_eq!(served, Some("rf_1"), "{}, {arm:?}: {again:?}", self.name());
            tally.duplicates_served += usize::from(again.is_replay());
        }
        assert_eq!(self.plan.provider.world.effects(), ["A-1"], "{}, {arm:?}", self.name());
    }

    /// Adds to the counts what the ledger says.
    async fn count(&self, tally: &mut Tally) {
        tally.cells += 1;
        let shown = self.operator().show(self.operation).await.expect("a readable ledger");
        let became_unknown = shown.iter().flat_map(|it| &it.history).any(|entry| entry.state == State::OutcomeUnknown);
        if became_unknown {
            tally.unknown += 1;
            tally.seen_at.entry(self.checkpoint).or_default().insert(self.kind);
            let settled = self.state().await.is_some_and(|state| !state.is_unsettled());
            tally.settled += usize::from(settled);
        }
        let open = vec![State::OutcomeUnknown, State::Reconciling, State::OperatorReview, State::InProgress];
        let open = Listing { states: open, records_max: 10, ..Listing::default() };
        tally.left_for_an_operator += self.operator().list(&open).await.expect("a page").records.len();
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

/// Every fault that a ledger can have: one in memory does not outlive its process.
fn faults(place: Place) -> impl Iterator<Item = (Checkpoint, Kind, After)> {
    FAULTS.into_iter().filter(move |(_, kind, _)| place != Place::Memory || *kind != Kind::FullToTheEnd)
}

// R-U3 R-C5 R-L4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_is_unknown_only_after_a_request_may_have_left_and_is_settled_without_a_person() {
    for place in Place::EVERY.iter().copied() {
        for arm in [Arm::Caller, Arm::LateCaller, Arm::Reconciler] {
            let mut tally = Tally::default();
            for (checkpoint, kind, after) in faults(place) {
                let mut cell = Cell::new(place, checkpoint, kind, true).await;
                cell.strike(after).await;
                cell.settle(arm, &mut tally).await;
                cell.count(&mut tally).await;
                let unknown = tally.seen_at.get(&checkpoint).is_some_and(|kinds| kinds.contains(&kind));
                assert_eq!(unknown, after == UNKNOWN, "{}, {arm:?}", cell.name());
                assert!(!unknown || may_be_unknown(checkpoint, kind), "{}, {arm:?}", cell.name());
            }
            eprintln!("{}, {arm:?}: {tally}", place.name());
            let unknown = faults(place).filter(|(_, _, after)| *after == UNKNOWN).count();
            assert_eq!((tally.unknown, tally.settled, tally.left_for_an_operator), (unknown, unknown, 0));
            let mut at = vec![Checkpoint::Dispatch, Checkpoint::ProviderCommit, Checkpoint::ReceiveResponse];
            at.extend((place != Place::Memory).then_some(Checkpoint::PersistResult));
            assert_eq!(tally.seen_at.keys().copied().collect::<Vec<_>>(), at);
        }
    }
}

/// The control arm: without a look-up that can tell, and when the provider has forgotten its keys, the same faults are
/// left for a person, and nothing runs again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_look_up_that_works_every_unknown_outcome_is_left_for_a_person() {
    for place in Place::EVERY.iter().copied() {
        let mut tally = Tally::default();
        for (checkpoint, kind, after) in faults(place).filter(|(_, _, after)| *after == UNKNOWN) {
            let mut cell = Cell::new(place, checkpoint, kind, false).await;
            cell.strike(after).await;
            cell.setup.clock.advance(Duration::from_hours(25));
            let mut reconciler = cell.setup.idem.reconciler([cell.tool()]);
            let seen = reconciler.run_once().await.expect("a ledger");
            assert_eq!(seen.to_operators, 1, "{}: {seen:?}", cell.name());
            assert_eq!(cell.state().await, Some(State::OperatorReview), "{}", cell.name());
            let again = cell.first_call().await.to_json();
            assert_eq!(again["outcome"], "unknown_requires_reconciliation", "{}: {again}", cell.name());
            assert!(cell.plan.provider.world.effects().len() <= 1);
            cell.count(&mut tally).await;
        }
        eprintln!("{}, no look-up that works: {tally}", place.name());
        assert_eq!((tally.settled, tally.left_for_an_operator), (0, tally.unknown));
        assert_eq!(tally.unknown, tally.cells);
    }
}
