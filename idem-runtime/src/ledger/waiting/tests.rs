//! Time passes at once in these tests, as far as anybody waits for it.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::task::JoinSet;

use super::*;
use crate::{
    clock::Timestamp,
    id::{OperationId, Tenant},
    identity::{Identity, Scope, Source, Tool},
    ledger::{BoxFuture, Detail, Drifted, Listing, Record, StoreError, Sweep, Swept},
    tool::AfterRetention,
};

/// Finds nothing, and keeps how many questions came together, each time.
#[derive(Debug, Default)]
struct Counting {
    together: Mutex<Vec<usize>>,
    alone: AtomicUsize,
}

impl Counting {
    fn together(&self) -> Vec<usize> {
        self.together.lock().expect("no panic").clone()
    }
}

impl Reader for Counting {
    fn find<'a>(&'a self, find: Find<'a>) -> BoxFuture<'a, Found> {
        self.alone.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { Ok(vec![None; find.identities.len()]) })
    }

    fn find_all<'a>(&'a self, finds: &'a [Find<'a>]) -> BoxFuture<'a, Vec<Found>> {
        Box::pin(async move {
            self.together.lock().expect("no panic").push(finds.len());
            // It takes a moment.
            tokio::task::yield_now().await;
            finds.iter().map(|find| Ok(vec![None; find.identities.len()])).collect()
        })
    }

    fn show<'a>(&'a self, _: &'a Tenant, _: OperationId) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        unreachable!("nobody is shown anything")
    }

    fn drifted<'a>(&'a self, _: &'a Tenant, _: u32) -> BoxFuture<'a, Result<Vec<Drifted>, StoreError>> {
        unreachable!("nobody asks for drifts")
    }

    fn detail<'a>(&'a self, _: &'a Tenant, _: OperationId) -> BoxFuture<'a, Result<Option<Detail>, StoreError>> {
        unreachable!("nobody asks for details")
    }

    fn list<'a>(&'a self, _: &'a Tenant, _: &'a Listing) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        unreachable!("nobody lists")
    }

    fn sweep<'a>(&'a self, _: &'a Sweep, _: Timestamp) -> BoxFuture<'a, Result<Swept, StoreError>> {
        unreachable!("nobody sweeps")
    }
}

/// A call with so many identities.
fn call(identities: u8) -> Arc<Reserve> {
    let identity = |nth| Identity { source: Source::Args, digest: [nth; 32], generation: None };
    Arc::new(Reserve {
        tenant: Tenant::new("acme").expect("a tenant"),
        principal: None,
        scope: Scope { kind: "conversation".into(), value: None, digest: [0; 32] },
        tool: Arc::new(Tool { name: "bank::send".into(), version: 1, params: "".into() }),
        identities: (0..identities).map(identity).collect(),
        resumed: None,
        fingerprint: [0; 32],
        parts: Arc::default(),
        content: Arc::default(),
        window: None,
        after_retention: AfterRetention::Tell,
        lease: Duration::from_secs(30),
        nonce: 0,
        resend: None,
        paused: false,
        budget: None,
        retain: Duration::from_secs(1),
        needs_reference: false,
        approval: None,
        link: None,
        resources: Arc::default(),
        arguments: None,
    })
}

struct Stage {
    waiting: Arc<Waiting>,
    counting: Arc<Counting>,
}

impl Stage {
    fn new() -> Self {
        Self { waiting: Arc::new(Waiting::new()), counting: Arc::default() }
    }

    /// Waits once, and says how many answers there were.
    fn wait(&self, pause: Pause, identities: u8) -> impl Future<Output = usize> + Send + use<> {
        let (waiting, reader) = (Arc::clone(&self.waiting), Arc::<Counting>::clone(&self.counting) as Arc<dyn Reader>);
        async move { waiting.find(&reader, &call(identities), pause).await.expect("an answer").len() }
    }

    /// The ticks that have passed.
    fn ticks(&self) -> u128 {
        self.waiting.began.elapsed().as_nanos() / TICK.as_nanos()
    }
}

#[tokio::test(start_paused = true)]
async fn one_query_serves_all_who_wait() {
    let stage = Stage::new();
    let waiters: JoinSet<usize> = (0..64).map(|nth| stage.wait(Pause::FIRST, nth)).collect();
    let mut answers = waiters.join_all().await;
    answers.sort_unstable();
    assert_eq!(answers, (0..64).collect::<Vec<_>>(), "each has its own answer");
    assert_eq!(stage.counting.together(), [64]);
    assert_eq!(stage.counting.alone.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn whoever_came_when_there_is_one_query_a_tick() {
    let stage = Stage::new();
    let mut waiters = JoinSet::new();
    for _ in 0..40 {
        // Each comes at another instant, and has waited for another time.
        tokio::time::advance(Duration::from_millis(3)).await;
        let [first, second, third] = [0, 3, 9].map(|rounds| (0..rounds).fold(Pause::FIRST, |pause, _| pause.longer()));
        let (first, second, third) = (stage.wait(first, 1), stage.wait(second, 1), stage.wait(third, 1));
        waiters.spawn(async move { first.await + second.await + third.await });
    }
    assert_eq!(waiters.join_all().await, [3; 40]);
    let together = stage.counting.together();
    assert_eq!(together.iter().sum::<usize>(), 120, "each question was asked once");
    // 24 ticks in which they come, each of the short pauses ends at one of them or of the 8 after; the long ones at two.
    assert!(together.len() <= 24 + 5 + 2, "{together:?}");
    assert!(stage.ticks() <= 192, "nobody waited for longer than their pauses");
}

#[tokio::test(start_paused = true)]
async fn long_pauses_end_together() {
    let stage = Stage::new();
    let mut waiters = JoinSet::new();
    for _ in 0..40 {
        tokio::time::advance(Duration::from_millis(7)).await;
        waiters.spawn(stage.wait(Pause::LONGEST, 1));
    }
    waiters.join_all().await;
    assert_eq!(stage.counting.together(), [40]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_vanishes_leaves_the_others_their_answers() {
    let stage = Stage::new();
    let mut first = Box::pin(stage.wait(Pause::FIRST, 1));
    assert!(tokio::time::timeout(Duration::ZERO, &mut first).await.is_err(), "it waits");
    let others: JoinSet<usize> = (0..3).map(|_| stage.wait(Pause::FIRST, 1)).collect();
    drop(first);
    assert_eq!(others.join_all().await, [1; 3]);
    assert_eq!(stage.counting.together(), [3], "nobody asks for whoever is gone");
}

/// The one whose runtime ends has taken the question of the other with it.
#[test]
fn a_runtime_that_ends_leaves_the_others_their_answers() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let stage = Stage::new();
    let (ends, stays) = (runtime(), runtime());
    let mut other = Box::pin(stage.wait(Pause::FIRST, 1));
    stays.block_on(async { assert!(tokio::time::timeout(Duration::ZERO, &mut other).await.is_err(), "it waits") });
    // Both are due at the next tick; it passes in here, and the question is asked by a task that never runs.
    ends.block_on(async {
        let one = stage.wait(Pause::FIRST, 1);
        tokio::pin!(one);
        std::future::poll_fn(|context| {
            let _ = one.as_mut().poll(context);
            let taken = stage.waiting.due.lock().expect("no panic").is_empty();
            if taken { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    });
    drop(ends);
    assert_eq!(stays.block_on(other), 1);
}

#[test]
fn pauses_grow_to_the_longest_and_end_on_ticks_of_their_own() {
    let mut pause = Pause::FIRST;
    let mut lengths = Vec::new();
    for _ in 0..8 {
        lengths.push(pause.at_most().as_millis());
        pause = pause.longer();
    }
    assert_eq!(lengths, [5, 10, 20, 40, 80, 160, 320, 320]);
    let longest = Pause::LONGEST;
    let ends: BTreeSet<u64> = (0..640).map(|ms| longest.ends(Duration::from_millis(ms))).collect();
    assert_eq!(ends, BTreeSet::from([64, 128]));
    for begins in (0..2_000).map(|nth| Duration::from_micros(nth * 997)) {
        for pause in [Pause::FIRST, Pause::FIRST.longer(), longest] {
            let ends = TICK * u32::try_from(pause.ends(begins)).expect("few");
            assert!(ends > begins && ends <= begins + pause.at_most(), "{pause:?} from {begins:?} to {ends:?}");
        }
    }
}
