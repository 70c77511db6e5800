//! The attempts that a tool allows itself: their number, and their deadline at its instant.

use std::time::Duration;

use super::{
    calls::{NANO, RETAIN, call, end, just_under},
    findings::verdict,
    stand::{bring, brought, plain},
    subject::{Checked, Subject, Wrong, holds, same},
};
use crate::ledger::{
    Budget, Ending, Finding, Grant, Judge, Record, Reserve, Settle, Settled, Standing, State, StoredKind,
};

const DEADLINE: Duration = Duration::from_mins(7);

fn budget(attempts_max: u32) -> Budget {
    Budget { attempts_max, deadline: DEADLINE }
}

fn within(attempts_max: u32, order: &str) -> Reserve {
    Reserve { budget: Some(budget(attempts_max)), ..call(order, 5, order) }
}

fn ends(grant: &Grant, ending: Ending, attempts_max: u32) -> Settle {
    Settle { budget: Some(budget(attempts_max)), ..end(grant, ending) }
}

/// The record has finally failed by now, with the error that came last.
fn given_up(record: &Record, last: &Grant, subject: &Subject) -> Checked {
    same("the state", &record.standing(), &Standing::sure(State::FailedFinal))?;
    same("the instant", &record.settled_at, &Some(subject.now))?;
    same("the end of retention", &record.retain_until, &Some(subject.now.after(RETAIN)))?;
    same("the last error", &record.stored, &end(last, Ending::Retryable).stored)
}

pub(super) async fn pause(subject: &mut Subject) -> Checked {
    let pause = Duration::from_secs(5);
    let first = subject.granted(within(3, "A")).await?;
    subject.settle(Settle { pause, ..ends(&first, Ending::Retryable, 3) }).await?;
    let waits = |record: &Record| (record.state, record.attempt, record.next_at);
    let until = Some(subject.now.after(pause));
    same("at once", &waits(&subject.found(within(3, "A")).await?.record), &(State::FailedRetryable, 1, until))?;
    subject.advance(just_under(pause));
    same("just before", &waits(&subject.found(within(3, "A")).await?.record), &(State::FailedRetryable, 1, until))?;
    subject.advance(NANO);
    let second = subject.granted(within(3, "A")).await?;
    same("the attempt when the pause has passed", &second.attempt, &2)?;
    // The call that made the attempt waits by itself, by whatever clock.
    subject.settle(Settle { pause, ..ends(&second, Ending::Retryable, 3) }).await?;
    let third = subject.granted(Reserve { paused: true, ..within(3, "A") }).await?;
    same("the attempt of a call that has waited", &third.attempt, &3)
}

pub(super) async fn attempts(subject: &mut Subject) -> Checked {
    let mut last = subject.granted(within(3, "A")).await?;
    for attempt in 1..3 {
        subject.settle(ends(&last, Ending::Retryable, 3)).await?;
        same("the state", &subject.show(last.operation).await?.state, &State::FailedRetryable)?;
        last = subject.granted(within(3, "A")).await?;
        same("the attempt", &last.attempt, &(attempt + 1))?;
    }
    subject.advance(NANO);
    let settled = subject.settle(ends(&last, Ending::Retryable, 3)).await?;
    let Settled::Recorded { state, retain_until, .. } = settled else {
        return Err(Wrong::new(format!("the last attempt was answered with {settled:?}")));
    };
    same("what is told", &(state, retain_until), &(State::FailedFinal, Some(subject.now.after(RETAIN))))?;
    let record = subject.show(last.operation).await?;
    given_up(&record, &last, subject)?;
    same("what a repeat finds", &*subject.found(within(3, "A")).await?.record, &record)?;
    // Nothing that a caller allows itself later opens it again.
    same("what a larger budget finds", &subject.found(within(9, "A")).await?.record.state, &State::FailedFinal)?;
    let history = subject.history(last.operation).await?;
    same("what happened last", &history.last().map(|event| &**event), &Some("budget_over"))
}

pub(super) async fn attempts_of_a_caller(subject: &mut Subject) -> Checked {
    // The attempt itself had no budget: the next caller has.
    let first = subject.granted(call("A", 5, "A")).await?;
    subject.recorded(&first, Ending::Retryable).await?;
    subject.advance(NANO);
    let answer = subject.found(within(1, "A")).await?;
    given_up(&answer.record, &first, subject)?;
    same("the record", &subject.show(first.operation).await?, &*answer.record)?;
    // Without a budget it is callers who decide.
    let mut last = subject.granted(call("B", 5, "B")).await?;
    for _ in 0..20 {
        subject.recorded(&last, Ending::Retryable).await?;
        last = subject.granted(call("B", 5, "B")).await?;
    }
    same("the attempts", &last.attempt, &21)
}

pub(super) async fn deadline(subject: &mut Subject) -> Checked {
    for (order, wait, over) in [("A", just_under(DEADLINE), false), ("B", DEADLINE, true), ("C", DEADLINE + NANO, true)]
    {
        let first = subject.granted(within(9, order)).await?;
        subject.settle(ends(&first, Ending::Retryable, 9)).await?;
        subject.advance(wait);
        if over {
            let answer = subject.found(within(9, order)).await?;
            given_up(&answer.record, &first, subject)?;
        } else {
            same("the attempt", &subject.granted(within(9, order)).await?.attempt, &2)?;
        }
    }
    // It counts from the first reservation, and at the end of an attempt as well.
    for (order, wait, over) in [("D", just_under(DEADLINE), false), ("E", DEADLINE, true)] {
        let first = subject.granted(within(9, order)).await?;
        subject.settle(ends(&first, Ending::Retryable, 9)).await?;
        let second = subject.granted(within(9, order)).await?;
        subject.advance(wait);
        subject.settle(ends(&second, Ending::Retryable, 9)).await?;
        let record = subject.show(first.operation).await?;
        if over {
            given_up(&record, &second, subject)?;
        } else {
            same("the state", &record.state, &State::FailedRetryable)?;
        }
    }
    Ok(())
}

pub(super) async fn of_other_proofs(subject: &mut Subject) -> Checked {
    // A verdict, and late proof of the attempt itself, find the budget used up as well.
    for (attempts_max, state) in [(2, State::FailedFinal), (3, State::FailedRetryable)] {
        let order = format!("A {attempts_max}");
        let record = bring(subject, &order, Standing::sure(State::Reconciling)).await?.record;
        let judge = Judge { budget: Some(budget(attempts_max)), ..verdict(&record, Finding::NotApplied) };
        let told = subject.judged(judge).await?;
        same("after a verdict", &told.state, &state)?;
        same("the end of retention", &told.retain_until.is_some(), &(state == State::FailedFinal))?;
        let order = format!("B {attempts_max}");
        let brought = bring(subject, &order, Standing::sure(State::OutcomeUnknown)).await?;
        let proof = Settle { budget: Some(budget(attempts_max)), ..plain(&brought.last, Ending::Retryable) };
        same("after late proof", &subject.late(proof).await?.state, &state)?;
    }
    // What is not proved is not given up.
    let unknown = brought(subject, within(1, "C"), Standing::sure(State::InProgress)).await;
    holds("a budget of one has no second attempt", unknown.is_err())?;
    let only = subject.granted(within(1, "D")).await?;
    subject.settle(ends(&only, Ending::Unknown, 1)).await?;
    let found = subject.found(within(1, "D")).await?.record;
    same("an unknown outcome", &found.state, &State::OutcomeUnknown)?;
    let held = found.stored.as_ref().map(|stored| stored.kind);
    same("its words", &held, &Some(StoredKind::Text))
}
