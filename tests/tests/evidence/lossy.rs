//! A reservation whose answer was lost on its way from the store.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use idem_runtime::{
    Idem, Outcome, RefusalKind, Timestamp,
    ledger::{Aftermath, BoxFuture, Command, Reply, Reserve, State, Store, StoreError, StoreErrorKind},
    testing::TestClock,
};
use idem_tests::{
    home::Place,
    timing::until,
    world::{Setup, decorated},
};

use crate::{detail, refusal, told};

/// What a [`Lossy`] store does to reservations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nonce {
    Kept,
    /// The control arm: a reservation cannot be told from another one.
    Zeroed,
}

/// A store that loses the answer of one reservation: it is committed, and nobody hears of it.
#[derive(Debug)]
struct Lossy<S> {
    store: S,
    nonce: Nonce,
    /// Reservations until the one whose answer is lost.
    left: Arc<AtomicUsize>,
}

impl<S: Store> Store for Lossy<S> {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        let reserves = commands.iter().any(|command| matches!(command, Command::Reserve(_)));
        let lost = reserves && self.left.fetch_sub(1, Ordering::SeqCst) == 1;
        let without = |command: &Command| match command {
            Command::Reserve(reserve) if self.nonce == Nonce::Zeroed => {
                Command::Reserve(Arc::new(Reserve { nonce: 0, ..Reserve::clone(reserve) }))
            }
            command => command.clone(),
        };
        let commands: Vec<Command> = commands.iter().map(without).collect();
        Box::pin(async move {
            let replies = self.store.apply(&commands, now).await?;
            if lost {
                return Err(StoreError::new(StoreErrorKind::Other, Aftermath::Unknown, "the answer was lost"));
            }
            Ok(replies)
        })
    }

    idem_tests::behind!(store);
}

/// A ledger in each kind of store that loses the answer of the `lost`-th reservation.
async fn lossy(nonce: Nonce, lost: usize) -> Vec<Setup> {
    let mut setups = Vec::new();
    for place in Place::EVERY {
        let begin = |clock: &TestClock, store| {
            let store = Lossy { store, nonce, left: Arc::new(AtomicUsize::new(lost)) };
            Idem::builder().clock(clock.clone()).with_store(store).expect("a ledger")
        };
        setups.push(decorated(*place, begin).await);
    }
    setups
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reservation_whose_reply_was_lost_runs_once_as_one_attempt() {
    for setup in lossy(Nonce::Kept, 1).await {
        let call = setup.call_as("call_1", 1);
        let first = told(&setup, &call, "A-1", Ok).await;
        let Outcome::Succeeded(first) = first else { panic!("{}: {first:?}", setup.name()) };
        assert_eq!((first.told.attempt, first.told.replay), (1, None), "{}", setup.name());
        let shown = detail(&setup, first.told.operation).await;
        assert_eq!((shown.record.state, shown.record.attempt), (State::Succeeded, 1));
        assert_eq!(shown.attempts.len(), 1, "one attempt: {:?}", shown.attempts);
        assert!(told(&setup, &call, "A-1", Ok).await.is_replay());
        assert_eq!(setup.world.effects(), ["A-1"], "{}", setup.name());
    }
    // A second attempt's reply, lost as well.
    for setup in lossy(Nonce::Kept, 2).await {
        let call = setup.call_as("call_1", 1);
        assert_eq!(refusal(told(&setup, &call, "busy", Ok).await).kind(), &RefusalKind::FailedRetryable);
        let second = refusal(told(&setup, &call, "busy", Ok).await);
        assert_eq!(second.kind(), &RefusalKind::FailedRetryable);
        let shown = detail(&setup, second.operation().expect("one")).await;
        assert_eq!((shown.record.attempt, shown.attempts.len()), (2, 2), "{}", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_nonce_a_lost_reply_leaves_an_attempt_that_nobody_holds() {
    for setup in lossy(Nonce::Zeroed, 1).await {
        let call = setup.call_as("call_1", 1);
        let first = refusal(told(&setup, &call, "A-1", Ok).await);
        assert!(matches!(first.kind(), RefusalKind::InProgress { .. }), "{}: {first:?}", setup.name());
        let id = first.operation().expect("an operation");
        assert_eq!((setup.state(id).await, setup.world.effects().len()), ("in_progress", 0));
        // Nobody renews it: it ends as unknown, although nothing was ever sent.
        setup.clock.advance(Duration::from_mins(2));
        assert_eq!(refusal(told(&setup, &call, "A-1", Ok).await).kind(), &RefusalKind::Unknown);
        until("it is unknown", async || (setup.state(id).await == "outcome_unknown").then_some(())).await;
        assert_eq!(setup.world.effects().len(), 0, "{}", setup.name());
    }
}
