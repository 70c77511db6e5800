//! Attempts, leases and fencing tokens.

use std::time::Duration;

use super::{
    calls::{LEASE, NANO, RETAIN, TOMBSTONE, call, end, just_under},
    subject::{Checked, Subject, Wrong, holds, same},
};
use crate::ledger::{Ending, Grant, Hold, Record, Reserve, State, Stored, StoredKind};

pub(super) async fn reopened(subject: &mut Subject) -> Checked {
    for (order, ending) in [("A", Ending::Retryable), ("B", Ending::NotStarted)] {
        let first = subject.granted(call(order, 5, order)).await?;
        subject.advance(NANO);
        subject.recorded(&first, ending).await?;
        let failed = subject.show(first.operation).await?;
        same("the state", &failed.state, &State::FailedRetryable)?;
        same("the instant of the settlement", &failed.settled_at, &Some(subject.now))?;
        same("the end of retention", &failed.retain_until, &None)?;
        subject.advance(NANO);
        let reworded = Reserve { content: [9; 8].into(), ..call(order, 5, order) };
        let second = subject.granted(reworded.clone()).await?;
        let should_be =
            Grant { attempt: 2, fence: second.fence, lease_until: subject.now.after(LEASE), ..first.clone() };
        same("the grant", &second, &should_be)?;
        holds("the fencing token is a larger one", second.fence > first.fence)?;
        let should_be = Record {
            version: failed.version + 1,
            state: State::InProgress,
            attempt: 2,
            fence: second.fence,
            lease_until: Some(second.lease_until),
            settled_at: None,
            content: reworded.content,
            ..failed
        };
        same("the record", &subject.show(first.operation).await?, &should_be)?;
    }
    let last = subject.granted(call("C", 5, "C")).await?;
    subject.recorded(&last, Ending::Final).await?;
    let answer = subject.found(call("C", 5, "C")).await?;
    same("a final failure", &answer.record.state, &State::FailedFinal)
}

pub(super) async fn fences_ascend(subject: &mut Subject) -> Checked {
    let mut last = 0;
    let mut rows = Vec::new();
    for round in 0..3 {
        for order in ["A", "B", "C"] {
            let first = subject.granted(call(order, 5, order)).await?;
            subject.recorded(&first, Ending::Retryable).await?;
            let second = subject.granted(call(order, 5, order)).await?;
            subject.recorded(&second, Ending::Ok).await?;
            for fence in [first.fence, second.fence] {
                holds(&format!("in round {round} {fence} is larger than {last}"), fence > last)?;
                last = fence;
            }
            holds("the handle of a record is not used again", !rows.contains(&first.row))?;
            rows.push(first.row);
        }
        subject.advance(RETAIN + TOMBSTONE);
        let report = subject.purge(100, TOMBSTONE).await?;
        same("the records removed", &report.removed, &3)?;
    }
    Ok(())
}

/// The clock is frozen: only the tokens can tell the holders apart.
pub(super) async fn older_holder(subject: &mut Subject) -> Checked {
    let first = subject.granted(call("A", 5, "id1")).await?;
    subject.recorded(&first, Ending::Retryable).await?;
    let second = subject.granted(call("A", 5, "id1")).await?;
    holds("the later token is the larger", second.fence > first.fence)?;
    let hold = |grant: &Grant| Hold { row: grant.row, fence: grant.fence, lease: LEASE };
    same("the leases lost", &subject.renew(&[hold(&second)]).await?, &vec![])?;
    same("the leases lost", &subject.renew(&[hold(&first)]).await?, &vec![first.row])?;
    let mut before = subject.show(first.operation).await?;
    same("the renewals", &before.renewals, &1)?;
    for ending in [Ending::Retryable, Ending::Final, Ending::Unknown, Ending::NotStarted] {
        let after = subject.late(end(&first, ending)).await?;
        // What it says goes to the history, and nowhere else.
        before.version += 1;
        same("the record that the older holder is told of", &after, &before)?;
        same("the record", &subject.show(first.operation).await?, &before)?;
    }
    let lost = subject.renew(&[hold(&first)]).await?;
    same("the leases lost", &lost, &vec![first.row])?;
    same("the record", &subject.show(first.operation).await?, &before)?;
    // The holder goes on as if nothing had been said.
    subject.recorded(&second, Ending::Ok).await?;
    let record = subject.show(first.operation).await?;
    same("the result", &record.stored, &end(&second, Ending::Ok).stored)
}

pub(super) async fn ended(subject: &mut Subject) -> Checked {
    let grant = subject.granted(call("A", 5, "id1")).await?;
    subject.advance(just_under(LEASE));
    let running = subject.found(call("A", 5, "id2")).await?;
    same("the state a nanosecond before", &running.record.state, &State::InProgress)?;
    for span in [NANO, NANO, LEASE, RETAIN * 400] {
        subject.advance(span);
        let answer = subject.found(call("A", 5, "id1")).await?;
        same("the state", &answer.record.state, &State::OutcomeUnknown)?;
        same("the attempt", &answer.record.attempt, &1)?;
    }
    let record = subject.show(grant.operation).await?;
    same("the state shown", &record.state, &State::OutcomeUnknown)?;
    same("the instant at which it was noticed", &record.settled_at, &Some(grant.lease_until))?;
    same("the instant of its last word", &record.unknown_at, &Some(grant.lease_until))?;
    same("when to ask", &record.next_at, &Some(grant.lease_until))?;
    same("the lease", &record.lease_until, &None)?;
    same("the end of retention", &record.retain_until, &None)?;
    let later = subject.granted(call("B", 5, "id4")).await?;
    subject.advance(LEASE * 2);
    subject.found(call("B", 5, "id4")).await?;
    let record = subject.show(later.operation).await?;
    same("the instant at which it was noticed, later", &record.settled_at, &Some(subject.now))?;
    same("the end of the lease", &record.unknown_at, &Some(later.lease_until))?;
    // Silence does not hide a drift.
    subject.refused(call("A", 6, "id3")).await.map(drop)
}

pub(super) async fn renewed(subject: &mut Subject) -> Checked {
    let first = subject.granted(call("A", 5, "id1")).await?;
    let second = subject.granted(call("B", 5, "id2")).await?;
    let third = subject.granted(call("C", 5, "id3")).await?;
    subject.recorded(&third, Ending::Unknown).await?;
    let third_before = subject.show(third.operation).await?;
    let step = Duration::from_secs(10);
    subject.advance(step);
    let hold = |grant: &Grant, lease| Hold { row: grant.row, fence: grant.fence, lease };
    let nobody = Hold { row: 9_000_000, fence: 1, lease: LEASE };
    let stale = Hold { fence: first.fence - 1, ..hold(&second, LEASE) };
    let lost = subject.renew(&[hold(&first, LEASE), stale, hold(&third, LEASE), nobody]).await?;
    same("the leases lost", &lost, &vec![second.row, third.row, nobody.row])?;
    let record = subject.show(first.operation).await?;
    same("the lease", &record.lease_until, &Some(subject.now.after(LEASE)))?;
    same("the instant of the renewal", &record.renewed_at, &Some(subject.now))?;
    same("the renewals", &record.renewals, &1)?;
    same("a settled record", &subject.show(third.operation).await?, &third_before)?;
    let lost = subject.renew(&[hold(&first, LEASE * 2), hold(&second, LEASE)]).await?;
    same("the leases lost", &lost, &Vec::<i64>::new())?;
    subject.advance(just_under(LEASE * 2));
    same("a renewed lease", &subject.found(call("A", 5, "id1")).await?.record.state, &State::InProgress)?;
    same("one that ended", &subject.found(call("B", 5, "id2")).await?.record.state, &State::OutcomeUnknown)?;
    let unknown = subject.show(second.operation).await?;
    // A lease that led to unknown is not revived.
    same("the leases lost", &subject.renew(&[hold(&second, LEASE)]).await?, &vec![second.row])?;
    same("the record", &subject.show(second.operation).await?, &unknown)?;
    let words = Some(Stored { kind: StoredKind::Text, bytes: b"\"Unknown".as_slice().into() });
    let told = subject.show(third.operation).await?.stored;
    let starts =
        told.zip(words).is_some_and(|(told, words)| told.kind == words.kind && told.bytes.starts_with(&words.bytes));
    if starts { Ok(()) } else { Err(Wrong::new("the words of an unknown outcome are not kept")) }
}
