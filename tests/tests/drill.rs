//! The reconciliation drill (R-U1, R-U2, R-U3, R-U6): a fault at each checkpoint, and after it each way to find out.
//!
//! Effects are counted in the provider's own file, which outlives a `kill -9` of its caller. What is left for each fault,
//! and which cells mean nothing, stands in [`drill::matrix`].

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use drill::{
    cell::{self, Ledgers, Tally},
    child::{ORDER, PROVIDER, UNGUARDED},
    matrix::{self, Cell, Path},
    provider::{Provider, Switch},
    random,
    site::{Checkpoint, Fault, Site},
    tools::{self, Tool, bound, call},
};
use idem_runtime::{Idem, ToolCall, idempotent, testing::TestClock};
use idem_tests::{
    home::Place,
    timing::Gate,
    tools::ToolError,
    world::{Setup, TENANT, World, every_store, lasting_with},
};
use process::Child;

#[path = "drill/mod.rs"]
mod drill;
#[expect(dead_code, reason = "victims are not spoken to, they are killed")]
#[path = "outside/child.rs"]
mod process;

/// How many cells run at the same time.
const AT_ONCE: usize = 3;

/// Plays the part that this process was started for; nothing, when it is the test run itself.
#[test]
fn child_process() {
    let Some((role, folder)) = process::role() else { return };
    drill::child::plays(&role, &folder);
}

/// Runs cells on a few threads, each with a runtime of its own.
fn run_all(cells: &[Cell], ledgers: impl Fn() -> Ledgers + Sync) -> Tally {
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
                let (runtime, mut ledgers) = (runtime.expect("a runtime"), ledgers());
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let came_to = runtime.block_on(cell::run(*cell, &mut ledgers));
                    tally.lock().unwrap_or_else(PoisonError::into_inner).add(&came_to);
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(tally.run, cells.len());
    // With a look-up that works no person is needed.
    for path in [Path::LookUp, Path::LookUpByCaller, Path::Search] {
        let (settled, left) = tally.unknown[&path];
        assert!(settled > 0 && left == 0, "{path:?}: {settled} settled, {left} left");
    }
    tally
}

fn some(choose: impl Fn(&Cell) -> bool) -> Vec<Cell> {
    let (cells, _) = matrix::cells();
    cells.into_iter().filter(choose).collect()
}

/// Every pair of checkpoint and fault is run with each way to recover, or has a reason why not.
#[test]
fn cells_that_mean_nothing_have_a_reason() {
    let (cells, meaningless) = matrix::cells();
    let (all, paths) = (Checkpoint::ALL.len() * Fault::ALL.len(), Path::ALL.len());
    eprintln!("cells {} of {}; these mean nothing on any of {paths} paths:", cells.len(), all * paths);
    for (here, fault, reason) in &meaningless {
        eprintln!("  {here:?}, {fault:?}: {reason}");
        assert!(!reason.is_empty());
    }
    assert_eq!(cells.len() + meaningless.len() * paths, all * paths);
    assert!(
        Checkpoint::ALL.iter().all(|here| cells.iter().any(|cell| cell.here == *here && cell.fault == Fault::Kill))
    );
}

#[test]
fn r_u2_a_kill_at_each_checkpoint_and_each_way_to_recover() {
    let cells = some(|cell| cell.fault == Fault::Kill);
    for place in Place::lasting() {
        let tally = run_all(&cells, || Ledgers::Fresh(place));
        eprintln!("killed, {}: cells {} of {}, {tally}", place.name(), tally.run, cells.len());
        assert_eq!(tally.kills, cells.len());
    }
}

#[test]
fn r_u2_each_fault_at_each_checkpoint_and_each_way_to_recover_over_what_lasts() {
    let cells = some(|cell| cell.fault != Fault::Kill);
    for place in Place::lasting() {
        let tally = run_all(&cells, || Ledgers::Kept(place, BTreeMap::new()));
        eprintln!("in {}: cells {} of {}, {tally}", place.name(), tally.run, cells.len());
    }
}

#[test]
fn r_u2_each_fault_at_each_checkpoint_and_each_way_to_recover_in_memory() {
    let cells = some(|cell| cell.fault != Fault::Kill);
    let tally = run_all(&cells, || Ledgers::Memory);
    eprintln!("in memory: cells {} of {}, {tally}", tally.run, cells.len());
}

#[test]
fn r_u6_two_processes_killed_at_random_and_a_reconciler_beside_them() {
    let seed = seed();
    eprintln!("IDEM_DRILL_SEED={seed}");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    for place in Place::lasting() {
        let home = place.home().expect("a home");
        let report = runtime.block_on(random::run(seed, home.folder()));
        eprintln!("at random, {}: {report:?}", place.name());
        assert!(report.kills > 0 && report.settled > 0, "nothing was drilled: {report:?}");
    }
}

/// The seed of the random part: a fixed one, unless the environment says another.
fn seed() -> u64 {
    std::env::var("IDEM_DRILL_SEED").map_or(20_260_801, |seed| seed.parse().expect("a number"))
}

/// Without a guard each fault after the effect makes a second one: the provider's log can tell.
#[test]
fn without_a_guard_every_fault_after_the_effect_makes_a_duplicate() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = Provider::at(&folder.path().join(PROVIDER), &TestClock::default());
    for times in 1..=2 {
        let mut worker = Child::start(UNGUARDED, folder.path());
        assert_eq!(worker.hear(), "here");
        // `kill -9`, by its id; whoever started it starts it again.
        drop(worker);
        assert_eq!(provider.effects(ORDER), times, "the control arm must show a duplicate");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let (cells, _) = matrix::cells();
    for here in [Checkpoint::ProviderCommit, Checkpoint::ReceiveResponse] {
        let faults: BTreeSet<Fault> =
            cells.iter().filter(|cell| cell.here == here && cell.fault != Fault::Kill).map(|cell| cell.fault).collect();
        for fault in faults {
            let order = format!("{here:?} {fault:?}");
            let site = Site::armed(Provider::at(&folder.path().join(PROVIDER), &TestClock::default()), here, fault);
            let paid = runtime.block_on(tools::unguarded_until_it_says_so(&site, &order));
            assert_eq!(paid.cents, tools::CENTS);
            assert_eq!(site.provider.effects(&order), 2, "{order}: the control arm must show a duplicate");
        }
    }
}

/// The provider's way of a test that has no fault, and its ledger: an answer was lost after the effect.
async fn with_a_lost_answer(setup: &Setup, tool: Tool, folder: &tempfile::TempDir, lag: i64) -> Arc<Site> {
    let provider = Provider::at(&folder.path().join(PROVIDER), &setup.clock);
    provider.switch(Switch::Lag, lag);
    let site = Site::armed(provider, Checkpoint::ProviderCommit, Fault::Timeout);
    let lost = tool.pay(&call(&setup.idem, ORDER, 1), &site, ORDER).await;
    assert_eq!(lost.to_json()["outcome"], "unknown_requires_reconciliation", "{lost:?}");
    site
}

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_u3_a_provider_that_is_out_of_order_proves_nothing() {
    for setup in every_store().await {
        for tool in [Tool::LookedUp, Tool::Searched] {
            let name = setup.name();
            let folder = tempfile::tempdir().expect("a folder");
            let site = with_a_lost_answer(&setup, tool, &folder, 0).await;
            let mut reconciler = setup.idem.reconciler(bound(&site));
            for switch in [Switch::Lookup, Switch::Search] {
                site.provider.switch(switch, 0);
            }
            for pass in 0..4 {
                setup.clock.advance(MINUTE * 6);
                let seen = reconciler.run_once().await.expect("a walk");
                assert_eq!((seen.looked_at, seen.inconclusive), (1, 1), "{name}, {tool:?}, pass {pass}: {seen:?}");
                let told = tool.pay(&call(&setup.idem, ORDER, 2), &site, ORDER).await;
                assert_eq!(told.to_json()["outcome"], "unknown_requires_reconciliation", "{name}, {tool:?}: {told:?}");
            }
            assert_eq!(site.provider.requests(ORDER), 1, "{name}, {tool:?}: nothing is sent again");
            for switch in [Switch::Lookup, Switch::Search] {
                site.provider.switch(switch, 1);
            }
            setup.clock.advance(MINUTE * 6);
            let seen = reconciler.run_once().await.expect("a walk");
            assert_eq!(seen.applied, 1, "{name}, {tool:?}: {seen:?}");
            assert!(tool.pay(&call(&setup.idem, ORDER, 3), &site, ORDER).await.is_replay(), "{name}, {tool:?}");
            assert_eq!(site.provider.effects(ORDER), 1, "{name}, {tool:?}");
        }
    }
}

/// Two control arms of what a tool declares: they show that a provider that breaks its word makes a duplicate, and so that
/// the cells above can fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_breaks_its_word_makes_a_duplicate() {
    for setup in every_store().await {
        let name = setup.name();
        // Its index lags longer than the tool's `settles_in`.
        let folder = tempfile::tempdir().expect("a folder");
        let site = with_a_lost_answer(&setup, Tool::LookedUp, &folder, 600).await;
        setup.clock.advance(MINUTE * 3);
        let told = Tool::LookedUp.pay(&call(&setup.idem, ORDER, 2), &site, ORDER).await;
        assert!(told.value().is_some(), "{name}: {told:?}");
        assert_eq!(site.provider.effects(ORDER), 2, "{name}: the control arm must show a duplicate");

        // It forgets keys within its own window.
        let folder = tempfile::tempdir().expect("a folder");
        let site = with_a_lost_answer(&setup, Tool::Keyed, &folder, 0).await;
        site.provider.switch(Switch::Forgets, 1);
        let told = Tool::Keyed.pay(&call(&setup.idem, ORDER, 2), &site, ORDER).await;
        assert!(told.value().is_some(), "{name}: {told:?}");
        assert_eq!(site.provider.effects(ORDER), 2, "{name}: the control arm must show a duplicate");
    }
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", on_busy = "tell")]
async fn pay_at_a_gate(
    _call: &ToolCall,
    #[idem(state)] world: World,
    #[idem(state)] gate: Gate,
    order: String,
) -> Result<usize, ToolError> {
    let effect = world.effect(order);
    gate.pass().await;
    Ok(effect)
}

/// A seed makes waits repeat, not reservations: what tells one call from another must differ between processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_ledgers_with_one_jitter_seed_do_not_take_each_others_grants() {
    for one in lasting_with(|| Idem::builder().jitter_seed(7)).await {
        let home = one.home.as_ref().expect("a home");
        let other =
            Idem::builder().jitter_seed(7).clock(one.clock.clone()).open(home.address()).await.expect("a ledger");
        let gate = Gate::new();
        let first = {
            let (call, world, gate) = (one.call_as("call_1", 1), one.world.clone(), gate.clone());
            tokio::spawn(async move { pay_at_a_gate_outcome(&call, world, gate, ORDER.to_owned()).await })
        };
        gate.arrived().await;
        let call = other.call().tenant(TENANT).conversation("c-1").turn(1).tool_call_id("call_1");
        let mut second = Box::pin(pay_at_a_gate_outcome(&call, one.world.clone(), gate.clone(), ORDER.to_owned()));
        let second = tokio::select! {
            told = &mut second => told,
            () = gate.arrived() => panic!("the second call runs the body while the first one does"),
        };
        assert_eq!(second.to_json()["outcome"], "in_progress", "{second:?}");
        gate.open();
        let first = first.await.expect("an end");
        assert!(first.value().is_some(), "{first:?}");
        assert_eq!(one.world.count(ORDER), 1, "effects");
    }
}
