//! How attempts begin again, and how they end.
//!
//! Must not know what an attempt does.

use std::sync::Arc;

use super::{Change, Course, words};
use crate::{
    clock::Timestamp,
    ledger::{
        command::{Answer, Ending, Grant, Reserve, Settle, Settled},
        record::{Record, State, StoredKind},
        transition::{Event, Illegal},
        unsettled::Silent,
    },
};

/// The next attempt of a record that `decide` reopened, under `fence`.
///
/// # Errors
/// [`Illegal`], when it is in a state from which no attempt starts.
pub fn reopen(answer: &Answer, reserve: &Reserve, fence: i64, now: Timestamp) -> Result<(Change, Grant), Illegal> {
    let mut course = Course::of(&answer.record, now);
    let event = match answer.record.state {
        State::OutcomeUnknown => Event::Resend,
        _ => Event::Reserve,
    };
    let lease_until = now.after(reserve.lease);
    course.attempt = course.record.attempt.saturating_add(1);
    course.record.attempt = course.attempt;
    course.on(event, None)?;
    let record = &mut course.record;
    record.fence = fence;
    record.nonce = reserve.nonce;
    record.lease_until = Some(lease_until);
    record.content = Arc::clone(&reserve.content);
    record.disproved = false;
    let grant = granted(record, answer.generations.clone());
    Ok((course.change(), grant))
}

/// The grant that the holder of a record's last attempt was given.
pub fn granted(record: &Record, generations: Vec<u32>) -> Grant {
    Grant {
        row: record.row,
        operation: record.operation,
        attempt: record.attempt,
        fence: record.fence,
        reserved_at: record.reserved_at,
        lease_until: record.lease_until.unwrap_or(record.reserved_at),
        generations,
        in_doubt: record.in_doubt,
    }
}

/// The end of an attempt: by its holder, or late.
///
/// # Errors
/// [`Illegal`], when the ledger itself is wrong.
pub fn settle(record: &Record, settle: &Settle, last_fence: i64, now: Timestamp) -> Result<(Change, Settled), Illegal> {
    let last = record.fence == settle.fence;
    if last && record.state == State::InProgress {
        return settle_held(record, settle, last_fence, now);
    }
    let mut course = Course::of(record, now);
    course.attempt = settle.attempt;
    course.record.has_resources |= !settle.resources.is_empty();
    let said = words(settle.stored.as_ref());
    match settle.ending {
        Ending::Ok if course.lacks_reference(settle.reference.as_ref()) => {
            course.on(Event::LateUnknown, Some("success without the reference that the tool requires".into()))?;
        }
        Ending::Ok => {
            let moved = course.on(Event::LateOk, said)?;
            let gives = settle.stored.as_ref().is_some_and(|stored| stored.kind == StoredKind::Value);
            if moved || (gives && course.record.held().is_none()) {
                course.succeeded(settle.stored.clone(), settle.reference.clone());
                course.finished(last_fence);
            }
        }
        Ending::Retryable | Ending::Final | Ending::NotStarted if last => {
            course.on(Event::LateNoEffect, said)?;
            course.record.disproved |= course.record.state.is_unsettled();
            course.give_up_if_over(settle.budget)?;
            course.finished(last_fence);
        }
        // Proof about an older attempt says nothing about the last one.
        Ending::Retryable | Ending::Final | Ending::NotStarted | Ending::Unknown => {
            course.on(Event::LateUnknown, said)?;
            if last && course.record.state.is_unsettled() {
                course.record.unknown_at = course.record.unknown_at.max(Some(now));
            }
        }
    }
    let change = course.change();
    let settled = Settled::Late { record: Arc::new(change.record.clone()) };
    Ok((change, settled))
}

/// The attempt that holds the lease speaks.
fn settle_held(
    record: &Record,
    settle: &Settle,
    last_fence: i64,
    now: Timestamp,
) -> Result<(Change, Settled), Illegal> {
    let mut course = Course::of(record, now);
    course.record.has_resources |= !settle.resources.is_empty();
    let unproved = course.lacks_reference(settle.reference.as_ref());
    let (event, said) = match settle.ending {
        Ending::Ok if unproved => {
            (Event::SettleUnproved, Some("success without the reference that the tool requires".into()))
        }
        Ending::Ok => (Event::SettleOk, None),
        Ending::Retryable => (Event::SettleRetryable, words(settle.stored.as_ref())),
        Ending::Final => (Event::SettleFinal, words(settle.stored.as_ref())),
        Ending::Unknown => (Event::SettleUnknown, words(settle.stored.as_ref())),
        Ending::NotStarted => (Event::NotStarted, words(settle.stored.as_ref())),
    };
    if matches!(settle.ending, Ending::Ok | Ending::Retryable | Ending::Final) {
        course.record.retain = settle.retain;
    }
    course.on(event, said)?;
    let record = &mut course.record;
    record.reference = settle.reference.clone().or(record.reference.take());
    record.stored = settle.stored.clone().or(record.stored.take());
    course.give_up_if_over(settle.budget)?;
    if course.record.state == State::FailedRetryable && !settle.pause.is_zero() {
        course.record.next_at = Some(now.after(settle.pause));
    }
    course.finished(last_fence);
    if event == Event::SettleOk && settle.attempt == 1 {
        // A first attempt that succeeded has no history but what its record says.
        course.entries.clear();
    }
    let change = course.change();
    let Record { state, retain_until, .. } = change.record;
    Ok((change, Settled::Recorded { state, settled_at: now, retain_until }))
}

/// A record whose owner was silent too long, of an attempt or of a reconciliation; `None` where nobody was.
///
/// # Errors
/// [`Illegal`], when the ledger itself is wrong.
pub fn end_lease(record: &Record, now: Timestamp) -> Result<Option<Change>, Illegal> {
    if !record.lease_ended(now) {
        return Ok(None);
    }
    let mut course = Course::of(record, now);
    if record.state == State::Reconciling {
        course.on(Event::ReconcileEnded, None)?;
        course.consume()?;
    } else {
        course.record.unknown_at = record.lease_until;
        course.on(Event::LeaseEnded, None)?;
    }
    Ok(Some(course.change()))
}

/// As [`end_lease`], for a record that somebody saw in the version they name.
///
/// # Errors
/// [`Illegal`], when the ledger itself is wrong.
pub fn silent(record: &Record, silent: &Silent, now: Timestamp) -> Result<Option<Change>, Illegal> {
    if record.version == silent.version { end_lease(record, now) } else { Ok(None) }
}

/// The retry budget of a reopenable record is used up.
///
/// # Errors
/// [`Illegal`], when it is not reopenable.
pub fn give_up(record: &Record, last_fence: i64, now: Timestamp) -> Result<Change, Illegal> {
    let mut course = Course::of(record, now);
    course.on(Event::BudgetOver, None)?;
    course.finished(last_fence);
    Ok(course.change())
}
