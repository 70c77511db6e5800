//! The server that writes is lost, and another one takes its place: what was committed everywhere is still there, and what
//! was not is lost; or it still answers, and must not be asked any more.

use idem_runtime::{
    Idem, OpenError, PostgresStore, RefusalKind, Tenant, ToolCall, idempotent,
    ledger::State,
    prepare,
    testing::{TestClock, postgres::Cluster},
};
use idem_tests::{
    provider::{Bank, Provider, SendError},
    timing::{Gate, until},
    wire::{Pooler, Proxy, Session, schema_of, through},
    world::TENANT,
};
use tokio::task::JoinSet;

use super::stage::{Till, call, pay, pay_outcome, record, refused, wired};

const LOST: usize = 40;
const KEPT: usize = 200;

/// A refund at a real provider, under a key that follows from the operation.
#[idempotent(scope = "conversation", key = "args")]
async fn refund(
    call: &ToolCall,
    order: String,
    #[idem(state)] bank: Bank,
    #[idem(state)] gate: Gate,
) -> Result<String, SendError> {
    gate.pass().await;
    let sent = bank.send(call.provider_key("refund").as_str(), &order, 4_900, "iban-1").await?;
    Ok(sent.id)
}

fn order(nth: usize) -> String {
    format!("order {nth}")
}

// R-L5
/// (a) Nothing waits for the standby, which receives nothing more: what the ledger confirmed is lost. The second half of the
/// attempts is under way meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r072_without_synchronous_replication_reservations_are_lost_and_the_providers_key_keeps_effects_at_one() {
    let primary = Cluster::own().expect("a server");
    let (proxy, ledger, idem) = wired(&primary).await;
    let provider = Provider::start(&TestClock::default());
    let bank = provider.bank();
    let gate = Gate::opened();
    // The schema is there before the standby is.
    Box::pin(refund(&call(&idem), "before".into(), bank.clone(), gate.clone())).await.expect("refunded");
    let standby = primary.standby("second").expect("a standby");
    standby.stop_following().expect("it lets go");
    for nth in 0..LOST / 2 {
        Box::pin(refund(&call(&idem), order(nth), bank.clone(), gate.clone())).await.expect("refunded");
    }
    let (shut, mut running) = (Gate::new(), JoinSet::new());
    for nth in LOST / 2..LOST {
        let (call, bank, gate) = (call(&idem), bank.clone(), shut.clone());
        running.spawn(async move { refund_outcome(&call, order(nth), bank, gate).await });
        shut.arrived().await;
    }
    primary.kill().expect("a crash");
    standby.promote().expect("a new primary");
    proxy.lead_to(standby.port().expect("a port"));
    // A process that knows nothing but the new server.
    let worker = Idem::open(&standby.ledger_in(schema_of(&ledger))).await.expect("a ledger");
    let mut lost = 0;
    for nth in 0..LOST {
        let call = call(&worker);
        let known = prepare(refund(&call, order(nth), bank.clone(), gate.clone())).await.expect("a record");
        lost += usize::from(record(&worker, known.operation()).await.is_none());
    }
    assert_eq!(lost, LOST, "the control arm: with asynchronous replication what was confirmed is lost");
    (0..LOST / 2).for_each(|_| shut.open());
    let mut flagged = 0;
    for told in running.join_all().await {
        // It happened, and its reservation is gone: its caller hears both.
        assert!(told.value().is_some(), "{told:?}");
        flagged += 1;
    }
    for nth in 0..LOST {
        Box::pin(refund(&call(&worker), order(nth), bank.clone(), gate.clone()))
            .await
            .expect("refunded under the same key");
        assert_eq!(provider.refunds_of(&order(nth)), 1, "effects of {}", order(nth));
    }
    let (sent, effects) = (provider.sent(), provider.effects().len());
    eprintln!("asynchronous: {lost} of {LOST} reservations lost, {flagged} in flight, {sent} sent, {effects} effects");
    assert_eq!(
        (sent, effects),
        (2 * LOST + 1, LOST + 1),
        "without the key every one of them would have happened twice"
    );
}

// R-L5
/// (b) Each commit waits for the standby: nothing that was confirmed is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r072_with_synchronous_replication_nothing_that_was_confirmed_is_lost() {
    let primary = Cluster::own().expect("a server");
    let (proxy, _, idem) = wired(&primary).await;
    let standby = primary.standby("second").expect("a standby");
    // Not what the ledger rests on: it asks for it in each transaction.
    primary.set("synchronous_commit", "off").expect("a setting");
    primary.wait_for_standby("second").expect("a synchronous standby");
    let gate = Gate::new();
    let till = Till::at(&gate);
    let mut callers = JoinSet::new();
    for nth in 0..KEPT {
        let (call, till) = (call(&idem), till.clone());
        callers.spawn(async move { pay_outcome(&call, order(nth), till).await });
    }
    for _ in 0..KEPT {
        gate.arrived().await;
    }
    primary.kill().expect("a crash");
    standby.promote().expect("a new primary");
    standby.set("synchronous_standby_names", "").expect("nobody is waited for");
    proxy.lead_to(standby.port().expect("a port"));
    let mut kept = 0;
    for nth in 0..KEPT {
        let call = call(&idem);
        let known = prepare(pay(&call, order(nth), till.clone())).await.expect("a record");
        let record = record(&idem, known.operation()).await;
        kept += usize::from(record.is_some_and(|record| record.state == State::InProgress));
    }
    assert_eq!(kept, KEPT, "reservations that survived");
    (0..KEPT).for_each(|_| gate.open());
    let mut operations = Vec::new();
    for told in callers.join_all().await {
        assert!(told.value().is_some(), "{told:?}");
        operations.extend(told.operation());
    }
    for (nth, operation) in operations.into_iter().enumerate() {
        until("it is settled", async || {
            let record = record(&idem, operation).await.expect("a record");
            (record.state == State::Succeeded).then_some(())
        })
        .await;
        assert_eq!(till.count(&order(nth)), 1);
    }
    eprintln!("synchronous: {kept} of {KEPT} reservations survived, {} effects", till.world.effects().len());
}

// R-L5
/// A commit whose wait for the standby is cut off is there, on this server alone: who finds it waits for the standby again,
/// before a body starts.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r072_a_wait_for_the_standby_that_was_cut_off_is_made_up_for() {
    let primary = Cluster::own().expect("a server");
    let (_proxy, ledger, idem) = wired(&primary).await;
    let standby = primary.standby("second").expect("a standby");
    primary.wait_for_standby("second").expect("a synchronous standby");
    let gate = Gate::new();
    let till = Till::at(&gate);
    pay(&call(&idem), "before".into(), Till::default()).await.expect("paid");
    let mut watcher = Session::open(primary.port().expect("a port"), schema_of(&ledger)).await;
    standby.stop().expect("there is no standby");
    let paying = tokio::spawn({
        let (call, till) = (call(&idem), till.clone());
        async move { pay(&call, "A-1".into(), till).await }
    });
    let waits =
        "select coalesce(max(pid), 0) from pg_stat_activity where wait_event = 'SyncRep' and application_name = 'idem'";
    let first = until("the reservation waits for the standby", async || {
        let pid = watcher.value(waits).await;
        (pid != "0").then_some(pid)
    })
    .await;
    watcher.ask(&format!("select pg_terminate_backend({first})")).await.expect("cut off");
    let there = "select count(*) from idem_operations where state = 'in_progress'";
    until("it is committed, here", async || (watcher.value(there).await == "1").then_some(())).await;
    until("it is waited for again", async || {
        assert_eq!(gate.waiting(), 0, "a body runs whose reservation no standby has");
        let pid = watcher.value(waits).await;
        (pid != "0" && pid != first).then_some(())
    })
    .await;
    standby.start_again().expect("it follows again");
    gate.arrived().await;
    gate.open();
    paying.await.expect("no panic").expect("paid");
    assert_eq!(till.count("A-1"), 1);
}

// R-L5
/// At the beginning.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r073_a_standby_is_refused() {
    let primary = Cluster::own().expect("a server");
    let ledger = primary.ledger().expect("a schema");
    PostgresStore::open(&ledger).await.expect("a ledger");
    let standby = primary.standby("second").expect("a standby");
    standby.pause_replay().expect("it lags");
    let Err(OpenError::Store(refused)) = Idem::open(&standby.ledger_in(schema_of(&ledger))).await else {
        panic!("opened on a standby")
    };
    assert!(refused.to_string().contains("standby"), "{refused}");
    // Several servers in one address are not understood by the driver: an address that leads to the one that writes is needed.
    let two = format!("postgres://postgres@127.0.0.1:{0},127.0.0.1:{0}/postgres", primary.port().expect("a port"));
    let Err(OpenError::Store(refused)) = Idem::open(&two).await else { panic!("opened at two addresses") };
    assert!(refused.to_string().contains("the address"), "{refused}");
}

// R-L5
/// While it runs: nothing is run, nothing is answered from what may be old, and it goes on when there is a primary again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r073_a_primary_that_becomes_a_standby_answers_nothing() {
    let cluster = Cluster::own().expect("a server");
    let (_proxy, ledger, idem) = wired(&cluster).await;
    let till = Till::default();
    let paid = pay_outcome(&call(&idem), "A-1".into(), till.clone()).await;
    let operation = paid.operation().expect("an operation");
    let port = cluster.port().expect("a port");
    // Two that remember no result, one of which has read by now.
    let wire = Proxy::to(port);
    let readers = [
        Idem::open(&through(&ledger, wire.port())).await.expect("a ledger"),
        Idem::open(&through(&ledger, wire.port())).await.expect("a ledger"),
    ];
    assert!(record(&readers[0], operation).await.is_some());
    let tenant = Tenant::new(TENANT).expect("a tenant");
    for round in 0..2 {
        cluster.demote().expect("a standby");
        assert_eq!(cluster.ask("select pg_is_in_recovery()").expect("it answers"), "t");
        for reader in &readers {
            let told = pay_outcome(&call(reader), "A-1".into(), till.clone()).await;
            assert_eq!(refused(&told), Some(&RefusalKind::LedgerUnavailable), "a replay from a standby: {told:?}");
            let shown = reader.show(&tenant, operation).await;
            let words = shown.map_err(|error| error.to_string()).expect_err("a standby answered");
            assert!(words.contains("recovery") || words.contains("standby"), "{words}");
            let made = prepare(pay(&call(reader), "A-1".into(), till.clone())).await;
            made.expect_err("an attempt record from a standby");
        }
        let told = pay_outcome(&call(&idem), format!("B-{round}"), till.clone()).await;
        assert_eq!(refused(&told), Some(&RefusalKind::LedgerUnavailable), "{told:?}");
        assert_eq!(till.count(&format!("B-{round}")), 0, "it was run unguarded");
        cluster.promote().expect("a primary");
        for reader in &readers {
            assert!(record(reader, operation).await.is_some(), "it goes on by itself");
        }
        pay(&call(&idem), format!("B-{round}"), till.clone()).await.expect("paid");
        assert_eq!(till.count(&format!("B-{round}")), 1);
    }
    let told = pay_outcome(&call(&readers[1]), "A-1".into(), till.clone()).await;
    assert!(told.is_replay(), "{told:?}");
    assert_eq!(till.count("A-1"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn names_that_a_failover_lost_are_interned_again() {
    let primary = Cluster::own().expect("a server");
    let (proxy, ledger, idem) = wired(&primary).await;
    names_are_interned_again(&primary, &ledger, &idem, |port| proxy.lead_to(port)).await;
}

/// Its connections outlive the server, so a process does not notice by itself that there is another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn names_that_a_failover_lost_are_interned_again_behind_a_pooler() {
    let primary = Cluster::own().expect("a server");
    let pooler = Pooler::to(primary.port().expect("a port"));
    let ledger = primary.ledger().expect("a schema");
    let idem = Idem::open(&through(&ledger, pooler.port())).await.expect("a ledger");
    names_are_interned_again(&primary, &ledger, &idem, |port| pooler.lead_to(port)).await;
}

/// Numbers that a process remembers may lead nowhere, or elsewhere, in a server that lost what they were given for.
async fn names_are_interned_again(primary: &Cluster, ledger: &str, idem: &Idem, lead_to: impl FnOnce(u16)) {
    let till = Till::default();
    pay(&call(idem), "before".into(), till.clone()).await.expect("paid");
    let standby = primary.standby("second").expect("a standby");
    standby.stop_following().expect("it lets go");
    // Each in a tenant of its own: tenants have numbers, too.
    let in_scope = |idem: &Idem, scope: &str| idem.call().tenant(format!("new {scope}")).conversation(scope);
    for scope in ["x", "y", "z"] {
        pay(&in_scope(idem, scope), "first".into(), till.clone()).await.expect("paid");
    }
    primary.kill().expect("a crash");
    standby.promote().expect("a new primary");
    lead_to(standby.port().expect("a port"));
    let other = Idem::open(&standby.ledger_in(schema_of(ledger))).await.expect("a ledger");
    // Another process is given the numbers that were lost, in another order.
    for scope in ["z", "y", "x"] {
        pay(&in_scope(&other, scope), format!("theirs in {scope}"), till.clone()).await.expect("paid");
    }
    for scope in ["x", "y", "z"] {
        // Ours writes before it has found anything.
        let first = format!("ours in {scope}");
        for process in [idem, &other] {
            pay(&in_scope(process, scope), first.clone(), till.clone()).await.expect("paid");
        }
        assert_eq!(till.count(&first), 1, "what we keep in {scope} is found by the other process");
        let shared = format!("shared in {scope}");
        let (ours, theirs) =
            tokio::join!(async { pay(&in_scope(idem, scope), shared.clone(), till.clone()).await }, async {
                pay(&in_scope(&other, scope), shared.clone(), till.clone()).await
            },);
        assert_eq!(ours.expect("paid"), theirs.expect("paid"));
        assert_eq!(till.count(&shared), 1, "two processes keep {scope} under two numbers");
        assert_eq!(
            pay(&in_scope(idem, scope), format!("theirs in {scope}"), till.clone()).await.expect("a replay"),
            format!("paid theirs in {scope}")
        );
        assert_eq!(till.count(&format!("theirs in {scope}")), 1);
    }
}
