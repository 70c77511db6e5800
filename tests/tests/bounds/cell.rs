//! One fault on one ledger: how it strikes, who sees to it, and what came of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use idem_runtime::{
    BoundTool, Config, Held, Idem, InlineCommit, OperationId, Operator, Outcome, Tenant, Timestamp, ToolCall,
    ledger::{BoxFuture, Command, Listing, Reply, State, Store, StoreError},
    prepare,
    testing::TestClock,
};
use idem_tests::{
    home::Place,
    store::{Failing, Fault, Watch, Watched},
    timing::until,
    world::{Setup, TENANT, config, decorated},
};
use tokio::runtime::Runtime;

use crate::{
    faults::{After, Checkpoint, DONE, Kind},
    tool::{Plan, Refund, refund, refund_outcome, refund_tool},
};

fn tenant() -> Tenant {
    Tenant::new(TENANT).expect("a tenant")
}

/// How an operation is seen to after the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arm {
    /// The same call comes again while the provider knows its keys: it sends again under the same one.
    Caller,
    /// It comes after that: it asks.
    LateCaller,
    /// Nobody calls: the reconciler asks.
    Reconciler,
}

/// What came of it all.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) cells: usize,
    duplicates_served: usize,
    pub(crate) unknown: usize,
    pub(crate) settled: usize,
    pub(crate) left_for_an_operator: usize,
    /// Where outcomes became unknown.
    pub(crate) seen_at: BTreeMap<Checkpoint, BTreeSet<Kind>>,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cells, duplicates_served, unknown, settled, left_for_an_operator, .. } = self;
        write!(f, "{cells} faults: duplicates served {duplicates_served}, unknown {unknown}, settled {settled}, ")?;
        write!(f, "left for an operator {left_for_an_operator}")
    }
}

/// One fault on one ledger.
pub(crate) struct Cell {
    pub(crate) setup: Setup,
    watch: Watch,
    pause: Arc<Pause>,
    pub(crate) plan: Plan,
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
    pub(crate) async fn new(place: Place, checkpoint: Checkpoint, kind: Kind, works: bool) -> Self {
        let (setup, watch, pause) = ledger(place).await;
        let plan = Plan::new(checkpoint, kind, works);
        let prepared = prepare(refund(&setup.call_as("call_1", 1), "A-1".into(), plan.clone())).await;
        let operation = prepared.expect("a record").operation();
        Self { setup, watch, pause, plan, operation, checkpoint, kind }
    }

    pub(crate) fn name(&self) -> String {
        format!("{}: {:?} at {:?}", self.setup.name(), self.kind, self.checkpoint)
    }

    fn told(&self, call: ToolCall) -> impl Future<Output = Outcome<Refund>> + Send + use<> {
        let plan = self.plan.clone();
        async move { refund_outcome(&call, "A-1".into(), plan).await }
    }

    pub(crate) fn first_call(&self) -> impl Future<Output = Outcome<Refund>> + Send + use<> {
        self.told(self.setup.call_as("call_1", 1))
    }

    fn operator(&self) -> Operator {
        self.setup.idem.operator(&tenant(), "mia").expect("an operator")
    }

    pub(crate) fn tool(&self) -> BoundTool {
        refund_tool(self.plan.clone())
    }

    pub(crate) async fn state(&self) -> After {
        self.setup.idem.show(&tenant(), self.operation).await.expect("a readable ledger").map(|record| record.state)
    }

    async fn comes_to(&self, after: After) {
        until(&format!("{}: {after:?}", self.name()), async || (self.state().await == after).then_some(())).await;
    }

    /// The first call, and the fault. Returns when the ledger knows all that it will be told.
    pub(crate) async fn strike(&mut self, after: After) {
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
    pub(crate) async fn settle(&self, arm: Arm, tally: &mut Tally) {
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
    pub(crate) async fn count(&self, tally: &mut Tally) {
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
