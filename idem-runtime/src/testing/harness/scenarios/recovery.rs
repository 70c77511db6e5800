//! Each way to find out what became of an operation, by itself.

use std::time::Duration;

use super::super::{
    case::Case,
    playing::{Part, Played, Playing, Stop, not_applicable},
    settle::Light,
    verdict::FailureKind,
};
use crate::{
    ledger::{Evidence, State, Stored, StoredKind, Witnessed},
    testing::{Checkpoint, Fault},
};

/// How many passes a look-up has.
const PASSES_MAX: usize = 12;

/// The outcome is in the dark: the effect happened, or the request never arrived.
async fn into_the_dark<S: Part, A: Part>(case: &mut Case<'_, S, A>, happened: bool) -> Result<(), Stop> {
    let it = case.playing;
    let (at, fault) = if happened {
        (Checkpoint::ProviderCommit, Fault::LostResponse)
    } else {
        (Checkpoint::Dispatch, Fault::Timeout)
    };
    case.entry.checkpoint = Some(at.name().to_owned());
    case.entry.fault = Some(fault.name().to_owned());
    case.stage.provider.strike(at, fault, 1);
    let who = case.who.clone();
    case.call(&who, &it.arguments).await?;
    if case.stage.provider.line().struck() == 0 {
        return Err(not_applicable("the tool's client does not ask the harness's provider, whose answers can be lost"));
    }
    Ok(())
}

pub(super) async fn by_provider_key<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if !it.subject.spec.recovers_by("provider_key") {
        return Err(not_applicable("the tool does not declare `recover(provider_key = …)`"));
    }
    for (name, happened) in [("the effect happened", true), ("the request never arrived", false)] {
        let mut case = it.case(name).await?;
        case.expects("in_progress → outcome_unknown → in_progress → succeeded", "unknown; sent again, the one result");
        into_the_dark(&mut case, happened).await?;
        case.everybody_is_told(&case.who.clone()).await?;
        case.entry.retry_decision = Some("sent again under the provider's key".to_owned());
        case.ends(1).await?;
    }
    Ok(())
}

/// By the tool's own look-up or search, which a reconciler asks.
pub(super) async fn by_asking<S: Part, A: Part>(it: &Playing<'_, S, A>, step: &str) -> Played {
    if !it.subject.spec.recovers_by(step) {
        return Err(not_applicable(format!("the tool does not declare `recover({step} = …)`")));
    }
    for (name, happened) in [("the effect happened", true), ("the request never arrived", false)] {
        let mut case = it.case(name).await?;
        case.expects(
            if happened {
                "in_progress → outcome_unknown → reconciling → succeeded"
            } else {
                "in_progress → outcome_unknown → reconciling → failed_retryable → in_progress → succeeded"
            },
            "unknown; then the one result",
        );
        // The provider's index lags, as long as the tool says it may.
        let lag = it.subject.spec.declared_settling() / 2;
        case.stage.provider.behave(|habits| habits.lags(lag));
        into_the_dark(&mut case, happened).await?;
        if !case.reconciles(PASSES_MAX, Duration::ZERO).await? {
            let state = case.state().await.map(State::name);
            let seen = format!("after {PASSES_MAX} passes of a reconciler the operation is {state:?}, and {name}");
            let why = format!("the tool's {step} tells what happened once the provider can");
            return Err(case.failed(FailureKind::HungLease, &why, seen));
        }
        case.playing.tally(|counts| counts.unknown_settled += 1);
        case.entry.reconciliation = Some(format!("settled by a reconciler, which asked the tool's {step}"));
        case.everybody_is_told(&case.who.clone()).await?;
        case.ends(1).await?;
    }
    Ok(())
}

pub(super) async fn by_webhook<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if !it.subject.guarded {
        return Err(not_applicable("the tool has no guard that takes evidence"));
    }
    let mut case = it.case("the provider tells, twice").await?;
    case.expects("in_progress → outcome_unknown → succeeded", "unknown; then the one result");
    into_the_dark(&mut case, true).await?;
    let reference = case.effects()?.first().map(|effect| effect.reference.clone());
    let value = it.rehearsed.value.clone().unwrap_or_default();
    let stored = Stored { kind: StoredKind::Value, bytes: value.to_string().into_bytes().into() };
    let (Some(tenant), Some(operation)) = (case.tenant(), case.operation()) else {
        return Err(it.broken("an operation without a name"));
    };
    for first in [true, false] {
        let event = Evidence::of(&tenant, operation, "provider", "evt_1");
        let event = event.applied(Some(stored.clone()), reference.as_deref());
        let witnessed = case.stage.idem.evidence(event).await.map_err(|error| it.broken(error.to_string()))?;
        let weighed = matches!(witnessed, Witnessed::Weighed { .. });
        if weighed != first {
            let seen = format!("the event was {}", if weighed { "weighed twice" } else { "not weighed" });
            return Err(case.failed(FailureKind::HungLease, "an event counts, and counts once", seen));
        }
    }
    if case.state().await != Some(State::Succeeded) {
        let seen = format!("the operation is {:?}", case.state().await.map(State::name));
        return Err(case.failed(FailureKind::HungLease, "what the provider says of its own effect settles it", seen));
    }
    case.entry.reconciliation = Some("settled by the provider's event".to_owned());
    case.everybody_is_told(&case.who.clone()).await?;
    case.ends(1).await
}

pub(super) async fn by_operator<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if !it.subject.guarded {
        return Err(not_applicable("the tool has no guard that persons could ask"));
    }
    let mut decided = 0;
    for (name, happened) in [("the effect happened", true), ("the request never arrived", false)] {
        let mut case = it.case(name).await?;
        case.expects("in_progress → outcome_unknown → … as a person decides", "unknown until a person decides");
        // Nobody else can tell.
        case.stage.provider.behave(|habits| habits.without_lookup().without_search());
        into_the_dark(&mut case, happened).await?;
        if case.is_dark().await && it.subject.spec.key_window().is_none() {
            let told = case.call(&case.who.clone(), &it.arguments).await?;
            let why = "what nobody knows is told to be unknown, and not tried again";
            case.is_told(&told, &["unknown_requires_reconciliation"], FailureKind::MisleadingAnswer, why)?;
        }
        match case.is_decided().await? {
            Light::Decided => decided += 1,
            Light::Dark => {
                case.entry.verdict = super::super::record::Verdict::NotApplicable;
                return Err(not_applicable("the tool has several effects: a person has to see to a part of them"));
            }
            Light::Known | Light::Found => {}
        }
        case.everybody_is_told(&case.who.clone()).await?;
        case.ends(1).await?;
    }
    if decided == 0 {
        return Err(not_applicable("the tool's own attempts found out before anybody could decide"));
    }
    Ok(())
}
