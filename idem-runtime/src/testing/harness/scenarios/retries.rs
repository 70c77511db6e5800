//! A call that comes again: because its answer was lost, from a checkpoint, after a refusal, fifty times at once.

use super::super::{
    playing::{Part, Played, Playing, not_applicable},
    verdict::FailureKind,
};
use crate::{
    AttemptRecord,
    testing::{Checkpoint, Fault},
};

/// How many callers a storm has.
const STORM: usize = 50;

pub(super) async fn lost_response<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    to_the_caller(it).await?;
    of_the_provider(it).await
}

/// The call ended well, and its caller never heard.
async fn to_the_caller<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("the tool's answer is lost").await?;
    case.expects("in_progress → succeeded", "the first is lost; the second is given the first result");
    let who = case.who.clone();
    let first = case.call(&who, &it.arguments).await?;
    let again = case.call(&who, &it.arguments).await?;
    case.is_replay(&again, "a call whose answer was lost is given the first result")?;
    let requests = case.requests()?;
    if first.operation != again.operation || requests > it.fixture.effects.len() {
        let seen = format!("operations {:?} and {:?}; {requests} requests", first.operation, again.operation);
        return Err(case.failed(FailureKind::NoDeduplication, "both calls are attempts of one operation", seen));
    }
    case.entry.retry_decision = Some("given the first result".to_owned());
    case.ends(1).await
}

/// The provider did it, and the tool never heard.
async fn of_the_provider<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("the provider's answer is lost").await?;
    case.expects(
        "in_progress → outcome_unknown → … → succeeded",
        "unknown until it is found out, then the one result; never a failure",
    );
    case.entry.checkpoint = Some(Checkpoint::ProviderCommit.name().to_owned());
    case.entry.fault = Some(Fault::LostResponse.name().to_owned());
    case.stage.provider.strike(Checkpoint::ProviderCommit, Fault::LostResponse, 1);
    let who = case.who.clone();
    case.call(&who, &it.arguments).await?;
    // Whoever called calls again, as agents do.
    case.call(&who, &it.arguments).await?;
    if case.comes_to_light().await? {
        case.everybody_is_told(&who).await?;
        case.ends(1).await?;
    }
    Ok(())
}

pub(super) async fn resume_from_a_record<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if !it.subject.guarded {
        return Err(not_applicable("the tool has no guard that makes attempt records"));
    }
    let mut case = it.case("through JSON, under another id").await?;
    case.expects("in_progress → succeeded", "the first result, under whatever id the retry comes");
    let who = case.who.clone();
    let Some(record) = case.prepared(&who, &it.arguments).await else {
        return Err(case.failed(FailureKind::Stage, "a call can be prepared", "it has no attempt record"));
    };
    let text = serde_json::to_string(&record).map_err(|error| it.broken(error.to_string()))?;
    let read: AttemptRecord = serde_json::from_str(&text).map_err(|error| it.broken(error.to_string()))?;
    // The checkpoint was written before the first dispatch; both go on from it.
    for nth in 2..=3 {
        let resumed = who.replanned(nth).carrying(Some(read.clone()));
        let told = case.call(&resumed, &it.arguments).await?;
        let why = "whoever carries the record is an attempt of its operation";
        case.is_told(&told, &["succeeded"], FailureKind::NoDeduplication, why)?;
        if told.operation != case.entry.operation {
            let seen = format!("operation {:?} in place of {:?}", told.operation, case.entry.operation);
            return Err(case.failed(FailureKind::NoDeduplication, why, seen));
        }
        if nth > 2 {
            case.is_replay(&told, why)?;
        }
    }
    case.ends(1).await
}

pub(super) async fn final_failure<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("the provider declines").await?;
    case.expects("in_progress → failed_final", "failed for good, also when it comes again");
    let who = case.who.clone();
    case.stage.provider.behave(|habits| habits.declines("the account is closed"));
    let first = case.call(&who, &it.arguments).await?;
    case.stage.provider.behave(crate::testing::Habits::accepts);
    let arrived = case.requests()?;
    if arrived == 0 {
        return Err(not_applicable("the tool's client does not ask the harness's provider, which alone can decline"));
    }
    if first.is_success() {
        let seen = "the provider declined, and the caller was told `succeeded`";
        return Err(case.failed(FailureKind::SuccessWithoutEffect, "a refusal is no success", seen));
    }
    let again = case.call(&who, &it.arguments).await?;
    if first.outcome == "failed_retryable" {
        it.note(case.entry.case.clone(), "the tool says of a provider's no that another attempt may succeed");
        let told = case.call(&who, &it.arguments).await?;
        case.is_replay(&told, "an attempt that succeeded is told as that")?;
        return case.ends(1).await;
    }
    if first.outcome != "failed_final" {
        it.note(case.entry.case.clone(), "the tool does not say that a provider's no is final: its outcome is unknown");
    }
    let wanted = first.outcome.clone();
    case.is_told(&again, &[&wanted], FailureKind::MisleadingAnswer, "what was declined stays declined")?;
    let requests = case.requests()?;
    if it.subject.guarded && it.subject.spec.key_window().is_none() && requests > arrived {
        let seen = format!("{requests} requests, {arrived} before the call came again");
        return Err(case.failed(FailureKind::NoDeduplication, "what was declined is not sent again", seen));
    }
    case.ends(0).await
}

pub(super) async fn storm<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("fifty at once, twice").await?;
    case.expects(
        "in_progress → outcome_unknown → … → succeeded",
        "unknown or in progress, then the one result for all",
    );
    case.callers(&format!("{STORM} at once"));
    let who = case.who.clone();
    case.stage.provider.strike(Checkpoint::ProviderCommit, Fault::LostResponse, 1);
    case.call(&who, &it.arguments).await?;
    case.at_once(&vec![who.clone(); STORM]).await?;
    if !case.comes_to_light().await? {
        return Ok(());
    }
    case.call(&who, &it.arguments).await?;
    for told in case.at_once(&vec![who; STORM]).await? {
        case.is_replay(&told, "everybody is given the one result")?;
    }
    case.entry.actual.answers = vec![format!("{} callers, all told the truth", case.entry.actual.calls)];
    case.ends(1).await
}
