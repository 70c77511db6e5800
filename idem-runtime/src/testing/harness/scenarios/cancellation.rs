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
    for polls in 1..=POLLS_MAX {
        let mut case = it.case("dropped after its first poll, its second, …, each by itself").await?;
        case.expects("any", "unknown, or the one result; never a failure after an effect");
        case.callers("one that goes away, one that comes again");
        let who = case.who.clone();
        let call = case.future(&case.stage.idem.clone(), &who, &it.arguments);
        let ended = poll_times(call, polls).await;
        let is_over = ended.is_some();
        // How many polls a call has is a matter of the runtime: the last round stands for all.
        case.kept = is_over;
        if let Some(answer) = ended {
            let now = case.counts()?;
            case.heard(answer, &now)?;
        } else {
            case.comes_to_rest().await?;
            case.call(&who, &it.arguments).await?;
        }
        if case.comes_to_light().await? {
            case.everybody_is_told(&who).await?;
            case.ends(1).await?;
        }
        if is_over {
            return Ok(());
        }
    }
    let why = "a call ends when nothing goes wrong";
    let mut case = it.case("never dropped").await?;
    let seen = format!("a call has not ended after {POLLS_MAX} polls");
    case.hangs(&format!("{seen}; {why}"))
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
