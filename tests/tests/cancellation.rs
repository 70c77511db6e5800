//! Callers that vanish, bodies that panic, runtimes that stop: what is left says the truth, and nothing happens twice.

use std::{panic::AssertUnwindSafe, time::Duration};

use idem_runtime::{Config, Idem, InlineCommit, Outcome, Refusal, RefusalKind, ToolCall, idempotent, ledger::State};
use idem_tests::{
    home::Home,
    timing::{Gate, Inside, poll_times, until},
    tools::{ToolError, classify},
    world::{Setup, World, config, every_store, every_store_with},
};

#[idempotent(scope = "conversation", key = "tool_call_id|args", on_busy = "tell")]
async fn slow(
    call: &ToolCall,
    a: u8,
    #[idem(state)] gate: Gate,
    #[idem(state)] world: World,
) -> Result<usize, ToolError> {
    let _ = a;
    // From the first wait on the body is a task of its own: whoever aborts its caller then finds that one waiting, too.
    tokio::task::yield_now().await;
    for _ in 0..52 {
        gate.pass().await;
    }
    Ok(world.effect("paid"))
}

/// Owns its arguments: runs as a task of its own.
#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify)]
async fn owned(call: &ToolCall, a: u8, #[idem(state)] world: World) -> Result<usize, ToolError> {
    let _ = a;
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    let effect = world.effect("owned");
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    Ok(effect)
}

/// Borrows one of them: runs in its caller.
#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify)]
async fn borrowing(call: &ToolCall, a: &str, #[idem(state)] world: &World) -> Result<usize, ToolError> {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    let effect = world.effect(a);
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    Ok(effect)
}

fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

/// The state of the only operation there is, once it is not in progress any more.
async fn settled(setup: &Setup, operation: idem_runtime::OperationId) -> State {
    until("the attempt has ended", async || {
        let state = setup.record(operation).await.state;
        (state != State::InProgress).then_some(state)
    })
    .await
}

// R-C5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r062_a_caller_that_goes_at_any_second_of_52_leaves_the_effect_and_its_result() {
    for setup in every_store().await {
        for second in 0..=52_u64 {
            let (call, gate) = (setup.call_as("call_1", second).occurrence(second.to_string()), Gate::new());
            let record =
                idem_runtime::prepare(slow(&call, 1, gate.clone(), setup.world.clone())).await.expect("a record");
            let caller = tokio::spawn({
                let (call, gate, world) = (call.clone(), gate.clone(), setup.world.clone());
                async move { slow_outcome(&call, 1, gate, world).await }
            });
            for at in 0..52 {
                gate.arrived().await;
                if at == second {
                    caller.abort();
                }
                setup.clock.advance(Duration::from_secs(1));
                gate.open();
            }
            // At second 52 the caller stays, so that the loop has a control.
            if second < 52 {
                assert!(caller.await.expect_err("aborted").is_cancelled());
            } else {
                assert!(caller.await.expect("no panic").value().is_some());
            }
            assert_eq!(settled(&setup, record.operation()).await, State::Succeeded, "second {second}");
            let retried = slow_outcome(&call, 1, gate.clone(), setup.world.clone()).await;
            assert!(retried.is_replay(), "second {second} on {}: {retried:?}", setup.name());
            assert_eq!(setup.world.count("paid") as u64, second + 1);
            assert_eq!(gate.waiting(), 0, "the body was not entered again");
        }
    }
}

// R-C5
#[tokio::test]
async fn r063_a_claim_that_its_caller_dropped_before_the_body_is_free_at_once() {
    // On one thread nothing commits inline, so there is a moment between the reservation and the body.
    for setup in every_store().await {
        let (gate, world) = (Gate::opened(), setup.world.clone());
        let mut claimed_and_dropped = 0;
        for polls in 1.. {
            let call = setup.call_as("call_1", polls).occurrence(polls.to_string());
            let body = borrowing_marked(&call, "a", &gate, &world);
            let started = gate.waiting();
            let dropped = poll_times(body, usize::try_from(polls).expect("small")).await;
            if dropped.is_some() || gate.waiting() > started {
                break;
            }
            // The clock stands still: at once is at once.
            let retried = borrowing_marked(&call, "a", &gate, &world).await;
            assert!(retried.is_ok(), "{polls} polls on {}: {retried:?}", setup.name());
            assert_eq!(world.count("a") as u64, polls, "one effect each");
            if let Some(home) = &setup.home {
                let released = "select count(*) from idem_history where event = 'not_started'";
                claimed_and_dropped = home.column::<i64>(released)[0];
            }
        }
        if setup.home.is_some() {
            assert!(claimed_and_dropped >= 1, "a claim was dropped between reservation and body");
        }
    }
}

#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn borrowing_marked(
    call: &ToolCall,
    a: &str,
    #[idem(state)] gate: &Gate,
    #[idem(state)] world: &World,
) -> Result<usize, ToolError> {
    gate.pass().await;
    Ok(world.effect(a))
}

/// Another connection may write, and waits for nobody.
fn nobody_is_in_a_transaction(home: &Home) {
    let held = if home.place().is_server() {
        "set lock_timeout = '5s'; lock table idem_operations in access exclusive mode"
    } else {
        "pragma busy_timeout = 5000; begin immediate; rollback"
    };
    home.change(held).expect("no session is left in a transaction");
}

/// Drops the caller's future after every number of polls, retries, and looks at what is there.
async fn drop_after_every_poll(inline: InlineCommit) {
    let settings: Config = config(|it| it.inline_commit = inline);
    for setup in every_store_with(|| Idem::builder().config(settings.clone())).await {
        let (mut done, mut unknown) = (0, 0);
        for polls in 1..200 {
            let call = setup.call_as("call_1", polls as u64).occurrence(polls.to_string());
            let finished = poll_times(owned_outcome(&call, 1, setup.world.clone()), polls).await;
            // What the runtime still does, the retry waits for.
            let retried = owned_outcome(&call, 1, setup.world.clone()).await;
            assert!(retried.value().is_some(), "{polls} polls: {retried:?}");
            assert_eq!(setup.world.count("owned"), polls, "{polls} polls, one effect each");
            if finished.is_some() {
                done = polls;
                break;
            }
        }
        for polls in 1..200 {
            let call = setup.call_as("call_2", polls as u64).occurrence(polls.to_string());
            let effect = format!("borrowed {polls}");
            let finished = poll_times(idem_runtime::outcome(borrowing(&call, &effect, &setup.world)), polls).await;
            let retried = idem_runtime::outcome(borrowing(&call, &effect, &setup.world)).await;
            let effects = setup.world.count(&effect);
            assert!(effects <= 1, "{polls} polls on {}: {effects} effects", setup.name());
            match &retried {
                Outcome::Succeeded(_) => assert_eq!(effects, 1, "{polls} polls"),
                Outcome::Refused(refusal) => {
                    assert_eq!(refusal.kind(), &RefusalKind::Unknown, "{polls} polls: {refusal:?}");
                    unknown += 1;
                }
            }
            if finished.is_some() {
                break;
            }
        }
        assert!(unknown > 1, "drops fell into the body");
        // With threads to spare the body may be through before its caller looks again.
        assert!(done > 1 || inline == InlineCommit::WhenIdle, "drops fell before the end of the task");
        // Nothing is left open: another connection may write, and the ledger still commits.
        if let Some(home) = &setup.home {
            nobody_is_in_a_transaction(home);
            let running: Vec<i64> = home.column("select count(*) from idem_operations where state = 'in_progress'");
            assert_eq!(running, [0], "no claim is left behind");
        }
        setup.idem.purge(1).await.expect("the ledger still answers");
    }
}

// R-C5
#[tokio::test]
async fn r064_a_future_dropped_after_any_poll_leaves_one_effect_at_most() {
    drop_after_every_poll(InlineCommit::Never).await;
}

// R-C5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r064_the_same_where_callers_commit_on_their_own_thread() {
    drop_after_every_poll(InlineCommit::WhenIdle).await;
}

#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn detached_panic(call: &ToolCall, a: u8, #[idem(state)] world: World) -> Result<usize, ToolError> {
    assert!(a > 0, "the panic of the test");
    Ok(world.effect("paid"))
}

#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn panic_in_place(call: &ToolCall, a: &u8, #[idem(state)] world: &World) -> Result<usize, ToolError> {
    world.effect("paid");
    assert!(*a > 0, "the panic of the test");
    Ok(1)
}

/// Runs a future that panics, and says with which words.
async fn words_of_panic(future: impl Future) -> String {
    let local = tokio::task::LocalSet::new();
    let mut future = Box::pin(local.run_until(future));
    let caught = std::future::poll_fn(|context| {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        match polled {
            Ok(std::task::Poll::Pending) => std::task::Poll::Pending,
            Ok(std::task::Poll::Ready(_)) => std::task::Poll::Ready(None),
            Err(payload) => std::task::Poll::Ready(Some(payload)),
        }
    })
    .await;
    let payload = caught.expect("a panic");
    payload.downcast_ref::<&str>().map_or_else(|| "other words".to_owned(), |words| (*words).to_owned())
}

#[tokio::test]
async fn r_c5_a_panic_is_its_caller_s_and_the_outcome_is_unknown() {
    for setup in every_store().await {
        let (detached, in_place) = (setup.call_as("call_1", 1), setup.call_as("call_2", 1));
        let words = words_of_panic(detached_panic(&detached, 0, setup.world.clone())).await;
        assert_eq!(words, "the panic of the test");
        let words = words_of_panic(panic_in_place(&in_place, &0, &setup.world)).await;
        assert_eq!(words, "the panic of the test");
        for told in [
            detached_panic_outcome(&detached, 0, setup.world.clone()).await,
            idem_runtime::outcome(panic_in_place(&in_place, &0, &setup.world)).await,
        ] {
            let refusal = refusal(told);
            assert_eq!(refusal.kind(), &RefusalKind::Unknown, "{}", setup.name());
            let operation = refusal.operation().expect("an operation");
            let record = setup.record(operation).await;
            assert_eq!(record.state, State::OutcomeUnknown);
            let kept = record.stored.expect("words");
            assert_eq!(String::from_utf8_lossy(&kept.bytes), "its body panicked");
        }
        assert_eq!(setup.world.effects(), ["paid"], "nothing ran again");
    }
}

#[test]
fn r_c5_a_runtime_that_is_shut_down_leaves_an_unknown_outcome() {
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let (of_test, of_bodies) = (runtime(), runtime());
    let setups = of_test.block_on(every_store());
    let mut gates = Vec::new();
    let callers: Vec<_> = setups
        .iter()
        .map(|setup| {
            let (call, gate, world) = (setup.call_as("call_1", 1), Gate::new(), setup.world.clone());
            gates.push(gate.clone());
            // The caller lives in one runtime, the body that it starts in the other.
            let outcome = async move { slow_outcome(&call, 1, gate, world).await };
            of_test.spawn(Inside::new(of_bodies.handle(), outcome))
        })
        .collect();
    for gate in &gates {
        of_test.block_on(gate.arrived());
    }
    drop(of_bodies);
    for ((setup, caller), gate) in setups.iter().zip(callers).zip(&gates) {
        let told = refusal(of_test.block_on(caller).expect("the caller lives"));
        assert_eq!(told.kind(), &RefusalKind::Unknown, "{}", setup.name());
        assert!(told.to_string().contains("shut down"), "{told}");
        let operation = told.operation().expect("an operation");
        of_test.block_on(async {
            assert_eq!(settled(setup, operation).await, State::OutcomeUnknown);
            let again = slow_outcome(&setup.call_as("call_1", 1), 1, gate.clone(), setup.world.clone()).await;
            assert_eq!(refusal(again).kind(), &RefusalKind::Unknown);
        });
        assert_eq!(setup.world.effects(), Vec::<String>::new(), "nothing ran again");
    }
}

// R-C5
#[tokio::test]
async fn r_c5_a_caller_that_goes_during_a_body_that_borrows_is_recorded_at_once() {
    for setup in every_store().await {
        let (call, gate) = (setup.call_as("call_1", 1), Gate::new());
        let record = idem_runtime::prepare(borrowing_marked(&call, "a", &gate, &setup.world)).await.expect("a record");
        {
            let body = borrowing_marked(&call, "a", &gate, &setup.world);
            tokio::select! {
                biased;
                _ = body => panic!("the gate is shut"),
                () = gate.arrived() => {}
            }
        }
        // The clock stands still: no lease has to end for this.
        assert_eq!(settled(&setup, record.operation()).await, State::OutcomeUnknown, "{}", setup.name());
        let kept = setup.record(record.operation()).await.stored.expect("words");
        assert_eq!(String::from_utf8_lossy(&kept.bytes), "dropped while its body was running");
        gate.open();
        let told = idem_runtime::outcome(borrowing_marked(&call, "a", &gate, &setup.world)).await;
        assert_eq!(refusal(told).kind(), &RefusalKind::Unknown);
        assert_eq!(setup.world.effects(), Vec::<String>::new());
    }
}
