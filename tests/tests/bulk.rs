//! R-E5: the items of a bulk tool are operations of their own; a batch that is done in part says so, and a repeat runs only
//! what is left.

use idem_runtime::{
    Bulk, BulkCounts, BulkState, Idem, RefusalKind, Tenant, ToolCall, bulk, idempotent,
    ledger::{Evidence, Stored, StoredKind},
};
use idem_tests::{
    timing::Gate,
    tools::{ToolError, classify},
    world::{Setup, TENANT, World, config, every_store, every_store_with},
};

/// A message whose sending fails for sure in its first two attempts (item 4), or leaves nobody the wiser (item 7).
#[idempotent(scope = "conversation", key = "tool_call_id|args", name = "test.notify", classify = classify)]
async fn notify(
    call: &ToolCall,
    to: String,
    text: String,
    #[idem(state)] starts: World,
    #[idem(state)] world: World,
) -> Result<String, ToolError> {
    starts.effect(&to);
    if to == "4" && call.number() < 3 {
        return Err(ToolError::Busy);
    }
    world.effect(format!("{text} to {to}"));
    if to == "7" { Err(ToolError::Timeout) } else { Ok(format!("told {to}: {text}")) }
}

/// The platform names the step, and nothing else does.
#[idempotent(scope = "conversation", key = "operation_id", name = "test.step", classify = classify)]
async fn step(call: &ToolCall, to: String, #[idem(state)] world: World) -> Result<(), ToolError> {
    let _ = call.number();
    world.effect(to);
    Ok(())
}

/// Everybody gets a message.
async fn notify_all(call: &ToolCall, items: &[(&str, &str)], [starts, world]: [&World; 2]) -> Bulk<String> {
    let items = items.iter().map(|(to, text)| (*to, (*text).to_owned()));
    bulk(call, items, |call, text| {
        let (starts, world) = (starts.clone(), world.clone());
        let to = call.item_key().expect("an item").to_owned();
        async move { notify_outcome(&call, to, text, starts, world).await }
    })
    .await
}

const ALL: [&str; 10] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];

fn name<T: serde::Serialize>(batch: &Bulk<T>, at: usize) -> String {
    batch.items()[at].outcome.to_json()["outcome"].as_str().expect("a name").to_owned()
}

/// Whatever happens: as many results as items, in their order.
fn is_whole(batch: &Bulk<String>) {
    let keys: Vec<&str> = batch.items().iter().map(|item| &*item.key).collect();
    assert_eq!(keys, ALL);
    for item in batch.items() {
        if let Some(told) = item.outcome.value() {
            assert_eq!(*told, format!("told {}: hello", item.key));
        }
    }
}

// R-E5
#[tokio::test(flavor = "multi_thread")]
async fn r106_a_retry_of_a_batch_runs_only_what_failed_for_sure() {
    for setup in every_store().await {
        let (name_of, starts) = (setup.name(), World::default());
        let items = ALL.map(|to| (to, "hello"));
        let send = async |call: ToolCall| notify_all(&call, &items, [&starts, &setup.world]).await;
        for round in 0..3 {
            // The model's own retry: the same call once more.
            let batch = send(setup.call_as("call_1", 1)).await;
            is_whole(&batch);
            let fourth = if round < 2 { "failed_retryable" } else { "succeeded" };
            assert_eq!(name(&batch, 3), fourth, "{name_of}, round {round}");
            assert_eq!(name(&batch, 6), "unknown_requires_reconciliation", "{name_of}, round {round}");
            assert_eq!(batch.state(), BulkState::Partial, "{name_of}, round {round}");
            let replayed = if round == 0 { 0 } else { 8 };
            let done = if round < 2 { 8 } else { 9 };
            let counts = BulkCounts { done, replayed, open: 1, not_done: 9 - done };
            assert_eq!(batch.counts(), counts, "{name_of}, round {round}");
            for to in ALL {
                let wanted = if to == "4" { round + 1 } else { 1 };
                assert_eq!(starts.count(to), wanted, "{name_of}, round {round}: starts for {to}");
            }
        }
        let seventh = send(setup.call_as("call_1", 1)).await.items()[6].outcome.operation().expect("an operation");
        let tenant = Tenant::new(TENANT).expect("a tenant");
        let delivered = Stored { kind: StoredKind::Value, bytes: br#""told 7: hello""#.as_slice().into() };
        let told = Evidence::of(&tenant, seventh, "webhook", "delivered-7").applied(Some(delivered), None);
        setup.idem.evidence(told).await.expect("heard");
        // The model plans anew: another id for the whole call.
        let batch = send(setup.call_as("call_2", 2)).await;
        is_whole(&batch);
        let counts = BulkCounts { done: 10, replayed: 10, open: 0, not_done: 0 };
        assert_eq!((batch.state(), batch.counts()), (BulkState::Complete, counts), "{name_of}: {batch:?}");
        assert_eq!(setup.world.effects().len(), 10, "{name_of}");
        for to in ALL {
            assert_eq!(setup.world.count(&format!("hello to {to}")), 1, "{name_of}: effects for {to}");
        }
        assert_eq!(batch.to_json()["outcome"], "complete", "{name_of}");
    }
}

// R-E5
#[tokio::test(flavor = "multi_thread")]
async fn r107_a_key_twice_in_a_batch_is_one_item_and_other_content_under_it_is_drift() {
    for setup in every_store().await {
        let (name_of, starts) = (setup.name(), World::default());
        let items = [("k1", "A"), ("k1", "A"), ("k1", "B"), ("k2", "C")];
        let batch = notify_all(&setup.call_as("call_1", 1), &items, [&starts, &setup.world]).await;
        let [first, second, third, fourth] = batch.items() else { panic!("{name_of}: {batch:?}") };
        assert_eq!(first.outcome.value().map(String::as_str), Some("told k1: A"), "{name_of}");
        assert!(!first.outcome.is_replay() && second.outcome.is_replay(), "{name_of}: {batch:?}");
        assert_eq!(second.outcome.value(), first.outcome.value(), "{name_of}");
        assert_eq!(second.outcome.operation(), first.outcome.operation(), "{name_of}");
        let refused = third.outcome.clone().into_result().expect_err("drift");
        let RefusalKind::Drift { parameters, .. } = refused.kind() else { panic!("{name_of}: {refused:?}") };
        assert_eq!(*parameters, ["text"], "{name_of}");
        assert_eq!(fourth.outcome.value().map(String::as_str), Some("told k2: C"), "{name_of}");
        assert_eq!(setup.world.effects().len(), 2, "{name_of}");
        assert_eq!((setup.world.count("A to k1"), setup.world.count("C to k2")), (1, 1), "{name_of}");
        assert_eq!(batch.state(), BulkState::Partial, "{name_of}");
        assert_eq!(setup.operations().await, 2, "{name_of}: operations");
    }
}

/// However long the first item takes to its call: another one with its key does not overtake it.
#[tokio::test]
async fn the_first_item_of_a_key_says_what_the_key_stands_for() {
    for setup in every_store().await {
        let starts = World::default();
        let items = [("k1", "A"), ("k1", "B"), ("k2", "C")];
        let batch = bulk(&setup.call_as("call_1", 1), items, |call, text| {
            let (starts, world) = (starts.clone(), setup.world.clone());
            let to = call.item_key().expect("an item").to_owned();
            async move {
                for _ in 0..if text == "A" { 100 } else { 0 } {
                    tokio::task::yield_now().await;
                }
                notify_outcome(&call, to, text.to_owned(), starts, world).await
            }
        })
        .await;
        let told = [0, 1, 2].map(|at| name(&batch, at));
        assert_eq!(told, ["succeeded", "rejected_key_conflict", "succeeded"], "{}", setup.name());
        assert_eq!((setup.world.count("A to k1"), setup.world.count("B to k1")), (1, 0), "{}", setup.name());
    }
}

/// The control arm: without child keys the items of one call are one operation, and all but the first of them drift.
#[tokio::test(flavor = "multi_thread")]
async fn without_child_keys_the_items_of_a_call_drift() {
    for setup in every_store().await {
        let starts = World::default();
        for (to, outcome) in [("1", "succeeded"), ("2", "rejected_key_conflict")] {
            let (call, text) = (setup.call_as("call_1", 1), "hello".to_owned());
            let told = notify_outcome(&call, to.to_owned(), text, starts.clone(), setup.world.clone()).await;
            assert_eq!(told.to_json()["outcome"], outcome, "{}", setup.name());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_is_told_from_another_by_its_key_also_under_an_operation_id() {
    for setup in every_store().await {
        let name_of = setup.name();
        let call = |id: &str| setup.call().operation_id(id.to_owned());
        // Joined, these would read alike.
        let calls = [call("s").item("t/u"), call("s/t").item("u"), call("s").item("t").item("u"), call("s/t/u")];
        for _ in 0..2 {
            for (at, call) in calls.iter().enumerate() {
                let told = step_outcome(call, format!("item {at}"), setup.world.clone()).await;
                assert!(told.value().is_some(), "{name_of}, {at}: {told:?}");
            }
        }
        assert_eq!(setup.world.effects().len(), 4, "{name_of}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_none_refuses_its_item_alone() {
    for setup in every_store().await {
        let starts = World::default();
        let batch = notify_all(&setup.call_as("call_1", 1), &[("a", "A"), (" ", "B")], [&starts, &setup.world]).await;
        assert_eq!([name(&batch, 0), name(&batch, 1)], ["succeeded", "invalid_call"], "{}", setup.name());
        assert_eq!(setup.world.effects(), ["A to a"], "{}", setup.name());
    }
}

#[tokio::test]
async fn a_batch_of_nothing_is_complete_and_one_without_an_effect_is_not_done() {
    for setup in every_store().await {
        let (call, starts) = (setup.call_as("call_1", 1), World::default());
        let nothing = notify_all(&call, &[], [&starts, &setup.world]).await;
        assert_eq!((nothing.state(), nothing.items().len()), (BulkState::Complete, 0), "{}", setup.name());
        let failed = notify_all(&call, &[("4", "hello")], [&starts, &setup.world]).await;
        assert_eq!(failed.state(), BulkState::NotDone, "{}", setup.name());
        assert!(failed.to_model_text().starts_with("0 of 1 items are done"), "{}", failed.to_model_text());
    }
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", name = "test.stand")]
async fn stand(_call: &ToolCall, at: usize, #[idem(state)] gate: Gate) -> Result<usize, ToolError> {
    gate.pass().await;
    Ok(at)
}

#[tokio::test(flavor = "multi_thread")]
async fn items_run_at_the_same_time_but_not_all_of_them() {
    for setup in every_store_with(|| Idem::builder().config(config(|config| config.items_at_once = 3))).await {
        let Setup { idem, .. } = &setup;
        let (call, gate) = (idem.call().tenant(TENANT).conversation("c-1").turn(1).tool_call_id("call_1"), Gate::new());
        let of_batch = gate.clone();
        let batch = tokio::spawn(async move {
            let items = (0..5).map(|at| (format!("item {at}"), at));
            bulk(&call, items, |call, at| {
                let gate = of_batch.clone();
                async move { stand_outcome(&call, at, gate).await }
            })
            .await
        });
        for _ in 0..3 {
            gate.arrived().await;
        }
        assert_eq!(gate.waiting(), 0, "{}: no more than three", setup.name());
        for _ in 0..5 {
            gate.open();
        }
        let batch = batch.await.expect("an end");
        let told: Vec<usize> = batch.items().iter().filter_map(|item| item.outcome.value().copied()).collect();
        assert_eq!(told, [0, 1, 2, 3, 4], "{}", setup.name());
    }
}
