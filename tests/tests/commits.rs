//! How many durable commits a call costs, counted in SQLite's write-ahead log itself.
//!
//! A frame of the log whose header names the database's size ends a transaction. The log is grown in advance, so what
//! stands behind its last frame are zeros, or frames of an earlier round with other salts.

use std::{
    fs,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Waker},
    time::Duration,
};

use idem_runtime::{Config, Idem, InlineCommit, Outcome, Refusal, RefusalKind, Tenant, ToolCall, idempotent};
use idem_tests::timing::{Gate, until};
use rusqlite::Connection;

const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The commits in the log of a database.
fn commits(database: &Path) -> usize {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    let bytes = fs::read(PathBuf::from(log)).expect("a log");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    if bytes.len() < LOG_HEADER {
        return 0;
    }
    // Started over, the log would begin to count anew.
    assert_eq!(number(12), 0, "the log was started over");
    let (page_bytes, salts) = (number(8) as usize, [number(16), number(20)]);
    let frames = (LOG_HEADER..).step_by(FRAME_HEADER + page_bytes);
    let written = frames
        .take_while(|at| at + FRAME_HEADER + page_bytes <= bytes.len())
        .take_while(|at| number(*at) != 0 && [number(at + 8), number(at + 12)] == salts);
    written.filter(|at| number(at + 4) != 0).count()
}

/// Counts effects in this process: nothing here is killed.
type Effects = Arc<AtomicU32>;

/// Refunds an order; "later" is an order that the bank does not know yet, "never" one that it refuses.
#[idempotent(scope = "tenant", key = "args(order)", classify = class)]
async fn refund(_call: &ToolCall, order: String, cents: u64, #[idem(state)] effects: Effects) -> Result<u64, Failure> {
    match order.as_str() {
        "later" => Err(Failure::Later),
        "never" => Err(Failure::Never),
        "lost" => Err(Failure::Lost),
        _ => {
            effects.fetch_add(1, Ordering::SeqCst);
            Ok(cents)
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("the bank does not know it yet")]
    Later,
    #[error("the bank refuses it")]
    Never,
    #[error("the bank did not answer")]
    Lost,
}

fn class(failure: &Failure) -> idem_runtime::ErrorClass {
    match failure {
        Failure::Later => idem_runtime::ErrorClass::Retryable,
        Failure::Never => idem_runtime::ErrorClass::Final,
        Failure::Refused(_) | Failure::Lost => idem_runtime::ErrorClass::Unknown,
    }
}

/// A ledger that writes put-off counts only along with something else.
async fn open(database: &Path, inline_commit: InlineCommit) -> Idem {
    let mut config = Config::default();
    config.inline_commit = inline_commit;
    config.tally_every = Duration::from_hours(1);
    Idem::builder().config(config).open(&format!("sqlite://{}", database.display())).await.expect("a ledger")
}

async fn two_a_fresh_effect_and_none_a_repeat(inline_commit: InlineCommit) {
    const FRESH: u32 = 20;
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("idem.db");
    let idem = open(&database, inline_commit).await;
    let effects = Effects::default();
    let call = idem.call().tenant("acme");
    let mut before = commits(&database);
    let mut cost = |what: &str, should_be: usize| {
        let now = commits(&database);
        assert_eq!(now - before, should_be, "commits for {what}");
        before = now;
    };
    for at in 0..FRESH {
        let outcome = refund_outcome(&call, format!("A-{at}"), 5, effects.clone()).await;
        assert!(outcome.value().is_some() && !outcome.is_replay(), "{outcome:?}");
        cost("a fresh effect", 2);
    }
    for (order, kind) in
        [("later", RefusalKind::FailedRetryable), ("never", RefusalKind::FailedFinal), ("lost", RefusalKind::Unknown)]
    {
        let outcome = refund_outcome(&call, order.to_owned(), 5, effects.clone()).await;
        assert!(matches!(&outcome, Outcome::Refused(refusal) if *refusal.kind() == kind), "{outcome:?}");
        cost("an attempt without success", 2);
    }
    for at in 0..FRESH {
        let outcome = refund_outcome(&call, format!("A-{at}"), 5, effects.clone()).await;
        assert!(outcome.is_replay(), "{outcome:?}");
    }
    cost("replays from memory", 0);
    let refused = refund_outcome(&call, "A-0".to_owned(), 6, effects.clone()).await;
    assert!(matches!(&refused, Outcome::Refused(refusal) if matches!(refusal.kind(), RefusalKind::Drift { .. })));
    let unknown = refund_outcome(&call, "lost".to_owned(), 5, effects.clone()).await;
    assert!(matches!(&unknown, Outcome::Refused(refusal) if *refusal.kind() == RefusalKind::Unknown), "{unknown:?}");
    cost("a drift and an unknown outcome", 0);
    // What was put off is written with the next settlement, not beside it.
    refund_outcome(&call, "B".to_owned(), 5, effects.clone()).await.into_result().expect("a refund");
    cost("a fresh effect together with counts", 2);
    let drifted = idem.drifted(&Tenant::new("acme").expect("a name"), 10).await.expect("a list");
    assert_eq!(drifted.iter().map(|drifted| drifted.count).sum::<u64>(), 1, "{drifted:?}");
    // Another process of the same file: it has no cache, and reads.
    let other = open(&database, inline_commit).await;
    for at in 0..FRESH {
        let outcome = refund_outcome(&other.call().tenant("acme"), format!("A-{at}"), 5, effects.clone()).await;
        assert!(outcome.is_replay(), "{outcome:?}");
    }
    cost("replays from the file", 0);
    assert_eq!(effects.load(Ordering::SeqCst), FRESH + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_commits_a_fresh_effect_and_none_a_repeat_on_the_callers_thread() {
    two_a_fresh_effect_and_none_a_repeat(InlineCommit::WhenIdle).await;
}

#[tokio::test]
async fn two_commits_a_fresh_effect_and_none_a_repeat_on_the_ledgers_thread() {
    two_a_fresh_effect_and_none_a_repeat(InlineCommit::Never).await;
}

/// A call that is under way until it is let go.
#[idempotent(scope = "tenant", key = "args(order)", classify = class)]
async fn stay(_call: &ToolCall, order: String, #[idem(state)] gate: Gate) -> Result<usize, Failure> {
    gate.pass().await;
    Ok(order.len())
}

/// Polls each call once, while somebody else holds the file's write lock: so what they send waits together.
fn send_together<F: Future>(lock: &Connection, calls: &mut [Pin<Box<F>>]) {
    lock.execute_batch("begin immediate").expect("the lock");
    for call in calls {
        let sent = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(sent.is_pending(), "it waits for its commit");
    }
    lock.execute_batch("rollback").expect("let go");
}

/// So many operations are in this state, or soon will be.
async fn are(lock: &Connection, state: &str, many: u32) {
    let count =
        || lock.query_one("select count(*) from idem_operations where state = ?1", [state], |row| row.get::<_, u32>(0));
    until(state, async || (count().expect("a count") == many).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_wait_together_commit_together() {
    const CALLERS: u32 = 64;
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("idem.db");
    let idem = open(&database, InlineCommit::WhenIdle).await;
    let lock = Connection::open(&database).expect("the ledger's file");
    // With another call under way nobody commits alone, on a thread of the caller's.
    let gate = Gate::new();
    let other = tokio::spawn({
        let (call, gate) = (idem.call().tenant("acme"), gate.clone());
        async move { stay_outcome(&call, "other".to_owned(), gate).await }
    });
    gate.arrived().await;
    let (effects, call, before) = (Effects::default(), idem.call().tenant("acme"), commits(&database));
    let calls = (0..CALLERS).map(|at| Box::pin(refund_outcome(&call, format!("A-{at}"), 5, effects.clone())));
    let mut calls: Vec<_> = calls.collect();
    // Of what waits together the thread may have taken some before the rest came.
    send_together(&lock, &mut calls);
    are(&lock, "in_progress", CALLERS + 1).await;
    let reserved = commits(&database) - before;
    send_together(&lock, &mut calls);
    are(&lock, "succeeded", CALLERS).await;
    let settled = commits(&database) - before - reserved;
    eprintln!("{CALLERS} calls at once: {reserved} commits to reserve, {settled} to settle");
    assert!((1..=2).contains(&reserved) && (1..=2).contains(&settled), "{reserved} and {settled}");
    for call in calls {
        let outcome = call.await;
        assert!(outcome.value().is_some() && !outcome.is_replay(), "{outcome:?}");
    }
    assert_eq!(effects.load(Ordering::SeqCst), CALLERS);
    gate.open();
    other.await.expect("no panic").into_result().expect("let go");
}

/// The control arm: what the counter makes of transactions that are known.
#[test]
fn the_counter_counts_what_sqlite_commits() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("known.db");
    let mut db = Connection::open(&database).expect("a database");
    db.pragma_update(None, "journal_mode", "wal").expect("a log");
    db.execute_batch("create table t (x blob)").expect("a table");
    let before = commits(&database);
    for at in 0..3 {
        // Large enough for many frames.
        db.execute("insert into t values (randomblob(100000))", []).expect("a row");
        assert_eq!(commits(&database) - before, at + 1);
    }
    let rolled_back = db.transaction().expect("a transaction");
    rolled_back.execute("insert into t values (1)", []).expect("a row");
    rolled_back.rollback().expect("nothing");
    let together = db.transaction().expect("a transaction");
    for _ in 0..10 {
        together.execute("insert into t values (1)", []).expect("a row");
    }
    together.commit().expect("a commit");
    assert_eq!(commits(&database) - before, 4);
}
