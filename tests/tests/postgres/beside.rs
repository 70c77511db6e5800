//! Where much waits, a process writes by two connections: a batch that is held up holds up no other, and what is called twice at
//! once happens once, whichever connection each call goes by.

use std::sync::Arc;

use idem_runtime::testing::postgres::Cluster;
use idem_tests::{
    timing::{Gate, until},
    wire::{Session, schema_of},
};
use tokio::{sync::Barrier, task::JoinSet};

use super::stage::{Till, call, pay, wired};

/// So many calls wait at once that the second connection takes some of them.
const CALLERS: usize = 128;

/// Fewer than this wait for the first connection.
const LEFT: usize = 32;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_batch_that_is_held_up_holds_up_no_other() {
    let cluster = Cluster::own().expect("a server");
    let (_proxy, ledger, idem) = wired(&cluster).await;
    let mut other = Session::open(cluster.port().expect("a port"), schema_of(&ledger)).await;
    let mut watcher = Session::open(cluster.port().expect("a port"), schema_of(&ledger)).await;
    let gate = Gate::new();
    let held_up = tokio::spawn({
        let (call, till) = (call(&idem), Till::at(&gate));
        async move { pay(&call, "held up".into(), till).await }
    });
    gate.arrived().await;
    other.ask("begin; select from idem_operations for update").await.expect("its record");
    gate.open();
    until("its settlement waits for its record", async || {
        let waits = "select count(*) from pg_locks where not granted and locktype = 'transactionid'";
        (watcher.value(waits).await == "1").then_some(())
    })
    .await;
    let till = Till::default();
    let mut callers = JoinSet::new();
    for nth in 0..CALLERS {
        let (call, till) = (call(&idem), till.clone());
        callers.spawn(async move { pay(&call, format!("order {nth}"), till).await });
    }
    for _ in LEFT..CALLERS {
        callers.join_next().await.expect("a caller").expect("no panic").expect("paid");
    }
    assert!(!held_up.is_finished());
    other.ask("commit").await.expect("let go");
    held_up.await.expect("no panic").expect("paid");
    for told in callers.join_all().await {
        told.expect("paid");
    }
    assert_eq!(till.world.effects().len(), CALLERS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_that_meet_on_two_connections_have_one_effect() {
    const ROUNDS: usize = 10;
    const ALIKE: usize = 4;
    let cluster = Cluster::own().expect("a server");
    let (_proxy, _ledger, idem) = wired(&cluster).await;
    let till = Till::default();
    for round in 0..ROUNDS {
        let (mut callers, start) = (JoinSet::new(), Arc::new(Barrier::new(CALLERS)));
        for nth in 0..CALLERS {
            let (call, till, start) = (call(&idem), till.clone(), Arc::clone(&start));
            callers.spawn(async move {
                start.wait().await;
                let order = format!("order {round}-{}", nth / ALIKE);
                (pay(&call, order.clone(), till).await, order)
            });
        }
        for (told, order) in callers.join_all().await {
            assert_eq!(told.expect("paid"), format!("paid {order}"));
            assert_eq!(till.count(&order), 1, "effects of {order}");
        }
    }
    assert_eq!(till.world.effects().len(), ROUNDS * CALLERS / ALIKE);
}
