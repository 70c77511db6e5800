//! How long a finished record means what it says: windows, retention, tombstones.
//!
//! Every boundary is tried a nanosecond before, at its instant, and a nanosecond after.

use std::time::Duration;

use super::{
    calls::{NANO, RETAIN, TOMBSTONE, WINDOW, call, end, just_under, resumed, tenant},
    dice::Dice,
    subject::{Checked, Subject, holds, same},
};
use crate::ledger::{AfterRetention, Command, Ending, Reserve, Settle, State, Tally};

pub(super) async fn window(subject: &mut Subject) -> Checked {
    let asked = |order: &str, id: &str| Reserve { window: Some(WINDOW), ..call(order, 5, id) };
    for (order, wait, same_intent) in
        [("A", just_under(WINDOW), true), ("B", WINDOW, false), ("C", WINDOW + NANO, false)]
    {
        let first = subject.granted(asked(order, order)).await?;
        // The window of a finished operation starts when it finished, not when it began.
        subject.advance(NANO * 1_000);
        subject.recorded(&first, Ending::Ok).await?;
        subject.advance(wait);
        let same_call = subject.found(asked(order, order)).await?;
        same("what the same call finds", &same_call.record.row, &first.row)?;
        let new_id = format!("new {order}");
        if same_intent {
            let answer = subject.found(asked(order, &new_id)).await?;
            same("what a new id finds", &answer.record.row, &first.row)?;
        } else {
            let next = subject.granted(asked(order, &new_id)).await?;
            holds("a new intent is a new operation", next.operation != first.operation && next.row != first.row)?;
            same("its generations", &next.generations, &vec![2, 1])?;
        }
        let other_amount = Reserve { window: Some(WINDOW), ..call(order, 6, order) };
        subject.refused(other_amount).await?;
    }
    // What is not finished has no window.
    let unknown = subject.granted(asked("D", "D")).await?;
    subject.recorded(&unknown, Ending::Unknown).await?;
    subject.advance(WINDOW * 2);
    let answer = subject.found(asked("D", "new D")).await?;
    same("an unknown outcome", &answer.record.state, &State::OutcomeUnknown)
}

pub(super) async fn late_retry(subject: &mut Subject) -> Checked {
    let asked = |id: &str| Reserve { window: Some(WINDOW), ..call("A", 5, id) };
    let first = subject.granted(asked("id1")).await?;
    subject.recorded(&first, Ending::Ok).await?;
    subject.advance(WINDOW);
    let second = subject.granted(asked("id2")).await?;
    // The first call, delivered once more: its id leads to the first operation, equal arguments to the second.
    for state in [State::InProgress, State::Succeeded] {
        let answer = subject.found(asked("id1")).await?;
        same("what the first call finds", &answer.record.row, &first.row)?;
        let late = Tally {
            tenant: tenant(),
            row: first.row,
            replays: 1,
            drifts: 0,
            parameters: Vec::new(),
            aliases: answer.aliases,
        };
        subject.apply(&[Command::Tally(vec![late])]).await?;
        // That leads nobody else to the first operation.
        let new_id = subject.found(asked("id3")).await?;
        same("what a new id finds", &new_id.record.row, &second.row)?;
        same("its state", &new_id.record.state, &state)?;
        let carried = resumed(asked("id1"), first.operation, &answer.generations);
        same("what its record finds", &subject.found(carried).await?.record.row, &first.row)?;
        if state == State::InProgress {
            subject.recorded(&second, Ending::Ok).await?;
        }
    }
    Ok(())
}

pub(super) async fn boundary(subject: &mut Subject) -> Checked {
    for (order, ending, state) in [("A", Ending::Ok, State::Succeeded), ("B", Ending::Final, State::FailedFinal)] {
        let first = subject.granted(call(order, 5, order)).await?;
        subject.advance(NANO * 1_000);
        subject.recorded(&first, ending).await?;
        same(
            "the end of retention",
            &subject.show(first.operation).await?.retain_until,
            &Some(subject.now.after(RETAIN)),
        )?;
        subject.advance(just_under(RETAIN));
        for ended in [false, true, true] {
            let answer = subject.found(call(order, 5, order)).await?;
            same("the record", &answer.record.row, &first.row)?;
            same("the state", &answer.record.state, &state)?;
            same("whether retention has ended", &answer.retention_ended, &ended)?;
            same("the result", &answer.record.stored, &end(&first, ending).stored)?;
            subject.advance(NANO);
        }
    }
    Ok(())
}

/// Spans of every magnitude, so that no unit but the nanosecond gives the right answers.
pub(super) async fn random_instants(subject: &mut Subject) -> Checked {
    let mut dice = Dice::new(subject.seed);
    let mut span = || {
        let magnitude = u32::try_from(dice.below(15)).unwrap_or(0);
        Duration::from_nanos(1 + dice.below(10_u64.pow(magnitude + 1)))
    };
    for at in 0..15 {
        let order = format!("order {at}");
        let retain = span();
        for (round, wait) in [just_under(retain), retain, retain + NANO, span()].into_iter().enumerate() {
            let order = format!("{order} {round}");
            let grant = subject.granted(call(&order, 5, &order)).await?;
            subject.advance(NANO);
            subject.settle(Settle { retain, ..end(&grant, Ending::Ok) }).await?;
            subject.advance(wait);
            let ended = wait >= retain;
            let answer = subject.found(call(&order, 5, &order)).await?;
            same(&format!("{wait:?} after {retain:?}, the end"), &answer.retention_ended, &ended)?;
            let report = subject.purge(1_000, TOMBSTONE * 1_000).await?;
            same(&format!("{wait:?} after {retain:?}, the results removed"), &report.tombstones, &u64::from(ended))?;
            // It is out of the way of the next purge.
            subject.advance(retain);
            subject.purge(1_000, TOMBSTONE * 1_000).await?;
        }
    }
    Ok(())
}

pub(super) async fn tombstone(subject: &mut Subject) -> Checked {
    for (order, purged) in [("A", false), ("B", true)] {
        let first = subject.granted(call(order, 5, order)).await?;
        subject.recorded(&first, Ending::Ok).await?;
        subject.advance(just_under(RETAIN));
        let answer = subject.found(call(order, 5, "just in time")).await;
        // The id is an alias only once it is tallied, so it can be used for both orders.
        same("the record", &answer?.record.row, &first.row)?;
        subject.advance(NANO);
        if purged {
            let report = subject.purge(100, TOMBSTONE).await?;
            holds("the tombstone stays", report.removed == 0 && report.tombstones > 0)?;
        }
        let answer = subject.found(call(order, 5, order)).await?;
        same("what the same call finds", &answer.record.row, &first.row)?;
        holds("it is told that retention has ended", answer.retention_ended)?;
        subject.refused(call(order, 6, order)).await?;
        let next = subject.granted(call(order, 5, &format!("new {order}"))).await?;
        holds("equal arguments are a new operation", next.operation != first.operation)?;
        same("their generations", &next.generations, &vec![2, 1])?;
    }
    Ok(())
}

pub(super) async fn run_again(subject: &mut Subject) -> Checked {
    let asked = || Reserve { after_retention: AfterRetention::Run, ..call("A", 5, "id1") };
    let first = subject.granted(asked()).await?;
    subject.recorded(&first, Ending::Ok).await?;
    subject.advance(just_under(RETAIN));
    same("what is found before", &subject.found(asked()).await?.record.row, &first.row)?;
    subject.advance(NANO);
    let second = subject.granted(asked()).await?;
    same("the generations", &second.generations, &vec![2, 2])?;
    holds("it is another operation", second.operation != first.operation && second.row != first.row)?;
    same("its attempt", &second.attempt, &1)?;
    let answer = subject.found(asked()).await?;
    same("what the same call finds then", &answer.record.row, &second.row)?;
    let old = subject.show(first.operation).await?;
    same("the old record", &old.state, &State::Succeeded)
}
