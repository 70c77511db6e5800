//! A record's history as a walk over the table.
//!
//! Must not know which command made a move: the pure function says where each event leads.

use std::collections::HashMap;

use idem_runtime::ledger::{Detail, Event, Moved, Standing, State, transition};

/// How often each event happened at each standing.
pub(crate) type Seen = HashMap<(Standing, Event), u64>;

/// Why no sequence of commands makes this legal move, where none does.
pub(crate) fn unreached(from: Standing, event: Event) -> Option<&'static str> {
    let late_from_the_holder = (from.state, event) == (State::InProgress, Event::LateNoEffect);
    late_from_the_holder.then_some("the last attempt of a record that is in progress holds its lease: it is not late")
}

/// Walks the record's history and ends where the record stands; moves behind the version `told` are new.
pub(crate) fn walk(detail: &Detail, told: u64, seen: &mut Seen) -> Result<(), String> {
    let mut walk = Walk { at: Standing::sure(State::InProgress), review: false, version: 1 };
    let mut moves = Vec::new();
    for happened in &detail.history {
        // A first attempt that succeeded is not told: its version is missing.
        if happened.version == walk.version + 2 {
            walk.step(Event::SettleOk, &mut moves)?;
        }
        // Steps of finding out, and decisions that came too late, move nothing.
        if matches!(&*happened.event, "step" | "resolve_refused") {
            walk.version += 1;
        } else {
            let event = Event::from_name(&happened.event).ok_or_else(|| format!("`{}` is no event", happened.event))?;
            walk.step(event, &mut moves)?;
        }
        if (happened.version, happened.state) != (walk.version, walk.at.state) {
            return Err(format!("{walk:?}, and the history says {happened:?}"));
        }
    }
    let record = &detail.record;
    if record.version == walk.version + 1 {
        walk.step(Event::SettleOk, &mut moves)?;
    }
    let is = Walk { at: record.standing(), review: record.review, version: record.version };
    if is != walk {
        return Err(format!("the history leads to {walk:?}, and the record is {record:?}"));
    }
    for (from, event, _) in moves.into_iter().filter(|(.., version)| *version > told) {
        *seen.entry((from, event)).or_default() += 1;
    }
    Ok(())
}

#[derive(Debug, PartialEq)]
struct Walk {
    at: Standing,
    review: bool,
    version: u64,
}

impl Walk {
    fn step(&mut self, event: Event, moves: &mut Vec<(Standing, Event, u64)>) -> Result<(), String> {
        moves.push((self.at, event, self.version + 1));
        match transition(self.at, event).map_err(|illegal| format!("the history has to {illegal}"))? {
            Moved::To(to) => self.at = to,
            Moved::ToWithReview(to) => (self.at, self.review) = (to, true),
            Moved::Kept => {}
        }
        self.version += 1;
        Ok(())
    }
}
