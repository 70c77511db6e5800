//! Removing what retention no longer covers, and nothing else.

use std::sync::Arc;

use super::{
    calls::{NANO, RETAIN, TOMBSTONE, by_args, by_id, call, end, just_under, tenant},
    subject::{Checked, Subject, Wrong, answer, grant, holds, same},
};
use crate::ledger::{Command, Ending, Grant, PurgeReport, Reply, Reserved, Settled, State};

/// A record that has been finished since now.
async fn finished(subject: &mut Subject, order: &str) -> Checked<Grant> {
    let grant = subject.granted(call(order, 5, order)).await?;
    subject.recorded(&grant, Ending::Ok).await?;
    Ok(grant)
}

pub(super) async fn in_two_steps(subject: &mut Subject) -> Checked {
    let grant = finished(subject, "A").await?;
    let before = subject.show(grant.operation).await?;
    let looked = PurgeReport { looked_at: 1, tombstones: 0, removed: 0 };
    subject.advance(just_under(RETAIN));
    same("a purge too early", &subject.purge(10, TOMBSTONE).await?, &looked)?;
    same("the record", &subject.show(grant.operation).await?, &before)?;
    subject.advance(NANO);
    same("a purge in time", &subject.purge(10, TOMBSTONE).await?, &PurgeReport { tombstones: 1, ..looked })?;
    let tombstone = subject.show(grant.operation).await?;
    same("the result", &tombstone.stored, &None)?;
    same("the fingerprint", &tombstone.fingerprint, &before.fingerprint)?;
    same("a second purge", &subject.purge(10, TOMBSTONE).await?, &looked)?;
    subject.advance(just_under(TOMBSTONE));
    same("a purge too early for the tombstone", &subject.purge(10, TOMBSTONE).await?, &looked)?;
    subject.advance(NANO);
    same("a purge in time for it", &subject.purge(10, TOMBSTONE).await?, &PurgeReport { removed: 1, ..looked })?;
    let shown = subject.reader().show(&tenant(), grant.operation).await?;
    holds("nothing is shown", shown.is_none())?;
    let found = subject.find(&[by_args("A"), by_id("A")]).await?;
    holds("nothing is found", found.iter().all(Option::is_none))?;
    same("a purge of nothing", &subject.purge(10, TOMBSTONE).await?, &PurgeReport::default())?;
    let settled = subject.settle(end(&grant, Ending::Ok)).await?;
    holds("what was removed is gone", matches!(settled, Settled::Gone))
}

pub(super) async fn keeps_later_occurrences(subject: &mut Subject) -> Checked {
    let first = finished(subject, "A").await?;
    subject.advance(RETAIN);
    // Equal arguments under a new id are a new occurrence by now; this one's outcome is never known.
    let second = subject.granted(call("A", 5, "again")).await?;
    holds("it is another operation", second.operation != first.operation)?;
    subject.recorded(&second, Ending::Unknown).await?;
    subject.advance(TOMBSTONE);
    same("the first one's removal", &subject.purge(10, TOMBSTONE).await?.removed, &1)?;
    let answer = subject.found(call("A", 5, "once more")).await?;
    same("what equal arguments lead to", &answer.record.operation, &second.operation)?;
    same("its state", &answer.record.state, &State::OutcomeUnknown)
}

pub(super) async fn spares(subject: &mut Subject) -> Checked {
    let running = subject.granted(call("A", 5, "A")).await?;
    let unknown = subject.granted(call("B", 5, "B")).await?;
    subject.recorded(&unknown, Ending::Unknown).await?;
    let retryable = subject.granted(call("C", 5, "C")).await?;
    subject.recorded(&retryable, Ending::Retryable).await?;
    let silent = subject.granted(call("D", 5, "D")).await?;
    let reopened = subject.granted(call("C", 5, "C")).await?;
    finished(subject, "E").await?;
    let mut before = Vec::new();
    for grant in [&running, &unknown, &silent, &reopened] {
        before.push(subject.show(grant.operation).await?);
    }
    subject.advance((RETAIN + TOMBSTONE) * 100);
    let report = subject.purge(100, TOMBSTONE).await?;
    same("the purge", &report, &PurgeReport { looked_at: 5, tombstones: 0, removed: 1 })?;
    for record in before {
        same("the record", &subject.show(record.operation).await?, &record)?;
    }
    let answer = subject.found(call("D", 5, "D")).await?;
    same("a lease that ended long ago", &answer.record.state, &State::OutcomeUnknown)
}

pub(super) async fn goes_on(subject: &mut Subject) -> Checked {
    // Two that stay stand in front of those that are to go.
    let first = subject.granted(call("A", 5, "A")).await?;
    let second = subject.granted(call("B", 5, "B")).await?;
    for order in ["C", "D", "E"] {
        finished(subject, order).await?;
    }
    subject.advance(RETAIN + TOMBSTONE);
    let mut removed = 0;
    for _ in 0..4 {
        let report = subject.purge(2, TOMBSTONE).await?;
        holds("no more records are looked at than was asked", report.looked_at <= 2)?;
        removed += report.removed;
    }
    same("the records removed by purges of two", &removed, &3)?;
    for grant in [first, second] {
        subject.show(grant.operation).await?;
    }
    Ok(())
}

/// A purge strikes between one caller's reservation and the next; a third one has made the record anew by then.
pub(super) async fn interleaved(subject: &mut Subject) -> Checked {
    finished(subject, "A").await?;
    subject.advance(RETAIN + TOMBSTONE);
    let reserve = |cents| Command::Reserve(Arc::new(call("A", cents, "A")));
    let purge = Command::Purge { records_max: 10, tombstone: TOMBSTONE };
    let replies = subject.apply(&[reserve(5), purge.clone(), reserve(6), purge.clone(), reserve(5)]).await?;
    let [
        Reply::Reserved(told),
        Reply::Purged(report),
        Reply::Reserved(anew),
        Reply::Purged(again),
        Reply::Reserved(last),
    ] = <[Reply; 5]>::try_from(replies).map_err(|_| Wrong::new("five commands have five replies"))?
    else {
        return Err(Wrong::new("a reply belongs to another command"));
    };
    let told = answer(told)?;
    holds("before the purge the tombstone answers", told.retention_ended)?;
    same("the records removed", &report.removed, &1)?;
    let made = grant(anew)?;
    holds("a new record has a handle of its own", made.row > told.record.row)?;
    same("the records removed later", &again.removed, &0)?;
    // The truth about the third caller's record, and no blanket `in_progress`.
    holds("other arguments are told of the drift", matches!(last, Reserved::Refused(_)))?;
    subject.recorded(&made, Ending::Ok).await?;
    let replies = subject.apply(&[reserve(6), purge, reserve(6)]).await?;
    for reply in replies {
        match reply {
            Reply::Reserved(reserved) => {
                let found = answer(reserved)?;
                same("what is found", &found.record.row, &made.row)?;
                same("its state", &found.record.state, &State::Succeeded)?;
                same("its result", &found.record.stored, &end(&made, Ending::Ok).stored)?;
            }
            Reply::Purged(report) => same("the records removed", &report.removed, &0)?,
            other => return Err(Wrong::new(format!("an unexpected reply: {other:?}"))),
        }
    }
    Ok(())
}
