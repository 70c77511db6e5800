//! Operations that belong together: one takes the other's effect back, or stands in its place; an approval, a resume, a
//! fork.

use idem_runtime::{
    OperationId, Outcome, Refusal, RefusalKind, Tenant, ToolCall, idempotent,
    ledger::{Detail, Link, LinkKind},
};
use idem_tests::{
    tools::{ToolError, classify},
    world::{Setup, TENANT, World, every_store},
};

#[idempotent(scope = "conversation", key = "tool_call_id|args", name = "test.charge", classify = classify)]
async fn charge(call: &ToolCall, order: String, cents: u64, #[idem(state)] world: World) -> Result<usize, ToolError> {
    let _ = call.number();
    Ok(world.effect(format!("charge {order} {cents}")))
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", name = "test.refund", classify = classify)]
async fn refund(call: &ToolCall, order: String, cents: u64, #[idem(state)] world: World) -> Result<usize, ToolError> {
    if order == "lost" {
        return Err(ToolError::Timeout);
    }
    let _ = call.number();
    Ok(world.effect(format!("refund {order} {cents}")))
}

/// The order number is its whole identity; the amount is what it does.
#[idempotent(scope = "tenant", key = "template:transfer-{order}", name = "test.transfer")]
async fn transfer(call: &ToolCall, order: String, cents: u64, #[idem(state)] world: World) -> Result<usize, ToolError> {
    let _ = call.number();
    Ok(world.effect(format!("transfer {order} {cents}")))
}

/// A step that somebody has to approve; the platform names it.
#[idempotent(scope = "workflow", key = "operation_id|args", name = "test.deploy")]
async fn deploy(call: &ToolCall, release: String, #[idem(state)] world: World) -> Result<usize, ToolError> {
    let _ = call.number();
    Ok(world.effect(format!("deploy {release}")))
}

/// The same, and blind for the approval.
#[idempotent(scope = "workflow", key = "tool_call_id", name = "test.deploy_by_id")]
async fn deploy_by_id(call: &ToolCall, release: String, #[idem(state)] world: World) -> Result<usize, ToolError> {
    let _ = call.number();
    Ok(world.effect(format!("deploy {release}")))
}

/// One mail in a thread of a graph; a fork is a branch of it.
#[idempotent(scope = "named:branch", key = "tool_call_id|args", name = "test.mail")]
async fn mail(call: &ToolCall, to: String, #[idem(state)] world: World) -> Result<usize, ToolError> {
    let _ = call.number();
    Ok(world.effect(format!("mail {to}")))
}

/// The same without branches.
#[idempotent(scope = "conversation", key = "tool_call_id|args", name = "test.flat_mail")]
async fn flat_mail(call: &ToolCall, to: String, #[idem(state)] world: World) -> Result<usize, ToolError> {
    let _ = call.number();
    Ok(world.effect(format!("mail {to}")))
}

fn tenant() -> Tenant {
    Tenant::new(TENANT).expect("a tenant")
}

fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

async fn charged(setup: &Setup, call: &ToolCall, order: &str, cents: u64) -> Outcome<usize> {
    charge_outcome(call, order.into(), cents, setup.world.clone()).await
}

async fn refunded(setup: &Setup, call: &ToolCall, order: &str, cents: u64) -> Outcome<usize> {
    refund_outcome(call, order.into(), cents, setup.world.clone()).await
}

async fn transferred(setup: &Setup, call: &ToolCall, cents: u64) -> Outcome<usize> {
    transfer_outcome(call, "A-1".into(), cents, setup.world.clone()).await
}

async fn detail(setup: &Setup, id: OperationId) -> Detail {
    let person = setup.idem.operator(&tenant(), "mia").expect("an operator");
    person.show(id).await.expect("a readable ledger").expect("a record")
}

fn id<T>(outcome: &Outcome<T>) -> OperationId {
    outcome.operation().expect("an operation")
}

#[tokio::test]
async fn r_e4_a_compensation_is_an_operation_of_its_own_linked_to_the_first() {
    for setup in every_store().await {
        // The order was charged twice, as two intended effects: each duplicate is refunded.
        let first = id(&charged(&setup, &setup.call_as("call_1", 1), "A-1", 4_900).await);
        let second = id(&charged(&setup, &setup.call_as("call_2", 2).occurrence("second"), "A-1", 4_900).await);
        assert_ne!(first, second);
        let undo = |id: &str, turn, of| setup.call_as(id, turn).compensates(of);
        let of_first = refunded(&setup, &undo("call_3", 3, first), "A-1", 4_900).await;
        assert!(!of_first.is_replay() && ![first, second].contains(&id(&of_first)));
        // Equal calls that compensate the same operation are one, by id and by arguments.
        for again in [undo("call_3", 3, first), undo("call_4", 4, first)] {
            let again = refunded(&setup, &again, "A-1", 4_900).await;
            assert_eq!((again.is_replay(), id(&again)), (true, id(&of_first)), "{}", setup.name());
        }
        // Equal arguments that compensate another operation are another effect.
        let of_second = refunded(&setup, &undo("call_5", 5, second), "A-1", 4_900).await;
        assert_eq!((of_second.is_replay(), id(&of_second) == id(&of_first)), (false, false), "{}", setup.name());
        // So is an equal call that compensates nothing.
        let plain = refunded(&setup, &setup.call_as("call_6", 6), "A-1", 4_900).await;
        assert!(!plain.is_replay() && id(&plain) != id(&of_first));
        assert_eq!(setup.world.count("charge A-1 4900"), 2);
        assert_eq!(setup.world.count("refund A-1 4900"), 3, "{}", setup.name());

        for (of, by) in [(first, id(&of_first)), (second, id(&of_second))] {
            let link = |to| [Link { kind: LinkKind::Compensates, to }];
            let (was, is) = (detail(&setup, of).await, detail(&setup, by).await);
            assert_eq!((&was.links[..], &was.linked_from[..]), (&[][..], &link(by)[..]), "{}", setup.name());
            assert_eq!((&is.links[..], &is.linked_from[..]), (&link(of)[..], &[][..]), "{}", setup.name());
        }
        let plain = detail(&setup, id(&plain)).await;
        assert!(plain.links.is_empty() && plain.linked_from.is_empty());
    }
}

#[tokio::test]
async fn r_e4_a_compensation_with_other_arguments_under_its_own_id_is_drift() {
    for setup in every_store().await {
        let first = id(&charged(&setup, &setup.call_as("call_1", 1), "A-1", 4_900).await);
        let undo = setup.call_as("call_2", 2).compensates(first);
        let done = refunded(&setup, &undo, "A-1", 4_900).await;
        let drift = refusal(refunded(&setup, &undo, "A-1", 9_900).await);
        assert!(matches!(drift.kind(), RefusalKind::Drift { .. }), "{drift:?}");
        assert_eq!(drift.operation(), Some(id(&done)));
        // One whose outcome is unknown is not sent again, and is linked all the same.
        let lost = refusal(refunded(&setup, &setup.call_as("call_3", 3).compensates(first), "lost", 1).await);
        let again = refusal(refunded(&setup, &setup.call_as("call_3", 3).compensates(first), "lost", 1).await);
        assert_eq!((lost.kind(), again.kind()), (&RefusalKind::Unknown, &RefusalKind::Unknown));
        let from: Vec<OperationId> = detail(&setup, first).await.linked_from.iter().map(|link| link.to).collect();
        assert_eq!(from, [id(&done), lost.operation().expect("one")], "{}", setup.name());
    }
}

#[tokio::test]
async fn r_e4_a_link_to_nothing_is_refused_before_anything_is_reserved() {
    for setup in every_store().await {
        let theirs = setup.idem.call().tenant("umbrella").conversation("c-1").tool_call_id("call_1").turn(1);
        let theirs = id(&charged(&setup, &theirs, "A-1", 4_900).await);
        let before = (setup.operations().await, setup.world.effects());
        // No operation at all, and one of another tenant: told alike.
        for nothing in [OperationId::from_bytes([9; 20]), theirs] {
            for call in [setup.call_as("call_2", 2).compensates(nothing), setup.call_as("call_2", 2).replaces(nothing)]
            {
                let refused = refusal(refunded(&setup, &call, "A-1", 4_900).await);
                assert_eq!(refused.kind(), &RefusalKind::Invalid, "{refused:?}");
                let why = format!("the tenant has no operation {nothing} to compensate or to replace");
                assert!(refused.to_string().contains(&why), "{refused}");
            }
        }
        assert_eq!((setup.operations().await, setup.world.effects()), before, "{}", setup.name());
        // The control arm: the same call without the link is accepted.
        assert!(refunded(&setup, &setup.call_as("call_2", 2), "A-1", 4_900).await.value().is_some());
    }
}

#[tokio::test]
async fn r_e4_a_replacement_is_a_new_operation_where_the_same_call_without_it_is_drift() {
    for setup in every_store().await {
        let call = setup.idem.call().tenant(TENANT);
        let first = transferred(&setup, &call, 4_900).await;
        // The intent changed. Whoever does not say so is not believed.
        let drift = refusal(transferred(&setup, &call, 5_900).await);
        let RefusalKind::Drift { parameters, .. } = drift.kind() else { panic!("{drift:?}") };
        assert_eq!((&parameters[..], drift.operation()), (&["cents".to_owned()][..], Some(id(&first))));
        assert_eq!(setup.world.effects(), ["transfer A-1 4900"], "{}", setup.name());
        let replacing = call.clone().replaces(id(&first));
        let second = transferred(&setup, &replacing, 5_900).await;
        assert!(!second.is_replay() && id(&second) != id(&first), "{}: {second:?}", setup.name());
        // It is one operation too: called again it is a replay, and another amount is drift.
        assert!(transferred(&setup, &replacing, 5_900).await.is_replay());
        let drift = refusal(transferred(&setup, &replacing, 6_900).await);
        assert_eq!((drift.kind().name(), drift.operation()), ("rejected_key_conflict", Some(id(&second))));
        // The replacement can be replaced; the first one's call is still the first one's.
        let third = transferred(&setup, &call.clone().replaces(id(&second)), 6_900).await;
        assert!(!third.is_replay());
        assert_eq!(id(&transferred(&setup, &call, 4_900).await), id(&first));
        let effects = ["transfer A-1 4900", "transfer A-1 5900", "transfer A-1 6900"];
        assert_eq!(setup.world.effects(), effects, "{}", setup.name());
        let link = |to| [Link { kind: LinkKind::Replaces, to }];
        let middle = detail(&setup, id(&second)).await;
        assert_eq!((&middle.links[..], &middle.linked_from[..]), (&link(id(&first))[..], &link(id(&third))[..]));
    }
}

#[tokio::test]
async fn r_e4_to_compensate_is_not_to_replace() {
    for setup in every_store().await {
        let first = id(&charged(&setup, &setup.call_as("call_1", 1), "A-1", 4_900).await);
        let undo = charged(&setup, &setup.call_as("call_2", 2).compensates(first), "A-1", 4_900).await;
        let instead = charged(&setup, &setup.call_as("call_2", 2).replaces(first), "A-1", 4_900).await;
        assert!(!undo.is_replay() && !instead.is_replay() && id(&undo) != id(&instead), "{}", setup.name());
        let mut from = detail(&setup, first).await.linked_from;
        from.sort_by_key(|link| link.kind.name());
        assert_eq!(
            from,
            [Link { kind: LinkKind::Compensates, to: id(&undo) }, Link { kind: LinkKind::Replaces, to: id(&instead) },]
        );
    }
}

#[tokio::test]
async fn r104_an_approval_that_was_used_is_not_used_again() {
    for setup in every_store().await {
        let run = || setup.idem.call().tenant(TENANT).workflow("w-1");
        let approved = |call: ToolCall| call.operation_id("step_7").approval("apr_1");
        let told = async |call: ToolCall| deploy_outcome(&call, "1.2".into(), setup.world.clone()).await;
        // The approved call executes; then the run fails, and with it what it had heard.
        let first = told(approved(run())).await;
        let Outcome::Succeeded(first) = first else { panic!("{first:?}") };
        let carried = serde_json::to_string(&first.told.record).expect("JSON");
        // The resume presents the same approval: re-planned under a new id, from its checkpoint, and once more.
        let checkpoint = serde_json::from_str::<idem_runtime::AttemptRecord>(&carried).expect("a record");
        let again = [
            approved(run().tool_call_id("call_9").turn(9)),
            approved(setup.idem.call()).resume(checkpoint),
            approved(run()),
        ];
        for call in again {
            let again = told(call).await;
            assert_eq!((again.is_replay(), again.value()), (true, Some(&first.value)), "{}", setup.name());
            assert_eq!(id(&again), first.told.operation);
        }
        assert_eq!(setup.world.effects(), ["deploy 1.2"], "no second effect: {}", setup.name());
        let record = setup.record(first.told.operation).await;
        assert_eq!(record.approval.as_deref(), Some("apr_1"), "the record links the approval: {}", setup.name());
        // Another step's approval is another effect; the same step for another release is drift.
        let other = run().operation_id("step_8").approval("apr_2").occurrence("second");
        let other = told(other).await;
        assert!(!other.is_replay());
        assert_eq!(setup.record(id(&other)).await.approval.as_deref(), Some("apr_2"));
        let drift = deploy_outcome(&approved(run()), "1.3".into(), setup.world.clone()).await;
        assert_eq!(refusal(drift).kind().name(), "rejected_key_conflict");
        assert_eq!(setup.world.effects().len(), 2, "{}", setup.name());
        // The control arm: a tool that goes by the model's ids alone runs again for the approval that was used.
        for call in [run().tool_call_id("call_1").turn(1), run().tool_call_id("call_9").turn(9)] {
            let by_id = deploy_by_id_outcome(&approved(call), "bare".into(), setup.world.clone()).await;
            assert!(!by_id.is_replay());
        }
        assert_eq!(setup.world.count("deploy bare"), 2);
    }
}

#[tokio::test]
async fn r102_a_resume_is_a_replay_and_a_fork_is_an_effect_of_its_own() {
    for setup in every_store().await {
        let told = async |call: ToolCall| mail_outcome(&call, "ann@example.org".into(), setup.world.clone()).await;
        let on = |branch: &str| setup.idem.call().tenant(TENANT).scope("branch", branch).tool_call_id("call_1").turn(3);
        let first = told(on("thread-1/main")).await;
        let Outcome::Succeeded(success) = &first else { panic!("{first:?}") };
        // (a) The thread is resumed: the same call, and the record of its checkpoint.
        let record = std::sync::Arc::clone(&success.told.record);
        for call in [on("thread-1/main"), setup.idem.call().resume(record)] {
            assert!(told(call).await.is_replay(), "{}", setup.name());
        }
        assert_eq!(setup.world.effects().len(), 1);
        // (b) The user forks it at the checkpoint, before the call, and wants the mail sent again.
        let forked = told(on("thread-1/branch-2")).await;
        assert!(!forked.is_replay() && id(&forked) != id(&first), "{}: {forked:?}", setup.name());
        assert!(told(on("thread-1/branch-2")).await.is_replay(), "the fork is resumed like any thread");
        assert_eq!(setup.world.effects().len(), 2);
        // No silent guess: a call that does not say on which branch it is, is refused.
        let lost = setup.idem.call().tenant(TENANT).tool_call_id("call_1").turn(3);
        let refused = refusal(told(lost).await);
        assert_eq!(refused.kind(), &RefusalKind::Invalid);
        assert!(refused.to_string().contains("`branch`"), "{refused}");
        // And a tool without branches takes a fork for the same thread, and says so.
        let flat = async || flat_mail_outcome(&setup.call_as("call_1", 3), "bob".into(), setup.world.clone()).await;
        assert!(!flat().await.is_replay());
        let guessed = flat().await;
        assert!(guessed.to_model_text().starts_with("Already done at"), "{}", guessed.to_model_text());
        assert_eq!(setup.world.effects().len(), 3, "{}", setup.name());
    }
}
