//! Settings of the server's own that must not change what the ledger promises.

use idem_runtime::{Idem, ToolCall, idempotent, testing::postgres::Cluster};

#[idempotent(scope = "conversation", key = "args")]
async fn pay(call: &ToolCall, order: String) -> Result<String, String> {
    Ok(format!("paid {order}"))
}

fn call(idem: &Idem, id: &str) -> ToolCall {
    idem.call().tenant("acme").conversation("c").turn(1).tool_call_id(id)
}

/// Where a timer ends the wait for a standby, the server says `COMMIT` all the same, with a warning that drivers do not show.
#[tokio::test(flavor = "multi_thread")]
async fn no_timer_of_the_server_ends_the_wait_for_a_standby() {
    let primary = Cluster::own().expect("a server");
    let standby = primary.standby("follower").expect("a standby");
    let idem = Idem::open(&primary.ledger().expect("a schema")).await.expect("a ledger");
    primary.wait_for_standby("follower").expect("a standby that commits wait for");
    pay(&call(&idem, "call_1"), "A-1".to_owned()).await.expect("paid");
    primary.set("statement_timeout", "300ms").expect("a setting");
    standby.stop().expect("stopped");
    let second = call(&idem, "call_2");
    let paying = tokio::spawn(async move { pay(&second, "A-2".to_owned()).await });
    let waits = "set statement_timeout = 0; select count(*) from pg_stat_activity \
                 where application_name = 'idem' and wait_event = 'SyncRep' \
                 and clock_timestamp() - query_start > interval '1500 ms'";
    let primary = tokio::task::spawn_blocking(move || {
        primary.until(waits, "1").expect("a reservation that still waits");
        primary
    });
    let primary = primary.await.expect("no panic");
    assert!(!paying.is_finished(), "nobody confirmed it");
    standby.start_again().expect("started again");
    assert_eq!(paying.await.expect("no panic").expect("paid"), "paid A-2");
    drop(primary);
}
