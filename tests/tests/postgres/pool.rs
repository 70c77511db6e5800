//! Connections: none is held while a body runs, and there are few of them.

use std::time::Duration;

use idem_runtime::{Idem, RefusalKind, testing::postgres::Cluster};
use idem_tests::{
    timing::{Gate, until},
    wire::{Proxy, Session, schema_of, through},
};
use tokio::task::JoinSet;

use super::{
    cancel::IDLE,
    stage::{Till, call, pay, pay_soon, pay_soon_outcome, record, refused, wired},
};

const TOOLS: usize = 50;
const CALLS: usize = 20;
const SAMPLES: usize = 200;

/// What one process holds at most: two connections that write, and those that read.
const CONNECTIONS_MAX: usize = 5;

// R-L5
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r074_no_transaction_is_open_while_bodies_run() {
    let cluster = Cluster::own().expect("a server");
    let (_proxy, ledger, idem) = wired(&cluster).await;
    let mut watcher = Session::open(cluster.port().expect("a port"), schema_of(&ledger)).await;
    let (gate, mut callers) = (Gate::new(), JoinSet::new());
    let till = Till::at(&gate);
    for nth in 0..TOOLS {
        let (call, till) = (call(&idem), till.clone());
        callers.spawn(async move { pay(&call, format!("order {nth}"), till).await });
    }
    for _ in 0..TOOLS {
        gate.arrived().await;
    }
    let mut open = 0;
    for _ in 0..SAMPLES {
        open += usize::from(watcher.value(IDLE).await != "0");
    }
    // A new one goes through meanwhile, from its reservation to its end.
    pay(&call(&idem), "meanwhile".into(), Till::default()).await.expect("paid");
    assert_eq!(till.world.effects().len(), 0, "the others are still running");
    (0..TOOLS).for_each(|_| gate.open());
    for told in callers.join_all().await {
        told.expect("paid");
    }
    eprintln!("{TOOLS} bodies: {open} of {SAMPLES} samples with a transaction open");
    assert_eq!(open, 0);
    assert_eq!(till.world.effects().len(), TOOLS);
}

// R-L5
/// A role with no more connections than a process may hold: callers, those that wait for another process, renewals, reads and
/// a reconciler all come to an end. "A pool of one" would need the writer's and the readers' threads to share a connection; no
/// code holds one connection while it waits for another.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r075_a_process_needs_few_connections() {
    let cluster = Cluster::own().expect("a server");
    let ledger = cluster.ledger().expect("a schema");
    Idem::open(&ledger).await.expect("the schema of a ledger");
    let schema = schema_of(&ledger);
    let role = format!(
        "create role worker login connection limit {CONNECTIONS_MAX};
         grant usage on schema {schema} to worker;
         grant all on all tables in schema {schema} to worker;
         grant all on all sequences in schema {schema} to worker"
    );
    for statement in role.split(';') {
        cluster.say(statement).expect("a role");
    }
    let proxy = Proxy::to(cluster.port().expect("a port"));
    let idem = Idem::open(&through(&ledger, proxy.port()).replace("postgres@", "worker@")).await.expect("a ledger");
    // Somebody else's attempt: for its end the callers below wait by reading.
    let (theirs, gate) = (Idem::open(&ledger).await.expect("a ledger"), Gate::new());
    let till = Till::at(&gate);
    let paying = tokio::spawn({
        let (call, till) = (call(&theirs), till.clone());
        async move { pay_soon(&call, "shared".into(), till).await }
    });
    gate.arrived().await;
    let mut callers = JoinSet::new();
    for nth in 0..CALLS {
        let (call, till) = (call(&idem).deadline(Duration::from_mins(1)), till.clone());
        let order = if nth % 2 == 0 { "shared".to_owned() } else { format!("order {nth}") };
        callers.spawn(async move {
            loop {
                let told = pay_soon_outcome(&call, order.clone(), till.clone()).await;
                // On a slow machine half of its lease was over before it could start.
                if refused(&told) != Some(&RefusalKind::FailedRetryable) {
                    return told;
                }
            }
        });
    }
    until("their bodies stand at the gate", async || {
        if let Some(told) = callers.try_join_next() {
            panic!("a call ended before its body did: {told:?}");
        }
        (gate.waiting() == CALLS / 2).then_some(())
    })
    .await;
    let mut reconciler = idem.reconciler([]);
    let mut readers = JoinSet::new();
    for nth in 0..4 * CALLS {
        let idem = idem.clone();
        readers.spawn(async move {
            let call = call(&idem);
            let known = idem_runtime::prepare(pay_soon(&call, format!("order {}", nth % CALLS), Till::default()));
            let operation = known.await.expect("a ledger that answers").operation();
            record(&idem, operation).await
        });
    }
    reconciler.run_once().await.expect("a walk");
    let shown = readers.join_all().await.into_iter().flatten().collect::<Vec<_>>();
    // Leases were renewed meanwhile.
    let operation = shown.first().expect("a record").operation;
    until("a lease is renewed", async || {
        (record(&idem, operation).await.expect("a record").renewals > 0).then_some(())
    })
    .await;
    (0..=CALLS / 2).for_each(|_| gate.open());
    for told in callers.join_all().await {
        assert!(told.value().is_some(), "paid, by whomever: {told:?}");
    }
    paying.await.expect("no panic").expect("paid");
    assert_eq!(till.world.effects().len(), CALLS / 2 + 1);
    eprintln!("connections at once: {} of {CONNECTIONS_MAX}", proxy.open_max());
    assert!(proxy.open_max() <= CONNECTIONS_MAX, "{} connections", proxy.open_max());
    assert_eq!(proxy.errors("53300"), 0, "there were too many connections");
}
