//! Creating and finding: one record for all of a call's identities.

use std::sync::Arc;

use super::{
    calls::{LEASE, RETAIN, by_args, by_id, call, digest, end},
    subject::{Checked, Subject, Wrong, answer, grant, holds, same},
};
use crate::{
    Principal, Source,
    ledger::{
        Command, Conflict, ConflictKind, Decision, Ending, Grant, Record, Reply, Reserve, State, Tool, decide,
        first_call,
    },
};

pub(super) async fn created(subject: &mut Subject) -> Checked {
    let principal = Principal::new("agent-7").map_err(|error| Wrong::new(error.to_string()))?;
    let asked = Reserve {
        principal: Some(principal.clone()),
        nonce: 77,
        approval: Some("approval-9".into()),
        resources: [digest("room 7")].into(),
        needs_reference: true,
        ..call("A", 5, "id1")
    };
    let Decision::Create { operation, generations } = decide(&asked, &[None, None], subject.now) else {
        return Err(Wrong::new("`decide` should create what is not there"));
    };
    let grant = subject.granted(asked.clone()).await?;
    holds("fencing tokens are positive", grant.fence > 0)?;
    let should_be = Grant {
        row: grant.row,
        operation,
        attempt: 1,
        fence: grant.fence,
        reserved_at: subject.now,
        lease_until: subject.now.after(LEASE),
        generations,
        in_doubt: false,
    };
    same("the grant", &grant, &should_be)?;
    let should_be = Record {
        row: grant.row,
        version: 1,
        operation,
        tool: Arc::clone(&asked.tool),
        principal: Some(principal),
        first_call: first_call(&asked.identities),
        approval: asked.approval.clone(),
        fingerprint: asked.fingerprint,
        parts: Arc::clone(&asked.parts),
        content: Arc::clone(&asked.content),
        state: State::InProgress,
        in_doubt: false,
        disproved: false,
        attempt: 1,
        fence: grant.fence,
        nonce: 77,
        reconcile_fence: 0,
        passes: 0,
        answered: 0,
        lease_until: Some(grant.lease_until),
        renewed_at: None,
        renewals: 0,
        reserved_at: subject.now,
        settled_at: None,
        unknown_at: None,
        next_at: None,
        settled_fence: 0,
        has_resources: true,
        retain: RETAIN,
        retain_until: None,
        needs_reference: true,
        reference: None,
        review: false,
        stored: None,
    };
    same("the record", &subject.show(operation).await?, &should_be)
}

pub(super) async fn one_of_many(subject: &mut Subject) -> Checked {
    // Each has an id of its own: it is the arguments that they share.
    let commands: Vec<Command> =
        (0..32).map(|at| Command::Reserve(Arc::new(call("A", 5, &format!("id{at}"))))).collect();
    let replies = subject.apply(&commands).await?;
    let mut granted = None;
    for (at, reply) in replies.into_iter().enumerate() {
        let Reply::Reserved(reserved) = reply else {
            return Err(Wrong::new("a reservation was answered with something else"));
        };
        match &granted {
            None => granted = Some(grant(reserved)?),
            Some(grant) => {
                let answer = answer(reserved)?;
                same("the record that a duplicate finds", &answer.record.row, &grant.row)?;
                same("its state", &answer.record.state, &State::InProgress)?;
                same("the source that matched", &answer.by, &Source::Args)?;
                same("the id of duplicate", &answer.aliases.first().map(|alias| alias.digest), &Some(id(at)))?;
            }
        }
    }
    Ok(())
}

fn id(at: usize) -> [u8; 32] {
    by_id(&format!("id{at}")).digest
}

pub(super) async fn either(subject: &mut Subject) -> Checked {
    let grant = subject.granted(call("A", 5, "id1")).await?;
    let by_arguments = subject.found(call("A", 5, "id2")).await?;
    same("the source", &by_arguments.by, &Source::Args)?;
    same("the record", &by_arguments.record.row, &grant.row)?;
    let aliases: Vec<_> =
        by_arguments.aliases.iter().map(|alias| (alias.source, alias.digest, alias.generation)).collect();
    same("the new identity", &aliases, &vec![(Source::ToolCallId, by_id("id2").digest, 1)])?;
    let id_alone = Reserve { identities: vec![by_id("id1")], ..call("A", 5, "id1") };
    let by_its_id = subject.found(id_alone).await?;
    same("the source", &by_its_id.by, &Source::ToolCallId)?;
    same("the record", &by_its_id.record.row, &grant.row)?;
    let found = subject.find(&[by_args("A"), by_id("id1"), by_id("id2"), by_args("B")]).await?;
    let rows: Vec<_> = found.iter().map(|found| found.as_ref().map(|found| found.record.row)).collect();
    same("what the identities lead to", &rows, &vec![Some(grant.row), Some(grant.row), None, None])
}

pub(super) async fn split(subject: &mut Subject) -> Checked {
    let first = subject.granted(call("A", 5, "id1")).await?;
    let second = subject.granted(call("B", 5, "id2")).await?;
    let conflict = subject.refused(call("A", 5, "id2")).await?;
    let should_be = Conflict {
        kind: ConflictKind::Split { other: second.operation },
        row: first.row,
        operation: first.operation,
        by: Source::Args,
        state: State::InProgress,
    };
    same("the conflict", &conflict, &should_be)
}

pub(super) async fn drift(subject: &mut Subject) -> Checked {
    let grant = subject.granted(call("A", 5, "id1")).await?;
    let drifted = |by, parameters: &[&str]| Conflict {
        kind: ConflictKind::Drift { parameters: parameters.iter().map(|&name| name.to_owned()).collect() },
        row: grant.row,
        operation: grant.operation,
        by,
        state: State::InProgress,
    };
    let by_arguments = subject.refused(call("A", 6, "id2")).await?;
    same("the conflict by arguments", &by_arguments, &drifted(Source::Args, &["cents"]))?;
    let by_its_id = subject.refused(call("B", 6, "id1")).await?;
    same("the conflict by id", &by_its_id, &drifted(Source::ToolCallId, &["order", "cents"]))?;
    let changed = Tool { name: "bank::send".into(), version: 2, params: "order,cents,currency;note".into() };
    let changed = subject.refused(Reserve { tool: Arc::new(changed), ..call("A", 6, "id1") }).await?;
    same("a changed contract", &changed.kind, &ConflictKind::ContractChanged { recorded: 1, current: 2 })?;
    let other = Principal::new("someone else").map_err(|error| Wrong::new(error.to_string()))?;
    let other = subject.refused(Reserve { principal: Some(other), ..call("A", 5, "id1") }).await?;
    same("another principal", &other.kind, &ConflictKind::OtherPrincipal)
}

pub(super) async fn conflicts_change_nothing(subject: &mut Subject) -> Checked {
    let first = subject.granted(call("A", 5, "id1")).await?;
    subject.recorded(&first, Ending::Ok).await?;
    let before = subject.show(first.operation).await?;
    subject.refused(call("A", 6, "id2")).await?;
    subject.refused(call("B", 6, "id1")).await?;
    same("the record", &subject.show(first.operation).await?, &before)?;
    let found = subject.find(&[by_id("id2"), by_args("B")]).await?;
    holds("a refused call leaves no identity", found.iter().all(Option::is_none))
}

pub(super) async fn alias_of_a_reopening(subject: &mut Subject) -> Checked {
    let first = subject.granted(call("A", 5, "id1")).await?;
    subject.settle(end(&first, Ending::Retryable)).await?;
    let second = subject.granted(call("A", 5, "id2")).await?;
    same("the operation", &second.operation, &first.operation)?;
    let found = subject.find(&[by_id("id2")]).await?;
    let row = found.first().and_then(|found| Some(found.as_ref()?.record.row));
    same("what the new id leads to", &row, &Some(first.row))?;
    // An id in another scope is another id.
    let mut elsewhere = call("A", 5, "id2");
    elsewhere.scope.digest = digest("scope c-2");
    let elsewhere = subject.granted(elsewhere).await?;
    holds("another scope is another operation", elsewhere.row != first.row)
}
