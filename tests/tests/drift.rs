//! Drift: a call that names an operation and is not it. What is refused, what is said, and what never changes.

use std::{process::Command, time::Duration};

use idem_runtime::{
    ErrorClass, Idem, Outcome, Refusal, RefusalKind, Tenant, ToolCall, idempotent, ledger::State, prepare,
};
use idem_tests::{
    home::{Home, Place},
    timing::{Gate, until},
    tools::{EffectFile, ToolError, classify},
    world::{Setup, TENANT, World, config, every_store, every_store_with, lasting, lasting_with},
};
use serde_json::Value;

#[idempotent(scope = "conversation", key = "tool_call_id|args(order_id)")]
async fn refund(
    call: &ToolCall,
    order_id: String,
    amount_cents: u64,
    #[idem(content)] reason: String,
    #[idem(state)] world: World,
) -> Result<String, ToolError> {
    let _ = reason;
    world.effect(format!("refund {order_id} {amount_cents}"));
    Ok(format!("refunded {amount_cents}"))
}

#[idempotent(scope = "tenant", key = "operation_id|template:refund:{invoice}", name = "test.issued")]
async fn issued(
    call: &ToolCall,
    invoice: String,
    amount_cents: u64,
    #[idem(state)] world: World,
) -> Result<usize, ToolError> {
    Ok(world.effect(format!("refund {invoice} {amount_cents}")))
}

async fn told(setup: &Setup, call: &ToolCall, order: &str, cents: u64) -> Outcome<String> {
    refund_outcome(call, order.into(), cents, "late".into(), setup.world.clone()).await
}

fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

fn differing(refusal: &Refusal) -> &[String] {
    match refusal.kind() {
        RefusalKind::Drift { parameters, .. } => parameters,
        other => panic!("no drift: {other:?}"),
    }
}

#[tokio::test]
async fn r_d0_every_promise_of_sameness_is_held_to() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let first = told(&setup, &call, "A-1", 4_900).await;
        // The same id in the same response.
        assert_eq!(differing(&refusal(told(&setup, &call, "A-1", 9_400).await)), ["amount_cents"]);
        // A carried record, whatever the id.
        let Outcome::Succeeded(success) = &first else { panic!("{first:?}") };
        let resumed = setup.call_as("call_9", 9).resume(success.told.record.clone());
        assert_eq!(differing(&refusal(told(&setup, &resumed, "A-2", 9_400).await)), ["amount_cents", "order_id"]);
        // A part of the arguments that names the operation.
        assert_eq!(
            differing(&refusal(told(&setup, &setup.call_as("call_2", 2), "A-1", 9_400).await)),
            ["amount_cents"]
        );
        // An id from the platform, and a template.
        let by_platform = setup.call().operation_id("approved-1");
        let told = async |call: &ToolCall, invoice: &str, cents| {
            issued_outcome(call, invoice.into(), cents, setup.world.clone()).await
        };
        assert!(told(&by_platform, "I-1", 1).await.value().is_some());
        assert_eq!(differing(&refusal(told(&by_platform, "I-2", 1).await)), ["invoice"]);
        assert_eq!(differing(&refusal(told(&setup.call(), "I-1", 2).await)), ["amount_cents"]);
        assert_eq!(setup.world.effects(), ["refund A-1 4900", "refund I-1 1"], "{}", setup.name());
    }
}

#[tokio::test]
async fn r_d1_drift_runs_nothing_changes_nothing_and_is_listed_for_review() {
    for setup in
        every_store_with(|| Idem::builder().config(config(|it| it.tally_every = Duration::from_millis(1)))).await
    {
        let call = setup.call_as("call_1", 1);
        let first = told(&setup, &call, "A-1", 4_900).await.operation().expect("an operation");
        let before = setup.record(first).await;
        for cents in [1, 2, 3] {
            refusal(told(&setup, &call, "A-1", cents).await);
        }
        assert_eq!(setup.record(first).await, before, "{}", setup.name());
        assert_eq!(setup.world.effects(), ["refund A-1 4900"]);
        assert!(told(&setup, &call, "A-1", 4_900).await.is_replay());
        let tenant = Tenant::new(TENANT).expect("a tenant");
        let listed = until("the drifts are listed", async || {
            let drifted = setup.idem.drifted(&tenant, 10).await.expect("a list");
            drifted.into_iter().find(|drifted| drifted.count == 3)
        })
        .await;
        assert_eq!((listed.operation, listed.parameters), (first, vec!["amount_cents".to_owned()]));
        assert_eq!(listed.tool, "drift::refund");
        let stranger = Tenant::new("stranger").expect("a tenant");
        assert_eq!(setup.idem.drifted(&stranger, 10).await.expect("a list"), []);
    }
}

#[tokio::test]
async fn r_d2_what_is_excluded_by_name_is_no_drift_and_everything_else_is() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        told(&setup, &call, "A-1", 4_900).await.into_result().expect("refunded");
        let reworded = refund_outcome(&call, "A-1".into(), 4_900, "never came".into(), setup.world.clone()).await;
        let Outcome::Succeeded(success) = &reworded else { panic!("{reworded:?}") };
        let replay = success.told.replay.as_ref().expect("a replay");
        assert_eq!(replay.reworded, ["reason"], "reported, not refused");
        let same = told(&setup, &call, "A-1", 4_900).await;
        assert!(
            matches!(&same, Outcome::Succeeded(it) if it.told.replay.as_ref().is_some_and(|it| it.reworded.is_empty()))
        );
        assert_eq!(differing(&refusal(told(&setup, &call, "A-1", 4_901).await)), ["amount_cents"]);
        assert_eq!(setup.world.effects().len(), 1, "{}", setup.name());
    }
}

// R-X2
#[tokio::test]
async fn r_d3_the_conflict_names_the_operation_and_the_parameters_and_no_value() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let first = told(&setup, &call, "ORDER-OF-4711", 4_900_777).await.operation();
        let drift = refusal(told(&setup, &call, "ORDER-OF-4712", 9_400_777).await);
        assert_eq!(drift.operation(), first);
        assert_eq!(differing(&drift), ["amount_cents", "order_id"]);
        let said = format!("{drift} {drift:?} {} {}", drift.to_model_text(), drift.to_json());
        for value in ["4711", "4712", "4900777", "9400777"] {
            assert!(!said.contains(value), "{said}");
        }
        let text = drift.to_model_text();
        assert!(text.contains("review") && text.contains("amount_cents") && text.contains("order_id"), "{text}");
        // Another tenant's equal call meets nothing.
        let other = setup.idem.call().tenant("other").conversation("c-1").tool_call_id("call_1").turn(1);
        assert!(!told(&setup, &other, "ORDER-OF-4712", 9_400_777).await.is_replay());
    }
}

/// One tool as three releases of a program have it.
mod releases {
    use super::*;

    #[idempotent(scope = "conversation", key = "tool_call_id|args(order)", name = "test.release")]
    pub(super) async fn first(
        call: &ToolCall,
        order: String,
        #[idem(state)] world: World,
    ) -> Result<String, ToolError> {
        world.effect(order.clone());
        Ok(order)
    }

    #[idempotent(scope = "conversation", key = "tool_call_id|args(order)", name = "test.release", version = 2)]
    pub(super) async fn second(
        call: &ToolCall,
        order: String,
        currency: Option<String>,
        #[idem(state)] world: World,
    ) -> Result<String, ToolError> {
        world.effect(format!("{order} {currency:?}"));
        Ok(order)
    }

    #[idempotent(scope = "conversation", key = "tool_call_id|args(order)", name = "test.release", version = 3)]
    pub(super) async fn third(call: &ToolCall, order: String, #[idem(state)] world: World) -> Result<u64, ToolError> {
        world.effect(order);
        Ok(3)
    }
}

/// The same ledger in another process, as far as the runtime can tell.
async fn reopened(home: &Home) -> Idem {
    Idem::open(home.address()).await.expect("the same ledger")
}

// R-R4
#[tokio::test]
async fn r_d4_a_contract_that_changed_is_named_and_an_unaffected_replay_is_served() {
    for setup in lasting().await {
        let home = setup.home.as_ref().expect("a home");
        let first = releases::first_outcome(&setup.call_as("call_1", 1), "A-1".into(), setup.world.clone()).await;
        let idem = reopened(home).await;
        let call = idem.call().tenant(TENANT).conversation("c-1").tool_call_id("call_1").turn(1);
        let same = releases::second_outcome(&call, "A-1".into(), None, setup.world.clone()).await;
        assert!(same.is_replay(), "{same:?}");
        assert_eq!(same.operation(), first.operation());
        let changed = releases::second_outcome(&call, "A-1".into(), Some("EUR".into()), setup.world.clone()).await;
        let changed = refusal(changed);
        assert_eq!(changed.kind(), &RefusalKind::ContractChanged { recorded: 1, current: 2 });
        assert_eq!((changed.operation(), changed.kind().name()), (first.operation(), "rejected_key_conflict"));
        assert!(changed.to_model_text().contains("contract changed"), "{}", changed.to_model_text());
        let idem = reopened(home).await;
        let call = idem.call().tenant(TENANT).conversation("c-1").tool_call_id("call_1").turn(1);
        let unreadable = refusal(releases::third_outcome(&call, "A-1".into(), setup.world.clone()).await);
        assert_eq!(unreadable.kind(), &RefusalKind::ResultUnreadable { recorded: 1, current: 3 });
        assert_eq!(unreadable.operation(), first.operation());
        assert_eq!(setup.world.effects(), ["A-1"], "nothing was run again");
    }
}

/// How the body of [`staged`] is to end.
#[derive(Debug, Clone)]
struct Stage {
    world: World,
    gate: Gate,
    ends: Vec<fn() -> Result<String, ToolError>>,
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", lease = "60s", on_busy = "tell", classify = classify)]
async fn staged(call: &ToolCall, order: String, #[idem(state)] stage: Stage) -> Result<String, ToolError> {
    stage.gate.pass().await;
    stage.world.effect(order);
    let attempt = usize::try_from(call.number()).expect("small");
    stage.ends[attempt - 1]()
}

/// The fingerprints that the ledger holds, each once.
fn fingerprints(home: &Home) -> Vec<Vec<u8>> {
    home.column("select distinct fingerprint from idem_operations")
}

fn states(home: &Home) -> Vec<String> {
    home.column("select state from idem_operations")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r026_the_fingerprint_stays_through_every_transition() {
    type End = fn() -> Result<String, ToolError>;
    let done: End = || Ok("done".into());
    let busy: End = || Err(ToolError::Busy);
    let declined: End = || Err(ToolError::Declined);
    let timeout: End = || Err(ToolError::Timeout);
    // Each way through the table, and what a byte-identical retry from a fresh start is told at its end.
    let ways: [(&str, &[End], &str); 5] = [
        ("settle_ok", &[done], "succeeded"),
        ("settle_retryable, reserve, settle_ok", &[busy, done], "succeeded"),
        ("settle_final", &[declined], "failed_final"),
        ("settle_unknown", &[timeout], "unknown_requires_reconciliation"),
        ("settle_retryable, reserve, settle_final", &[busy, declined], "failed_final"),
    ];
    for (way, ends, expected) in ways {
        for setup in lasting().await {
            let home = setup.home.as_ref().expect("a home");
            let stage = Stage { world: setup.world.clone(), gate: Gate::new(), ends: ends.to_vec() };
            let call = setup.call_as("call_1", 1);
            let mut fingerprint = None;
            for _ in ends {
                let running = tokio::spawn({
                    let (call, stage) = (call.clone(), stage.clone());
                    async move { staged_outcome(&call, "A-1".into(), stage).await }
                });
                stage.gate.arrived().await;
                assert_eq!(states(home), ["in_progress"], "{way}: {}", setup.name());
                assert_eq!(
                    *fingerprint.get_or_insert_with(|| fingerprints(home)),
                    fingerprints(home),
                    "{way}: {}",
                    setup.name()
                );
                stage.gate.open();
                let _ = running.await.expect("no panic");
                assert_eq!(fingerprint, Some(fingerprints(home)), "{way}: {}", setup.name());
            }
            let effects = setup.world.effects().len();
            let idem = Idem::builder().clock(setup.clock.clone()).open(home.address()).await.expect("a fresh start");
            let call = idem.call().tenant(TENANT).conversation("c-1").tool_call_id("call_1").turn(1);
            let retried = staged_outcome(&call, "A-1".into(), stage.clone()).await;
            assert_eq!(retried.to_json()["outcome"], expected, "{way}: {}", setup.name());
            assert_eq!(fingerprint, Some(fingerprints(home)), "{way}: {}", setup.name());
            assert_eq!(setup.world.effects().len(), effects, "{way}: nothing was run: {}", setup.name());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r026_the_fingerprint_stays_when_a_lease_ends_and_its_owner_comes_late() {
    let short = config(|it| it.run_max = Duration::from_secs(1));
    for setup in lasting_with(|| Idem::builder().config(short.clone())).await {
        let home = setup.home.as_ref().expect("a home");
        let stage = Stage { world: setup.world.clone(), gate: Gate::new(), ends: vec![|| Ok("late".into())] };
        let call = setup.call_as("call_1", 1);
        let running = tokio::spawn({
            let (call, stage) = (call.clone(), stage.clone());
            async move { staged_outcome(&call, "A-1".into(), stage).await }
        });
        stage.gate.arrived().await;
        let fingerprint = fingerprints(home);
        setup.clock.advance(Duration::from_mins(2));
        let unknown = refusal(staged_outcome(&call, "A-1".into(), stage.clone()).await);
        assert_eq!(unknown.kind(), &RefusalKind::Unknown);
        assert_eq!((states(home), fingerprints(home)), (vec!["outcome_unknown".to_owned()], fingerprint.clone()));
        stage.gate.open();
        assert!(running.await.expect("no panic").value().is_some());
        assert_eq!((states(home), fingerprints(home)), (vec!["succeeded".to_owned()], fingerprint.clone()));
        let idem = Idem::builder().clock(setup.clock.clone()).open(home.address()).await.expect("a fresh start");
        let call = idem.call().tenant(TENANT).conversation("c-1").tool_call_id("call_1").turn(1);
        assert!(staged_outcome(&call, "A-1".into(), stage).await.is_replay());
        assert_eq!(fingerprints(home), fingerprint);
    }
}

#[test]
fn r026_a_fresh_process_replays_what_an_earlier_one_completed() {
    for place in Place::lasting() {
        let home = place.home().expect("a home");
        let effects = home.folder().join("effects");
        let run = |cents: &str| -> Value {
            let child = Command::new(env!("CARGO_BIN_EXE_fresh"))
                .args(["refund", home.address(), &effects.display().to_string(), "A-1", cents, "call_1"])
                .output()
                .expect("a process");
            assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
            serde_json::from_slice(&child.stdout).expect("JSON")
        };
        let first = run("4900");
        let fingerprint = fingerprints(&home);
        let second = run("4900");
        assert_eq!((&first["result"], &first["operation"]), (&second["result"], &second["operation"]));
        assert_eq!(second["replayed"], true, "{second}");
        assert_eq!(run("9400")["outcome"], "rejected_key_conflict");
        assert_eq!(fingerprints(&home), fingerprint);
        assert_eq!(EffectFile::new(&effects).effects(), ["refund A-1 4900"]);
    }
}

#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn book(
    call: &ToolCall,
    room: String,
    #[idem(volatile)] requested_at: String,
    #[idem(secret)] auth_token: String,
    #[idem(state)] world: World,
) -> Result<usize, ToolError> {
    Ok(world.effect(format!("{room} at {requested_at} by {}", auth_token.len())))
}

// R-D2 (that an unknown name does not compile is tests/mistakes')
#[tokio::test]
async fn r028_what_changes_with_every_try_is_no_drift_and_is_not_kept() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let told = async |call: &ToolCall, at: &str, token: &str| {
            book_outcome(call, "R-1".into(), at.into(), token.into(), setup.world.clone()).await
        };
        assert!(told(&call, "at-08-15-00", "token-ONE").await.value().is_some());
        assert!(told(&call, "at-08-15-09", "token-TWO").await.is_replay(), "{}", setup.name());
        assert!(told(&setup.call_as("call_2", 2), "at-08-15-11", "token-SIX").await.is_replay());
        assert_eq!(setup.world.effects().len(), 1);
        if let Some(home) = &setup.home {
            for value in ["at-08-15", "token-"] {
                assert!(!home.holds(value), "{value}");
            }
            assert!(home.holds("call_1") || home.holds("drift::book"), "the search can find what is there");
        }
    }
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = never)]
async fn unclassified(call: &ToolCall, a: u8) -> Result<(), ToolError> {
    let _ = a;
    Err(ToolError::Busy)
}

fn never(_: &ToolError) -> ErrorClass {
    ErrorClass::Unknown
}

// R-L2
#[tokio::test]
async fn r_d1_drift_leaves_an_unknown_outcome_unknown() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let unknown = refusal(unclassified_outcome(&call, 1).await);
        let operation = unknown.operation().expect("an operation");
        assert_eq!(setup.record(operation).await.state, State::OutcomeUnknown);
        assert_eq!(differing(&refusal(unclassified_outcome(&call, 2).await)), ["a"]);
        assert_eq!(setup.record(operation).await.state, State::OutcomeUnknown, "{}", setup.name());
        // A record made in advance is held to as well.
        let prepared = prepare(unclassified(&setup.call_as("call_2", 2), 7)).await.expect("a record");
        let resumed = setup.call_as("call_3", 3).resume(prepared);
        refusal(unclassified_outcome(&resumed, 7).await);
        assert_eq!(differing(&refusal(unclassified_outcome(&resumed, 8).await)), ["a"]);
    }
}
