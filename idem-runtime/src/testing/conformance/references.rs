//! Success that counts with the provider's reference only.

use super::{
    calls::{RETAIN, call, end},
    findings::{applied, says, verdict},
    stand::{brought, plain},
    subject::{Checked, Subject, Wrong, same},
};
use crate::ledger::{Ending, Finding, Grant, Record, Reserve, Settle, Settled, Standing, State};

fn strict(order: &str) -> Reserve {
    Reserve { needs_reference: true, ..call(order, 5, order) }
}

/// A first attempt that says that it succeeded, and does not say as what.
async fn unproved(subject: &mut Subject, order: &str) -> Checked<(Grant, Record)> {
    let grant = subject.granted(strict(order)).await?;
    match subject.settle(plain(&grant, Ending::Ok)).await? {
        Settled::Recorded { state: State::OutcomeUnknown, retain_until: None, .. } => {}
        other => return Err(Wrong::new(format!("success without a reference was answered with {other:?}"))),
    }
    let record = subject.show(grant.operation).await?;
    same("where it stands", &record.standing(), &Standing::sure(State::OutcomeUnknown))?;
    same("what it holds", &record.stored, &end(&grant, Ending::Ok).stored)?;
    same("when to ask", &record.next_at, &Some(subject.now))?;
    Ok((grant, record))
}

pub(super) async fn required(subject: &mut Subject) -> Checked {
    let (grant, record) = unproved(subject, "A").await?;
    same("what a repeat finds", &*subject.found(strict("A")).await?.record, &record)?;
    let events = subject.history(grant.operation).await?;
    same("what happened", &events.last().map(|event| &**event), &Some("settle_unproved"))?;
    // It says so again, and it is no more true.
    let told = subject.late(plain(&grant, Ending::Ok)).await?;
    same("after saying it again", &told.state, &State::OutcomeUnknown)?;
    let told = subject.late(end(&grant, Ending::Ok)).await?;
    same("with a reference", &told.state, &State::Succeeded)?;
    // In doubt it stays so.
    let sent = brought(subject, strict("B"), Standing { state: State::InProgress, in_doubt: true }).await?;
    subject.settle(plain(&sent.last, Ending::Ok)).await?;
    let record = subject.show(sent.last.operation).await?;
    same("in doubt", &record.standing(), &Standing { state: State::OutcomeUnknown, in_doubt: true })?;
    // With one, and where none is required, nothing is asked.
    let grant = subject.granted(strict("C")).await?;
    subject.recorded(&grant, Ending::Ok).await?;
    same("with a reference", &subject.show(grant.operation).await?.state, &State::Succeeded)?;
    let grant = subject.granted(call("D", 5, "D")).await?;
    subject.settle(plain(&grant, Ending::Ok)).await?;
    same("where none is required", &subject.show(grant.operation).await?.state, &State::Succeeded)
}

pub(super) async fn comes_later(subject: &mut Subject) -> Checked {
    for (order, result) in [("A", None), ("B", Some("\"told\""))] {
        let (grant, record) = unproved(subject, order).await?;
        let told = subject.weighed(says(record.operation, "e1", applied(result, Some("rf_1")))).await?;
        same("the state", &(told.state, told.retain_until), &(State::Succeeded, Some(subject.now.after(RETAIN))))?;
        same("the reference", &told.reference, &Some("rf_1".into()))?;
        // The result that was held is given, unless there is a newer one.
        let held = match result {
            None => end(&grant, Ending::Ok).stored,
            Some(json) => Some(super::findings::value(json)),
        };
        same("the result", &told.stored, &held)?;
        same("what a repeat finds", &*subject.found(strict(order)).await?.record, &told)?;
    }
    let (grant, record) = unproved(subject, "C").await?;
    let begun = subject.begun(&record).await?;
    let told = subject.judged(verdict(&begun, applied(None, Some("rf_2")))).await?;
    same("by a verdict", &(told.state, told.reference), &(State::Succeeded, Some("rf_2".into())))?;
    same("the result", &told.stored, &end(&grant, Ending::Ok).stored)
}

pub(super) async fn of_verdicts(subject: &mut Subject) -> Checked {
    let (_, record) = unproved(subject, "A").await?;
    let begun = subject.begun(&record).await?;
    // Who cannot name it has not found it.
    let told = subject.judged(verdict(&begun, applied(Some("1"), None))).await?;
    same("after such a verdict", &told.state, &State::OutcomeUnknown)?;
    same("what it holds", &told.stored, &record.stored)?;
    let begun = subject.begun(&told).await?;
    let told = subject.judged(verdict(&begun, Finding::NotApplied)).await?;
    same("after proof of the opposite", &told.state, &State::FailedRetryable)?;
    // A reference that was told with an unknown outcome names the effect.
    let grant = subject.granted(strict("B")).await?;
    let named = Settle { reference: Some("rf_3".into()), ..end(&grant, Ending::Unknown) };
    subject.settle(named).await?;
    let told = subject.weighed(says(grant.operation, "e1", applied(None, None))).await?;
    same("with the reference told before", &(told.state, told.reference), &(State::Succeeded, Some("rf_3".into())))
}
