//! One cell of the drill: the fault, what it left, the recovery, and whether everybody was told the truth.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt,
    path::Path as Folder,
    sync::Arc,
    time::Duration,
};

use idem_runtime::{
    Config, Idem, InlineCommit, OperationId, Outcome, Tenant,
    ledger::{Evidence, Listing, Resolution, State, Stored, StoredKind, Witnessed},
    testing::TestClock,
};
use idem_tests::{
    home::{Home, Place},
    store::AnyStore,
    timing::until,
    world::TENANT,
};
use rusqlite::Connection;

use super::{
    child::{ORDER, PROVIDER, role},
    matrix::{Cell, Path},
    provider::{Payment, Provider, Switch},
    site::{Checkpoint, Fault, Site},
    store::Standing,
    tools::{CENTS, bound, call},
};
use crate::process::Child;

/// Past every lease of the drill.
const PAST_THE_LEASE: Duration = Duration::from_secs(31);

/// Past the tools' `settles_in`, counted from an instant at or before now.
const PAST_SETTLING: Duration = Duration::from_secs(121);

/// Past the window of the provider's keys.
const PAST_THE_WINDOW: Duration = Duration::from_hours(25);

/// How long a caller waits for a disk that hangs.
const IMPATIENT: Duration = Duration::from_millis(20);

/// Where cells have their ledgers.
#[derive(Debug)]
pub(crate) enum Ledgers {
    /// In memory: there the process goes on after the fault.
    Memory,
    /// In one home for each path, which another [`Idem`] opens after the fault. Cells of a path leave nothing that another
    /// one of it would find.
    Kept(Place, BTreeMap<Path, Ground>),
    /// In a new home for each cell, which nobody but the victim has open.
    Fresh(Place),
}

/// A home, in whose folder a provider has its file.
#[derive(Debug)]
pub(crate) struct Ground {
    home: Home,
    /// Held open, so that the ledger's log is grown once and not for each cell.
    _keeper: Option<Connection>,
}

impl Ground {
    fn new(place: Place) -> Self {
        Self { home: place.home().expect("a home"), _keeper: None }
    }

    async fn kept(place: Place) -> Self {
        let ground = Self::new(place);
        if place != Place::File {
            return ground;
        }
        let grown = ground.home.store().await;
        let keeper = ground.home.connect();
        let seen = keeper.query_row("select count(*) from sqlite_schema", [], |row| row.get::<_, i64>(0));
        assert!(seen.expect("its schema") > 0);
        drop(grown);
        Self { _keeper: Some(keeper), ..ground }
    }

    fn path(&self) -> &Folder {
        self.home.folder()
    }
}

/// What the cells came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) run: usize,
    pub(crate) kills: usize,
    /// Callers that came again and were given the first result.
    pub(crate) replays: usize,
    /// By path: unknown outcomes that it settled, and those that it left for an operator.
    pub(crate) unknown: BTreeMap<Path, (usize, usize)>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.run += other.run;
        self.kills += other.kills;
        self.replays += other.replays;
        for (path, (settled, left)) in &other.unknown {
            let sum = self.unknown.entry(*path).or_default();
            *sum = (sum.0 + settled, sum.1 + left);
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unknown: usize = self.unknown.values().map(|(settled, left)| settled + left).sum();
        let Self { run, kills, replays, .. } = self;
        write!(f, "{run} runs, {kills} kills, {replays} duplicates served, {unknown} unknown:")?;
        self.unknown.iter().try_for_each(|(path, (settled, left))| {
            write!(f, "\n  {path:?}: {settled} settled, {left} left for an operator")
        })
    }
}

/// A cell while it runs.
struct Scene {
    cell: Cell,
    name: String,
    order: String,
    clock: TestClock,
    /// Nothing strikes here any more.
    site: Arc<Site>,
    idem: Idem,
    operation: OperationId,
    /// How often the order was called.
    calls: u64,
    tally: Tally,
}

/// Runs a cell. Everything that it finds wrong is a panic with the cell's name.
pub(crate) async fn run(cell: Cell, ledgers: &mut Ledgers) -> Tally {
    let fresh;
    let (ground, place) = match ledgers {
        Ledgers::Kept(place, grounds) => {
            let ground = match grounds.entry(cell.path) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(vacant) => vacant.insert(Ground::kept(*place).await),
            };
            (&*ground, *place)
        }
        Ledgers::Fresh(place) => {
            fresh = Ground::new(*place);
            (&fresh, *place)
        }
        Ledgers::Memory => {
            // The provider needs a folder.
            fresh = Ground::new(Place::File);
            (&fresh, Place::Memory)
        }
    };
    let mut scene = Scene::after_the_fault(cell, ground.path(), place).await;
    scene.is_as_expected().await;
    scene.clock.advance(PAST_THE_LEASE);
    scene.recovers().await;
    scene.everybody_is_told_the_truth().await;
    scene.tally
}

fn tenant() -> Tenant {
    Tenant::new(TENANT).expect("a tenant")
}

fn name_of(outcome: &Outcome<Payment>) -> String {
    outcome.to_json()["outcome"].as_str().expect("a name").to_owned()
}

async fn open(folder: &Folder, clock: &TestClock) -> Idem {
    Idem::builder().clock(clock.clone()).open(&Home::address_of(folder)).await.expect("a ledger")
}

impl Scene {
    /// The world after the fault, in a process that begins anew unless the ledger is in memory.
    async fn after_the_fault(cell: Cell, folder: &Folder, place: Place) -> Self {
        let clock = TestClock::default();
        let provider = Provider::at(&folder.join(PROVIDER), &clock);
        let lag = matches!(cell.path, Path::LookUp | Path::LookUpByCaller | Path::Search);
        provider.switch(Switch::Lag, if lag { 60 } else { 0 });
        provider.switch(Switch::Forgets, 0);
        let mut tally = Tally { run: 1, ..Tally::default() };
        let (idem, site, order) = if cell.fault == Fault::Kill {
            let mut victim = Child::start(&role(cell.path.tool(), cell.here), folder);
            assert_eq!(victim.hear(), "here", "{cell:?}");
            // `kill -9`, by its id.
            drop(victim);
            tally.kills = 1;
            (open(folder, &clock).await, Site::calm(provider), ORDER.to_owned())
        } else {
            let site = Site::armed(provider, cell.here, cell.fault);
            let order = format!("{:?} {:?}", cell.here, cell.fault);
            let mut idem = begin(&site, &clock, (place != Place::Memory).then_some(folder)).await;
            strike(cell, &idem, &site, &order).await;
            if place != Place::Memory {
                // What the ledger could not write it writes while its process lives.
                clock.advance(Duration::from_secs(2));
                idem = open(folder, &clock).await;
            }
            (idem, site, order)
        };
        let operation = cell.path.tool().operation(&idem, &site, &order).await;
        let name = format!("{:?}, {:?}, {:?} in {}", cell.here, cell.fault, cell.path, place.name());
        Self { cell, name, order, clock, site, idem, operation, calls: 1, tally }
    }

    /// The fault left what the matrix says, no more and no less.
    async fn is_as_expected(&self) {
        let (left, name) = (self.cell.left, &self.name);
        let state = async || {
            let shown = self.idem.show(&tenant(), self.operation).await.expect("an answer");
            shown.map(|record| record.state)
        };
        if self.cell.fault == Fault::Kill {
            assert_eq!(state().await, left.state, "{name}: what a kill left");
        } else {
            // What was under way in the ledger ends; nothing comes after it.
            let what = format!("{name}: {:?}", left.state);
            until(&what, async || (state().await == left.state).then_some(())).await;
        }
        assert_eq!(self.site.provider.effects(&self.order), left.effects, "{name}: effects of the fault");
    }

    /// The order is called again, under another id each time.
    async fn calls_again(&mut self) -> Outcome<Payment> {
        self.calls += 1;
        let call = call(&self.idem, &self.order, self.calls);
        let outcome = self.cell.path.tool().pay(&call, &self.site, &self.order).await;
        self.tally.replays += usize::from(outcome.is_replay());
        outcome
    }

    async fn recovers(&mut self) {
        let (left, name) = (self.cell.left, self.name.clone());
        match self.cell.path {
            // Whoever comes again is all that there is; the last check comes again.
            Path::Key => {}
            Path::KeyTooLate => {
                self.site.provider.switch(Switch::Forgets, 1);
                self.clock.advance(PAST_THE_WINDOW);
            }
            Path::LookUp | Path::Search => self.is_asked_about().await,
            Path::LookUpByCaller => {
                if left.is_unknown() {
                    // The index lags behind, and nothing is proved yet.
                    assert_eq!(name_of(&self.calls_again().await), "unknown_requires_reconciliation", "{name}");
                    self.clock.advance(PAST_SETTLING);
                }
            }
            Path::Webhook => self.is_told_by_the_provider().await,
            Path::Stored => {
                let seen = self.idem.reconciler(bound(&self.site)).run_once().await.expect("a walk");
                assert_eq!(seen.looked_at, u64::from(left.is_unknown()), "{name}: {seen:?}");
            }
            Path::Operator => self.is_decided().await,
            Path::None => {
                if left.is_unknown() {
                    assert_eq!(name_of(&self.calls_again().await), "unknown_requires_reconciliation", "{name}");
                }
            }
        }
    }

    /// A reconciler asks twice: before the tool's effects have settled, and after.
    async fn is_asked_about(&mut self) {
        let (left, name) = (self.cell.left, &self.name);
        let mut reconciler = self.idem.reconciler(bound(&self.site));
        let seen = reconciler.run_once().await.expect("a walk");
        assert_eq!(
            (seen.looked_at, seen.inconclusive),
            (left.is_unknown().into(), left.is_unknown().into()),
            "{name}: {seen:?}"
        );
        self.clock.advance(PAST_SETTLING);
        let seen = reconciler.run_once().await.expect("a walk");
        let happened = u64::from(left.is_unknown() && left.effects == 1);
        let not = u64::from(left.is_unknown()) - happened;
        assert_eq!((seen.applied, seen.not_applied), (happened, not), "{name}: {seen:?}");
        assert_eq!(reconciler.run_once().await.expect("a walk").looked_at, 0, "{name}: there is nothing left to ask");
    }

    /// The provider delivers its event twice, as providers do. Of what did not happen there is none.
    async fn is_told_by_the_provider(&self) {
        let Some(payment) = self.site.provider.truth(&self.order) else { return };
        let bytes = serde_json::to_vec(&payment).expect("a payment");
        let stored = Stored { kind: StoredKind::Value, bytes: bytes.into() };
        for first in [true, false] {
            let event = Evidence::of(&tenant(), self.operation, "provider", "evt_1");
            let event = event.applied(Some(stored.clone()), Some(&payment.reference));
            let witnessed = self.idem.evidence(event).await.expect("an answer");
            let weighed = matches!(witnessed, Witnessed::Weighed { .. });
            assert_eq!(weighed, first, "{}: {witnessed:?}", self.name);
        }
    }

    /// A person finds what is not known, looks at the provider's log, and decides.
    async fn is_decided(&mut self) {
        let (left, name) = (self.cell.left, self.name.clone());
        if left.is_unknown() {
            assert_eq!(name_of(&self.calls_again().await), "unknown_requires_reconciliation", "{name}");
        }
        let operator = self.idem.operator(&tenant(), "mia").expect("a name");
        let states = vec![State::OutcomeUnknown, State::OperatorReview];
        let page = operator.list(&Listing { states, records_max: 10, ..Listing::default() }).await.expect("a page");
        assert_eq!(page.records.len(), usize::from(left.is_unknown()), "{name}: {page:?}");
        for record in page.records {
            let truth = self.site.provider.truth(&self.order);
            let resolution = match &truth {
                None => Resolution::Retryable,
                Some(payment) => {
                    let result = serde_json::to_value(payment).expect("a payment");
                    Resolution::succeeded(Some(&result), Some(&payment.reference))
                }
            };
            operator.resolve(&record, resolution, "looked at the provider's log", None).await.expect("a decision");
        }
    }

    /// A caller comes again, twice; then the ledger, the provider's log and what was told are laid side by side.
    async fn everybody_is_told_the_truth(&mut self) {
        let (Cell { here, fault, path, left }, name) = (self.cell, self.name.clone());
        let settled = !left.is_unknown() || path.settles(left.effects);
        let wanted = if settled { "succeeded" } else { "unknown_requires_reconciliation" };
        for _ in 0..2 {
            let outcome = self.calls_again().await;
            assert_eq!(name_of(&outcome), wanted, "{name}: {outcome:?}");
            if let Some(told) = outcome.value() {
                assert_eq!(Some(told), self.site.provider.truth(&self.order).as_ref(), "{name}: what was told");
            }
        }
        // The same call with another amount is a conflict, whatever became of the first.
        let repeated = call(&self.idem, &self.order, self.calls);
        let changed = path.tool().pay_so_much(&repeated, &self.site, &self.order, CENTS + 1).await;
        assert_eq!(name_of(&changed), "rejected_key_conflict", "{name}: {changed:?}");
        let detail = self.idem.operator(&tenant(), "mia").expect("a name").show(self.operation).await;
        let detail = detail.expect("an answer").expect("a record");
        let provider = &self.site.provider;
        let (effects, requests) = (provider.effects(&self.order), provider.requests(&self.order));
        // Where success is told there is one effect; where it is not, there is what the fault left.
        let state = if settled { State::Succeeded } else { State::OutcomeUnknown };
        assert_eq!((detail.record.state, effects), (state, if settled { 1 } else { left.effects }), "{name}");
        // Nothing that may have happened was sent again without asking, but under a key that the provider knows.
        let again = usize::from(left.is_unknown() && left.effects == 1 && path.sends_again());
        assert_eq!(requests, effects + again, "{name}: requests");
        assert_eq!(provider.keys(&self.order), effects, "{name}: keys of one operation");
        // Only between the two commits is anything ever unknown.
        let unknown = detail.history.iter().any(|entry| entry.state == State::OutcomeUnknown);
        let between = match fault {
            Fault::Kill => (Checkpoint::Reserved..=Checkpoint::BeforeSettle).contains(&here),
            _ => (Checkpoint::Dispatch..=Checkpoint::ReceiveResponse).contains(&here) && fault != Fault::NoEffect,
        };
        // Evidence from outside settles what a killed process left before anybody called it unknown.
        let settled_at_once = path == Path::Webhook && fault == Fault::Kill && left.effects == 1;
        assert_eq!(unknown, between && !settled_at_once, "{name}: {:?}", detail.history);
        if left.is_unknown() {
            let sum = self.tally.unknown.entry(path).or_default();
            *sum = (usize::from(settled), usize::from(!settled));
        }
    }
}

/// A ledger at a site, in memory or in the home that has this folder.
async fn begin(site: &Arc<Site>, clock: &TestClock, folder: Option<&Folder>) -> Idem {
    let mut config = Config::default();
    // The ledger's own thread commits: a disk that hangs must not hang its caller.
    config.inline_commit = InlineCommit::Never;
    let builder = Idem::builder().clock(clock.clone()).config(config);
    let address = folder.map_or("memory:".to_owned(), Home::address_of);
    builder.with_store(Standing::new(AnyStore::at(&address).await, site)).expect("a ledger")
}

/// The first call, and the fault in it. What the caller hears has to be what the matrix says.
async fn strike(cell: Cell, idem: &Idem, site: &Arc<Site>, order: &str) {
    let Cell { here, fault, path, left } = cell;
    let held = matches!(here, Checkpoint::BeforeReserve | Checkpoint::Reserved) && fault == Fault::Timeout;
    let call = call(idem, order, 1);
    let call = if held { call.deadline(IMPATIENT) } else { call };
    let pays = {
        let (site, order) = (Arc::clone(site), order.to_owned());
        async move { path.tool().pay(&call, &site, &order).await }
    };
    let outcome = match fault {
        Fault::Dropped if here != Checkpoint::Return => {
            let mut pays = Box::pin(pays);
            tokio::select! {
                outcome = &mut pays => panic!("{cell:?}: it should have been held, and was told {outcome:?}"),
                () = site.gate.arrived() => {}
            }
            drop(pays);
            site.gate.open();
            None
        }
        // A panic goes through to whoever called.
        Fault::Panic => match tokio::spawn(pays).await {
            Ok(outcome) => panic!("{cell:?}: it should have panicked, and was told {outcome:?}"),
            Err(error) => {
                assert!(error.is_panic(), "{cell:?}: {error}");
                None
            }
        },
        _ => Some(pays.await).filter(|_| here != Checkpoint::Return),
    };
    site.calms_down();
    if held {
        site.gate.open();
    }
    assert_eq!(outcome.as_ref().map(name_of).as_deref(), left.told, "{cell:?}: {outcome:?}");
}
