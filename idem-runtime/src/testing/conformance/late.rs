//! What an attempt says that no longer holds the lease: evidence.

use super::{
    calls::{LEASE, RETAIN, call, end},
    subject::{Checked, Subject, holds, same},
};
use crate::ledger::{Ending, Grant, Record, Settle, State, StoredKind};

/// A first attempt that ended retryably, and a second one that is in progress.
async fn twice(subject: &mut Subject, order: &str) -> Checked<[Grant; 2]> {
    let first = subject.granted(call(order, 5, order)).await?;
    subject.recorded(&first, Ending::Retryable).await?;
    Ok([first, subject.granted(call(order, 5, order)).await?])
}

/// The record after late success, given what it was before.
fn settled_by(before: Record, grant: &Grant, subject: &Subject) -> Record {
    let Settle { reference, stored, .. } = end(grant, Ending::Ok);
    Record {
        version: before.version + 1,
        state: State::Succeeded,
        lease_until: None,
        settled_at: Some(subject.now),
        unknown_at: None,
        next_at: None,
        retain_until: Some(subject.now.after(RETAIN)),
        reference,
        stored,
        ..before
    }
}

/// The record beside which something was kept.
fn kept_beside(record: &Record) -> Record {
    Record { version: record.version + 1, ..record.clone() }
}

pub(super) async fn success(subject: &mut Subject) -> Checked {
    // Unknown because it said so, because its lease ended, and while a later attempt is running.
    let said = subject.granted(call("A", 5, "A")).await?;
    subject.recorded(&said, Ending::Unknown).await?;
    let silent = subject.granted(call("B", 5, "B")).await?;
    subject.advance(LEASE);
    subject.found(call("B", 5, "B")).await?;
    let [older, _] = twice(subject, "C").await?;
    for grant in [said, silent, older] {
        subject.advance(LEASE / 10);
        let should_be = settled_by(subject.show(grant.operation).await?, &grant, subject);
        same("the record told", &subject.late(end(&grant, Ending::Ok)).await?, &should_be)?;
        same("the record", &subject.show(grant.operation).await?, &should_be)?;
    }
    let answer = subject.found(call("B", 5, "B")).await?;
    same("what a repeat finds", &answer.record.state, &State::Succeeded)
}

pub(super) async fn success_without_words(subject: &mut Subject) -> Checked {
    let grant = subject.granted(call("A", 5, "A")).await?;
    subject.recorded(&grant, Ending::Unknown).await?;
    let before = subject.show(grant.operation).await?;
    let silent = Settle { reference: None, stored: None, ..end(&grant, Ending::Ok) };
    let told = subject.late(silent).await?;
    same("the state", &told.state, &State::Succeeded)?;
    same("the reference told before", &told.reference, &before.reference)?;
    // The words of an unknown outcome are no result.
    same("what is held", &told.stored.as_ref().map(|stored| stored.kind), &Some(StoredKind::NotHeld))?;
    same("the record", &subject.show(grant.operation).await?, &told)?;
    // Whoever says it again with a result completes it, and nobody takes it away.
    let told = subject.late(end(&grant, Ending::Ok)).await?;
    same("the result", &told.stored, &end(&grant, Ending::Ok).stored)?;
    let told = subject.late(Settle { reference: None, stored: None, ..end(&grant, Ending::Ok) }).await?;
    same("the result, later", &told.stored, &end(&grant, Ending::Ok).stored)?;
    same("the record", &subject.show(grant.operation).await?, &told)
}

pub(super) async fn no_effect(subject: &mut Subject) -> Checked {
    for (order, ending) in [("A", Ending::Retryable), ("B", Ending::Final), ("C", Ending::NotStarted)] {
        let [first, second] = twice(subject, order).await?;
        subject.recorded(&second, Ending::Unknown).await?;
        let unknown = subject.show(first.operation).await?;
        let unknown = kept_beside(&unknown);
        same("what the older attempt changes", &subject.late(end(&first, ending)).await?, &unknown)?;
        same("the record", &subject.show(first.operation).await?, &unknown)?;
        subject.advance(LEASE);
        // It was heard of once more: from here counts what the provider may still be about.
        let unknown = Record { unknown_at: Some(subject.now), ..kept_beside(&unknown) };
        same("what not knowing changes", &subject.late(end(&second, Ending::Unknown)).await?, &unknown)?;
        let freed = subject.late(end(&second, ending)).await?;
        let should_be = Record {
            state: State::FailedRetryable,
            settled_at: Some(subject.now),
            unknown_at: None,
            next_at: None,
            ..kept_beside(&unknown)
        };
        same("what the last attempt leads to", &freed, &should_be)?;
        same("the record", &subject.show(first.operation).await?, &freed)?;
        let third = subject.granted(call(order, 5, order)).await?;
        same("the attempt", &third.attempt, &3)?;
    }
    Ok(())
}

pub(super) async fn contradiction(subject: &mut Subject) -> Checked {
    let [first, second] = twice(subject, "A").await?;
    subject.recorded(&second, Ending::Ok).await?;
    subject.advance(LEASE);
    let mut should_be = subject.show(second.operation).await?;
    // Success again adds nothing, and what an older attempt did not do contradicts nothing.
    for settle in [
        end(&first, Ending::Ok),
        end(&second, Ending::Ok),
        end(&second, Ending::Unknown),
        end(&first, Ending::Retryable),
        end(&first, Ending::Final),
    ] {
        should_be = kept_beside(&should_be);
        same("what is told", &subject.late(settle).await?, &should_be)?;
        same("the record", &subject.show(second.operation).await?, &should_be)?;
    }
    // That the successful attempt itself had no effect does.
    for ending in [Ending::Retryable, Ending::Final, Ending::NotStarted] {
        subject.advance(LEASE);
        should_be = Record { review: true, ..kept_beside(&should_be) };
        same("what is told", &subject.late(end(&second, ending)).await?, &should_be)?;
        same("the record", &subject.show(second.operation).await?, &should_be)?;
    }
    let answer = subject.found(call("A", 5, "A")).await?;
    same("what a repeat finds", &*answer.record, &should_be)
}

pub(super) async fn success_after_failure(subject: &mut Subject) -> Checked {
    let [older, last] = twice(subject, "A").await?;
    subject.recorded(&last, Ending::Final).await?;
    let retryable = subject.granted(call("B", 5, "B")).await?;
    subject.recorded(&retryable, Ending::Retryable).await?;
    for grant in [older, retryable] {
        subject.advance(LEASE);
        let should_be = settled_by(subject.show(grant.operation).await?, &grant, subject);
        let should_be = Record { review: true, ..should_be };
        same("what is told", &subject.late(end(&grant, Ending::Ok)).await?, &should_be)?;
        same("the record", &subject.show(grant.operation).await?, &should_be)?;
    }
    let answer = subject.found(call("B", 5, "B")).await?;
    holds("a repeat runs nothing", answer.record.state == State::Succeeded)
}
