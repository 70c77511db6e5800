//! What nearly every batch is goes to the server in one message, which looks at nothing first; what only seems so goes the long
//! way, and doubles nothing.

use std::fs;

use idem_runtime::{Idem, Refusal, ToolCall, idempotent, testing::postgres::Cluster};
use idem_tests::world::{World, config};

/// More new calls than a process reads for before it takes new ones for the rule.
const CALLS: u64 = 100;

#[idempotent(scope = "conversation", key = "args")]
async fn order(call: &ToolCall, #[idem(state)] world: World, what: String) -> Result<String, Refusal> {
    world.effect(&what);
    Ok(format!("a secret about {what}"))
}

/// A process that remembers no answers.
async fn process(address: &str) -> Idem {
    Idem::builder().config(config(|config| config.cache_bytes = 0)).open(address).await.expect("a ledger")
}

async fn orders(idem: &Idem, world: &World, process: &str, what: impl Fn(u64) -> String) {
    for turn in 0..CALLS {
        let call = idem.call().tenant("acme").conversation("c").turn(turn).tool_call_id(format!("{process}-{turn}"));
        let told = order(&call, world.clone(), what(turn)).await.expect("ordered");
        assert_eq!(told, format!("a secret about {}", what(turn)));
    }
}

/// The server was called upon to do this so often. Every ledger has been closed: its connections tell when they end, and older
/// servers believe it a little later.
pub(super) fn assert_called(cluster: &Cluster, function: &str, times: u64) {
    wait_for_the_last(cluster);
    let told =
        format!("select coalesce(sum(calls), 0)::bigint from pg_stat_user_functions where funcname = '{function}'");
    cluster.until(&told, &times.to_string()).expect("statistics");
}

/// Until no ledger has a connection any more.
pub(super) fn wait_for_the_last(cluster: &Cluster) {
    cluster.until("select count(*) from pg_stat_activity where application_name = 'idem'", "0").expect("gone");
}

#[tokio::test]
async fn a_new_call_and_its_success_are_a_message_each_that_looks_at_nothing() {
    let cluster = Cluster::own_with(&[("track_functions", "pl")]).expect("a server");
    let (address, world) = (cluster.ledger().expect("a schema"), World::default());
    let idem = process(&address).await;
    orders(&idem, &world, "first", |turn| format!("order {turn}")).await;
    drop(idem);
    assert_eq!(world.effects().len() as u64, CALLS);
    assert_called(&cluster, "idem_straight_new", CALLS);
    assert_called(&cluster, "idem_straight_ended", CALLS);
    for function in ["idem_hold", "idem_intern", "idem_take", "idem_create", "idem_move", "idem_tell"] {
        assert_called(&cluster, function, 0);
    }
}

#[tokio::test]
async fn what_only_seems_new_goes_the_long_way_and_no_word_of_it_into_the_servers_log() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("may be written");
    let log = folder.path().join("log");
    let place = folder.path().to_str().expect("a path");
    let settings =
        [("track_functions", "pl"), ("logging_collector", "on"), ("log_directory", place), ("log_filename", "log")];
    let cluster = Cluster::own_with(&settings).expect("a server");
    let (address, world) = (cluster.ledger().expect("a schema"), World::default());
    let (first, second) = (process(&address).await, process(&address).await);
    orders(&first, &world, "first", |turn| format!("order {turn}")).await;
    // By now it takes every call for a new one.
    orders(&second, &world, "second", |turn| format!("another {turn}")).await;
    orders(&second, &world, "third", |turn| format!("order {turn}")).await;
    drop((first, second));
    wait_for_the_last(&cluster);
    let held = "select coalesce(sum(calls), 0) > 0 from pg_stat_user_functions where funcname = 'idem_hold'";
    cluster.until(held, "t").expect("statistics");
    assert_eq!(world.effects().len() as u64, 2 * CALLS);
    cluster.say("select 1 / 0").expect_err("a mistake, so that there is a line");
    let log = fs::read_to_string(log).expect("a log");
    assert!(log.contains("division by zero"), "{log}");
    assert!(!log.contains("secret") && !log.contains("736563726574"), "{log}");
}
