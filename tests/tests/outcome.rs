//! What callers, and the models behind them, are told; and that telling never runs anything.

use std::time::Duration;

use idem_runtime::{ErrorClass, Held, Idem, Outcome, Refusal, RefusalKind, ToolCall, idempotent, ledger::State};
use idem_tests::{
    home::{Commits, Home},
    timing::Gate,
    tools::{ToolError, classify},
    world::{Setup, World, config, every_store, every_store_with},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[path = "outcome/charges.rs"]
mod charges;
#[path = "outcome/denied.rs"]
mod denied;
#[path = "outcome/kept.rs"]
mod kept;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Refund {
    id: String,
    cents: u64,
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify)]
async fn refund(call: &ToolCall, order: String, cents: u64, #[idem(state)] world: World) -> Result<Refund, ToolError> {
    match order.as_str() {
        "declined" => return Err(ToolError::Declined),
        "busy" => return Err(ToolError::Busy),
        _ => {}
    }
    let id = format!("rf_{}", world.effect(order.clone()));
    call.reference(&id);
    if order == "timeout" { Err(ToolError::Timeout) } else { Ok(Refund { id, cents }) }
}

async fn told(setup: &Setup, call: &ToolCall, order: &str) -> Outcome<Refund> {
    refund_outcome(call, order.into(), 4_900, setup.world.clone()).await
}

fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

#[tokio::test]
async fn r_r1_a_repeat_is_a_success_that_says_it_is_one() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let first = told(&setup, &call, "A-1").await;
        let Outcome::Succeeded(first) = first else { panic!("{first:?}") };
        assert_eq!((first.told.replay.as_ref(), &first.told.held), (None, &Held::Result));
        setup.clock.advance(Duration::from_hours(1));
        let again = told(&setup, &call, "A-1").await;
        let json = again.to_json();
        let text = again.to_model_text();
        let Outcome::Succeeded(again) = again else { panic!("{again:?}") };
        assert_eq!(again.value, first.value);
        assert_eq!(again.told.operation, first.told.operation);
        assert_eq!(again.told.first_at, first.told.first_at);
        assert_eq!((again.told.attempt, again.told.reference.as_deref()), (1, Some("rf_1")));
        assert_eq!(again.told.replay.map(|replay| replay.by), Some("args"));
        assert_eq!((&json["outcome"], &json["replayed"]), (&json!("succeeded"), &json!(true)), "{json}");
        assert_eq!(json["operation"], json!(first.told.operation.to_string()));
        assert_eq!(json["first_at"], json!(first.told.first_at.to_string()));
        assert_eq!(json["result"], json!({ "id": "rf_1", "cents": 4_900 }));
        assert!(text.starts_with("Already done at 2030-01-01T00:00:00Z"), "{text}");
        assert!(text.contains(&first.told.operation.to_string()) && text.contains("rf_1"), "{text}");
        assert_eq!(setup.world.effects(), ["A-1"], "{}", setup.name());
    }
}

/// An error that serde can write.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
enum CardError {
    #[error("the card {card} was declined with code {code}")]
    Declined { card: String, code: u16 },
    #[error("{0}")]
    Refused(String),
}

impl From<Refusal> for CardError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal.to_model_text())
    }
}

fn classify_card(_: &CardError) -> ErrorClass {
    ErrorClass::Final
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify_card)]
async fn charge(call: &ToolCall, card: String, #[idem(state)] world: World) -> Result<u8, CardError> {
    world.effect("asked");
    Err(CardError::Declined { card, code: 51 })
}

#[tokio::test]
async fn r_r1_a_final_failure_replays_as_the_same_failure() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        // Typed, where serde can write it.
        let first = charge(&call, "c-1".into(), setup.world.clone()).await;
        let again = charge(&call, "c-1".into(), setup.world.clone()).await;
        assert_eq!(first, Err(CardError::Declined { card: "c-1".into(), code: 51 }));
        assert_eq!(again, first);
        let told_again = charge_outcome(&call, "c-1".into(), setup.world.clone()).await;
        assert_eq!(refusal(told_again).kind(), &RefusalKind::FailedFinal);
        // In words, where it cannot.
        let call = setup.call_as("call_2", 1);
        assert!(matches!(refund(&call, "declined".into(), 1, setup.world.clone()).await, Err(ToolError::Declined)));
        let again = refund(&call, "declined".into(), 1, setup.world.clone()).await;
        let again = again.expect_err("a failure").refusal().clone();
        assert_eq!(again.kind(), &RefusalKind::FailedFinal);
        assert!(again.to_string().contains("the card was declined"), "{again}");
        assert!(again.operation().is_some());
        assert_eq!(setup.world.effects(), ["asked"], "{}", setup.name());
    }
}

// R-R3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_r2_every_outcome_has_a_name_an_operation_and_says_what_to_do() {
    let quick = config(|it| it.retain = Duration::from_hours(1));
    for setup in every_store_with(|| Idem::builder().config(quick.clone())).await {
        let mut said = Vec::new();
        let mut take = |name: &str, json: Value, text: String| {
            assert_eq!(json["outcome"], name, "{json}");
            assert!(json["operation"].as_str().is_some_and(|it| it.starts_with("op_")), "{json}");
            assert!(name == "succeeded" || json.get("result").is_none(), "only a success has a result: {json}");
            said.push((name.to_owned(), text));
        };
        for (order, turn, name) in [
            ("A-1", 1, "succeeded"),
            ("declined", 2, "failed_final"),
            ("busy", 3, "failed_retryable"),
            ("timeout", 4, "unknown_requires_reconciliation"),
        ] {
            let outcome = told(&setup, &setup.call_as("call", turn), order).await;
            take(name, outcome.to_json(), outcome.to_model_text());
        }
        for (order, turn, name) in [
            ("A-1", 1, "succeeded"),
            ("declined", 2, "failed_final"),
            ("timeout", 4, "unknown_requires_reconciliation"),
            ("other", 1, "rejected_key_conflict"),
        ] {
            let outcome = told(&setup, &setup.call_as("call", turn), order).await;
            take(name, outcome.to_json(), outcome.to_model_text());
        }
        let gate = Gate::new();
        let running = tokio::spawn({
            let (call, gate) = (setup.call_as("call", 5), gate.clone());
            async move { slow_outcome(&call, 1, gate, World::default()).await }
        });
        gate.arrived().await;
        let outcome = slow_outcome(&setup.call_as("call", 5), 1, gate.clone(), World::default()).await;
        assert_eq!(outcome.to_json()["retry_after_ms"], 1_000);
        take("in_progress", outcome.to_json(), outcome.to_model_text());
        gate.open();
        assert!(running.await.expect("no panic").value().is_some());
        setup.clock.advance(Duration::from_hours(1));
        let outcome = told(&setup, &setup.call_as("call", 1), "A-1").await;
        take("retention_ended", outcome.to_json(), outcome.to_model_text());
        // R3, word for word what each one must say.
        let must_say: [(&str, &[&str]); 6] = [
            ("failed_final", &["nothing happened", "do not call again"]),
            ("failed_retryable", &["nothing happened", "may be made again"]),
            ("unknown_requires_reconciliation", &["Outcome unknown", "Do not call again"]),
            ("rejected_key_conflict", &["Conflict", "needs review", "Nothing was done"]),
            ("in_progress", &["Still running", "Do not call again now"]),
            ("retention_ended", &["Already finished", "Do not call again"]),
        ];
        for (name, words) in must_say {
            let texts: Vec<&String> = said.iter().filter(|(of, _)| of == name).map(|(_, text)| text).collect();
            assert!(!texts.is_empty(), "{name} was told");
            for text in texts {
                assert!(words.iter().all(|word| text.contains(word)), "{name}: {text}");
            }
        }
        assert_eq!(setup.world.effects(), ["A-1", "timeout"], "{}", setup.name());
    }
}

/// Stands at a gate before its effect; a duplicate is told at once.
#[idempotent(scope = "conversation", key = "tool_call_id|args", on_busy = "tell")]
async fn slow(
    call: &ToolCall,
    a: u8,
    #[idem(state)] gate: Gate,
    #[idem(state)] world: World,
) -> Result<usize, ToolError> {
    gate.pass().await;
    let effect = world.effect(format!("slow {a}"));
    if a == 2 { Err(ToolError::Timeout) } else { Ok(effect) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r099_a_hundred_calls_in_vain_run_nothing_and_write_nothing_each() {
    // Counts are written when an operation settles or after this time, whichever is first.
    let lazy = config(|it| {
        it.tally_every = Duration::from_hours(1);
        it.lease = Duration::from_hours(1);
    });
    for setup in every_store_with(|| Idem::builder().config(lazy.clone())).await {
        let call = setup.call_as("call_1", 1);
        let gate = Gate::new();
        let running = tokio::spawn({
            let (call, gate, world) = (call.clone(), gate.clone(), setup.world.clone());
            async move { slow_outcome(&call, 2, gate, world).await }
        });
        gate.arrived().await;
        let rows = setup.home.as_ref().map(Home::rows);
        let commits = setup.home.as_ref().map(Home::watch_commits);
        let version = || commits.as_ref().map(Commits::mark);
        let before = version();
        let told = async || refusal(slow_outcome(&call, 2, gate.clone(), setup.world.clone()).await);
        let mut last = Duration::ZERO;
        for _ in 0..50 {
            let told = told().await;
            let RefusalKind::InProgress { retry_after } = told.kind() else { panic!("{told:?}") };
            assert!(*retry_after >= last, "never sooner than before");
            last = *retry_after;
            assert!(told.to_model_text().contains("Do not call again now"), "{}", told.to_model_text());
            setup.clock.advance(Duration::from_millis(500));
        }
        assert!(last >= Duration::from_secs(20), "and it grows: {last:?}");
        assert_eq!(version(), before, "nothing was committed for any of them");
        gate.open();
        assert_eq!(refusal(running.await.expect("no panic")).kind(), &RefusalKind::Unknown);
        let settled = version();
        let texts: std::collections::HashSet<String> = {
            let mut texts = std::collections::HashSet::new();
            for _ in 0..50 {
                let told = told().await;
                assert_eq!(told.kind(), &RefusalKind::Unknown);
                texts.insert(told.to_model_text());
            }
            texts
        };
        assert_eq!(texts.len(), 1, "one text: {texts:?}");
        assert!(texts.iter().all(|text| text.contains("Do not call again")), "{texts:?}");
        assert_eq!(version(), settled, "nothing was committed for any of these");
        assert_eq!((gate.waiting(), setup.world.effects().len()), (0, 1), "{}: one run, one effect", setup.name());
        if let (Some(home), Some(rows)) = (&setup.home, rows) {
            assert!(home.rows() <= rows + 3, "a result, a line of history and one count, not a row a call");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r049_a_failure_before_the_effect_is_retried_at_once_and_busy_is_no_success() {
    #[idempotent(scope = "conversation", key = "tool_call_id|args", on_busy = "tell", classify = classify)]
    async fn pay(
        call: &ToolCall,
        a: u8,
        #[idem(state)] gate: Gate,
        #[idem(state)] world: World,
    ) -> Result<usize, ToolError> {
        let _ = a;
        if call.number() == 1 {
            return Err(ToolError::Busy);
        }
        gate.pass().await;
        Ok(world.effect("paid"))
    }
    for setup in every_store().await {
        let (call, gate) = (setup.call_as("call_1", 1), Gate::new());
        let failed = refusal(pay_outcome(&call, 1, gate.clone(), setup.world.clone()).await);
        assert_eq!(failed.kind().name(), "failed_retryable");
        assert_eq!(setup.state(failed.operation().expect("an operation")).await, State::FailedRetryable.name());
        // The clock stands still: at once is at once.
        let running = tokio::spawn({
            let (call, gate, world) = (call.clone(), gate.clone(), setup.world.clone());
            async move { pay_outcome(&call, 1, gate, world).await }
        });
        gate.arrived().await;
        let busy = pay_outcome(&call, 1, gate.clone(), setup.world.clone()).await;
        assert_eq!((busy.value(), busy.is_replay()), (None, false));
        assert_eq!((&busy.to_json()["outcome"], busy.to_json().get("result")), (&json!("in_progress"), None));
        assert!(pay(&call, 1, gate.clone(), setup.world.clone()).await.is_err());
        gate.open();
        assert_eq!(running.await.expect("no panic").value(), Some(&1));
        assert_eq!(setup.world.effects(), ["paid"], "{}", setup.name());
    }
}

#[tokio::test]
async fn r_r1_a_result_too_large_to_keep_is_given_once_and_its_success_for_ever() {
    #[idempotent(scope = "conversation", key = "tool_call_id|args")]
    async fn dump(call: &ToolCall, bytes: usize, #[idem(state)] world: World) -> Result<String, ToolError> {
        world.effect("dumped");
        call.reference("dump_1");
        Ok("x".repeat(bytes))
    }
    let small = config(|it| it.result_bytes_max = 100);
    for setup in every_store_with(|| Idem::builder().config(small.clone())).await {
        // 98 letters and two quotes are 100 bytes of JSON.
        let fits = dump_outcome(&setup.call_as("call_1", 1), 98, setup.world.clone()).await;
        assert!(matches!(&fits, Outcome::Succeeded(it) if it.told.held == Held::Result), "{fits:?}");
        let call = setup.call_as("call_2", 1);
        let Outcome::Succeeded(first) = dump_outcome(&call, 99, setup.world.clone()).await else {
            panic!("no success")
        };
        assert_eq!(first.value.len(), 99, "its caller gets it");
        assert!(matches!(&first.told.held, Held::NoResult(why) if why.contains("101 bytes")), "{:?}", first.told.held);
        for _ in 0..2 {
            let again = refusal(dump_outcome(&call, 99, setup.world.clone()).await);
            assert_eq!((again.kind(), again.kind().name()), (&RefusalKind::ResultNotHeld, "succeeded_without_result"));
            assert_eq!(again.operation(), Some(first.told.operation));
            assert!(again.to_model_text().contains("Already done"), "{}", again.to_model_text());
        }
        let record = setup.record(first.told.operation).await;
        assert_eq!((record.state, record.reference.as_deref()), (State::Succeeded, Some("dump_1")));
        assert_eq!(setup.world.effects().len(), 2, "{}", setup.name());
    }
}
