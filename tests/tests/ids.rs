//! What a tool call id is worth: together with its turn everything, alone little, and nothing when it was made up.

use std::time::Duration;

use idem_runtime::{Outcome, Refusal, RefusalKind, Tenant, ToolCall, idempotent};
use idem_tests::{
    tools::ToolError,
    world::{Setup, TENANT, World, every_store, lasting},
};

#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn send_email(call: &ToolCall, to: String, #[idem(state)] world: World) -> Result<String, ToolError> {
    world.effect(format!("mail {to}"));
    Ok(format!("sent to {to}"))
}

#[idempotent(scope = "conversation", key = "tool_call_id")]
async fn by_id(call: &ToolCall, to: String, #[idem(state)] world: World) -> Result<String, ToolError> {
    world.effect(format!("mail {to}"));
    Ok(format!("sent to {to}"))
}

async fn send(setup: &Setup, call: &ToolCall, to: &str) -> Outcome<String> {
    send_email_outcome(call, to.into(), setup.world.clone()).await
}

fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

// R-K4 (the part of the case without events: a key over the arguments)
#[tokio::test]
async fn r016_new_ids_for_equal_arguments_are_one_effect_and_two_replays() {
    for setup in every_store().await {
        let mut told = Vec::new();
        for (turn, id) in [(1, "call_1"), (1, "call_3"), (1, "call_5")] {
            told.push(send(&setup, &setup.call_as(id, turn), "a@example.org").await);
        }
        assert_eq!(setup.world.effects(), ["mail a@example.org"], "{}", setup.name());
        assert_eq!(told.iter().map(Outcome::is_replay).collect::<Vec<_>>(), [false, true, true]);
        assert!(told.iter().all(|it| it.operation() == told[0].operation()));
        assert!(told.iter().all(|it| it.value() == told[0].value()));
    }
}

#[tokio::test]
async fn r018_an_id_that_is_the_tool_s_name_counts_as_absent() {
    for setup in every_store().await {
        for (turn, to) in [(1, "a"), (1, "b"), (2, "c")] {
            let told = send(&setup, &setup.call_as("send_email", turn), to).await;
            assert!(matches!(&told, Outcome::Succeeded(it) if it.told.replay.is_none()), "{}: {told:?}", setup.name());
        }
        assert_eq!(setup.world.effects(), ["mail a", "mail b", "mail c"]);
        // Where the id is all there is, none is left.
        let told = by_id_outcome(&setup.call_as("by_id", 1), "a".into(), setup.world.clone()).await;
        assert_eq!(refusal(told).kind(), &RefusalKind::Invalid);
        assert_eq!(setup.operations().await, 3);
    }
}

#[tokio::test]
async fn r022_an_id_that_each_round_gives_again_suppresses_nothing() {
    for setup in every_store().await {
        for (turn, to) in [(1, "r1"), (2, "r2"), (3, "r3")] {
            let told = send(&setup, &setup.call_as("run_0", turn), to).await;
            let Outcome::Succeeded(success) = told else { panic!("suppressed: {told:?}") };
            assert_eq!((success.value.as_str(), success.told.replay), (&*format!("sent to {to}"), None));
        }
        assert!(send(&setup, &setup.call_as("run_0", 3), "r3").await.is_replay());
        assert_eq!(setup.world.effects(), ["mail r1", "mail r2", "mail r3"], "{}", setup.name());
    }
}

// R-K4 R-S5
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r023_nine_calls_with_nine_ids_in_one_message_are_one_effect() {
    for setup in every_store().await {
        let calls: Vec<_> = (0..9)
            .map(|at| {
                let (call, world) = (setup.call_as(&format!("call_{at}"), 1), setup.world.clone());
                tokio::spawn(async move { send_email_outcome(&call, "a".into(), world).await })
            })
            .collect();
        let mut replays = 0;
        for call in calls {
            let told = call.await.expect("no panic");
            assert_eq!(told.value().map(String::as_str), Some("sent to a"));
            replays += usize::from(told.is_replay());
        }
        assert_eq!((replays, setup.world.count("mail a")), (8, 1), "{}", setup.name());
    }
}

// R-D0
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r024_one_id_for_two_calls_of_a_batch_is_a_conflict_for_the_second() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let batch = ["a", "b"].map(|to| {
            let (call, world) = (call.clone(), setup.world.clone());
            tokio::spawn(async move { (to, send_email_outcome(&call, to.into(), world).await) })
        });
        let (mut ran, mut conflicts) = (Vec::new(), Vec::new());
        for call in batch {
            match call.await.expect("no panic") {
                (to, Outcome::Succeeded(success)) => {
                    assert_eq!(success.value, format!("sent to {to}"));
                    ran.push(format!("mail {to}"));
                }
                (_, Outcome::Refused(refusal)) => conflicts.push(refusal),
            }
        }
        assert_eq!((ran.len(), conflicts.len()), (1, 1), "{}: as many results as calls", setup.name());
        assert_eq!(setup.world.effects(), ran);
        let RefusalKind::Drift { parameters, suspect_id: false } = conflicts[0].kind() else {
            panic!("{:?}", conflicts[0])
        };
        assert_eq!(parameters, &["to"]);
        assert_eq!(conflicts[0].kind().name(), "rejected_key_conflict");
    }
}

mod later {
    //! The tool of [`send_email`](super::send_email), a contract later.

    use super::*;

    #[idempotent(scope = "conversation", key = "tool_call_id|args", name = "test.versioned")]
    pub(super) async fn first(call: &ToolCall, to: String, #[idem(state)] world: World) -> Result<String, ToolError> {
        Ok(world.effect(to).to_string())
    }

    #[idempotent(scope = "conversation", key = "tool_call_id|args", name = "test.versioned", version = 2)]
    pub(super) async fn second(call: &ToolCall, to: String, #[idem(state)] world: World) -> Result<String, ToolError> {
        Ok(world.effect(to).to_string())
    }
}

// R-S2 R-S5
#[tokio::test]
async fn r025_an_id_of_another_conversation_is_another_id() {
    for setup in every_store().await {
        let in_conversation =
            |id: &str| setup.idem.call().tenant(TENANT).conversation(id).tool_call_id("call_0").turn(0);
        let (x, y) = (in_conversation("X"), in_conversation("Y"));
        let first = send(&setup, &x, "a").await;
        let second = send(&setup, &y, "a").await;
        assert!(!first.is_replay() && !second.is_replay(), "{}", setup.name());
        assert_eq!(setup.world.count("mail a"), 2);
        assert_ne!(first.operation(), second.operation());
        // What is in progress or in conflict in X shows nowhere in Y.
        let drift = refusal(send(&setup, &x, "b").await);
        assert_eq!(drift.operation(), first.operation());
        assert!(send(&setup, &y, "a").await.is_replay());
    }
    // The same call under the tool's next contract is the same operation: its answer is served as ever (D4).
    for setup in lasting().await {
        let call = setup.call_as("call_0", 0);
        later::first(&call, "a".into(), setup.world.clone()).await.expect("sent");
        let home = setup.home.as_ref().expect("a home");
        let idem = idem_runtime::Idem::open(home.address()).await.expect("the same ledger, another process");
        let call = idem.call().tenant(TENANT).conversation("c-1").tool_call_id("call_0").turn(0);
        assert!(later::second_outcome(&call, "a".into(), setup.world.clone()).await.is_replay());
        assert_eq!(setup.world.count("a"), 1, "{}", setup.name());
    }
}

#[tokio::test]
async fn r_d0_a_bare_id_used_again_is_suspect_and_the_turn_is_asked_for() {
    for setup in every_store().await {
        let bare = setup.call().tool_call_id("call_1");
        send(&setup, &bare, "a").await.into_result().expect("sent");
        let drift = refusal(send(&setup, &bare, "b").await);
        assert!(matches!(drift.kind(), RefusalKind::Drift { suspect_id: true, .. }), "{drift:?}");
        let text = drift.to_model_text();
        assert!(text.contains("id") && text.contains("turn"), "{text}");
        // With a turn the id is another one.
        assert!(send(&setup, &bare.turn(2), "b").await.value().is_some());
        assert_eq!(setup.world.effects(), ["mail a", "mail b"], "{}", setup.name());
    }
}

#[tokio::test]
async fn r_k4_either_source_finds_the_operation_and_two_that_disagree_are_a_conflict() {
    for setup in every_store().await {
        let first = send(&setup, &setup.call_as("call_1", 1), "a").await;
        let second = send(&setup, &setup.call_as("call_2", 1), "b").await;
        let by_args = send(&setup, &setup.call_as("call_3", 2), "a").await;
        let Outcome::Succeeded(success) = &by_args else { panic!("{by_args:?}") };
        assert_eq!(success.told.replay.as_ref().map(|replay| replay.by), Some("args"));
        assert_eq!(by_args.operation(), first.operation(), "{}", setup.name());
        // The first one's id with the second one's arguments.
        let split = refusal(send(&setup, &setup.call_as("call_1", 1), "b").await);
        assert!(matches!(split.kind(), RefusalKind::Split { .. }), "{split:?}");
        assert_eq!(split.kind().name(), "rejected_key_conflict");
        let named = [split.operation(), other(&split)];
        assert!(named.contains(&first.operation()) && named.contains(&second.operation()), "{split:?}");
        assert_eq!(setup.world.effects(), ["mail a", "mail b"]);
    }
}

fn other(split: &Refusal) -> Option<idem_runtime::OperationId> {
    match split.kind() {
        RefusalKind::Split { other } => Some(*other),
        _ => None,
    }
}

#[idempotent(scope = "conversation", key = "tool_call_id+args(to)")]
async fn both_together(
    call: &ToolCall,
    to: String,
    text: String,
    #[idem(state)] world: World,
) -> Result<usize, ToolError> {
    Ok(world.effect(format!("{to}: {text}")))
}

#[tokio::test]
async fn r_k4_two_sources_together_identify_only_together() {
    for setup in every_store().await {
        let told = async |id: &str, to: &str, text: &str| {
            both_together_outcome(&setup.call_as(id, 1), to.into(), text.into(), setup.world.clone()).await
        };
        assert!(!told_is_replay(&told("call_1", "a", "x").await));
        assert!(told_is_replay(&told("call_1", "a", "x").await));
        assert!(!told_is_replay(&told("call_2", "a", "x").await), "another id");
        assert!(!told_is_replay(&told("call_1", "b", "x").await), "other arguments");
        assert!(matches!(refusal(told("call_1", "a", "y").await).kind(), RefusalKind::Drift { .. }));
        let none = both_together_outcome(&setup.call(), "a".into(), "x".into(), setup.world.clone()).await;
        let none = refusal(none);
        assert_eq!(none.kind(), &RefusalKind::Invalid);
        assert!(none.to_string().contains("a tool call id and arguments"), "{none}");
        assert_eq!(setup.world.effects().len(), 3, "{}", setup.name());
    }
}

fn told_is_replay<T>(outcome: &Outcome<T>) -> bool {
    assert!(outcome.value().is_some());
    outcome.is_replay()
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", window = "10m")]
async fn within(call: &ToolCall, to: String, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(to))
}

// R-K13 (the window; resources come later)
#[tokio::test]
async fn r_k4_equal_arguments_under_a_new_id_mean_the_same_only_within_the_window() {
    for setup in every_store().await {
        let told = async |id: &str| within_outcome(&setup.call_as(id, 1), "a".into(), setup.world.clone()).await;
        assert!(!told("call_1").await.is_replay());
        setup.clock.advance(Duration::from_mins(10) - Duration::from_nanos(1));
        assert!(told("call_2").await.is_replay());
        setup.clock.advance(Duration::from_nanos(1));
        assert!(!told("call_3").await.is_replay(), "{}: the window has ended", setup.name());
        assert!(told("call_3").await.is_replay());
        assert!(told("call_4").await.is_replay(), "and the newest counts");
        assert_eq!(setup.world.count("a"), 2);
    }
}

// R-L6
#[tokio::test]
async fn r_k4_the_same_id_stays_the_same_call_after_a_newer_occurrence() {
    for setup in every_store().await {
        let told = async |id: &str| within_outcome(&setup.call_as(id, 1), "a".into(), setup.world.clone()).await;
        let first = told("call_1").await;
        setup.clock.advance(Duration::from_mins(10));
        let second = told("call_2").await;
        assert_ne!(first.operation(), second.operation());
        let again = told("call_1").await;
        assert!(again.is_replay(), "{}: {again:?}", setup.name());
        assert_eq!(again.operation(), first.operation());
        assert_eq!(told("call_2").await.operation(), second.operation());
        assert_eq!(setup.world.count("a"), 2);
    }
}

#[tokio::test]
async fn r_d0_an_id_that_its_arguments_answered_is_taken() {
    for setup in every_store().await {
        let first = send(&setup, &setup.call_as("call_1", 1), "a").await;
        assert!(send(&setup, &setup.call_as("call_3", 2), "a").await.is_replay());
        let drift = refusal(send(&setup, &setup.call_as("call_3", 2), "c").await);
        assert!(matches!(drift.kind(), RefusalKind::Drift { .. }), "{}: {drift:?}", setup.name());
        assert_eq!(drift.operation(), first.operation());
        assert_eq!(setup.world.effects(), ["mail a"]);
    }
}

#[tokio::test]
async fn r_k4_an_id_that_is_blank_counts_as_absent() {
    for setup in every_store().await {
        for blank in ["", "  "] {
            let told = by_id_outcome(&setup.call_as(blank, 1), "a".into(), setup.world.clone()).await;
            assert_eq!(refusal(told).kind(), &RefusalKind::Invalid, "{blank:?}");
        }
        let tenant = Tenant::new(TENANT).expect("a tenant");
        assert_eq!(setup.idem.drifted(&tenant, 10).await.expect("a list"), []);
        assert_eq!(setup.operations().await, 0);
    }
}
