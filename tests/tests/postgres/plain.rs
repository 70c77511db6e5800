//! What plain batches leave behind: the same as their commands one by one, without a look at what they are not about.

use std::{sync::Arc, time::Duration};

use idem_runtime::{
    __private::AfterRetention,
    Clock as _, PostgresStore, Principal, Source, SystemClock, Tenant, Timestamp,
    ledger::{
        Command, Ending, Grant, Identity, Reply, Reserve, Reserved, Scope, Settle, Silent, Store as _, Stored,
        StoredKind, Tool,
    },
    testing::postgres::Cluster,
};
use idem_tests::wire::schema_of;

use super::straight::{assert_called, wait_for_the_last};

const RETAIN: Duration = Duration::from_hours(24);

/// 32 bytes that are of nothing else.
fn digest(kind: u8, number: u64) -> [u8; 32] {
    let mut digest = [kind; 32];
    // Not in the order of the numbers: whoever takes several takes them in the order of their digests.
    digest[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    digest
}

/// A call that differs from the next in everything that calls may differ in and stay plain.
fn reserve(number: u64) -> Command {
    let every = |nth: u64| number.is_multiple_of(nth);
    let identity = |source, kind| Identity { source, digest: digest(kind, number), generation: every(3).then_some(1) };
    let mut identities = vec![identity(Source::Args, 1)];
    if !every(5) {
        identities.push(identity(Source::ToolCallId, 2));
    }
    let conversation = number / 4;
    Command::Reserve(Arc::new(Reserve {
        tenant: Tenant::new(if every(2) { "acme" } else { "other" }).expect("a tenant"),
        principal: every(3).then(|| Principal::new(format!("it's \\me\0 {number}")).expect("a principal")),
        scope: Scope {
            kind: "conversation".into(),
            value: (!conversation.is_multiple_of(3)).then(|| format!("c'{conversation}\u{1a}").into()),
            digest: digest(3, conversation),
        },
        tool: Arc::new(Tool { name: format!("bank::{}", number % 3).into(), version: 1, params: "order;".into() }),
        identities,
        resumed: None,
        fingerprint: digest(4, number),
        parts: digest(5, number)[..8].into(),
        content: if every(4) { Vec::new().into() } else { digest(6, number)[..8].into() },
        window: None,
        after_retention: AfterRetention::Tell,
        lease: Duration::from_secs(30 + number),
        nonce: number.wrapping_mul(0xD134_2543_DE82_EF95) | 1,
        resend: None,
        paused: false,
        budget: None,
        retain: RETAIN * (1 + u32::from(every(6))),
        needs_reference: every(2),
        approval: every(9).then(|| "approved 'so'".into()),
        link: None,
        resources: Arc::default(),
        arguments: None,
    }))
}

fn settle(number: u64, grant: &Grant, ending: Ending) -> Command {
    let kind = if number.is_multiple_of(11) { StoredKind::NotHeld } else { StoredKind::Value };
    Command::Settle(Settle {
        tenant: Tenant::new(if number.is_multiple_of(2) { "acme" } else { "other" }).expect("a tenant"),
        row: grant.row,
        fence: grant.fence,
        attempt: grant.attempt,
        ending,
        reference: number.is_multiple_of(2).then(|| format!("ref'{number}\\").into()),
        stored: Some(Stored { kind, bytes: vec![b'"'; (number % 7) as usize].into() }),
        retain: RETAIN * (1 + u32::from(number.is_multiple_of(6))),
        pause: Duration::ZERO,
        budget: None,
        resources: Arc::default(),
        looks: true,
    })
}

/// Two processes in turn reserve and settle `calls`, in batches of `size`; each ends as `ending` says.
async fn carry_out(address: &str, calls: std::ops::Range<u64>, size: usize, ending: Ending, now: Timestamp) {
    let (mut store, mut other) = (open(address).await, open(address).await);
    let numbers: Vec<u64> = calls.collect();
    for numbers in numbers.chunks(size) {
        let reserves: Vec<Command> = numbers.iter().map(|number| reserve(*number)).collect();
        let replies = store.apply(&reserves, now).await.expect("reserved");
        let settles: Vec<Command> = numbers
            .iter()
            .zip(&replies)
            .map(|(number, reply)| match reply {
                Reply::Reserved(Reserved::Granted(grant)) => settle(*number, grant, ending),
                other => panic!("a new call is answered with {other:?}"),
            })
            .collect();
        store.apply(&settles, now.after(Duration::from_secs(1))).await.expect("settled");
        std::mem::swap(&mut store, &mut other);
    }
    store.close();
    other.close();
}

async fn open(address: &str) -> PostgresStore {
    PostgresStore::open(address).await.expect("a ledger")
}

/// Every row of the tables that plain batches write; of a scope its digest, because its number says only when it came.
fn rows(cluster: &Cluster, address: &str) -> Vec<String> {
    let schema = schema_of(address);
    let tables = ["operations", "identities", "results", "scopes", "tenants", "tools", "history", "aliases"];
    let rows_of = |table: &str| {
        let row = "(to_jsonb(t) - 'scope')::text || coalesce(s.digest::text, '')";
        let placed = matches!(table, "operations" | "identities");
        let of = if placed { "t.tenant = s.tenant and t.scope = s.scope" } else { "false" };
        let query = format!(
            "select string_agg({row}, e'\\n' order by {row})
             from {schema}.idem_{table} t left join {schema}.idem_scopes s on {of}"
        );
        let rows = cluster.ask(&query).expect("rows");
        rows.lines().map(|row| format!("{table}: {row}")).collect::<Vec<_>>()
    };
    tables.iter().flat_map(|table| rows_of(table)).collect()
}

#[tokio::test]
async fn a_plain_batch_leaves_what_its_commands_leave_one_by_one() {
    const CALLS: u64 = 48;
    let cluster = Cluster::own_with(&[("track_functions", "pl")]).expect("a server");
    let now = SystemClock::new().now();
    let mut left = Vec::new();
    for size in [1, 7, 23] {
        let address = cluster.ledger().expect("a schema");
        carry_out(&address, 0..CALLS, size, Ending::Ok, now).await;
        left.push(rows(&cluster, &address));
    }
    let [one_by_one, by_seven, by_many] = left.as_slice() else { panic!("three ledgers") };
    assert_eq!(one_by_one.iter().filter(|row| row.contains("succeeded")).count() as u64, CALLS);
    for batched in [by_seven, by_many] {
        assert_eq!(batched.len(), one_by_one.len());
        for (batched, alone) in batched.iter().zip(one_by_one) {
            assert_eq!(batched, alone);
        }
    }
    let batches = 2 * (CALLS.div_ceil(7) + CALLS.div_ceil(23));
    assert_called(&cluster, "idem_straight", batches);
    assert_called(&cluster, "idem_straight_new", CALLS);
    assert_called(&cluster, "idem_straight_ended", CALLS);
    assert_called(&cluster, "idem_create", 0);
    assert_called(&cluster, "idem_move", 0);
}

#[tokio::test]
async fn a_success_whose_attempt_was_given_up_meanwhile_goes_the_long_way() {
    let cluster = Cluster::start().expect("a server");
    let now = SystemClock::new().now();
    let later = now.after(Duration::from_mins(5));
    for numbers in [vec![0], vec![2, 4]] {
        // Each in a process whose batches have not gone the long way before.
        let address = cluster.ledger().expect("a schema");
        let (mut store, mut other) = (open(&address).await, open(&address).await);
        let reserves: Vec<Command> = numbers.iter().map(|number| reserve(*number)).collect();
        let granted = store.apply(&reserves, now).await.expect("reserved").into_iter().map(|reply| match reply {
            Reply::Reserved(Reserved::Granted(grant)) => grant,
            other => panic!("a new call is answered with {other:?}"),
        });
        let grants: Vec<Grant> = granted.collect();
        let tenant = Tenant::new("acme").expect("a tenant");
        let silent = |grant: &Grant| Silent { tenant: tenant.clone(), row: grant.row, version: 1 };
        let given_up = other.apply(&[Command::EndLeases(grants.iter().map(silent).collect())], later).await;
        let moved = numbers.len() as u64;
        assert!(matches!(given_up.expect("given up").as_slice(), [Reply::LeasesEnded(ended)] if *ended == moved));
        let settles: Vec<Command> =
            numbers.iter().zip(&grants).map(|(number, grant)| settle(*number, grant, Ending::Ok)).collect();
        store.apply(&settles, later).await.expect("settled");
        let schema = schema_of(&address);
        let moved_again = format!("select count(*) from {schema}.idem_operations where version = 3");
        assert_eq!(cluster.ask(&moved_again).expect("a count"), moved.to_string(), "after who gave them up");
    }
}

/// `ending` says which way settlements go.
async fn is_not_walked_through(ending: Ending) {
    const CALLS: u64 = 800;
    let cluster = Cluster::own_with(&[("autovacuum", "off")]).expect("a server");
    let (address, now) = (cluster.ledger().expect("a schema"), SystemClock::new().now());
    drop(open(&address).await);
    // From here on a planner knows that there is nothing, and what it plans is kept.
    cluster.say("vacuum analyze").expect("looked over");
    carry_out(&address, 0..CALLS, 8, ending, now).await;
    let sum = |of: &str| {
        let schema = schema_of(&address);
        format!(
            "select {of} from pg_stat_user_indexes
             where schemaname = '{schema}' and relname ~ '^idem_(operations|identities|scopes)'"
        )
    };
    wait_for_the_last(&cluster);
    // A settlement looks up its record at least.
    cluster.until(&sum(&format!("sum(idx_tup_read) >= {CALLS}")), "t").expect("statistics");
    let read: u64 = cluster.ask(&sum("sum(idx_tup_read)::bigint")).expect("statistics").parse().expect("a number");
    assert!(read < 10 * CALLS, "{read} entries of indexes were read for {CALLS} calls");
}

#[tokio::test]
async fn a_ledger_that_was_empty_when_it_was_looked_over_is_not_walked_through_later() {
    is_not_walked_through(Ending::Ok).await;
}

#[tokio::test]
async fn nor_is_it_where_batches_go_the_long_way() {
    is_not_walked_through(Ending::Final).await;
}
