//! What ends by the clock, and what does not: retention, leases, deadlines. The clock is moved by hand.

use std::time::Duration;

use super::super::{
    case::Case,
    playing::{Part, Played, Playing, Stop, not_applicable},
    settle::Light,
    stage::Ground,
    verdict::FailureKind,
    who::Who,
};
use crate::{
    Idem,
    ledger::{AfterRetention, State},
    testing::{Checkpoint, Fault, TestClock, gate::until},
};

const NANOSECOND: Duration = Duration::from_nanos(1);

pub(super) async fn retention_boundary<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if !it.subject.guarded {
        return Err(not_applicable("the tool has no guard, and so no retention"));
    }
    let retain = it.subject.spec.declared_retain().unwrap_or(crate::Config::default().retain);
    let runs = it.subject.spec.when_retention_ended() == AfterRetention::Run;
    let mut case = it.case("one nanosecond before, at, and after the end of retention").await?;
    case.expects("in_progress → succeeded", "the result; from the end on as the tool declares");
    let who = case.who.clone();
    let first = case.call(&who, &it.arguments).await?;
    case.is_told(&first, &["succeeded"], FailureKind::MisleadingAnswer, "nothing goes wrong")?;
    // What retries carry is the same call, whatever the key is made of.
    let again = if runs { who.clone() } else { who.carrying(first.record.clone()) };
    case.stage.clock.advance(retain.saturating_sub(NANOSECOND));
    let before = case.call(&again, &it.arguments).await?;
    case.is_replay(&before, "one nanosecond before the end of retention the result is given")?;
    case.intended = if runs { 2 } else { 1 };
    for (at, first) in [("at the end of retention", true), ("one nanosecond after it", false)] {
        case.stage.clock.advance(NANOSECOND);
        let told = case.call(&again, &it.arguments).await?;
        if runs {
            let why = format!("{at} the call runs, as the tool declares, and is one operation again");
            case.is_told(&told, &["succeeded"], FailureKind::MisleadingAnswer, &why)?;
            if told.replayed == first {
                let seen = format!("{at} the call was told as {}", if first { "a replay" } else { "a new effect" });
                return Err(case.failed(FailureKind::MisleadingAnswer, &why, seen));
            }
        } else {
            let why = format!("{at} the same call is told that its result is no longer held");
            case.is_told(&told, &["retention_ended"], FailureKind::MisleadingAnswer, &why)?;
        }
    }
    let effects = case.intended;
    case.ends(effects).await
}

/// A call that stands after its effect, in a process whose clock stands still; and the ledger as others see it, later.
struct Suspended {
    call: tokio::task::JoinHandle<super::super::Answer>,
    /// Its opening of the ledger.
    _idem: Idem,
}

impl Suspended {
    async fn after_its_effect<S: Part, A: Part>(case: &mut Case<'_, S, A>, who: &Who) -> Result<Self, Stop> {
        let it = case.playing;
        let idem = case.stage.opened_again(&TestClock::default()).await.map_err(|why| it.broken(why))?;
        let line = std::sync::Arc::clone(case.stage.provider.line());
        line.arm(Checkpoint::ProviderCommit, Fault::Cancel, 1);
        let call = tokio::spawn(case.future(&idem, who, &it.arguments));
        let arrives = until(async || (line.gate.seen() || call.is_finished()).then_some(()));
        arrives.await;
        if call.is_finished() {
            return Err(not_applicable("the tool's client does not wait at the harness's provider"));
        }
        case.stage.clock.advance(case.past_the_lease());
        Ok(Self { call, _idem: idem })
    }

    /// It goes on, and hears how it ended.
    async fn goes_on<S: Part, A: Part>(self, case: &mut Case<'_, S, A>) -> Result<super::super::Answer, Stop> {
        let before = case.counts()?;
        case.stage.provider.line().gate.open();
        let Ok(ended) = tokio::time::timeout(Duration::from_secs(30), self.call).await else {
            return case.hangs("an owner that comes back late is not answered");
        };
        case.heard(ended.unwrap_or_else(|_| super::super::Answer::named("panicked")), &before)
    }
}

fn needs_a_shared_ledger<S, A>(it: &Playing<'_, S, A>) -> Result<(), Stop> {
    if Ground::usual() == Ground::Memory {
        return Err(not_applicable("no ledger is shared between processes: the feature `sqlite` is off"));
    }
    let _ = it;
    Ok(())
}

pub(super) async fn lease_ends_while_slow<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    needs_a_shared_ledger(it)?;
    let mut case = it.case("the provider has done it, and its answer takes longer than the lease").await?;
    case.expects("in_progress → outcome_unknown → … → succeeded", "unknown, or what was found out; never run again");
    case.callers("one that waits, one that comes again");
    let who = case.who.clone();
    let slow = Suspended::after_its_effect(&mut case, &who).await?;
    let told = case.call(&who, &it.arguments).await?;
    let why = "a lease that ended is no proof: the outcome is unknown until it is found out";
    let wanted = ["unknown_requires_reconciliation", "succeeded", "in_progress"];
    case.is_told(&told, &wanted, FailureKind::NoDeduplication, why)?;
    let requests = case.requests()?;
    if it.subject.spec.key_window().is_none() && requests > it.fixture.effects.len() {
        let seen = format!("{requests} requests while the first one was under way");
        return Err(case.failed(FailureKind::NoDeduplication, why, seen));
    }
    slow.goes_on(&mut case).await?;
    if case.comes_to_light().await? {
        case.everybody_is_told(&who).await?;
        case.ends(1).await?;
    }
    Ok(())
}

pub(super) async fn late_owner<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    needs_a_shared_ledger(it)?;
    if !it.subject.guarded {
        return Err(not_applicable("the tool has no guard, and so no lease"));
    }
    its_word_settles(it).await?;
    it_changes_nothing_newer(it).await
}

async fn its_word_settles<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("it comes back to an unknown outcome").await?;
    case.expects("in_progress → outcome_unknown → succeeded", "what the late owner says");
    let who = case.who.clone();
    let late = Suspended::after_its_effect(&mut case, &who).await?;
    // Somebody notices the silence; nobody asks the provider.
    if let Some(tool) = it.subject.bound(case.stage.states.clone()) {
        let seen = case.stage.idem.reconciler([tool]).run_once().await;
        seen.map_err(|error| it.broken(error.to_string()))?;
    } else {
        case.call(&who, &it.arguments).await?;
    }
    let told = late.goes_on(&mut case).await?;
    case.is_told(
        &told,
        &["succeeded"],
        FailureKind::MisleadingAnswer,
        "a late owner is told what became of its effect",
    )?;
    let state = case.comes_to_rest().await?;
    if state != Some(State::Succeeded) {
        let seen = format!("the operation is {:?} after its late owner said that it succeeded", state.map(State::name));
        return Err(case.failed(FailureKind::HungLease, "a late result settles what was unknown", seen));
    }
    case.everybody_is_told(&who).await?;
    case.ends(1).await
}

async fn it_changes_nothing_newer<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("it comes back to what was settled meanwhile").await?;
    case.expects("in_progress → outcome_unknown → … → succeeded", "what was settled meanwhile");
    let who = case.who.clone();
    let late = Suspended::after_its_effect(&mut case, &who).await?;
    if case.settles().await? == Light::Dark {
        case.entry.verdict = super::super::record::Verdict::NotApplicable;
        return Err(not_applicable("the tool has several effects: a part of them leaves nothing to settle"));
    }
    let before = case.record().await;
    late.goes_on(&mut case).await?;
    let after = case.record().await;
    let same = |one: &Option<crate::ledger::Record>| {
        one.as_ref().map(|record| (record.state, record.fence, record.attempt, record.stored.clone()))
    };
    if same(&before) != same(&after) {
        let seen = format!("{:?} before, {:?} after", same(&before), same(&after));
        return Err(case.failed(FailureKind::MisleadingAnswer, "a late owner changes no newer state", seen));
    }
    case.everybody_is_told(&who).await?;
    case.ends(1).await
}

pub(super) async fn deadline_zero<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    let mut case = it.case("no time is left when the call is made").await?;
    case.expects("none; then in_progress → succeeded", "not valid; then the result");
    let who = case.who.clone();
    let hurried = Who { deadline: Some(Duration::ZERO), ..who.clone() };
    let told = case.call(&hurried, &it.arguments).await?;
    let why = "a call that has no time left is refused before anything happens";
    case.is_told(&told, &["invalid_call"], FailureKind::MisleadingAnswer, why)?;
    if case.happened()? {
        return Err(case.failed(FailureKind::MisleadingAnswer, why, "it had its effect"));
    }
    case.everybody_is_told(&who).await?;
    case.ends(1).await
}
