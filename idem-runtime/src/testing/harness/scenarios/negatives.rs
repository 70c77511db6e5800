//! What has to be refused.

use std::time::Duration;

use super::super::{
    case::Case,
    playing::{Part, Played, Playing, not_applicable},
    settle::Light,
    stage::{Ground, Set},
    verdict::FailureKind,
    who::Who,
};
use crate::{
    ledger::State,
    testing::{Checkpoint, Fault},
};

/// How often ids are made up.
const RANDOM_IDS: u64 = 12;

/// How often an operation may be asked about, and how many passes are tried.
const ASKED_MAX: u32 = 4;
const TRIED: usize = 48;

pub(super) async fn missing_business_object<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let Some(missing) = &it.fixture.missing else {
        return Err(not_applicable("the fixture gives no `.missing(…)`: arguments whose business object is empty"));
    };
    let mut case = it.case("a part of the key is empty").await?;
    case.expects("none", "not valid; nothing was done");
    let told = case.call(&case.who.clone(), missing).await?;
    let why = "a call that does not say what it is about is refused";
    case.is_told(&told, &["invalid_call", "denied"], FailureKind::NoDeduplication, why)?;
    case.ends(0).await
}

pub(super) async fn random_caller_key<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if it.subject.guarded && !it.subject.spec.outlives_ids() {
        return Err(not_applicable("the tool is identified by the model's id alone: see replanned_with_a_new_id"));
    }
    let mut case = it.case("an id made up for each call").await?;
    case.expects("in_progress → succeeded", "the first result, whatever the id");
    let mut drawn = super::super::seed();
    for nth in 1..=RANDOM_IDS {
        // SplitMix64: the same ids for a seed.
        drawn = drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let who = Who { id: format!("call_{mixed:016x}"), turn: nth, ..case.who.clone() };
        let told = case.call(&who, &it.arguments).await?;
        let why = "an id that is made up does not make an operation";
        case.is_told(&told, &["succeeded"], FailureKind::NoDeduplication, why)?;
    }
    case.ends(1).await
}

pub(super) async fn reuse_after_the_window<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let Some(window) = it.subject.spec.key_window() else {
        return Err(not_applicable("the tool does not declare `recover(provider_key = …)`"));
    };
    let mut case = it.case("the provider has forgotten the key").await?;
    case.expects("in_progress → outcome_unknown → … → succeeded", "unknown; not sent again; then what was found out");
    case.stage.provider.strike(Checkpoint::ProviderCommit, Fault::LostResponse, 1);
    let who = case.who.clone();
    let first = case.call(&who, &it.arguments).await?;
    if first.is_success() {
        return Err(not_applicable("the tool's own attempts found out before the window ended"));
    }
    let sent = case.requests()?;
    case.stage.clock.advance(window + Duration::from_nanos(1));
    case.call(&who, &it.arguments).await?;
    let requests = case.requests()?;
    if requests > sent {
        let seen = format!("{requests} requests, {sent} of them before the window ended");
        let why = "nothing is sent again under a key that the provider may have forgotten";
        return Err(case.failed(FailureKind::NoDeduplication, why, seen));
    }
    if case.is_dark().await && !case.reconciles(1, Duration::ZERO).await? && case.is_decided().await? == Light::Dark {
        case.entry.verdict = super::super::record::Verdict::NotApplicable;
        return Err(not_applicable("the tool has several effects: a part of them leaves nothing to settle"));
    }
    case.everybody_is_told(&who).await?;
    case.ends(1).await
}

pub(super) async fn key_across_tenants<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if !it.subject.guarded {
        return Err(not_applicable("the tool has no guard that makes attempt records"));
    }
    let mut case = it.case("another tenant carries the record").await?;
    case.expects("in_progress → succeeded", "the result; the other tenant is refused and told nothing");
    let who = case.who.clone();
    let first = case.call(&who, &it.arguments).await?;
    let thief = Who { tenant: Some(it.fixture.tenants.1.clone()), ..who.carrying(first.record.clone()) };
    let told = case.call(&thief, &it.arguments).await?;
    let why = "an attempt record is its own tenant's";
    let wanted = ["invalid_call", "rejected_key_conflict"];
    case.is_told(&told, &wanted, FailureKind::MisleadingAnswer, why)?;
    if told.value.is_some() || told.replayed {
        return Err(case.failed(FailureKind::MisleadingAnswer, why, "the other tenant was given the result"));
    }
    case.ends(1).await
}

pub(super) async fn changed_permission_scope<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if !it.subject.guarded {
        return Err(not_applicable("the tool has no guard that knows principals"));
    }
    let mut case = it.case("another principal").await?;
    case.expects("in_progress → succeeded", "the result; a conflict; the result again");
    let who = Who { principal: Some("agent-1 refunds:write".to_owned()), ..case.who.clone() };
    case.call(&who, &it.arguments).await?;
    let other = Who { principal: Some("agent-1 refunds:read".to_owned()), ..who.clone() };
    let told = case.call(&other, &it.arguments).await?;
    let why = "an operation belongs to who reserved it, with the permission they had";
    case.is_told(&told, &["rejected_key_conflict"], FailureKind::MisleadingAnswer, why)?;
    let again = case.call(&who, &it.arguments).await?;
    case.is_replay(&again, "a conflict leaves the operation as it was")?;
    case.ends(1).await
}

pub(super) async fn manual_provider_action<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if !it.subject.guarded || it.rehearsed.requests.is_empty() {
        return Err(not_applicable("nobody but the tool's own client can act at its provider"));
    }
    let mut case = it.case("done by hand before the call").await?;
    case.expects("none → succeeded", "what was done by hand; nothing is sent");
    let who = case.who.clone();
    let (Some(tenant), Some(operation)) = (case.tenant(), case.operation()) else {
        return Err(it.broken("an operation without a name"));
    };
    let mut reference = None;
    for request in it.rehearsed.requests.clone() {
        // By hand: under no key of ours.
        let done = case.stage.provider.commit(crate::testing::Request { key: None, ..request }).await;
        let done = done.map_err(|error| it.broken(error.to_string()))?;
        reference.get_or_insert(done.reference);
    }
    let by_hand = case.requests()?;
    let operator = case.stage.idem.operator(&tenant, "mia").map_err(|error| it.broken(error.to_string()))?;
    let (value, reason) = (it.rehearsed.value.as_ref(), "done by hand while the agent was down");
    let recorded = operator.record_external(operation, value, reference.as_deref(), reason).await;
    recorded.map_err(|error| it.broken(error.to_string()))?;
    let told = case.call(&who, &it.arguments).await?;
    let why = "what was done by hand, and recorded, is not done again";
    case.is_replay(&told, why)?;
    if case.requests()? > by_hand {
        return Err(case.failed(FailureKind::NoDeduplication, why, "the call sent a request"));
    }
    case.ends(1).await
}

pub(super) async fn succeeded_without_reference<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if !it.subject.spec.requires_reference() {
        return Err(not_applicable("the tool does not declare `reference = required`"));
    }
    let mut case = it.case("the provider gives no reference").await?;
    case.expects("in_progress → outcome_unknown", "unknown: a success has to be proved");
    case.stage.provider.behave(crate::testing::Habits::without_references);
    let who = case.who.clone();
    let told = case.call(&who, &it.arguments).await?;
    let why = "without the reference that it requires no success is told";
    if told.is_success() && told.reference.as_deref().is_none_or(|reference| reference.trim().is_empty()) {
        let seen = "the caller was told `succeeded`, without a reference";
        return Err(case.failed(FailureKind::SuccessWithoutEffect, why, seen));
    }
    if case.state().await == Some(State::Succeeded) && case.record().await.is_none_or(|it| it.reference.is_none()) {
        let seen = "the ledger holds it as `succeeded`, without a reference";
        return Err(case.failed(FailureKind::SuccessWithoutEffect, why, seen));
    }
    case.ends(1).await
}

pub(super) async fn retry_after_a_denial<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let Some(invalid) = &it.fixture.invalid else {
        return Err(not_applicable("the fixture gives no `.invalid(…)`: arguments that the tool's check refuses"));
    };
    let mut case = it.case("denied by the tool's own check, three times").await?;
    case.expects("none", "denied each time");
    let who = Who { id: "call_denied".to_owned(), ..case.who.clone() };
    for _ in 0..3 {
        let told = case.call(&who, invalid).await?;
        let why = "what the tool's own check refuses is denied, and stays denied";
        case.is_told(&told, &["denied"], FailureKind::MisleadingAnswer, why)?;
    }
    if case.requests()? > 0 {
        let why = "what is denied is not sent";
        return Err(case.failed(FailureKind::NoDeduplication, why, "a request arrived at the provider"));
    }
    // A denial leaves no record: the same id with arguments that are right is a call like any other.
    case.everybody_is_told(&case.who.clone()).await?;
    case.ends(1).await
}

pub(super) async fn unbounded_reconciliation<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let asks = it.subject.spec.recovers_by("lookup") || it.subject.spec.recovers_by("search");
    if !asks || !it.subject.can_be_bound() {
        return Err(not_applicable("no recovery path is declared that a reconciler could ask"));
    }
    let set = Set { passes_max: Some(ASKED_MAX), ..Set::default() };
    let mut case = Case::new(it, "a provider that never tells", (Ground::usual(), set)).await?;
    case.expects(
        "in_progress → outcome_unknown → reconciling → … → operator_review",
        "unknown, until a person decides",
    );
    case.stage.provider.behave(|habits| habits.without_lookup().without_search());
    case.stage.provider.strike(Checkpoint::ProviderCommit, Fault::LostResponse, 1);
    let who = case.who.clone();
    case.call(&who, &it.arguments).await?;
    // Longer than any window of the provider's keys, so that nobody is spared.
    let more = it.subject.spec.key_window().unwrap_or_default() / 8;
    case.reconciles(TRIED, more).await?;
    if case.is_dark().await && case.state().await != Some(State::OperatorReview) {
        let state = case.state().await.map(State::name);
        let seen = format!("after {TRIED} passes of a reconciler the operation is {state:?}");
        let why = format!("after {ASKED_MAX} questions in vain a person is asked");
        return Err(case.failed(FailureKind::HungLease, &why, seen));
    }
    let told = case.call(&who, &it.arguments).await?;
    case.entry.retry_decision = Some(told.outcome);
    if case.is_decided().await? != Light::Dark {
        case.everybody_is_told(&who).await?;
        case.ends(1).await?;
    }
    Ok(())
}
