//! A PostgreSQL ledger that several processes share.
//!
//! Processes are ledgers of their own in one program: they share nothing but the server.

#![cfg(feature = "postgres")]

mod postgres {
    //! One module a kind of thing that befalls a server or the wire to it; [`stage`] has the tool.

    mod beside;
    mod bouncer;
    mod cancel;
    mod commit;
    mod failover;
    mod faults;
    mod isolation;
    mod plain;
    mod pool;
    mod pooler;
    mod reading;
    mod schema;
    pub(super) mod server;
    mod settings;
    mod stage;
    mod straight;
    mod waiting;
    mod writes;
}

#[path = "outside/child.rs"]
mod child;

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use idem_runtime::{
    Idem, OpenError, PostgresStore, Tenant, ToolCall, idempotent,
    ledger::{Evidence, State},
    prepare,
    testing::postgres::Cluster,
};
use tokio::{sync::Barrier, task::JoinSet};

const PROCESSES: usize = 6;
const ORDERS: usize = 12;

static SENT: AtomicU32 = AtomicU32::new(0);

#[idempotent(scope = "conversation", key = "args")]
async fn send(call: &ToolCall, order: String) -> Result<String, String> {
    SENT.fetch_add(1, Ordering::SeqCst);
    tokio::task::yield_now().await;
    Ok(format!("sent {order}"))
}

static SETTLED: AtomicU32 = AtomicU32::new(0);

#[idempotent(scope = "conversation", key = "args")]
async fn settle(call: &ToolCall, order: String) -> Result<String, String> {
    SETTLED.fetch_add(1, Ordering::SeqCst);
    Ok(format!("settled {order}"))
}

/// Never knows what became of it.
#[idempotent(scope = "conversation", key = "args")]
async fn ask(call: &ToolCall, order: String) -> Result<String, String> {
    Err(format!("no answer about {order}"))
}

/// Plays the part that this process was started for; nothing, when it is the test run itself.
#[test]
fn child_process() {
    if let Some((role, _)) = child::role() {
        postgres::server::owns(&role);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_processes_one_runs_each_operation() {
    let cluster = Cluster::start().expect("a server");
    let address: Arc<str> = cluster.ledger().expect("a schema").into();
    let barrier = Arc::new(Barrier::new(PROCESSES));
    let mut processes = JoinSet::new();
    for process in 0..PROCESSES {
        let (address, barrier) = (Arc::clone(&address), Arc::clone(&barrier));
        processes.spawn(async move {
            // Together, also at the making of the schema.
            barrier.wait().await;
            let idem = Idem::open(&address).await.expect("a ledger");
            let mut calls = JoinSet::new();
            for nth in 0..ORDERS {
                // Each in another order, so that batches want the same records back to front.
                let order = if process % 2 == 0 { nth } else { ORDERS - 1 - nth };
                let call =
                    idem.call().tenant("acme").conversation("c").turn(1).tool_call_id(format!("{process}-{nth}"));
                calls.spawn(async move { send(&call, format!("order {order}")).await });
            }
            for told in calls.join_all().await {
                told.expect("sent, by whomever");
            }
        });
    }
    processes.join_all().await;
    assert_eq!(SENT.load(Ordering::SeqCst), u32::try_from(ORDERS).expect("few"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_of_a_newer_version_is_refused() {
    let cluster = Cluster::start().expect("a server");
    let address = cluster.ledger().expect("a schema");
    PostgresStore::open(&address).await.expect("a new ledger");
    let schema = address.rsplit("%3D").next().expect("a schema");
    cluster.say(&format!("insert into {schema}.idem_migrations (version, name) values (99, 'later')")).expect("a step");
    let refused = PostgresStore::open(&address).await.expect_err("too new").to_string();
    assert!(refused.contains("version 99"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_write_is_refused() {
    let cluster = Cluster::own().expect("a server");
    let address = cluster.ledger().expect("a schema");
    cluster.say("alter database postgres set default_transaction_read_only = on").expect("a setting");
    let Err(OpenError::Store(refused)) = Idem::open(&address).await else { panic!("opened on a read-only server") };
    assert!(refused.to_string().contains("read-only"), "{refused}");
}

/// A name that a database cannot write would fail every batch that it is in.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_write_every_name_is_refused() {
    let cluster = Cluster::own().expect("a server");
    cluster.say("create database latin encoding 'LATIN1' locale 'C' template template0").expect("a database");
    let address = cluster.address().replacen("/postgres?", "/latin?", 1);
    let Err(OpenError::Store(refused)) = Idem::open(&address).await else { panic!("opened on {address}") };
    assert!(refused.to_string().contains("LATIN1"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_the_server_ends_are_made_anew() {
    let cluster = Cluster::own().expect("a server");
    let idem = Idem::open(&cluster.ledger().expect("a schema")).await.expect("a ledger");
    for round in 0..3 {
        let call = idem.call().tenant("acme").conversation("c").turn(round).tool_call_id(format!("call-{round}"));
        let told = settle(&call, format!("order {round}")).await.expect("settled");
        assert_eq!(told, format!("settled order {round}"));
        let again = idem.call().tenant("acme").conversation("c").turn(9).tool_call_id(format!("again-{round}"));
        settle(&again, format!("order {round}")).await.expect("a replay");
        let end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'idem'";
        cluster.say(end).expect("ended");
    }
    assert_eq!(SETTLED.load(Ordering::SeqCst), 3);
}

/// Evidence comes while its record is being created: whichever is first, it is weighed.
#[tokio::test(flavor = "multi_thread")]
async fn evidence_and_its_record_do_not_miss_each_other() {
    let cluster = Cluster::start().expect("a server");
    let address = cluster.ledger().expect("a schema");
    let (calls, hooks) = (Idem::open(&address).await.expect("a ledger"), Idem::open(&address).await.expect("a ledger"));
    let tenant = Tenant::new("acme").expect("a tenant");
    for round in 0..40 {
        let call = calls.call().tenant("acme").conversation("c").turn(1).tool_call_id(format!("e-{round}"));
        let order = format!("round {round}");
        let operation = prepare(ask(&call, order.clone())).await.expect("a record").operation();
        let evidence = Evidence::of(&tenant, operation, "webhook", "event").applied(None, None);
        let (_, heard) = tokio::join!(ask(&call, order), hooks.evidence(evidence));
        heard.expect("heard");
        let record = calls.show(&tenant, operation).await.expect("read").expect("a record");
        assert_eq!(record.state, State::Succeeded, "in round {round}");
    }
}
