//! Operations on the same resources: after another one has succeeded on it, equal arguments mean something new.

use super::{
    calls::{RETAIN, TOMBSTONE, by_args, call, digest, end, named},
    findings::{applied, decision, says, succeeded, verdict},
    stand::plain,
    subject::{Checked, Subject, holds, same},
};
use crate::ledger::{Budget, Ending, Grant, Judge, Reserve, Settle, Settled, State};

/// A call that changes a room: bookings are `book`, cancellations `cancel`.
fn on(room: &str, what: &str, id: &str) -> Reserve {
    Reserve { resources: [digest(room)].into(), ..call(&format!("{what} {room}"), 5, id) }
}

async fn done(subject: &mut Subject, asked: Reserve) -> Checked<Grant> {
    let retain = asked.retain;
    let grant = subject.granted(asked).await?;
    let settled = subject.settle(Settle { retain, ..end(&grant, Ending::Ok) }).await?;
    holds("it succeeds", matches!(settled, Settled::Recorded { state: State::Succeeded, .. }))?;
    Ok(grant)
}

pub(super) async fn book_cancel_book(subject: &mut Subject) -> Checked {
    let book = |id: &str| on("7", "book", id);
    let first = done(subject, book("id1")).await?;
    holds("nothing reopens it yet", subject.find(&[by_args("book 7")]).await?.iter().flatten().all(|it| !it.reopened))?;
    same("an equal call", &subject.found(book("id2")).await?.record.row, &first.row)?;
    done(subject, on("7", "cancel", "id3")).await?;
    let found = subject.find(&[by_args("book 7")]).await?;
    holds("a reader sees it too", found.iter().flatten().any(|found| found.reopened))?;
    let second = subject.granted(book("id4")).await?;
    holds("an equal call is another operation now", second.operation != first.operation)?;
    same("its generations", &second.generations, &vec![2, 1])?;
    // The first call, delivered once more, stays what it was.
    same("the same call", &subject.found(book("id1")).await?.record.row, &first.row)?;
    same("while it runs", &subject.found(book("id5")).await?.record.row, &second.row)?;
    subject.recorded(&second, Ending::Ok).await?;
    same("once it succeeded", &subject.found(book("id6")).await?.record.row, &second.row)?;
    // The booking reopens the cancellation in its turn, and so on.
    let third = done(subject, on("7", "cancel", "id7")).await?;
    same("its generations", &third.generations, &vec![2, 1])?;
    same("the third booking", &done(subject, book("id8")).await?.generations, &vec![3, 1])
}

pub(super) async fn given_up(subject: &mut Subject) -> Checked {
    let book = subject.granted(on("7", "book", "id1")).await?;
    subject.recorded(&book, Ending::Retryable).await?;
    let budget = Some(Budget { attempts_max: 1, deadline: RETAIN });
    let over = subject.found(Reserve { budget, ..on("7", "book", "id1") }).await?;
    same("a booking that is given up", &over.record.state, &State::FailedFinal)?;
    done(subject, on("7", "cancel", "id2")).await?;
    let again = subject.granted(on("7", "book", "id3")).await?;
    holds("an equal call is another operation now", again.operation != book.operation)
}

pub(super) async fn others_do_not_reopen(subject: &mut Subject) -> Checked {
    let first = done(subject, on("7", "book", "id1")).await?;
    // Another room, another tenant's room of that name, no room, and a failure.
    done(subject, on("8", "cancel", "id2")).await?;
    let theirs = subject.granted(Reserve { tenant: named("other"), ..on("7", "cancel", "id3") }).await?;
    subject.settle(Settle { tenant: named("other"), ..end(&theirs, Ending::Ok) }).await?;
    done(subject, call("cancel 7, without a room", 5, "id4")).await?;
    let failed = subject.granted(on("7", "cancel", "id5")).await?;
    subject.recorded(&failed, Ending::Final).await?;
    same("an equal call", &subject.found(on("7", "book", "id6")).await?.record.row, &first.row)?;
    // What was reserved before it had finished came before it, whenever it succeeds.
    let before = subject.granted(on("9", "cancel", "id7")).await?;
    let book = done(subject, on("9", "book", "id8")).await?;
    subject.recorded(&before, Ending::Ok).await?;
    same("an equal call", &subject.found(on("9", "book", "id9")).await?.record.row, &book.row)?;
    // Without resources of its own nothing reopens it.
    let plain = done(subject, call("book 7 anyhow", 5, "id10")).await?;
    done(subject, on("7", "cancel again", "id11")).await?;
    same("a call without", &subject.found(call("book 7 anyhow", 5, "id12")).await?.record.row, &plain.row)
}

pub(super) async fn unsettled_is_not_reopened(subject: &mut Subject) -> Checked {
    // The booking runs, or nobody knows: whatever succeeds on the room, a repeat of it is the same one.
    for (room, ending) in [("1", None), ("2", Some(Ending::Unknown)), ("3", Some(Ending::Retryable))] {
        let book = subject.granted(on(room, "book", room)).await?;
        if let Some(ending) = ending {
            subject.settle(plain(&book, ending)).await?;
        }
        done(subject, on(room, "cancel", &format!("c {room}"))).await?;
        if ending == Some(Ending::Retryable) {
            let next = subject.granted(on(room, "book", &format!("new {room}"))).await?;
            same("the operation", &(next.operation, next.attempt), &(book.operation, 2))?;
        } else {
            let found = subject.found(on(room, "book", &format!("new {room}"))).await?.record;
            same("what an equal call finds", &found.row, &book.row)?;
        }
    }
    // The cancellation runs, or nobody knows: the booking still stands.
    for (room, ending) in [("4", None), ("5", Some(Ending::Unknown))] {
        let book = done(subject, on(room, "book", room)).await?;
        let cancel = subject.granted(on(room, "cancel", &format!("c {room}"))).await?;
        if let Some(ending) = ending {
            subject.settle(plain(&cancel, ending)).await?;
        }
        let found = subject.found(on(room, "book", &format!("new {room}"))).await?.record;
        same("what an equal call finds", &found.row, &book.row)?;
        if ending.is_some() {
            // Once it is known to have happened, it counts.
            let record = subject.show(cancel.operation).await?;
            subject.resolved(decision(&record, succeeded(Some("1"), None))).await?;
            let next = subject.granted(on(room, "book", &format!("newer {room}"))).await?;
            holds("an equal call is another operation now", next.operation != book.operation)?;
        }
    }
    Ok(())
}

pub(super) async fn named_by_the_result(subject: &mut Subject) -> Checked {
    // The booking's room is known from its result, the cancellation's success by four ways.
    for (at, how) in ["settled", "late", "verdict", "evidence"].into_iter().enumerate() {
        let room = format!("room {at}");
        let bare = |id: &str| call(&format!("book any, {at}"), 5, id);
        let book = subject.granted(bare(&format!("b1 {at}"))).await?;
        let resources = [digest(&room)].into();
        subject.settle(Settle { resources, ..end(&book, Ending::Ok) }).await?;
        let cancel = subject.granted(on(&room, "cancel", &format!("c {at}"))).await?;
        if how != "settled" {
            subject.settle(plain(&cancel, Ending::Unknown)).await?;
        }
        same("before", &subject.found(bare(&format!("b2 {at}"))).await?.record.row, &book.row)?;
        match how {
            "settled" => subject.recorded(&cancel, Ending::Ok).await?,
            "late" => drop(subject.late(end(&cancel, Ending::Ok)).await?),
            "verdict" => {
                let record = subject.show(cancel.operation).await?;
                let begun = subject.begun(&record).await?;
                drop(subject.judged(verdict(&begun, applied(None, None))).await?);
            }
            _ => drop(subject.weighed(says(cancel.operation, "e1", applied(None, None))).await?),
        }
        let again = subject.granted(bare(&format!("b3 {at}"))).await?;
        holds(&format!("{how}: it is another operation"), again.operation != book.operation)?;
    }
    // A verdict that recovers a booking's result names its room.
    let book = subject.granted(call("book one", 5, "b1")).await?;
    subject.settle(plain(&book, Ending::Unknown)).await?;
    let record = subject.show(book.operation).await?;
    let begun = subject.begun(&record).await?;
    let judge = Judge { resources: [digest("room 9")].into(), ..verdict(&begun, applied(Some("9"), None)) };
    same("the verdict", &subject.judged(judge).await?.state, &State::Succeeded)?;
    done(subject, on("room 9", "cancel", "c")).await?;
    let again = subject.granted(call("book one", 5, "b2")).await?;
    holds("it is another operation", again.operation != book.operation)
}

pub(super) async fn purged_in_between(subject: &mut Subject) -> Checked {
    let long = |id: &str| Reserve { retain: RETAIN * 100, ..on("7", "book", id) };
    let first = done(subject, long("id1")).await?;
    done(subject, on("7", "cancel", "id2")).await?;
    subject.advance(RETAIN + TOMBSTONE);
    same("the cancellation's removal", &subject.purge(10, TOMBSTONE).await?.removed, &1)?;
    // What it did stays done.
    let second = subject.granted(long("id3")).await?;
    holds("an equal call is another operation", second.operation != first.operation)?;
    subject.settle(Settle { retain: RETAIN * 100, ..end(&second, Ending::Ok) }).await?;
    same("and only one", &subject.found(long("id4")).await?.record.row, &second.row)?;
    same("the same call", &subject.found(long("id1")).await?.record.row, &first.row)?;
    // The room is forgotten with the last operation that changed it, and begins anew.
    subject.advance(RETAIN * 100 + TOMBSTONE);
    same("the bookings' removal", &subject.purge(10, TOMBSTONE).await?.removed, &2)?;
    let third = done(subject, long("id5")).await?;
    same("its generations", &third.generations, &vec![1, 1])?;
    same("an equal call", &subject.found(long("id6")).await?.record.row, &third.row)
}
