//! Four workers with 64 callers each on one PostgreSQL, killed at random: at most one effect an order, no success without an
//! effect, and nothing that stays in the air.
//!
//! Effects are counted in the books of a provider that is called over HTTP and outlives every worker. `IDEM_SEED` gives a
//! run's chance again (though not its timing), `IDEM_SECONDS` lets it last longer.

#![cfg(feature = "postgres")]

use std::{
    env,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use idem_runtime::testing::postgres::Cluster;
use workers::{
    audit::{self, Report},
    child::{self, Arm},
    provider::Provider,
    run,
};

#[path = "outside/child.rs"]
mod process;
#[path = "workers/mod.rs"]
mod workers;

/// How long workers are killed.
const SECONDS: u64 = 20;

/// How long they are without a guard: it takes no longer to see duplicates.
const UNGUARDED_SECONDS: u64 = 3;

#[test]
fn child_process() {
    if let Some((role, folder)) = process::role() {
        child::works(&role, &folder);
    }
}

fn given(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// A seed that is another one in each run; it is printed, and `IDEM_SEED` gives it again.
fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    let seed = given("IDEM_SEED").unwrap_or(u64::from(now));
    eprintln!("IDEM_SEED={seed}");
    seed
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

#[test]
fn workers_that_are_killed_at_random_cause_no_duplicates() {
    let (seed, cluster) = (seed(), Cluster::start().expect("a server"));
    let (address, folder) = (cluster.ledger().expect("a schema"), tempfile::tempdir().expect("a folder"));
    let provider = Provider::start(seed);
    let lasts = Duration::from_secs(given("IDEM_SECONDS").unwrap_or(SECONDS));
    let mut heard = run::run(Arm::Guarded, seed, lasts, &address, &provider, folder.path());
    let report = runtime().block_on(audit::audit(&address, &provider, &mut heard));
    let Report { operations, effects, duplicates, unknown, settled, left, stuck } = report;
    eprintln!(
        "operations {operations}, effects {effects}, kills {}, faults of the provider {}, its look-ups {}",
        heard.kills,
        provider.faults(),
        provider.lookups()
    );
    eprintln!("unknown {unknown}: settled {settled}, left for an operator {left}");
    eprintln!("told: ran {}, replays {}, refused {:?}", heard.ran, heard.replays, heard.refusals);
    let bound = 3.0 / f64::from(u32::try_from(operations.max(1)).expect("a count"));
    eprintln!("duplicates {duplicates} in {operations} operations (95 % bound {bound:.5}), stuck {stuck}");
    assert_eq!((duplicates, stuck), (0, 0), "seed {seed}");
    assert_eq!(operations, heard.orders, "seed {seed}");
    assert!(
        heard.kills > 0 && provider.faults() > 0 && settled > 0 && heard.replays > 0,
        "nothing was tried: {heard:?}"
    );
}

/// The control arm: the same workers, killed alike, without a guard.
#[test]
fn without_a_guard_the_same_workers_cause_duplicates() {
    let (seed, folder) = (seed(), tempfile::tempdir().expect("a folder"));
    let provider = Provider::start(seed);
    let lasts = Duration::from_secs(UNGUARDED_SECONDS);
    let heard = run::run(Arm::Unguarded, seed, lasts, "", &provider, folder.path());
    let mut report = Report::default();
    audit::counts(&provider, &heard, &mut report);
    eprintln!("without a guard: kills {}, effects {}, duplicates {}", heard.kills, report.effects, report.duplicates);
    assert!(heard.kills > 0 && report.duplicates > 0, "seed {seed}: {report:?}");
}
