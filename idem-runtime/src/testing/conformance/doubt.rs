//! Sending again under the same provider key, and the doubt that it leaves.
//!
//! The end of the key's window is tried to the nanosecond.

use super::{
    calls::{LEASE, NANO, call, end, just_under},
    findings::{applied, decision, last_verdict, says, silent, succeeded, verdict},
    stand::{KEY_WINDOW, again, bring, brought, plain},
    subject::{Checked, Subject, holds, same},
};
use crate::ledger::{Ending, Finding, Grant, Record, Reserve, Resolution, Standing, State};

const UNKNOWN: Standing = Standing::sure(State::OutcomeUnknown);
const IN_DOUBT: Standing = Standing { state: State::OutcomeUnknown, in_doubt: true };
const SENT_AGAIN: Standing = Standing { state: State::InProgress, in_doubt: true };

pub(super) async fn sends_again(subject: &mut Subject) -> Checked {
    let first = subject.granted(call("A", 5, "A")).await?;
    subject.settle(plain(&first, Ending::Unknown)).await?;
    let unknown = subject.show(first.operation).await?;
    same("without a window", &subject.found(call("A", 5, "A")).await?.record.version, &unknown.version)?;
    subject.advance(NANO);
    let second = subject.granted(again(&call("A", 5, "A"))).await?;
    let should_be = Grant {
        attempt: 2,
        fence: second.fence,
        lease_until: subject.now.after(LEASE),
        in_doubt: true,
        ..first.clone()
    };
    // The same operation, so the same key at the provider.
    same("the grant", &second, &should_be)?;
    holds("its token is the newest", second.fence > first.fence)?;
    let should_be = Record {
        version: unknown.version + 1,
        state: State::InProgress,
        in_doubt: true,
        attempt: 2,
        fence: second.fence,
        lease_until: Some(second.lease_until),
        settled_at: None,
        unknown_at: None,
        next_at: None,
        ..unknown
    };
    same("the record", &subject.show(first.operation).await?, &should_be)?;
    // After proof there is nothing to doubt, though the call may send again.
    let first = subject.granted(call("B", 5, "B")).await?;
    subject.recorded(&first, Ending::Retryable).await?;
    same("a retry", &subject.granted(again(&call("B", 5, "B"))).await?.in_doubt, &false)?;
    for standing in [State::Reconciling, State::OperatorReview, State::Succeeded, State::FailedFinal] {
        let other = bring(subject, &format!("{standing:?}"), Standing::sure(standing)).await?;
        let found = subject.found(again(&other.asked)).await?.record;
        same("a record that nobody sends again", &*found, &other.record)?;
    }
    Ok(())
}

pub(super) async fn window_ends(subject: &mut Subject) -> Checked {
    // One part in 48 of the window is left unused, and a whole lease fits before that.
    let usable = (KEY_WINDOW * 47 / 48).saturating_sub(LEASE);
    let waits = [(just_under(usable), true), (usable, false), (usable + NANO, false), (KEY_WINDOW * 9, false)];
    for (at, (wait, open)) in waits.into_iter().enumerate() {
        let order = format!("A {at}");
        let asked = call(&order, 5, &order);
        let first = subject.granted(asked.clone()).await?;
        subject.settle(plain(&first, Ending::Unknown)).await?;
        subject.advance(wait);
        if open {
            let second = subject.granted(again(&asked)).await?;
            same("the attempt", &second.attempt, &2)?;
        } else {
            let before = subject.show(first.operation).await?;
            let found = subject.found(again(&asked)).await?.record;
            same("what is found where the window has ended", &*found, &before)?;
        }
    }
    // It counts from the first reservation: sending again does not open it anew.
    let third = brought(subject, call("B", 5, "B"), SENT_AGAIN).await?;
    subject.advance(just_under(usable));
    subject.settle(plain(&third.last, Ending::Unknown)).await?;
    let fourth = subject.granted(again(&third.asked)).await?;
    subject.settle(plain(&fourth, Ending::Unknown)).await?;
    subject.advance(NANO);
    same("the attempts", &subject.found(again(&third.asked)).await?.record.attempt, &3)
}

pub(super) async fn no_effect_proves_nothing(subject: &mut Subject) -> Checked {
    for ending in [Ending::Retryable, Ending::Final, Ending::NotStarted, Ending::Unknown] {
        let sent = bring(subject, &format!("{ending:?}"), SENT_AGAIN).await?;
        subject.settle(plain(&sent.last, ending)).await?;
        let record = subject.show(sent.last.operation).await?;
        same("where it stands", &record.standing(), &IN_DOUBT)?;
        same("when to ask", &record.next_at, &Some(subject.now))?;
        same("what a repeat finds", &*subject.found(sent.asked.clone()).await?.record, &record)?;
        // It survives the next time as well.
        let third = subject.granted(again(&sent.asked)).await?;
        same("the third attempt", &(third.attempt, third.in_doubt), &(3, true))?;
        subject.settle(plain(&third, ending)).await?;
        same("where it stands then", &subject.show(record.operation).await?.standing(), &IN_DOUBT)?;
    }
    let sent = bring(subject, "silent", SENT_AGAIN).await?;
    subject.advance(LEASE);
    same("the leases ended", &subject.end_leases(&[silent(&sent.record)]).await?, &1)?;
    same("where silence leads", &subject.show(sent.last.operation).await?.standing(), &IN_DOUBT)
}

pub(super) async fn late_proof_is_kept(subject: &mut Subject) -> Checked {
    for state in [State::OutcomeUnknown, State::Reconciling, State::OperatorReview] {
        let standing = Standing { state, in_doubt: true };
        let brought = bring(subject, &format!("{state:?}"), standing).await?;
        for ending in [Ending::Retryable, Ending::Final, Ending::NotStarted] {
            let told = subject.late(plain(&brought.last, ending)).await?;
            same("where it stands", &told.standing(), &standing)?;
        }
        let history = subject.history(brought.last.operation).await?;
        let kept = history.iter().filter(|event| ***event == *"late_no_effect").count();
        same("the proofs in the history", &kept, &3)?;
    }
    // Nor is it taken for proof when a reconciliation ends without an answer.
    let brought = bring(subject, "A", Standing { state: State::Reconciling, in_doubt: true }).await?;
    subject.late(plain(&brought.last, Ending::Retryable)).await?;
    let told = subject.judged(verdict(&brought.record, Finding::Inconclusive)).await?;
    same("after an inconclusive verdict", &told.standing(), &IN_DOUBT)?;
    let begun = subject.begun(&told).await?;
    subject.advance(LEASE);
    subject.end_leases(&[silent(&begun)]).await?;
    same("after a silent pass", &subject.show(begun.operation).await?.standing(), &IN_DOUBT)?;
    let record = subject.show(begun.operation).await?;
    let begun = subject.begun(&record).await?;
    let told = subject.judged(last_verdict(&begun)).await?;
    same("after the last pass", &told.standing(), &Standing { state: State::OperatorReview, in_doubt: true })
}

pub(super) async fn who_clears_it(subject: &mut Subject) -> Checked {
    let finds = [(applied(Some("1"), None), State::Succeeded), (Finding::NotApplied, State::FailedRetryable)];
    for (finding, state) in finds {
        let record =
            bring(subject, &format!("{finding:?}"), Standing { state: State::Reconciling, in_doubt: true }).await?;
        let told = subject.judged(verdict(&record.record, finding)).await?;
        same("after a verdict", &told.standing(), &Standing::sure(state))?;
        if state == State::FailedRetryable {
            let third = subject.granted(record.asked.clone()).await?;
            same("the attempt after it", &(third.attempt, third.in_doubt), &(3, false))?;
            subject.recorded(&third, Ending::Retryable).await?;
            let record = subject.show(third.operation).await?;
            same("what its proof proves", &record.standing(), &Standing::sure(State::FailedRetryable))?;
        }
    }
    let decides = [
        (succeeded(Some("1"), None), State::Succeeded),
        (Resolution::Retryable, State::FailedRetryable),
        (Resolution::Final, State::FailedFinal),
    ];
    for from in [State::OutcomeUnknown, State::OperatorReview] {
        for (resolution, to) in decides.clone() {
            let order = format!("{from:?} {resolution:?}");
            let record = bring(subject, &order, Standing { state: from, in_doubt: true }).await?.record;
            let told = subject.resolved(decision(&record, resolution)).await?;
            same("after a decision", &told.standing(), &Standing::sure(to))?;
        }
    }
    let own = bring(subject, "own", SENT_AGAIN).await?;
    subject.recorded(&own.last, Ending::Ok).await?;
    let late = bring(subject, "late", SENT_AGAIN).await?;
    subject.late(end(&late.older, Ending::Ok)).await?;
    let said = bring(subject, "said", SENT_AGAIN).await?;
    subject.weighed(says(said.last.operation, "e1", applied(Some("1"), None))).await?;
    for operation in [own.last.operation, late.last.operation, said.last.operation] {
        let standing = subject.show(operation).await?.standing();
        same("after success", &standing, &Standing::sure(State::Succeeded))?;
    }
    // What says nothing clears nothing.
    let record = bring(subject, "kept", IN_DOUBT).await?.record;
    for (event, finding) in [("e1", Finding::NotApplied), ("e2", Finding::Inconclusive)] {
        let told = subject.weighed(says(record.operation, event, finding)).await?;
        same("after other evidence", &told.standing(), &IN_DOUBT)?;
    }
    Ok(())
}

pub(super) async fn passes_go_on(subject: &mut Subject) -> Checked {
    // What is sent again is the same open question: it does not begin anew how often it may be asked about.
    let unknown = bring(subject, "A", UNKNOWN).await?;
    let begun = subject.begun(&unknown.record).await?;
    let told = subject.judged(verdict(&begun, Finding::Inconclusive)).await?;
    let sent = subject.granted(again(&unknown.asked)).await?;
    subject.settle(plain(&sent, Ending::Unknown)).await?;
    let record = subject.show(told.operation).await?;
    same("the passes and answers", &(record.passes, record.answered), &(1, 1))?;
    let begun = subject.begun(&record).await?;
    same("the passes", &begun.passes, &2)?;
    // Proof does: what comes after it is another question.
    let told = subject.judged(verdict(&begun, Finding::NotApplied)).await?;
    same("the passes and answers after proof", &(told.passes, told.answered), &(0, 0))?;
    let third = subject.granted(Reserve { nonce: 3, ..unknown.asked }).await?;
    same("the attempt after it", &(third.attempt, third.in_doubt), &(4, false))
}
