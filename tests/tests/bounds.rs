//! Where an outcome may become unknown, and that none stays so.
//!
//! One tool with a provider that keeps keys and a look-up that works is driven through faults at every named checkpoint, in
//! process. What happened at the provider is counted there.

use std::time::Duration;

use idem_runtime::ledger::State;
use idem_tests::home::Place;

use self::{
    cell::{Arm, Cell, Tally},
    faults::{Checkpoint, UNKNOWN, faults, may_be_unknown},
};

#[path = "bounds/cell.rs"]
mod cell;
#[path = "bounds/faults.rs"]
mod faults;
#[path = "bounds/tool.rs"]
mod tool;

// R-U3 R-C5 R-L4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_is_unknown_only_after_a_request_may_have_left_and_is_settled_without_a_person() {
    for place in Place::EVERY.iter().copied() {
        for arm in [Arm::Caller, Arm::LateCaller, Arm::Reconciler] {
            let mut tally = Tally::default();
            for (checkpoint, kind, after) in faults(place) {
                let mut cell = Cell::new(place, checkpoint, kind, true).await;
                cell.strike(after).await;
                cell.settle(arm, &mut tally).await;
                cell.count(&mut tally).await;
                let unknown = tally.seen_at.get(&checkpoint).is_some_and(|kinds| kinds.contains(&kind));
                assert_eq!(unknown, after == UNKNOWN, "{}, {arm:?}", cell.name());
                assert!(!unknown || may_be_unknown(checkpoint, kind), "{}, {arm:?}", cell.name());
            }
            eprintln!("{}, {arm:?}: {tally}", place.name());
            let unknown = faults(place).filter(|(_, _, after)| *after == UNKNOWN).count();
            assert_eq!((tally.unknown, tally.settled, tally.left_for_an_operator), (unknown, unknown, 0));
            let mut at = vec![Checkpoint::Dispatch, Checkpoint::ProviderCommit, Checkpoint::ReceiveResponse];
            at.extend((place != Place::Memory).then_some(Checkpoint::PersistResult));
            assert_eq!(tally.seen_at.keys().copied().collect::<Vec<_>>(), at);
        }
    }
}

/// The control arm: without a look-up that can tell, and when the provider has forgotten its keys, the same faults are
/// left for a person, and nothing runs again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_look_up_that_works_every_unknown_outcome_is_left_for_a_person() {
    for place in Place::EVERY.iter().copied() {
        let mut tally = Tally::default();
        for (checkpoint, kind, after) in faults(place).filter(|(_, _, after)| *after == UNKNOWN) {
            let mut cell = Cell::new(place, checkpoint, kind, false).await;
            cell.strike(after).await;
            cell.setup.clock.advance(Duration::from_hours(25));
            let mut reconciler = cell.setup.idem.reconciler([cell.tool()]);
            let seen = reconciler.run_once().await.expect("a ledger");
            assert_eq!(seen.to_operators, 1, "{}: {seen:?}", cell.name());
            assert_eq!(cell.state().await, Some(State::OperatorReview), "{}", cell.name());
            let again = cell.first_call().await.to_json();
            assert_eq!(again["outcome"], "unknown_requires_reconciliation", "{}: {again}", cell.name());
            assert!(cell.plan.provider.world.effects().len() <= 1);
            cell.count(&mut tally).await;
        }
        eprintln!("{}, no look-up that works: {tally}", place.name());
        assert_eq!((tally.settled, tally.left_for_an_operator), (0, tally.unknown));
        assert_eq!(tally.unknown, tally.cells);
    }
}
