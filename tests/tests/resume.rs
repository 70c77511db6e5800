//! Calls that carry the record of an earlier attempt: through text, through a kill, under new ids.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use idem_runtime::{AttemptRecord, Idem, Outcome, Refusal, RefusalKind, ToolCall, idempotent, ledger::State, prepare};
use idem_tests::{
    home::Place,
    timing::{Gate, until},
    tools::{EffectFile, ToolError, classify},
    world::{Setup, TENANT, World, every_store, lasting},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Order {
    id: String,
    note: String,
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify)]
async fn ship(call: &ToolCall, order: Order, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(order.id))
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify)]
async fn bill(call: &ToolCall, order: Order, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(order.id))
}

fn order(id: &str) -> Order {
    Order { id: id.into(), note: "as ordered".into() }
}

fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

/// The record as a checkpoint would give it back.
fn through_text(record: &AttemptRecord) -> AttemptRecord {
    let text = serde_json::to_string(record).expect("a record serialises");
    assert!(text.len() < 1_000, "a few hundred bytes: {text}");
    serde_json::from_str(&text).expect("and back")
}

async fn told(setup: &Setup, call: &ToolCall, id: &str) -> Outcome<usize> {
    ship_outcome(call, order(id), setup.world.clone()).await
}

#[tokio::test]
async fn r_k5_a_carried_key_is_kept_whatever_the_call_says_now() {
    for setup in every_store().await {
        let Outcome::Succeeded(first) = told(&setup, &setup.call_as("call_1", 1), "A-1").await else {
            panic!("no success")
        };
        let carried = through_text(&first.told.record);
        // New ids, another turn, another conversation, another occurrence, or nothing but the record.
        let calls = [
            setup.call_as("call_77", 9),
            setup.idem.call().tenant(TENANT).conversation("c-2").tool_call_id("call_2").occurrence("second"),
            setup.idem.call(),
        ];
        for call in calls {
            let again = told(&setup, &call.resume(carried.clone()), "A-1").await;
            let Outcome::Succeeded(again) = again else { panic!("{}: {again:?}", setup.name()) };
            assert!(again.told.replay.is_some());
            assert_eq!((again.told.operation, again.told.record.key()), (first.told.operation, carried.key()));
        }
        let drift = refusal(told(&setup, &setup.call().resume(carried.clone()), "A-2").await);
        assert!(matches!(drift.kind(), RefusalKind::Drift { .. }), "{drift:?}");
        assert_eq!(setup.world.effects(), ["A-1"]);
    }
}

#[tokio::test]
async fn r_k5_a_record_made_before_the_first_dispatch_is_the_one_that_is_dispatched() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let prepared = prepare(ship(&call, order("A-1"), setup.world.clone())).await.expect("a record");
        assert_eq!((setup.operations().await, setup.world.effects().len()), (0, 0), "{}", setup.name());
        let prepared = through_text(&prepared);
        let first = told(&setup, &setup.call_as("call_2", 2).resume(prepared.clone()), "A-1").await;
        assert_eq!(first.operation(), Some(prepared.operation()));
        assert!(!first.is_replay());
        for call in [call, setup.call_as("call_3", 3), setup.idem.call().resume(prepared)] {
            assert!(told(&setup, &call, "A-1").await.is_replay());
        }
        assert_eq!(setup.world.effects(), ["A-1"]);
    }
}

// R-K5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r014_a_result_is_filed_under_the_key_of_the_dispatch_and_a_foreign_key_is_rejected() {
    #[idempotent(scope = "conversation", key = "args", name = "test.edit")]
    async fn edit(
        call: &ToolCall,
        mut args: Order,
        #[idem(state)] gate: Gate,
        #[idem(state)] world: World,
    ) -> Result<String, ToolError> {
        args.note.push_str(", edited");
        gate.pass().await;
        args.id.push('!');
        world.effect(args.id.clone());
        Ok(args.note)
    }
    for setup in every_store().await {
        let (call, gate) = (setup.call(), Gate::new());
        let prepared = prepare(edit(&call, order("A-1"), gate.clone(), setup.world.clone())).await.expect("a record");
        let running = tokio::spawn({
            let (call, gate, world) = (call.clone(), gate.clone(), setup.world.clone());
            async move { edit_outcome(&call, order("A-1"), gate, world).await }
        });
        gate.arrived().await;
        assert_eq!(setup.state(prepared.operation()).await, State::InProgress.name());
        gate.open();
        let done = running.await.expect("no panic");
        let Outcome::Succeeded(success) = done else { panic!("{done:?}") };
        assert_eq!((success.told.operation, success.told.record.key()), (prepared.operation(), prepared.key()));
        assert_eq!(setup.state(prepared.operation()).await, State::Succeeded.name());
        let again = edit_outcome(&call, order("A-1"), gate.clone(), setup.world.clone()).await;
        assert!(again.is_replay());
        assert_eq!(again.value().map(String::as_str), Some("as ordered, edited"));
        assert_eq!((setup.operations().await, setup.world.effects()), (1, vec!["A-1!".to_owned()]), "{}", setup.name());
        // Somebody else's key: of another tool, of another tenant, of no version that there is.
        let foreign =
            prepare(ship(&setup.call_as("call_1", 1), order("A-1"), setup.world.clone())).await.expect("a record");
        let by_other_tool =
            refusal(bill_outcome(&setup.call().resume(foreign.clone()), order("A-1"), setup.world.clone()).await);
        assert!(by_other_tool.to_string().contains("another tool"), "{by_other_tool}");
        let stranger = setup.idem.call().tenant("stranger").resume(foreign.clone());
        assert!(refusal(told(&setup, &stranger, "A-1").await).to_string().contains("another tenant"));
        let mut later: Value = serde_json::to_value(&foreign).expect("JSON");
        later["version"] = json!(99);
        let later: AttemptRecord = serde_json::from_value(later).expect("a record");
        assert_eq!(refusal(told(&setup, &setup.call().resume(later), "A-1").await).kind(), &RefusalKind::Invalid);
        assert_eq!((setup.operations().await, setup.world.effects().len()), (1, 1), "nothing was filed or run");
    }
}

#[tokio::test]
async fn r_k5_two_processes_that_resume_one_record_run_it_once() {
    for setup in lasting().await {
        let address = setup.home.as_ref().expect("a home").address();
        let other = Idem::builder().clock(setup.clock.clone()).open(address).await.expect("the same ledger");
        let call = setup.call_as("call_1", 1);
        let prepared = through_text(&prepare(ship(&call, order("A-1"), setup.world.clone())).await.expect("a record"));
        let (here, there) = (setup.idem.call().resume(prepared.clone()), other.call().resume(prepared.clone()));
        let (one, two) = tokio::join!(told(&setup, &here, "A-1"), told(&setup, &there, "A-1"));
        assert_eq!([one.is_replay(), two.is_replay()].iter().filter(|it| **it).count(), 1, "{one:?} {two:?}");
        assert_eq!(one.operation(), two.operation());
        assert_eq!(setup.world.effects(), ["A-1"]);
    }
}

/// Runs `fresh turn`, and kills it when it says that its last effect has happened; gives back its checkpoint.
fn turn_until_killed(arguments: &[&str]) -> Vec<Value> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fresh"))
        .arg("turn")
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let said = BufReader::new(child.stdout.take().expect("its words")).lines();
    let mut checkpoint = Vec::new();
    for line in said {
        let line: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        if line == json!("hanging") {
            break;
        }
        checkpoint.push(line);
    }
    child.kill().expect("killed");
    child.wait().expect("gone");
    checkpoint
}

// R-K5 R-E6 R-C5
#[test]
fn r101_a_turn_resumed_from_its_checkpoint_repeats_nothing() {
    const ROUNDS: usize = 100;
    // Each is a process that opens the ledger anew; those of a file are many enough for chance.
    const ROUNDS_ON_A_SERVER: usize = 25;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    for place in Place::lasting() {
        let rounds = if place.is_server() { ROUNDS_ON_A_SERVER } else { ROUNDS };
        let home = place.home().expect("a home");
        let effects = EffectFile::new(home.folder().join("effects"));
        let log = home.folder().join("effects").display().to_string();
        for round in 0..rounds {
            let checkpoint = turn_until_killed(&[home.address(), &log, &round.to_string(), "guarded"]);
            assert_eq!(checkpoint.len(), 3, "a record for each tool, made before its dispatch");
            // Another process, new ids, the checkpoint's records.
            let told: Vec<Value> = runtime.block_on(async {
                let idem = Idem::open(home.address()).await.expect("the ledger that the killed one left");
                idem_tests::tools::turn(&idem, &effects, round, &checkpoint).await
            });
            assert_eq!(told[0]["replayed"], true, "round {round}: {told:?}");
            assert_eq!(told[1]["replayed"], true, "round {round}: {told:?}");
            assert_eq!(told[2]["outcome"], "in_progress", "its owner's lease has not ended: {}", told[2]);
            for effect in ["charge", "mark", "notify"] {
                assert_eq!(effects.count(&format!("{effect} {round}")), 1, "round {round}: {effect}");
            }
        }
        // The control arm: the same turn without the guard, killed and resumed once, shows what the guard is for.
        let round = rounds.to_string();
        turn_until_killed(&[home.address(), &log, &round, "bare"]);
        turn_until_killed(&[home.address(), &log, &round, "bare"]);
        for effect in ["charge", "mark", "notify"] {
            assert_eq!(effects.count(&format!("{effect} {round}")), 2, "unprotected: {effect}");
        }
    }
}

// R-E6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_e6_effects_of_one_turn_are_operations_of_their_own() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let first = ship_outcome(&call, order("A-1"), setup.world.clone()).await.operation();
        let second = bill_outcome(&call, order("A-1"), setup.world.clone()).await.operation();
        assert_ne!(first, second);
        let count = until("both are there", async || Some(setup.operations().await)).await;
        assert_eq!((count, setup.world.effects().len()), (2, 2), "{}", setup.name());
    }
}
