//! Chance: two processes call the same orders in other sequences, meet faults, and are killed at steps drawn from a seed,
//! while a reconciler walks in their parent.
//!
//! The instant is the parent's to say: it stands still while processes live and moves past leases between them, so that no
//! clock is ahead of another.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::{Arc, mpsc::RecvTimeoutError},
    time::Duration,
};

use idem_runtime::{Idem, Outcome, Reconciler, Tenant, Timestamp, ledger::State, testing::TestClock};
use idem_tests::{dice::Dice, home::Home, store::AnyStore, world::TENANT};
use tokio::task::JoinSet;

use super::{
    child::PROVIDER,
    provider::{Payment, Provider, Switch},
    site::Site,
    store::Standing,
    tools::{Tool, bound, call},
};
use crate::process::{self, Child};

/// How the role of a worker begins; seed and step follow.
pub(crate) const WORKER: &str = "worker";

/// Where a worker reads its instant.
const CLOCK: &str = "now";

/// Orders that are new in each round, each with the next way of recovery.
const ORDERS_A_ROUND: u64 = 25;

/// How many orders a worker calls at the same time.
const AT_ONCE: usize = 3;

/// How often two workers are started.
const ROUNDS: u64 = 8;

/// A worker is killed at a step up to this one; two that share a round have some two hundred.
const STEPS_MAX: u64 = 120;

/// Past every lease.
const PAST_THE_LEASE: Duration = Duration::from_secs(31);

/// Past every lease and every `settles_in`.
const PAST_SETTLING: Duration = Duration::from_mins(3);

/// Later than any lease.
const NEVER: Timestamp = Timestamp::from_nanos(i64::MAX);

fn order(number: u64) -> String {
    format!("R-{number}")
}

fn tool(number: u64) -> Tool {
    Tool::ALL[usize::try_from(number).expect("a small number") % Tool::ALL.len()]
}

/// A worker's life: every order up to its round's, in a sequence of its own. What it was told it says.
pub(crate) fn works([seed, dies_at, orders]: [&str; 3], folder: &Path) {
    let [seed, dies_at, orders]: [u64; 3] = [seed, dies_at, orders].map(|number| number.parse().expect("a number"));
    let mut dice = Dice::new(seed);
    let mut orders: Vec<u64> = (0..orders).collect();
    for at in (1..orders.len()).rev() {
        let other = dice.below(at as u64 + 1);
        orders.swap(at, usize::try_from(other).expect("a small number"));
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let now: i64 = fs::read_to_string(folder.join(CLOCK)).expect("an instant").parse().expect("an instant");
    runtime.block_on(async {
        let clock = TestClock::new(Timestamp::from_nanos(now));
        let site = Site::drawn(Provider::at(&folder.join(PROVIDER), &clock), dice, dies_at);
        let store = Standing::new(AnyStore::at(&Home::address_of(folder)).await, &site);
        let idem = Idem::builder().clock(clock).with_store(store);
        let idem = idem.expect("a ledger");
        let mut calls = JoinSet::new();
        for number in orders {
            if calls.len() >= AT_ONCE {
                // A call that panicked has told nobody anything.
                let _ = calls.join_next().await;
            }
            let (idem, site) = (idem.clone(), Arc::clone(&site));
            calls.spawn(async move {
                let nth = seed + u64::from(std::process::id());
                let outcome = tool(number).pay(&call(&idem, &order(number), nth), &site, &order(number)).await;
                process::say(&format!("told {number} {}", told(&outcome)));
            });
        }
        while calls.join_next().await.is_some() {}
    });
    process::say("done");
}

/// A success with the provider's reference, or the name of the refusal.
fn told(outcome: &Outcome<Payment>) -> String {
    match outcome.value() {
        Some(payment) => format!("succeeded {}", payment.reference),
        None => outcome.to_json()["outcome"].as_str().expect("a name").to_owned(),
    }
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) kills: usize,
    pub(crate) effects: usize,
    pub(crate) successes_told: usize,
    /// Orders of which more than one request arrived, all under one key.
    pub(crate) sent_again: usize,
    pub(crate) duplicates_served: usize,
    /// Unknown outcomes that the reconciler settled.
    pub(crate) settled: u64,
    /// By tool: operations that were unknown at some time, and those that are.
    pub(crate) unknown: BTreeMap<Tool, (usize, usize)>,
}

/// Successes that somebody was told, by order: the references.
type Successes = BTreeMap<u64, BTreeSet<String>>;

/// The whole of it, from a seed.
pub(crate) async fn run(seed: u64, folder: &Path) -> Report {
    let (mut dice, mut report, mut successes) = (Dice::new(seed), Report::default(), Successes::new());
    let clock = TestClock::default();
    let site = Site::calm(Provider::at(&folder.join(PROVIDER), &clock));
    site.provider.switch(Switch::Lag, 60);
    let idem = Idem::builder().clock(clock.clone()).open(&Home::address_of(folder)).await.expect("a ledger");
    let mut reconciler = idem.reconciler(bound(&site));
    for round in 0..ROUNDS {
        let now = idem_runtime::Clock::now(&clock).as_nanos();
        fs::write(folder.join(CLOCK), now.to_string()).expect("an instant");
        let workers: Vec<Child> = (0..2)
            .map(|_| {
                let (seed, dies_at) = (dice.below(1 << 40), 1 + dice.below(STEPS_MAX));
                eprintln!("round {round}: a worker with seed {seed} dies at step {dies_at}");
                let orders = ORDERS_A_ROUND * (round + 1);
                Child::start(&format!("{WORKER} {seed} {dies_at} {orders}"), folder)
            })
            .collect();
        live(workers, &mut reconciler, &mut report, &mut successes).await;
        clock.advance(if dice.below(2) == 0 { PAST_THE_LEASE } else { PAST_SETTLING });
        walks(&mut reconciler, &mut report).await;
    }
    // After the last of them: every lease ends and everything settles.
    for _ in 0..3 {
        clock.advance(PAST_SETTLING);
        walks(&mut reconciler, &mut report).await;
    }
    nothing_is_stuck(&idem, &site, &mut report).await;
    comes_again(&idem, &site, &mut report, &mut successes).await;
    tells_the_truth(&site, &mut report, &successes);
    report
}

/// Listens to workers until each is killed or done; the reconciler walks meanwhile.
async fn live(workers: Vec<Child>, reconciler: &mut Reconciler, report: &mut Report, successes: &mut Successes) {
    let mut workers: Vec<Child> = workers;
    while !workers.is_empty() {
        walks(reconciler, report).await;
        let mut living = Vec::new();
        for worker in workers {
            if let Some(worker) = hears(worker, report, successes) {
                living.push(worker);
            }
        }
        workers = living;
    }
}

/// Hears a worker out for now; one that stands still is killed on the spot.
fn hears(worker: Child, report: &mut Report, successes: &mut Successes) -> Option<Child> {
    loop {
        // Not a wait for time to pass: the reconciler's walk between two looks is what takes the time.
        let line = match worker.lines.recv_timeout(Duration::from_millis(1)) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return Some(worker),
            Err(RecvTimeoutError::Disconnected) => panic!("a worker ended by itself"),
        };
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["here"] => {
                // `kill -9`, by its id, whatever its other calls are doing; what it said before that counts.
                let mut worker = worker;
                worker.process.kill().expect("a kill");
                report.kills += 1;
                while let Ok(line) = worker.lines.recv() {
                    let words: Vec<&str> = line.split(' ').collect();
                    if let ["told", number, "succeeded", reference] = words.as_slice() {
                        note(number, reference, report, successes);
                    }
                }
                return None;
            }
            ["done"] => return None,
            ["told", number, "succeeded", reference] => note(number, reference, report, successes),
            ["told", _, _] => {}
            _ => panic!("a worker said {line:?}"),
        }
    }
}

fn note(number: &str, reference: &str, report: &mut Report, successes: &mut Successes) {
    report.successes_told += 1;
    successes.entry(number.parse().expect("an order")).or_default().insert(reference.to_owned());
}

async fn walks(reconciler: &mut Reconciler, report: &mut Report) {
    let seen = reconciler.run_once().await.expect("a walk");
    assert_eq!((seen.failed, seen.to_operators), (0, 0), "{seen:?}");
    report.settled += seen.applied + seen.not_applied;
}

/// Past every lease and grace nothing is under way, and nothing is unknown that a reconciler can settle.
async fn nothing_is_stuck(idem: &Idem, site: &Site, report: &mut Report) {
    let operator = idem.operator(&Tenant::new(TENANT).expect("a tenant"), "mia").expect("a name");
    for number in 0..ORDERS_A_ROUND * ROUNDS {
        let (order, tool) = (order(number), tool(number));
        let operation = tool.operation(idem, site, &order).await;
        // Nobody came as far as its reservation.
        let Some(detail) = operator.show(operation).await.expect("an answer") else { continue };
        let state = detail.record.state;
        let was = detail.history.iter().any(|entry| entry.state == State::OutcomeUnknown);
        let unknown = was || state == State::InProgress;
        report.unknown.entry(tool).or_default().0 += usize::from(unknown);
        match state {
            State::Succeeded | State::FailedRetryable => {}
            // Left to a caller that has the arguments, or to a person.
            State::OutcomeUnknown if matches!(tool, Tool::Keyed | Tool::Alone) => {}
            // Nobody asks about it but callers, who have not come since.
            State::InProgress if tool == Tool::Alone => assert!(detail.record.lease_ended(NEVER), "{order}"),
            _ => panic!("{order}, {tool:?} is stuck: {detail:?}"),
        }
    }
}

/// Every order is called once more.
async fn comes_again(idem: &Idem, site: &Arc<Site>, report: &mut Report, successes: &mut Successes) {
    for number in 0..ORDERS_A_ROUND * ROUNDS {
        let outcome = tool(number).pay(&call(idem, &order(number), 1), site, &order(number)).await;
        report.duplicates_served += usize::from(outcome.is_replay());
        if let Some(payment) = outcome.value() {
            successes.entry(number).or_default().insert(payment.reference.clone());
            continue;
        }
        assert_eq!(told(&outcome), "unknown_requires_reconciliation", "{}: {outcome:?}", order(number));
        assert_eq!(tool(number), Tool::Alone, "left for an operator: {outcome:?}");
        report.unknown.entry(Tool::Alone).or_default().1 += 1;
    }
}

/// At most one effect an order, one where success was told, and it is the one that was told of.
fn tells_the_truth(site: &Site, report: &mut Report, successes: &Successes) {
    let mut effects_in_all = 0;
    for number in 0..ORDERS_A_ROUND * ROUNDS {
        let (order, provider) = (order(number), &site.provider);
        let effects = provider.effects(&order);
        effects_in_all += effects;
        assert!(effects <= 1, "{order}, {:?}: {effects} effects", tool(number));
        assert!(provider.keys(&order) <= 1, "{order}: keys");
        if provider.requests(&order) > 1 {
            assert!(matches!(tool(number), Tool::Keyed | Tool::Stored), "{order}, {:?}: sent again", tool(number));
            report.sent_again += 1;
        }
        if let Some(told) = successes.get(&number) {
            let truth = provider.truth(&order).unwrap_or_else(|| panic!("{order}: success was told without an effect"));
            assert_eq!(told.iter().collect::<Vec<_>>(), [&truth.reference], "{order}: what was told");
        }
    }
    report.effects = effects_in_all;
}
