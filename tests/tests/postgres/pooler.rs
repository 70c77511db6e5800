//! Behind a pooler that lends connections by the transaction: nothing of the ledger's rests on a session.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use idem_runtime::{
    Idem, PostgresStore,
    testing::{conformance::CHECKS, postgres::Cluster},
};
use idem_tests::wire::{Pooler, Session, SqlError, through};
use tokio::task::JoinSet;

use super::{
    bouncer::Bouncer,
    stage::{Till, pay},
};

const LANES: usize = 4;
const SEED: u64 = 0x1dea;

/// What does not survive the end of a transaction there, or comes to be another client's: the first words of a statement.
const OF_A_SESSION: [&str; 11] = [
    "set session",
    "listen",
    "unlisten",
    "notify",
    "prepare",
    "deallocate",
    "declare",
    "discard",
    "load",
    "reset",
    "create temp",
];

/// Whether a part of this statement needs a session.
fn needs_a_session(name: &str, statement: &str) -> bool {
    let of_a_session = |part: &str| {
        let words = part.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let sets = words.starts_with("set ") && !words.starts_with("set local ");
        sets || OF_A_SESSION.iter().any(|begins| words.starts_with(begins))
    };
    !name.is_empty() || statement.to_lowercase().contains("advisory") || statement.split(';').any(of_a_session)
}

// R-L5
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r076_the_conformance_suite_passes_behind_a_transaction_pooler() {
    // What is asked is what becomes of sessions, not of the disk.
    let cluster = Arc::new(Cluster::own_with(&[("fsync", "off")]).expect("a server"));
    let pooler = Arc::new(Pooler::to(cluster.port().expect("a port")));
    let (next, mut lanes) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
    for _ in 0..LANES {
        let (cluster, pooler, next) = (Arc::clone(&cluster), Arc::clone(&pooler), Arc::clone(&next));
        lanes.spawn(async move {
            let mut wrong = Vec::new();
            while let Some(check) = CHECKS.get(next.fetch_add(1, Ordering::Relaxed)) {
                let ledger = cluster.ledger().expect("a schema") + "&idem_partitions=2";
                let address = through(&ledger, pooler.port());
                let store = PostgresStore::open(&address).await.expect("a ledger behind a pooler");
                wrong.extend(check.run(SEED, store).await.err().map(|failures| failures.to_string()));
            }
            wrong
        });
    }
    let wrong = lanes.join_all().await.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let statements = pooler.statements();
    for (name, statement) in &statements {
        assert!(!needs_a_session(name, statement), "`{name}`: {statement}");
    }
    let (lent, moved) = (pooler.lent(), pooler.moved());
    eprintln!(
        "{} checks behind the pooler: {} statements, {lent} transactions, {moved} on another connection than the last, {} \
         broken off",
        CHECKS.len(),
        statements.len(),
        pooler.broken_off(),
    );
    assert!(moved * 2 > lent, "the pooler moved nobody: {moved} of {lent}");
}

/// The control arm: what rests on a session breaks there.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r076_control_a_session_breaks_behind_the_pooler() {
    let cluster = Cluster::own().expect("a server");
    let pooler = Pooler::to(cluster.port().expect("a port"));
    let mut session = Session::open(pooler.port(), "public").await;
    session.ask("prepare mine as select 1").await.expect("prepared");
    let broken = session.ask("execute mine").await;
    assert_eq!(broken.map_err(|SqlError { code, .. }| code), Err("26000".to_owned()));
    session.ask("set work_mem = '123kB'").await.expect("set");
    assert_ne!(session.value("show work_mem").await, "123kB");
    session.ask("select pg_advisory_lock(1)").await.expect("held by nobody any more");
    assert_eq!(session.value("select pg_advisory_unlock(1)").await, "f");
    for statement in ["SET work_mem = 1", "select 1; listen x", "select pg_advisory_lock(1)"] {
        assert!(needs_a_session("", statement), "{statement}");
    }
    assert!(needs_a_session("sqlx_s_1", "select 1"));
    assert!(!needs_a_session("", "begin; set local jit = off; update idem_operations set state = 'x'"));
}

/// Many callers of several processes, whose transactions are mixed on this many connections.
async fn callers_share(connections: usize) {
    let cluster = Cluster::own().expect("a server");
    let pooler = Pooler::of(cluster.port().expect("a port"), connections);
    callers_meet(&through(&cluster.ledger().expect("a schema"), pooler.port())).await;
    assert_eq!(pooler.broken_off(), 0, "somebody was cut off in a transaction");
}

/// Several processes call the same, each several times.
async fn callers_meet(address: &str) {
    let (till, mut callers) = (Till::default(), JoinSet::new());
    for process in 0..4 {
        let idem = Idem::open(address).await.expect("a ledger");
        for nth in 0..40 {
            let order = format!("order {}", nth % 20);
            let call = idem.call().tenant("acme").conversation("c").tool_call_id(format!("{process}-{nth}"));
            let till = till.clone();
            callers.spawn(async move { pay(&call, order, till).await });
        }
    }
    for told in callers.join_all().await {
        told.expect("paid, by whomever");
    }
    for nth in 0..20 {
        assert_eq!(till.count(&format!("order {nth}")), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r076_callers_behind_a_pooler_share_three_connections() {
    callers_share(3).await;
}

/// Nobody waits in a transaction for somebody else's.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r076_callers_behind_a_pooler_share_a_pool_of_one() {
    callers_share(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_behind_pgbouncer_share_a_pool_of_one() {
    let cluster = Cluster::own().expect("a server");
    let bouncer = Bouncer::start(cluster.port().expect("a port"));
    callers_meet(&bouncer.address()).await;
}
