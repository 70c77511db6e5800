//! Every move of the drawn table, one by one, each made by the command that makes it.
//!
//! Must not know the table: [`transition`] has it.

use super::{
    calls::{LEASE, call, end},
    findings::{applied, begin, decision, last_verdict, says, silent, succeeded, verdict},
    stand::{Brought, again, brought, plain},
    subject::{Checked, Subject, Wrong, same},
};
use crate::ledger::{
    BeginReconcile, Budget, Ending, Event, Finding, Moved, Reserve, Resolution, Standing, State, transition,
};

/// Whoever holds the last token of a record that is in progress holds its lease: its proof is not late.
const UNREACHED: (State, Event) = (State::InProgress, Event::LateNoEffect);

/// Every standing and every event that is possible there.
fn legal() -> impl Iterator<Item = (Standing, Event, Moved)> {
    let pairs = Standing::all().flat_map(|from| Event::ALL.map(|event| (from, event)));
    let reached = pairs.filter(|(from, event)| (from.state, *event) != UNREACHED);
    reached.filter_map(|(from, event)| Some((from, event, transition(from, event).ok()?)))
}

pub(super) async fn every_move(subject: &mut Subject) -> Checked {
    for (from, event, moved) in legal() {
        let what = format!("`{}` at {from:?}", event.name());
        let one = one_move(subject, &what, from, event, moved).await;
        one.map_err(|wrong| Wrong::new(format!("{what}: {wrong}")))?;
    }
    Ok(())
}

/// An operation that succeeds with a reference only: then every event can happen to it.
async fn strict(subject: &mut Subject, order: &str, from: Standing) -> Checked<Brought> {
    brought(subject, Reserve { needs_reference: true, ..call(order, 5, order) }, from).await
}

async fn one_move(subject: &mut Subject, what: &str, from: Standing, event: Event, moved: Moved) -> Checked {
    let brought = strict(subject, what, from).await?;
    happen(subject, &brought, event).await?;
    let (to, review) = match moved {
        Moved::To(to) => (to, false),
        Moved::ToWithReview(to) => (to, true),
        Moved::Kept => (from, false),
    };
    let (before, after) = (&brought.record, subject.show(brought.record.operation).await?);
    same("where it stands", &after.standing(), &to)?;
    same("its review", &after.review, &review)?;
    same("its version", &after.version, &(before.version + 1))?;
    let history = subject.detail(after.operation).await?.history;
    let last = history.last().ok_or_else(|| Wrong::new("there is no history"))?;
    same("what happened last", &(&*last.event, last.state), &(event.name(), to.state))?;
    same("the version that it led to", &last.version, &after.version)?;
    same("when", &last.at, &subject.now)
}

pub(super) async fn fingerprints(subject: &mut Subject) -> Checked {
    for (from, event, _) in legal() {
        let order = format!("`{}` at {from:?}", event.name());
        let brought = strict(subject, &order, from).await?;
        happen(subject, &brought, event).await?;
        let (before, after) = (brought.record, subject.show(brought.last.operation).await?);
        same(&format!("the fingerprint after {order}"), &after.fingerprint, &before.fingerprint)?;
        same(&format!("the parts after {order}"), &after.parts, &before.parts)?;
        // Nor does a call with another amount get anywhere else.
        let drifts = Reserve { fingerprint: [9; 32], ..brought.asked };
        subject.refused(drifts).await?;
    }
    Ok(())
}

/// Makes `event` happen, by the command that does.
async fn happen(subject: &mut Subject, brought: &Brought, event: Event) -> Checked {
    let Brought { asked, older, last, record } = brought;
    let own = |ending| plain(last, ending);
    match event {
        Event::Reserve => drop(subject.granted(asked.clone()).await?),
        Event::Resend => drop(subject.granted(again(asked)).await?),
        Event::SettleOk => drop(subject.settle(end(last, Ending::Ok)).await?),
        Event::SettleUnproved => drop(subject.settle(own(Ending::Ok)).await?),
        Event::SettleRetryable | Event::LateNoEffect => drop(subject.settle(own(Ending::Retryable)).await?),
        Event::SettleFinal => drop(subject.settle(own(Ending::Final)).await?),
        Event::SettleUnknown => drop(subject.settle(own(Ending::Unknown)).await?),
        Event::NotStarted => drop(subject.settle(own(Ending::NotStarted)).await?),
        Event::LeaseEnded | Event::ReconcileEnded => {
            subject.advance(LEASE);
            same("the leases ended", &subject.end_leases(&[silent(record)]).await?, &1)?;
        }
        Event::LateOk => drop(subject.late(end(older, Ending::Ok)).await?),
        Event::LateUnknown => drop(subject.late(end(older, Ending::Unknown)).await?),
        Event::BudgetOver => {
            let budget = Some(Budget { attempts_max: 2, deadline: LEASE * 100 });
            drop(subject.found(Reserve { budget, ..asked.clone() }).await?);
        }
        Event::Begin => drop(subject.begin(BeginReconcile { by_hand: true, ..begin(record) }).await?),
        Event::Applied => drop(subject.judged(verdict(record, applied(Some("1"), Some("ref")))).await?),
        Event::NotApplied => drop(subject.judged(verdict(record, Finding::NotApplied)).await?),
        Event::Inconclusive => drop(subject.judged(verdict(record, Finding::Inconclusive)).await?),
        Event::Exhausted => drop(subject.judged(last_verdict(record)).await?),
        Event::ResolveOk => drop(subject.resolved(decision(record, succeeded(Some("1"), Some("ref")))).await?),
        Event::ResolveRetryable => drop(subject.resolved(decision(record, Resolution::Retryable)).await?),
        Event::ResolveFinal => drop(subject.resolved(decision(record, Resolution::Final)).await?),
        Event::EvidenceOk => {
            drop(subject.weighed(says(record.operation, "e1", applied(Some("1"), Some("ref")))).await?);
        }
        Event::EvidenceAgainst => drop(subject.weighed(says(record.operation, "e1", Finding::NotApplied)).await?),
        Event::EvidenceUnclear => drop(subject.weighed(says(record.operation, "e1", Finding::Inconclusive)).await?),
    }
    Ok(())
}
