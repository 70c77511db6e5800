//! What does not reopen an operation: repeats, what is not settled, what is another's.

use std::sync::Arc;

use idem_runtime::{
    Outcome, RefusalKind, Tenant,
    ledger::{Evidence, State},
};
use idem_tests::{
    timing::Gate,
    world::{TENANT, every_store},
};

use crate::{Desk, cancel, id, refusal, spawn_cancel, spawn_update, update};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_id_and_turn_stays_a_replay_and_so_does_a_carried_record() {
    for setup in every_store().await {
        let world = &setup.world;
        let first = cancel(&setup.call_as("call_1", 1), "XEHM4B", Desk::quick(), world).await;
        let Outcome::Succeeded(success) = &first else { panic!("{first:?}") };
        let carried = Arc::clone(&success.told.record);
        assert!(!update(&setup.call_as("call_2", 2), "XEHM4B", "business", Desk::quick(), world).await.is_replay());
        for call in [setup.call_as("call_1", 1), setup.call().resume(carried)] {
            let again = cancel(&call, "XEHM4B", Desk::quick(), world).await;
            assert_eq!((again.is_replay(), id(&again)), (true, id(&first)), "{}", setup.name());
        }
        assert_eq!(world.count("cancel XEHM4B"), 1);
        // After the second one too.
        let second = cancel(&setup.call_as("call_3", 3), "XEHM4B", Desk::quick(), world).await;
        for (call, turn, was) in [("call_1", 1, &first), ("call_3", 3, &second), ("call_9", 9, &second)] {
            let again = cancel(&setup.call_as(call, turn), "XEHM4B", Desk::quick(), world).await;
            assert_eq!((again.is_replay(), id(&again)), (true, id(was)), "{}: {call}", setup.name());
        }
        assert_eq!(world.count("cancel XEHM4B"), 2, "{}", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_or_running_operation_is_never_reopened() {
    for setup in every_store().await {
        let world = &setup.world;
        let upgraded = async |turn: u64| {
            let call = setup.call_as("upgrade", turn);
            let upgraded = update(&call, "XEHM4B", &format!("cabin {turn}"), Desk::quick(), world).await;
            assert!(upgraded.value().is_some() && !upgraded.is_replay());
        };
        // Unknown.
        let lost = refusal(cancel(&setup.call_as("call_1", 1), "XEHM4B", Desk::losing_answers(), world).await);
        assert_eq!(lost.kind(), &RefusalKind::Unknown);
        upgraded(2).await;
        let again = refusal(cancel(&setup.call_as("call_3", 3), "XEHM4B", Desk::quick(), world).await);
        assert_eq!((again.kind(), again.operation()), (&RefusalKind::Unknown, lost.operation()), "{}", setup.name());
        assert_eq!(world.count("cancel XEHM4B"), 1);
        // Running.
        let gate = Gate::new();
        let running = spawn_cancel(setup.call_as("call_4", 4), "59XX6W", Desk::gated(&gate), world);
        gate.arrived().await;
        let of_other = update(&setup.call_as("call_5", 5), "59XX6W", "economy", Desk::quick(), world).await;
        assert!(of_other.value().is_some());
        let again = refusal(cancel(&setup.call_as("call_6", 6), "59XX6W", Desk::quick(), world).await);
        assert!(matches!(again.kind(), RefusalKind::InProgress { .. }), "{}: {again:?}", setup.name());
        gate.open();
        let first = running.await.expect("no panic");
        assert_eq!(again.operation(), first.operation());
        // What ran beside it, and had begun before it settled, did not reopen it either.
        assert!(cancel(&setup.call_as("call_7", 7), "59XX6W", Desk::quick(), world).await.is_replay());
        assert_eq!(world.count("cancel 59XX6W"), 1, "{}", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_other_operation_is_unsettled_an_equal_call_is_a_replay() {
    for setup in every_store().await {
        let world = &setup.world;
        let first = cancel(&setup.call_as("call_1", 1), "XEHM4B", Desk::quick(), world).await;
        let again = async |turn: u64| cancel(&setup.call_as("again", turn), "XEHM4B", Desk::quick(), world).await;
        // Running.
        let gate = Gate::new();
        let running = spawn_update(setup.call_as("call_2", 2), "business", Desk::gated(&gate), world);
        gate.arrived().await;
        let meanwhile = again(3).await;
        assert_eq!((meanwhile.is_replay(), id(&meanwhile)), (true, id(&first)), "{}", setup.name());
        running.abort();
        // Failed, either way: nothing has changed.
        for (turn, desk) in [(4, Desk::declining()), (6, Desk::busy())] {
            let call = setup.call_as("call", turn);
            let failed = refusal(update(&call, "XEHM4B", &format!("cabin {turn}"), desk, world).await);
            assert!(matches!(failed.kind(), RefusalKind::FailedFinal | RefusalKind::FailedRetryable), "{failed:?}");
            assert!(again(turn + 1).await.is_replay(), "{}: a failure reopens nothing", setup.name());
        }
        // Unknown, and then settled as done.
        let call = setup.call_as("call_8", 8);
        let lost = refusal(update(&call, "XEHM4B", "economy", Desk::losing_answers(), world).await);
        assert!(again(9).await.is_replay(), "{}: nor does what nobody knows", setup.name());
        assert_eq!(world.count("cancel XEHM4B"), 1);
        let tenant = Tenant::new(TENANT).expect("a tenant");
        let said = Evidence::of(&tenant, lost.operation().expect("one"), "airline", "evt_1").applied(None, None);
        setup.idem.evidence(said).await.expect("weighed");
        assert_eq!(setup.record(lost.operation().expect("one")).await.state, State::Succeeded);
        let after = again(10).await;
        assert_eq!((after.is_replay(), world.count("cancel XEHM4B")), (false, 2), "{}: {after:?}", setup.name());
        gate.open();
    }
}

#[tokio::test]
async fn another_tenant_another_reservation_and_a_second_call_of_the_same_reopen_nothing() {
    for setup in every_store().await {
        let world = &setup.world;
        let first = cancel(&setup.call_as("call_1", 1), "XEHM4B", Desk::quick(), world).await;
        let stranger = setup.idem.call().tenant("umbrella").conversation("c-1").tool_call_id("call_2").turn(2);
        assert!(update(&stranger, "XEHM4B", "business", Desk::quick(), world).await.value().is_some());
        assert!(
            update(&setup.call_as("call_3", 3), "59XX6W", "business", Desk::quick(), world).await.value().is_some()
        );
        // Its own success, again and again, is no other operation's.
        for turn in 4..7 {
            let again = cancel(&setup.call_as("again", turn), "XEHM4B", Desk::quick(), world).await;
            assert_eq!((again.is_replay(), id(&again)), (true, id(&first)), "{}", setup.name());
        }
        // From another conversation it counts: the reservation is one and the same.
        let elsewhere = setup.idem.call().tenant(TENANT).conversation("c-2").tool_call_id("call_1").turn(1);
        assert!(update(&elsewhere, "XEHM4B", "business", Desk::quick(), world).await.value().is_some());
        assert!(!cancel(&setup.call_as("call_8", 8), "XEHM4B", Desk::quick(), world).await.is_replay());
        assert_eq!(world.count("cancel XEHM4B"), 2, "{}", setup.name());
    }
}

#[tokio::test]
async fn an_empty_resource_is_refused_before_anything_is_reserved() {
    for setup in every_store().await {
        for empty in ["", "  ", "\t\n"] {
            let refused = refusal(cancel(&setup.call_as("call_1", 1), empty, Desk::quick(), &setup.world).await);
            assert_eq!(refused.kind(), &RefusalKind::Invalid, "{}: {refused:?}", setup.name());
            assert!(refused.to_string().contains("`reservation_id`"), "{refused}");
        }
        assert_eq!((setup.operations().await, setup.world.effects().len()), (0, 0), "{}", setup.name());
        // The control arm.
        assert!(cancel(&setup.call_as("call_1", 1), "XEHM4B", Desk::quick(), &setup.world).await.value().is_some());
    }
}
