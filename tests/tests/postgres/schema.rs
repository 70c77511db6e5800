//! The schema that migrations make: as it is checked in, divided as it was asked for, by many at once.

use std::{path::Path, sync::Arc};

use idem_runtime::{Idem, PostgresStore, ToolCall, idempotent, testing::postgres::Cluster};
use tokio::{sync::Barrier, task::JoinSet};

/// What the catalogue says, one line a thing.
const WHAT_IS_THERE: &str = include_str!("schema.sql");

const PROCESSES: usize = 8;

#[idempotent(scope = "conversation", key = "args")]
async fn note(call: &ToolCall, order: String) -> Result<String, String> {
    Ok(format!("noted {order}"))
}

/// The schema of a ledger's address.
fn schema_of(address: &str) -> &str {
    let (_, schema) = address.split_once("search_path%3D").expect("a schema");
    schema.split(['&', '%']).next().expect("its name")
}

fn ask(cluster: &Cluster, address: &str, question: &str) -> String {
    let said = cluster.ask(&format!("set search_path = {}; {question}", schema_of(address)));
    said.expect("an answer").trim().to_owned()
}

/// Compares with the checked-in file; `IDEM_BLESS=1` writes it anew.
fn check(cluster: &Cluster, address: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/postgres_schema.txt");
    let now = ask(cluster, address, WHAT_IS_THERE) + "\n";
    if std::env::var_os("IDEM_BLESS").is_some() {
        std::fs::write(&path, &now).expect("write the file");
    }
    let then = std::fs::read_to_string(&path).expect("the checked-in schema");
    assert!(then == now, "the schema differs from tests/golden/postgres_schema.txt; it is now:\n{now}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_ledger_has_the_schema_that_is_checked_in() {
    let cluster = Cluster::start().expect("a server");
    let address = cluster.ledger().expect("a schema") + "&idem_partitions=2";
    PostgresStore::open(&address).await.expect("a ledger");
    check(&cluster, &address);
    // What is there already is left alone.
    PostgresStore::open(&address).await.expect("the same ledger");
    check(&cluster, &address);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_count_of_partitions_is_chosen_when_a_ledger_is_made() {
    const COUNT: &str = "select count(*) from pg_inherits where inhparent = 'idem_operations'::regclass";
    let cluster = Cluster::start().expect("a server");
    let usual = cluster.ledger().expect("a schema");
    PostgresStore::open(&usual).await.expect("a ledger");
    assert_eq!(ask(&cluster, &usual, COUNT), "4");

    let address = cluster.ledger().expect("a schema");
    let idem = Idem::open(&format!("{address}&idem_partitions=3")).await.expect("a ledger");
    assert_eq!(ask(&cluster, &address, COUNT), "3");
    let refused = PostgresStore::open(&format!("{address}&idem_partitions=5")).await.expect_err("another count");
    assert!(refused.to_string().contains("divided into 3 partitions, and the address asks for 5"), "{refused}");
    // Whoever names none takes what there is; batches go to many partitions at once, and find what they wrote.
    let other = Idem::open(&address).await.expect("the same ledger");
    for (idem, replays) in [(&idem, false), (&other, true)] {
        let mut calls = JoinSet::new();
        for tenant in 0..12 {
            let call = idem.call().tenant(format!("tenant {tenant}")).conversation("c").turn(1).tool_call_id("call_1");
            calls.spawn(async move { note_outcome(&call, "A-1".to_owned()).await });
        }
        for told in calls.join_all().await {
            assert_eq!(told.is_replay(), replays);
            assert_eq!(told.value().map(String::as_str), Some("noted A-1"));
        }
    }
    let used = ask(&cluster, &address, "select count(distinct tableoid), count(*) from idem_operations");
    assert_eq!(used, "3|12");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_processes_make_one_ledger_whatever_the_level_of_the_server() {
    let cluster = Cluster::start().expect("a server");
    for level in ["read committed", "repeatable read", "serializable"] {
        let address: Arc<str> = format!(
            "{}%20-cdefault_transaction_isolation%3D{}&idem_partitions=2",
            cluster.ledger().expect("a schema"),
            level.replace(' ', "%5C%20")
        )
        .into();
        let barrier = Arc::new(Barrier::new(PROCESSES));
        let mut processes = JoinSet::new();
        for _ in 0..PROCESSES {
            let (address, barrier) = (Arc::clone(&address), Arc::clone(&barrier));
            processes.spawn(async move {
                barrier.wait().await;
                PostgresStore::open(&address).await.map(drop)
            });
        }
        for opened in processes.join_all().await {
            opened.unwrap_or_else(|error| panic!("at {level}: {error}"));
        }
        assert_eq!(ask(&cluster, &address, "select version, name from idem_migrations"), "1|schema");
        check(&cluster, &address);
    }
}
