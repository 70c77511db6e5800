//! A reservation whose reply was lost is sent again, and gets the same answer.

use super::{
    calls::{LEASE, NANO, call, just_under},
    findings::silent,
    stand::{again, bring},
    subject::{Checked, Subject, Wrong, holds, same},
};
use crate::ledger::{Ending, Grant, Hold, Reserve, Reserved, Standing, State};

fn told_apart(order: &str, nonce: u64) -> Reserve {
    Reserve { nonce, ..call(order, 5, order) }
}

pub(super) async fn same_attempt(subject: &mut Subject) -> Checked {
    for (order, nonce) in [("A", 1), ("B", u64::MAX)] {
        let first = subject.granted(told_apart(order, nonce)).await?;
        let before = subject.detail(first.operation).await?;
        same("its nonce", &before.record.nonce, &nonce)?;
        subject.advance(NANO);
        for _ in 0..2 {
            same("the same call", &subject.granted(told_apart(order, nonce)).await?, &first)?;
        }
        same("what is kept", &subject.detail(first.operation).await?, &before)?;
        // Anybody else waits.
        for other in [0, nonce.wrapping_add(1), nonce / 2] {
            let found = subject.found(told_apart(order, other)).await?.record;
            same("what another call finds", &*found, &before.record)?;
        }
        // A renewed lease is what it is.
        subject.renew(&[Hold { row: first.row, fence: first.fence, lease: LEASE * 2 }]).await?;
        let should_be = Grant { lease_until: subject.now.after(LEASE * 2), ..first.clone() };
        same("after a renewal", &subject.granted(told_apart(order, nonce)).await?, &should_be)?;
        subject.refused(Reserve { nonce, ..call(order, 6, order) }).await?;
    }
    // Who does not say is told apart from nobody.
    subject.granted(told_apart("C", 0)).await?;
    subject.found(told_apart("C", 0)).await.map(drop)
}

pub(super) async fn of_the_last_attempt(subject: &mut Subject) -> Checked {
    let first = subject.granted(told_apart("A", 1)).await?;
    subject.recorded(&first, Ending::Retryable).await?;
    let second = subject.granted(told_apart("A", 2)).await?;
    same("the second attempt's call", &subject.granted(told_apart("A", 2)).await?, &second)?;
    let found = subject.found(told_apart("A", 1)).await?.record;
    same("what the first one's finds", &(found.state, found.attempt), &(State::InProgress, 2))?;
    same("the attempts", &subject.detail(first.operation).await?.attempts.len(), &2)?;
    // What was sent again as well.
    let unknown = bring(subject, "B", Standing::sure(State::OutcomeUnknown)).await?;
    let asked = Reserve { nonce: 9, ..again(&unknown.asked) };
    let sent = subject.granted(asked.clone()).await?;
    same("what was sent again", &subject.granted(asked).await?, &sent)?;
    holds("it is in doubt", sent.in_doubt)?;
    // Once it has ended, there is nothing to hold.
    subject.recorded(&second, Ending::Ok).await?;
    same("after its end", &subject.found(told_apart("A", 2)).await?.record.state, &State::Succeeded)
}

pub(super) async fn not_after_its_lease(subject: &mut Subject) -> Checked {
    for (order, noticed) in [("A", false), ("B", true)] {
        let first = subject.granted(told_apart(order, 1)).await?;
        subject.advance(just_under(LEASE));
        same("a nanosecond before", &subject.granted(told_apart(order, 1)).await?, &first)?;
        subject.advance(NANO);
        if noticed {
            let record = subject.show(first.operation).await?;
            subject.end_leases(&[silent(&record)]).await?;
        }
        let found = match subject.reserve(told_apart(order, 1)).await? {
            Reserved::Found(answer) => answer.record,
            other => return Err(Wrong::new(format!("an ended lease was given again: {other:?}"))),
        };
        same("the state", &found.state, &State::OutcomeUnknown)?;
    }
    Ok(())
}
