//! The course of an operation after its creation: what each command makes of its record, as a value that a store writes.
//!
//! Must not know how a record is stored or fetched. Every change of a state goes through [`transition`]; every change
//! here leaves its entries in the history. A store reads the record in its transaction, asks here, and writes the
//! [`Change`] where the version still is the one that it read. First how attempts go on and end (`attempt`), then how somebody
//! finds out or decides (`finding`).

mod attempt;
mod finding;

use std::sync::Arc;

use super::{
    command::Budget,
    record::{Record, State, Stored, StoredKind},
    transition::{Event, Illegal, Moved, Standing, transition},
};
use crate::clock::Timestamp;

pub use attempt::{end_lease, give_up, granted, reopen, settle, silent};
pub use finding::{begin, judge, resolve, witness};

/// What a command makes of a record.
#[derive(Debug, Clone)]
pub struct Change {
    /// The record afterwards; its version is higher.
    pub record: Record,
    /// What to add to the history, in order.
    pub entries: Vec<Entry>,
}

/// One line of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The version that the record came to by it.
    pub version: u64,
    /// An [`Event`]'s name, `step`, or `resolve_refused`.
    pub event: &'static str,
    /// The state afterwards.
    pub state: State,
    /// During or after which attempt.
    pub attempt: u32,
    /// The person who did it, where one did.
    pub actor: Option<Arc<str>>,
    /// In words.
    pub detail: Option<Arc<str>>,
}

/// How much of somebody's words the history keeps.
const DETAIL_CHARS: usize = 1_000;

/// A record on its way from one version to another.
struct Course {
    record: Record,
    entries: Vec<Entry>,
    now: Timestamp,
    attempt: u32,
    actor: Option<Arc<str>>,
}

impl Course {
    fn of(record: &Record, now: Timestamp) -> Self {
        Self { record: record.clone(), entries: Vec::new(), now, attempt: record.attempt, actor: None }
    }

    /// Moves the record, and says whether it moved.
    fn on(&mut self, event: Event, detail: Option<Arc<str>>) -> Result<bool, Illegal> {
        let (to, review) = match transition(self.record.standing(), event)? {
            Moved::To(to) => (to, false),
            Moved::ToWithReview(to) => (to, true),
            Moved::Kept => {
                self.enter(event.name(), detail);
                return Ok(false);
            }
        };
        self.go(to);
        self.record.review |= review;
        self.enter(event.name(), detail);
        Ok(true)
    }

    fn go(&mut self, to: Standing) {
        let Self { record, now, .. } = self;
        let from = std::mem::replace(&mut record.state, to.state);
        record.in_doubt = to.in_doubt;
        if from == to.state {
            return;
        }
        record.settled_at = (to.state != State::InProgress).then_some(*now);
        record.lease_until = None;
        if !to.state.is_unsettled() {
            record.next_at = None;
            record.unknown_at = None;
            record.disproved = false;
            if to.state != State::InProgress {
                // What was sent again is still the same open question.
                (record.passes, record.answered) = (0, 0);
            }
        }
        if to.state.is_finished() {
            record.retain_until = Some(now.after(record.retain));
        }
        if to.state == State::OutcomeUnknown {
            // Asked about at once, unless whoever moved it knows better.
            record.next_at = Some(*now);
            record.unknown_at.get_or_insert(*now);
        }
    }

    fn enter(&mut self, event: &'static str, detail: Option<Arc<str>>) {
        self.record.version += 1;
        self.entries.push(Entry {
            version: self.record.version,
            event,
            state: self.record.state,
            attempt: self.attempt,
            actor: self.actor.clone(),
            detail: detail.map(shortened),
        });
    }

    /// Marks where in the ledger's order a finished operation ended, as far as that will ever be asked.
    fn finished(&mut self, last_fence: i64) {
        if self.record.has_resources && self.record.state.is_finished() {
            self.record.settled_fence = last_fence;
        }
    }

    /// What a success brings with it.
    fn succeeded(&mut self, stored: Option<Stored>, reference: Option<Arc<str>>) {
        let Self { record, .. } = self;
        record.reference = reference.or(record.reference.take());
        let told = stored.filter(|stored| stored.kind == StoredKind::Value || record.held().is_none());
        let without = || Stored { kind: StoredKind::NotHeld, bytes: NOT_GIVEN.as_bytes().into() };
        record.stored = Some(told.or_else(|| record.held()).unwrap_or_else(without));
    }

    /// Proof that came while somebody was finding out counts once nobody is.
    fn consume(&mut self) -> Result<(), Illegal> {
        if self.record.state == State::OutcomeUnknown && self.record.disproved && !self.record.in_doubt {
            self.on(Event::LateNoEffect, Some("the attempt's own proof, kept until now".into()))?;
        }
        Ok(())
    }

    fn give_up_if_over(&mut self, budget: Option<Budget>) -> Result<(), Illegal> {
        let over = budget.is_some_and(|budget| budget.is_over(&self.record, self.now));
        if over && self.record.state == State::FailedRetryable {
            self.on(Event::BudgetOver, None)?;
        }
        Ok(())
    }

    fn lacks_reference(&self, reference: Option<&Arc<str>>) -> bool {
        self.record.needs_reference && reference.is_none() && self.record.reference.is_none()
    }

    fn change(self) -> Change {
        Change { record: self.record, entries: self.entries }
    }
}

/// What a success is recorded with whose result nobody told.
const NOT_GIVEN: &str = "whoever reported the success did not give its result";

impl Record {
    /// The result that it holds already.
    fn held(&self) -> Option<Stored> {
        self.stored.clone().filter(|stored| stored.kind == StoredKind::Value)
    }
}

fn shortened(words: Arc<str>) -> Arc<str> {
    match words.char_indices().nth(DETAIL_CHARS) {
        None => words,
        Some((end, _)) => words[..end].into(),
    }
}

fn words(stored: Option<&Stored>) -> Option<Arc<str>> {
    let stored = stored.filter(|stored| stored.kind != StoredKind::Value)?;
    Some(String::from_utf8_lossy(&stored.bytes).into())
}
