//! Whatever the server's own isolation level is, and whoever else holds rows: the answers are the same.

use std::sync::Arc;

use idem_runtime::{Idem, Outcome, testing::postgres::Cluster};
use idem_tests::{
    timing::{Gate, until},
    wire::{At, Proxy, Session, Side, schema_of, through},
};
use tokio::{sync::Barrier, task::JoinSet};

use super::stage::{Till, call, pay, pay_outcome, record, wired};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];
const ROUNDS: usize = 30;
const CALLERS: usize = 8;

// R-L5
/// Two processes are two ledgers: they share nothing but the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r070_one_winner_at_every_isolation_level() {
    let cluster = Cluster::own().expect("a server");
    for level in LEVELS {
        cluster.set("default_transaction_isolation", level).expect("a level");
        let ledger = cluster.ledger().expect("a schema");
        let proxy = Proxy::to(cluster.port().expect("a port"));
        let address = through(&ledger, proxy.port());
        let processes = [Idem::open(&address).await.expect("a ledger"), Idem::open(&address).await.expect("a ledger")];
        let till = Till::default();
        for round in 0..ROUNDS {
            let seat = format!("seat {round}");
            let start = Arc::new(Barrier::new(2 * CALLERS));
            let mut callers = JoinSet::new();
            for nth in 0..2 * CALLERS {
                // Every round begins with names that nobody has interned: tenant and scope are raced for as well.
                let call = processes[nth % 2].call().tenant(format!("tenant {round}")).conversation(round.to_string());
                let (seat, till, start) = (seat.clone(), till.clone(), Arc::clone(&start));
                callers.spawn(async move {
                    start.wait().await;
                    pay_outcome(&call, seat, till).await
                });
            }
            let told = callers.join_all().await;
            assert_eq!(till.count(&seat), 1, "{level}: effects of {seat}");
            let first = told.iter().filter(|told| told.value().is_some() && !told.is_replay()).count();
            assert_eq!(first, 1, "{level}: {told:?}");
            let all_alike = told.iter().all(|told| told.value().is_some_and(|value| *value == format!("paid {seat}")));
            assert!(all_alike, "{level}: {told:?}");
        }
        let (serialisation, deadlocks) = (proxy.errors("40001"), proxy.errors("40P01"));
        let runs = till.world.effects().len();
        eprintln!(
            "{level}: {ROUNDS} rounds of {} callers, {runs} effects; 40001: {serialisation}, 40P01: {deadlocks}",
            2 * CALLERS
        );
        assert_eq!(runs, ROUNDS, "no handler ran for the sake of a retry");
    }
}

/// Asks for a row's place in the server's queue of waiters.
async fn waits(watcher: &mut Session, what: &str) {
    until(what, async || {
        let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and state = 'active'";
        (watcher.value(waiting).await != "0").then_some(())
    })
    .await;
}

/// The control arm: at these levels the same insert that interns a tenant fails, outside of the ledger.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r070_a_level_that_fails_others_does_not_fail_the_ledger() {
    let cluster = Cluster::own().expect("a server");
    for level in LEVELS {
        cluster.set("default_transaction_isolation", level).expect("a level");
        let (proxy, ledger, idem) = wired(&cluster).await;
        let (port, schema) = (cluster.port().expect("a port"), schema_of(&ledger));
        let mut watcher = Session::open(port, schema).await;
        let till = Till::default();
        for tenant in ["bare", "guarded"] {
            let insert = format!("insert into idem_tenants (name) values ('{tenant}') on conflict do nothing");
            let mut first = Session::open(port, schema).await;
            first.ask(&format!("begin; {insert}")).await.expect("a tenant");
            if tenant == "bare" {
                let mut second = Session::open(port, schema).await;
                let waiting = tokio::spawn(async move { second.ask(&insert).await });
                waits(&mut watcher, "the second insert waits for the first").await;
                first.ask("commit").await.expect("committed");
                let ended = waiting.await.expect("no panic").map_err(|error| error.code);
                let fails = level != "read committed";
                assert_eq!(ended.is_err_and(|code| code == "40001"), fails, "{level}");
            } else {
                let waiting = tokio::spawn({
                    let (call, till) = (idem.call().tenant(tenant).conversation("c"), till.clone());
                    async move { pay_outcome(&call, "A-1".into(), till).await }
                });
                waits(&mut watcher, "the ledger waits for the tenant").await;
                first.ask("commit").await.expect("committed");
                let told = waiting.await.expect("no panic");
                assert!(told.value().is_some(), "{level}: {told:?}");
                assert_eq!(till.count("A-1"), 1, "{level}");
            }
        }
        eprintln!("{level}: the ledger saw 40001 {} times", proxy.errors("40001"));
    }
}

/// The ledger's transaction is the victim: it begins again, and no body does.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_deadlock_is_the_ledgers_own_business() {
    let cluster = Cluster::own_with(&[("deadlock_timeout", "1s")]).expect("a server");
    let (proxy, ledger, idem) = wired(&cluster).await;
    let (port, schema) = (cluster.port().expect("a port"), schema_of(&ledger));
    let (mut gate_keeper, mut other) = (Session::open(port, schema).await, Session::open(port, schema).await);
    let mut watcher = Session::open(port, schema).await;
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    let tills: Vec<Till> = gates.iter().map(Till::at).collect();
    let mut callers = JoinSet::new();
    for (nth, till) in tills.iter().enumerate() {
        let (call, till) = (call(&idem), till.clone());
        callers.spawn(async move { pay(&call, format!("order {nth}"), till).await });
        gates[nth].arrived().await;
    }
    // So long the ledger commits nothing, and the next two settlements come to be one batch.
    gate_keeper.ask("begin; lock table idem_gate in access exclusive mode").await.expect("the gate");
    gates[0].open();
    waits(&mut watcher, "the ledger waits for the gate").await;
    gates[1].open();
    gates[2].open();
    until("both happened", async || tills[1..].iter().all(|till| till.world.effects().len() == 1).then_some(())).await;
    // Back to front: the later record is held, and then the earlier one is wanted.
    let rows = other.ask("select id from idem_operations order by id").await.expect("records");
    let hold = |row: &str| format!("select from idem_operations where id = {row} for update");
    // Only the ledger's side looks for deadlocks.
    other.ask("begin; set local deadlock_timeout = '60s'").await.expect("patience");
    other.ask(&hold(&rows[2][0])).await.expect("the later record");
    gate_keeper.ask("commit").await.expect("let go");
    until("the ledger waits for the later record", async || {
        let waits = "select count(*) from pg_locks where not granted and locktype = 'transactionid'";
        (watcher.value(waits).await == "1").then_some(())
    })
    .await;
    other.ask(&hold(&rows[1][0])).await.expect("the earlier record, once the ledger has let go");
    other.ask("commit").await.expect("let go");
    for told in callers.join_all().await {
        told.expect("paid");
    }
    let deadlocks = proxy.errors("40P01");
    eprintln!("deadlocks that the ledger lost: {deadlocks}");
    assert!(deadlocks >= 1, "there was none");
    let all: usize = tills.iter().map(|till| till.world.effects().len()).sum();
    assert_eq!(all, 3, "a handler ran again");
}

/// `commit` of an aborted transaction answers `ROLLBACK`, without an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_commit_of_an_aborted_transaction_is_no_success() {
    let cluster = Cluster::own().expect("a server");
    let (proxy, ledger, idem) = wired(&cluster).await;
    let mut session = Session::open(cluster.port().expect("a port"), schema_of(&ledger)).await;
    // The control arm: a driver that goes by the absence of an error takes this for a commit.
    session.ask("begin; create table lost (n int); select 1/0").await.expect_err("it is aborted");
    session.ask("commit").await.expect("it says ROLLBACK, which is no error");
    assert_eq!(session.value("select to_regclass('lost') is null").await, "t");
    let (till, mut cuts) = (Till::default(), 0);
    for round in 0..10 {
        // At the reservation, and at the settlement.
        let order = format!("order {round}");
        let told = if round % 2 == 0 {
            proxy.cut(At::Commit, Side::Aborted);
            pay_outcome(&call(&idem), order.clone(), till.clone()).await
        } else {
            let wire = proxy.clone();
            let till = till.then(move || wire.cut(At::Commit, Side::Aborted));
            pay_outcome(&call(&idem), order.clone(), till).await
        };
        cuts += 1;
        assert_eq!(proxy.cuts(), cuts, "nothing was aborted");
        let (Outcome::Succeeded(_), 1) = (&told, till.count(&order)) else {
            // Nothing was run unguarded: whoever was refused may come again.
            assert_eq!((told.value(), till.count(&order)), (None, 0), "{told:?}");
            pay(&call(&idem), order.clone(), till.clone()).await.expect("paid");
            continue;
        };
        let operation = told.operation().expect("an operation");
        // Told once more, by the ledger and not from memory, as soon as the ledger has it.
        until("it is settled", async || {
            let record = record(&idem, operation).await.expect("a record");
            record.state.is_finished().then_some(())
        })
        .await;
    }
    for round in 0..10 {
        assert_eq!(till.count(&format!("order {round}")), 1, "round {round}");
    }
    eprintln!("transactions aborted before their commit: {cuts}, 25P02: {}", proxy.errors("25P02"));
}

/// What the server says at `commit` itself: a check that was put off fails, for good or for a while.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_commit_that_fails_is_no_success() {
    let cluster = Cluster::own().expect("a server");
    let (proxy, ledger, idem) = wired(&cluster).await;
    let mut session = Session::open(cluster.port().expect("a port"), schema_of(&ledger)).await;
    let till = Till::default();
    for (nth, code) in ["23514", "40001", "40P01"].into_iter().enumerate() {
        // Sequences do not roll back: the third commit goes through.
        session
            .ask(&format!(
                "create sequence if not exists refusals;
                 create or replace function refuse() returns trigger language plpgsql as $$ begin
                     if nextval('refusals') % 3 <> 0 then raise exception 'not now' using errcode = '{code}'; end if;
                     return null; end $$;
                 drop trigger if exists refuse on idem_operations;
                 create constraint trigger refuse after insert or update on idem_operations
                     deferrable initially deferred for each row execute function refuse();
                 select setval('refusals', 3)"
            ))
            .await
            .expect("a trigger");
        let order = format!("order {nth}");
        let told = pay_outcome(&call(&idem), order.clone(), till.clone()).await;
        eprintln!("{code} at commit: {}, seen {} times", told.to_json(), proxy.errors(code));
        assert!(proxy.errors(code) >= 2, "{code} was not seen");
        match told.value() {
            // It began again until it went through.
            Some(_) => assert_eq!(till.count(&order), 1, "{code}"),
            // It was refused, and nothing was run.
            None => assert_eq!(till.count(&order), 0, "{code}"),
        }
        session.ask("drop trigger refuse on idem_operations").await.expect("no trigger");
        pay(&call(&idem), order.clone(), till.clone()).await.expect("paid by now");
        assert_eq!(till.count(&order), 1, "{code}");
    }
}
