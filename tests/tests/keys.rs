//! Keys as requirements have them: their sources, what they refuse, what leaves them as they were, and the keys that
//! providers get.

use std::collections::HashSet;

use idem_runtime::{AttemptRecord, Idem, IdentityKey, Outcome, Refusal, RefusalKind, ToolCall, idempotent, prepare};
use idem_tests::{
    tools::{ToolError, classify},
    world::{Setup, TENANT, World, every_store, lasting, memory},
};
use serde::Serialize;

fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

async fn record<T>(call: impl Future<Output = Result<T, ToolError>>) -> AttemptRecord {
    prepare(call).await.expect("a call with an identity")
}

#[idempotent(scope = "conversation", key = "tool_call_id")]
async fn by_id(call: &ToolCall, a: String, b: u8, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(format!("{a} {b}")))
}

#[idempotent(scope = "conversation", key = "args")]
async fn by_all(call: &ToolCall, a: String, b: u8, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(format!("{a} {b}")))
}

#[idempotent(scope = "conversation", key = "args(a)")]
async fn by_some(call: &ToolCall, a: String, b: u8, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(format!("{a} {b}")))
}

#[idempotent(scope = "conversation", key = "operation_id")]
async fn by_issue(call: &ToolCall, a: String, b: u8, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(format!("{a} {b}")))
}

#[idempotent(scope = "conversation", key = "template:refund:{a}:{b}")]
async fn by_template(call: &ToolCall, a: String, b: u8, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(format!("{a} {b}")))
}

#[idempotent(scope = "conversation", key = "tool_call_id+operation_id")]
async fn by_both(call: &ToolCall, a: String, b: u8, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(format!("{a} {b}")))
}

#[tokio::test]
async fn r_k3_every_source_identifies_by_what_it_names_and_by_nothing_else() {
    for setup in every_store().await {
        let base = || setup.call_as("call_1", 1).operation_id("approved-1");
        let calls = [
            ("the same", base(), "x", 1),
            ("another id", base().tool_call_id("call_2"), "x", 1),
            ("another turn", base().turn(2), "x", 1),
            ("another issued id", base().operation_id("approved-2"), "x", 1),
            ("another a", base(), "y", 1),
            ("another b", base(), "x", 2),
        ];
        // Which of the changes above make it another operation.
        let expected: [(&str, [bool; 6]); 6] = [
            ("by_id", [false, true, true, false, false, false]),
            ("by_all", [false, false, false, false, true, true]),
            ("by_some", [false, false, false, false, true, false]),
            ("by_issue", [false, false, false, true, false, false]),
            ("by_template", [false, false, false, false, true, true]),
            ("by_both", [false, true, true, true, false, false]),
        ];
        for (tool, others) in expected {
            let key = async |call: &ToolCall, a: &str, b| {
                let (a, world) = (a.to_owned(), setup.world.clone());
                match tool {
                    "by_id" => record(by_id(call, a, b, world)).await.key(),
                    "by_all" => record(by_all(call, a, b, world)).await.key(),
                    "by_some" => record(by_some(call, a, b, world)).await.key(),
                    "by_issue" => record(by_issue(call, a, b, world)).await.key(),
                    "by_template" => record(by_template(call, a, b, world)).await.key(),
                    _ => record(by_both(call, a, b, world)).await.key(),
                }
            };
            let first = key(&base(), "x", 1).await;
            assert_eq!(first.len(), 1);
            for ((what, call, a, b), other) in calls.iter().zip(others) {
                assert_eq!(key(call, a, *b).await != first, other, "{tool}: {what}");
            }
        }
        assert_eq!(setup.operations().await, 0, "a record made in advance reserves nothing: {}", setup.name());
        assert_eq!(setup.world.effects(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn r_k3_a_source_that_is_absent_is_asked_for() {
    for setup in every_store().await {
        let told = refusal(by_issue_outcome(&setup.call_as("call_1", 1), "x".into(), 1, setup.world.clone()).await);
        assert!(told.to_string().contains("an operation id"), "{told}");
        let told = refusal(by_both_outcome(&setup.call_as("call_1", 1), "x".into(), 1, setup.world.clone()).await);
        assert!(told.to_string().contains("a tool call id and an operation id"), "{told}");
        let blank = setup.call().operation_id("  ");
        assert_eq!(
            refusal(by_issue_outcome(&blank, "x".into(), 1, setup.world.clone()).await).kind(),
            &RefusalKind::Invalid
        );
        assert_eq!(setup.operations().await, 0, "{}", setup.name());
    }
}

// R-K1
#[tokio::test]
async fn r_k2_a_key_is_the_same_in_every_ledger_at_every_time() {
    let mut keys = HashSet::new();
    for setup in every_store().await.into_iter().chain(every_store().await) {
        setup.clock.advance(std::time::Duration::from_hours(keys.len() as u64 + 1));
        let call = setup.call_as("call_1", 1);
        let first = record(by_all(&call, "x".into(), 1, setup.world.clone())).await;
        by_all(&call, "x".into(), 1, setup.world.clone()).await.expect("run");
        let told = by_all_outcome(&call, "x".into(), 1, setup.world.clone()).await;
        let Outcome::Succeeded(success) = told else { panic!("{told:?}") };
        assert_eq!(*success.told.record, first, "prepared, run and replayed");
        keys.insert((first.key(), first.operation()));
    }
    assert_eq!(keys.len(), 1);
}

#[derive(Debug, Clone, Serialize)]
struct Invoice {
    id: String,
    approval: Option<String>,
}

#[idempotent(scope = "conversation", key = "template:refund:{invoice.id}:{invoice.approval}")]
async fn refund(call: &ToolCall, invoice: Invoice, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(invoice.id))
}

#[idempotent(scope = "conversation", key = "tool_call_id|args(invoice.id, invoice.approval)")]
async fn credit(call: &ToolCall, invoice: Invoice, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(invoice.id))
}

#[tokio::test]
async fn r_k5a_an_empty_or_missing_part_refuses_the_call_before_anything() {
    let invoice = |id: &str, approval: Option<&str>| Invoice { id: id.into(), approval: approval.map(Into::into) };
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let (ok, none) = (Some("ok"), None);
        for (id, approval, part) in [
            ("", ok, "invoice.id"),
            (" ", ok, "invoice.id"),
            ("I-1", none, "invoice.approval"),
            ("I-1", Some(""), "invoice.approval"),
            ("I-1", Some("   "), "invoice.approval"),
        ] {
            for told in [
                refund_outcome(&call, invoice(id, approval), setup.world.clone()).await,
                credit_outcome(&call, invoice(id, approval), setup.world.clone()).await,
            ] {
                let told = refusal(told);
                assert_eq!((told.kind(), told.operation()), (&RefusalKind::Invalid, None), "{id:?} {approval:?}");
                assert!(told.to_string().contains(part), "{told}");
            }
        }
        assert_eq!((setup.operations().await, setup.world.effects().len()), (0, 0), "{}", setup.name());
        refund(&call, invoice("I-1", ok), setup.world.clone()).await.expect("complete");
    }
}

#[tokio::test]
async fn r_k5a_white_space_of_any_kind_is_blank() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        for blank in ["\t", "\n", "\r\n", " \t ", "\u{a0}", "\u{3000}"] {
            let invoice = Invoice { id: blank.into(), approval: Some("ok".into()) };
            let told = refund_outcome(&call, invoice, setup.world.clone()).await;
            assert!(told.value().is_none(), "{blank:?} on {}: {told:?}", setup.name());
            // As for the ids that a call carries.
            let told = by_all_outcome(&setup.call().conversation(blank), "x".into(), 1, setup.world.clone()).await;
            assert!(told.value().is_none(), "{blank:?} on {}: {told:?}", setup.name());
        }
        assert_eq!(setup.operations().await, 0);
    }
}

/// One tool before and after it got an optional parameter.
mod grown {
    use super::*;

    #[derive(Debug, Serialize)]
    pub(super) struct Was {
        pub(super) id: String,
    }

    #[idempotent(scope = "conversation", key = "args", name = "test.grown")]
    pub(super) async fn was(call: &ToolCall, a: String, #[idem(state)] world: World) -> Result<usize, ToolError> {
        Ok(world.effect(a))
    }

    #[idempotent(scope = "conversation", key = "args", name = "test.grown")]
    pub(super) async fn is(
        call: &ToolCall,
        a: String,
        #[idem(content)] why: Option<String>,
        note: Option<u8>,
        #[idem(state)] world: World,
    ) -> Result<usize, ToolError> {
        let _ = (why, note);
        Ok(world.effect(a))
    }
}

#[tokio::test]
async fn r_k8_none_and_absence_are_one_intent_and_a_new_optional_parameter_changes_no_key() {
    let (before, after) = (memory(Idem::builder()).await, memory(Idem::builder()).await);
    let was = record(grown::was(&before.call(), "x".into(), before.world.clone())).await;
    let is = async |note| record(grown::is(&after.call(), "x".into(), None, note, after.world.clone())).await;
    assert_eq!((was.key(), was.operation()), (is(None).await.key(), is(None).await.operation()));
    assert_ne!(was.key(), is(Some(1)).await.key());
    // Over a real ledger: what the old program recorded, the new one replays.
    for setup in lasting().await {
        grown::was(&setup.call(), "x".into(), setup.world.clone()).await.expect("run");
        let later = Idem::open(setup.home.as_ref().expect("a home").address()).await.expect("the same ledger");
        let call = later.call().tenant(TENANT).conversation("c-1");
        assert!(grown::is_outcome(&call, "x".into(), None, None, setup.world.clone()).await.is_replay());
        assert!(!grown::is_outcome(&call, "x".into(), None, Some(1), setup.world.clone()).await.is_replay());
        assert_eq!(setup.world.effects(), ["x", "x"]);
        let _ = grown::Was { id: String::new() };
    }
}

#[tokio::test]
async fn r_k10_an_occurrence_or_an_issued_id_is_a_deliberate_second_effect() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let told = async |call: &ToolCall| by_all_outcome(call, "x".into(), 1, setup.world.clone()).await;
        let first = told(&call).await;
        let second = told(&call.clone().occurrence("second")).await;
        assert!(!second.is_replay(), "{}", setup.name());
        assert_ne!(first.operation(), second.operation());
        assert!(told(&call.clone().occurrence("second")).await.is_replay());
        assert!(told(&call).await.is_replay());
        assert!(!told(&call.clone().occurrence("third")).await.is_replay());
        assert_eq!(setup.world.effects().len(), 3);
        let issued = async |id: &str| {
            by_issue_outcome(&call.clone().operation_id(id), "x".into(), 1, setup.world.clone()).await.is_replay()
        };
        assert_eq!([issued("one").await, issued("two").await, issued("one").await], [false, false, true]);
        // What the model writes is arguments and a tool call id: no words of it make an occurrence.
        let told = by_all_outcome(&setup.call_as("occurrence=second", 9), "x".into(), 1, setup.world.clone()).await;
        assert!(told.is_replay());
    }
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify)]
async fn charge(call: &ToolCall, a: u8, #[idem(state)] world: World) -> Result<Vec<String>, ToolError> {
    let _ = a;
    let keys = [call.provider_key("charge"), call.provider_key("mail"), call.provider_key("charge")];
    for key in &keys {
        assert_eq!(key.as_str(), key.to_string());
        world.effect(format!("{key} {}", key.uuid()));
    }
    if call.number() < 3 {
        return Err(ToolError::Busy);
    }
    Ok(keys.iter().map(|key| key.as_str().to_owned()).collect())
}

#[tokio::test]
async fn r_k12_a_provider_s_key_is_stable_over_attempts_and_distinct_per_effect() {
    let mut over_ledgers = HashSet::new();
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        for _ in 0..2 {
            refusal(charge_outcome(&call, 1, setup.world.clone()).await);
        }
        let done = charge_outcome(&call, 1, setup.world.clone()).await;
        let sent: Vec<String> = setup.world.effects();
        assert_eq!(sent.len(), 9, "{}: three attempts", setup.name());
        let distinct: HashSet<&String> = sent.iter().collect();
        assert_eq!(distinct.len(), 2, "one key an effect, whichever attempt");
        for line in &sent {
            let (text, uuid) = line.split_once(' ').expect("two shapes");
            assert_eq!(text.len(), 37, "{text}");
            assert!(text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-'), "{text}");
            let uuid: uuid::Uuid = uuid.parse().expect("a UUID");
            assert_eq!((uuid.get_version_num(), uuid.get_variant()), (8, uuid::Variant::RFC4122));
        }
        // Another operation has other keys.
        let other = setup.call_as("call_2", 2).occurrence("second");
        refusal(charge_outcome(&other, 1, setup.world.clone()).await);
        let others: HashSet<String> = setup.world.effects().into_iter().skip(9).collect();
        assert!(others.iter().all(|line| !sent.contains(line)), "{others:?}");
        over_ledgers.insert(done.value().expect("charged").clone());
    }
    assert_eq!(over_ledgers.len(), 1, "a ledger that was lost and rebuilt gives the same keys");
}

#[tokio::test]
async fn r_k9_an_identity_key_changes_every_key() {
    let key = |byte| IdentityKey::new(vec![byte; 32]).expect("long enough");
    let setups = [
        memory(Idem::builder()).await,
        memory(Idem::builder().identity_key(key(1))).await,
        memory(Idem::builder().identity_key(key(2))).await,
        memory(Idem::builder().identity_key(key(1))).await,
    ];
    let mut records = Vec::new();
    for setup in &setups {
        records.push(record(by_all(&setup.call(), "x".into(), 1, setup.world.clone())).await);
    }
    let same =
        |one: &AttemptRecord, other: &AttemptRecord| (one.key() == other.key(), one.operation() == other.operation());
    assert_eq!(same(&records[0], &records[1]), (false, false));
    assert_eq!(same(&records[1], &records[2]), (false, false));
    assert_eq!(same(&records[1], &records[3]), (true, true));
    let effects = async |setup: &Setup| {
        by_all(&setup.call(), "x".into(), 1, setup.world.clone()).await.expect("run");
        by_all(&setup.call(), "x".into(), 1, setup.world.clone()).await.expect("a replay");
        setup.world.effects().len()
    };
    assert_eq!(effects(&setups[1]).await, 1, "a keyed ledger deduplicates as any other");
}
