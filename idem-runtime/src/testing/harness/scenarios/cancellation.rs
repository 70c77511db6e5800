//! The caller goes away, or the body breaks off.

use super::super::{
    playing::{Part, Played, Playing},
    settle::Light,
    verdict::FailureKind,
};
use crate::{
    ledger::State,
    testing::{Checkpoint, Fault, gate::poll_times},
};

/// More polls than a call of a tool needs that waits for nothing but the ledger and the provider.
const POLLS_MAX: usize = 96;

pub(super) async fn dropped_at_every_poll<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("dropped after its first poll, its second, …").await?;
    case.expects("any", "unknown, or the one result; never a failure after an effect");
    case.entry.callers = "one that goes away, one that comes again".to_owned();
    let mut ended_at = None;
    for polls in 1..=POLLS_MAX {
        case.intended = polls;
        let who = case.who.occurrence(format!("poll {polls}"));
        if let Some(record) = case.prepared(&who, &it.arguments).await {
            case.entry.operation = Some(record.operation().to_string());
        }
        let before = case.effects()?.len();
        let call = case.future(&case.stage.idem.clone(), &who, &it.arguments);
        if poll_times(call, polls).await.is_some() {
            ended_at = Some(polls);
            break;
        }
        case.comes_to_rest().await?;
        let told = case.call(&who, &it.arguments).await?;
        let effects = case.effects()?.len() - before;
        if told.is_success() && effects < it.fixture.effects.len() {
            let seen = format!("dropped after {polls} polls; then told `succeeded`, with {effects} effects");
            return Err(case.failed(FailureKind::SuccessWithoutEffect, "a success has its effects", seen));
        }
        if ["failed_final", "failed_retryable"].contains(&told.outcome.as_str()) && effects > 0 {
            let seen = format!("dropped after {polls} polls; then told `{}`, with {effects} effects", told.outcome);
            return Err(case.failed(FailureKind::MisleadingAnswer, "an effect is no failure", seen));
        }
    }
    let Some(polls) = ended_at else {
        let seen = format!("the call has not ended after {POLLS_MAX} polls");
        return Err(case.failed(FailureKind::HungLease, "a call ends when nothing goes wrong", seen));
    };
    let _ = polls;
    case.passes("dropped at each poll, and told the truth afterwards")
}

pub(super) async fn panic_in_the_body<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("a panic when the effect has happened").await?;
    case.expects("in_progress → outcome_unknown → … → succeeded", "unknown until it is found out, then the one result");
    case.entry.checkpoint = Some(Checkpoint::ReceiveResponse.name().to_owned());
    case.entry.fault = Some(Fault::Panic.name().to_owned());
    case.stage.provider.strike(Checkpoint::ReceiveResponse, Fault::Panic, 1);
    let who = case.who.clone();
    case.call(&who, &it.arguments).await?;
    let state = case.comes_to_rest().await?;
    let truthful = [None, Some(State::OutcomeUnknown), Some(State::Succeeded), Some(State::OperatorReview)];
    if !truthful.contains(&state) {
        let seen = format!("the operation is {:?}", state.map(State::name));
        return Err(case.failed(FailureKind::MisleadingAnswer, "a panic proves nothing about the effect", seen));
    }
    case.call(&who, &it.arguments).await?;
    if case.settles().await? != Light::Dark {
        case.everybody_is_told(&who).await?;
        case.ends(1).await?;
    }
    Ok(())
}
