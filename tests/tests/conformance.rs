//! The conformance suite, over every store, and over stores that each break one promise.
//!
//! It must not know how a store keeps its records. The broken stores are the control arm: each is an honest one behind a
//! decorator that changes one thing, and the suite has to say which.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use decorated::{Change, Decorated};
use idem_runtime::{
    MemoryStore, Refusal, RefusalKind, ToolCall, idempotent,
    ledger::Store,
    testing::conformance::{self, CHECKS},
};
use idem_tests::{
    home::{Home, Place},
    store::AnyStore,
    world::lasting,
};
#[cfg(feature = "postgres")]
use in_turn::InTurn;

#[path = "conformance/decorated.rs"]
mod decorated;
#[cfg(feature = "postgres")]
#[path = "conformance/in_turn.rs"]
mod in_turn;

/// A seed that is another one in each run; it is printed, and `IDEM_SEED` gives it again.
fn seed() -> u64 {
    let given = std::env::var("IDEM_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    let seed = given.unwrap_or(u64::from(now));
    eprintln!("IDEM_SEED={seed}");
    seed
}

async fn check<S: Store>(open: impl AsyncFn() -> S) {
    if let Err(failures) = conformance::run(seed(), open).await {
        panic!("{failures}");
    }
}

/// Stores in new homes of one kind, each of which outlives its store.
struct Homes {
    place: Place,
    opened: Mutex<Vec<Home>>,
}

impl Homes {
    fn of(place: Place) -> Self {
        Self { place, opened: Mutex::default() }
    }

    async fn open(&self) -> AnyStore {
        let Some(home) = self.place.home() else { return AnyStore::at("memory:").await };
        let store = home.store().await;
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).push(home);
        store
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_memory_store_conforms() {
    check(async || MemoryStore::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sqlite_store_conforms() {
    let homes = Homes::of(Place::File);
    check(async || homes.open().await).await;
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn the_postgres_store_conforms() {
    check_on_a_server(|home| async move { home.store().await }).await;
}

/// What a process takes for granted another one has changed meanwhile; and none knows that its last batch was not plain.
#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn the_postgres_store_conforms_whichever_process_a_batch_comes_by() {
    check_on_a_server(|home| async move { InTurn::of([home.store().await, home.store().await]) }).await;
}

/// The list on a server, several checks at once: what they wait for is its disk. Each has a ledger of its own.
#[cfg(feature = "postgres")]
async fn check_on_a_server<S: Store, Opened: Future<Output = S> + Send>(
    open: impl Fn(Arc<Home>) -> Opened + Copy + Send + 'static,
) {
    let (seed, next) = (seed(), Arc::new(AtomicU32::new(0)));
    let mut lanes = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let next = Arc::clone(&next);
        lanes.spawn(async move {
            let mut wrong = Vec::new();
            while let Some(check) = CHECKS.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                let home = Arc::new(Place::Server.home().expect("a home"));
                let ran = check.run(seed, open(Arc::clone(&home)).await).await;
                wrong.extend(ran.err().map(|failures| failures.to_string()));
            }
            wrong
        });
    }
    let wrong = lanes.join_all().await.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decorator_that_changes_nothing_conforms() {
    check(async || Decorated::new(MemoryStore::new(), Change::Nothing)).await;
    let homes = Homes::of(Place::File);
    check(async || Decorated::new(homes.open().await, Change::Nothing)).await;
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn a_decorator_that_changes_nothing_conforms_on_a_server() {
    check_on_a_server(|home| async move { Decorated::new(home.store().await, Change::Nothing) }).await;
}

/// Each broken promise, and a check that has to notice it.
const BROKEN: &[(Change, &str)] = &[
    (Change::NoFence, "an older holder changes nothing, though the clock stands still"),
    (Change::NoTenant, "another tenant sees nothing"),
    (Change::Lax, "a lease that ended leads to unknown, at its instant and only there"),
    (Change::Lax, "equal arguments mean a finished operation until the window ends"),
    (Change::Lax, "a record answers with its result until retention ends"),
    (Change::Strict, "a lease that ended leads to unknown, at its instant and only there"),
    (Change::Strict, "equal arguments mean a finished operation until the window ends"),
    (Change::Strict, "a record answers with its result until retention ends"),
    (Change::Millis, "a record answers with its result until retention ends"),
    (Change::SilenceFrees, "a lease that ended leads to unknown, at its instant and only there"),
    (Change::EagerPurge, "a purge removes results, then tombstones, at their instants"),
    (Change::NoPurge, "a purge goes on where it stopped"),
    (Change::BackToFront, "a batch keeps its order"),
    (Change::OneByOne, "a reader sees no half of a batch"),
    (Change::NoTally, "counts of drifts add up and are listed, newest first"),
    (Change::ArgumentsOnly, "identities that lead to two operations are refused"),
    (Change::NoFingerprint, "drift names the parameters that differ"),
    (Change::SameFence, "fencing tokens ascend, also after a purge"),
    (Change::NoRenewal, "a renewal extends the lease and tells which are lost"),
    (Change::NoResults, "late success settles an unknown outcome"),
    (Change::NoTenant, "another tenant finds out nothing"),
    (Change::NoTenant, "another tenant's person decides nothing"),
    (Change::AnyVersion, "a decision counts on the version that was seen"),
    (Change::AnyVersion, "finding out begins where the outcome is unknown"),
    (Change::AnyVerdict, "a stale verdict is evidence"),
    (Change::LongWindow, "the key's usable window ends at its instant"),
    (Change::Lax, "the key's usable window ends at its instant"),
    (Change::Strict, "the key's usable window ends at its instant"),
    (Change::NoDoubt, "in doubt, no effect of a later attempt proves nothing"),
    (Change::NoDoubt, "in doubt, late proof is kept"),
    (Change::NewEvents, "each event is weighed once"),
    (Change::SameToken, "tokens of attempts and of finding out are one ascending row, also after a purge"),
    (Change::NoNonce, "a reservation that is sent again gets the same attempt"),
    (Change::OneNonce, "a reservation that is sent again gets the same attempt"),
    (Change::NoBudget, "attempts end with the budget, and the last error is kept"),
    (Change::NoBudget, "every proof of no effect finds the budget"),
    (Change::Lax, "the budget's deadline ends attempts at its instant"),
    (Change::Strict, "the budget's deadline ends attempts at its instant"),
    (Change::NoReference, "success without the required reference is unknown"),
    (Change::NoReference, "without the required reference evidence proves nothing"),
    (Change::NoResources, "after another success on its resource equal arguments are a new operation"),
    (Change::NoLinks, "links are shown both ways"),
    (Change::NoArguments, "identities, scope and arguments are told to their tenant"),
    (Change::NoPatience, "what nobody could tell is asked about again, and not too soon"),
    (Change::NoPerson, "a person is asked when answers or passes run out, unless callers can go on"),
    (Change::NoActor, "who decided, and why, is kept"),
    (Change::Overlapping, "pages have no gaps and no doubles"),
    (Change::OnlyNew, "later walks find what is new, and what fell silent since"),
    (Change::EveryTool, "walks find the named tools' operations only"),
    (Change::MixedUp, "questions that are asked together are answered as if alone"),
    (Change::NoTenant, "questions that are asked together are answered as if alone"),
    (Change::PlainNames, "names are kept and told apart whatever their characters"),
    (Change::NoDoubt, "every legal move is made as `transition` says"),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_broken_promise_is_noticed() {
    let seed = seed();
    for (change, name) in BROKEN {
        let check = CHECKS.iter().find(|known| known.name() == *name);
        let check = check.unwrap_or_else(|| panic!("there is no check `{name}`"));
        let store = Decorated::new(MemoryStore::new(), *change);
        let Err(failures) = check.run(seed, store).await else { panic!("{change:?} was not noticed by `{name}`") };
        eprintln!("{change:?}: {failures}");
    }
}

/// Whatever is broken, the suite as a whole says so and comes to an end.
#[tokio::test(flavor = "multi_thread")]
async fn the_whole_suite_survives_a_broken_store() {
    for change in [Change::NoFence, Change::BackToFront, Change::NoDoubt] {
        let failures = conformance::run(seed(), async || Decorated::new(MemoryStore::new(), change)).await;
        assert!(failures.is_err_and(|failures| failures.names().len() > 1), "{change:?} was not noticed");
    }
}

/// One check, over every store; stores that break the promise fail it.
async fn over_every(name: &str, broken: &[Change]) {
    let check = CHECKS.iter().find(|check| check.name() == name).expect("a check of this name");
    let seed = seed();
    for place in Place::EVERY {
        let homes = Homes::of(*place);
        if let Err(failures) = check.run(seed, homes.open().await).await {
            panic!("{}: {failures}", place.name());
        }
        for change in broken {
            let told = check.run(seed, Decorated::new(homes.open().await, *change)).await;
            assert!(told.is_err(), "{change:?} was not noticed in {}", place.name());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r026_no_move_changes_the_fingerprint() {
    over_every("no move changes the fingerprint", &[Change::NoFingerprint]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r036_tokens_fence_where_the_clock_stands_still() {
    over_every("fencing tokens ascend, also after a purge", &[Change::SameFence]).await;
    let tokens = "tokens of attempts and of finding out are one ascending row, also after a purge";
    over_every(tokens, &[Change::SameFence, Change::SameToken]).await;
    over_every("an older holder changes nothing, though the clock stands still", &[Change::NoFence]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r084_retention_ends_at_its_instant() {
    let broken = [Change::Lax, Change::Strict, Change::Millis];
    over_every("whatever the instants, retention ends at its own", &broken).await;
    over_every("a record answers with its result until retention ends", &broken).await;
    over_every("equal arguments mean a finished operation until the window ends", &broken[..2]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r087_a_purge_between_two_reservations_hides_no_truth() {
    over_every("a purge between two reservations leaves both with the truth", &[Change::NoPurge]).await;
}

/// The disk is full under the last row of a reservation, say: then nothing of it is there, and nothing runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_fails_half_way_changes_nothing() {
    for setup in lasting().await {
        let (idem, home) = (&setup.idem, setup.home.as_ref().expect("a home"));
        let effects = AtomicU32::new(0);
        let call = idem.call().tenant("acme");
        pay(&call, "A".to_owned(), &effects).await.expect("a payment");
        let rows = || -> u64 {
            ["idem_operations", "idem_identities", "idem_attempts", "idem_history"]
                .map(|table| home.count(table))
                .iter()
                .sum()
        };
        let before = rows();
        // The identities are the last rows that a reservation writes.
        let (full, space) = if home.place().is_server() {
            (
                "create function full_disk() returns trigger language plpgsql as $$
             begin raise exception 'no space left' using errcode = 'disk_full'; end $$;
             create trigger full_disk before insert on idem_identities for each row execute function full_disk()",
                "drop trigger full_disk on idem_identities",
            )
        } else {
            (
                "create trigger full_disk before insert on idem_identities begin select raise(abort, 'no space left'); end",
                "drop trigger full_disk",
            )
        };
        home.change(full).expect("a trigger");
        let told = pay(&call, "B".to_owned(), &effects).await.expect_err("nothing runs without a reservation");
        assert_eq!(told.kind(), &RefusalKind::LedgerUnavailable);
        assert_eq!((rows(), effects.load(Ordering::SeqCst)), (before, 1));
        home.change(space).expect("space again");
        pay(&call, "B".to_owned(), &effects).await.expect("a payment");
        assert_eq!((rows() > before, effects.load(Ordering::SeqCst)), (true, 2), "{}", setup.name());
    }
}

#[idempotent(scope = "tenant", key = "args")]
async fn pay(_call: &ToolCall, order: String, #[idem(state)] effects: &AtomicU32) -> Result<String, Refusal> {
    effects.fetch_add(1, Ordering::SeqCst);
    Ok(order)
}
