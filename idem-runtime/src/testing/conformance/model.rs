//! Random commands, against the store and against the pure function that moves a record.
//!
//! The model keeps the records that the store should show. It knows who holds a lease, and leaves every move to
//! [`transition`].

use std::{collections::HashSet, sync::Arc, time::Duration};

use super::{
    calls::{LEASE, NANO, call, end, just_under},
    dice::Dice,
    subject::{Checked, Subject, Wrong, answer, grant, holds, same},
};
use crate::{
    Timestamp,
    ledger::{
        Command, Ending, Event, Grant, Hold, Illegal, Moved, Record, Reply, Reserve, Reserved, Settle, Settled, State,
        transition,
    },
};

/// How many batches, of how many commands at most, over how many operations at a time.
const BATCHES: usize = 300;
const COMMANDS_MAX: u64 = 8;
const SLOTS: u64 = 4;

/// A pair of state and event that no sequence of commands reaches: whoever holds the last token of a record that is
/// in progress holds its lease, so its proof is not late.
const UNREACHED: (State, Event) = (State::InProgress, Event::LateNoEffect);

pub(super) async fn random(subject: &mut Subject) -> Checked {
    let mut model = Model::new(subject.seed);
    for at in 0..BATCHES {
        subject.advance(model.pause());
        let commands: Vec<Asked> = (0..=model.dice.below(COMMANDS_MAX)).map(|_| model.command()).collect();
        let sent: Vec<Command> = commands.iter().map(|asked| asked.command.clone()).collect();
        let replies = subject.apply(&sent).await?;
        for (asked, reply) in commands.iter().zip(replies) {
            let told = model.expect(asked, reply, subject.now);
            told.map_err(|wrong| Wrong::new(format!("in batch {at}, {:?}: {wrong}", asked.command)))?;
        }
        for record in model.slots.iter().filter_map(|slot| slot.record.as_ref()) {
            same(&format!("after batch {at}, the record"), &subject.show(record.operation).await?, record)?;
        }
        model.next_operations();
    }
    for (state, event) in State::ALL.into_iter().flat_map(|state| Event::ALL.map(|event| (state, event))) {
        let reachable = transition(state, event).is_ok() && (state, event) != UNREACHED;
        let what = format!("`{}` happened to a record that is `{}`", event.name(), state.name());
        same(&what, &model.seen.contains(&(state, event)), &reachable)?;
    }
    Ok(())
}

/// One operation as it should be.
#[derive(Default)]
struct Slot {
    order: String,
    record: Option<Record>,
    grants: Vec<Grant>,
}

/// A command, and the operation that it is about.
struct Asked {
    slot: usize,
    command: Command,
}

struct Model {
    dice: Dice,
    slots: Vec<Slot>,
    orders: u32,
    fence: i64,
    seen: HashSet<(State, Event)>,
}

impl Model {
    fn new(seed: u64) -> Self {
        let slots = (0..SLOTS).map(|_| Slot::default()).collect();
        let mut model = Self { dice: Dice::new(seed), slots, orders: 0, fence: 0, seen: HashSet::new() };
        for at in 0..model.slots.len() {
            model.slots[at] = model.next_slot();
        }
        model
    }

    fn next_slot(&mut self) -> Slot {
        self.orders += 1;
        Slot { order: format!("order {}", self.orders), ..Slot::default() }
    }

    /// A finished operation makes room for another one now and then.
    fn next_operations(&mut self) {
        for at in 0..self.slots.len() {
            let finished = self.slots[at].record.as_ref().is_some_and(|record| record.state.is_finished());
            if finished && self.dice.below(3) == 0 {
                self.slots[at] = self.next_slot();
            }
        }
    }

    fn pause(&mut self) -> Duration {
        let pauses = [Duration::ZERO, Duration::ZERO, NANO, LEASE / 3, just_under(LEASE), LEASE];
        self.dice.pick(&pauses).copied().unwrap_or_default()
    }

    fn command(&mut self) -> Asked {
        let slot = usize::try_from(self.dice.below(SLOTS)).unwrap_or(0);
        let what = self.dice.below(10);
        // The last grant is the most interesting one.
        let Slot { order, grants, .. } = &self.slots[slot];
        let last = grants.last().filter(|_| what.is_multiple_of(2));
        let command = match last.or(self.dice.pick(grants)) {
            Some(grant) if what < 6 => Command::Settle(random_end(&mut self.dice, grant)),
            Some(grant) if what == 6 => Command::Renew(vec![Hold { row: grant.row, fence: grant.fence, lease: LEASE }]),
            _ => Command::Reserve(Arc::new(call(order, 5, order))),
        };
        Asked { slot, command }
    }

    fn expect(&mut self, asked: &Asked, reply: Reply, now: Timestamp) -> Checked {
        match (&asked.command, reply) {
            (Command::Reserve(reserve), Reply::Reserved(reserved)) => self.reserved(asked.slot, reserve, reserved, now),
            (Command::Settle(settle), Reply::Settled(settled)) => self.settled(asked.slot, settle, settled, now),
            (Command::Renew(hold), Reply::Renewed { lost }) => self.renewed(asked.slot, hold, &lost, now),
            (_, other) => Err(Wrong::new(format!("it was answered with {other:?}"))),
        }
    }

    fn reserved(&mut self, slot: usize, asked: &Reserve, reserved: Reserved, now: Timestamp) -> Checked {
        let Slot { record, grants, .. } = &mut self.slots[slot];
        let granted = match record {
            None => {
                let grant = grant(reserved)?;
                same("the attempt", &grant.attempt, &1)?;
                *record = Some(first(asked, &grant, now));
                grant
            }
            Some(record) if record.state == State::FailedRetryable => {
                let grant = grant(reserved)?;
                let (state, _) = moved(&mut self.seen, record, Event::Reserve)?;
                record.state = state;
                record.attempt += 1;
                record.fence = grant.fence;
                record.lease_until = Some(now.after(asked.lease));
                record.settled_at = None;
                same("the attempt", &grant.attempt, &record.attempt)?;
                grant
            }
            Some(record) => {
                if record.lease_ended(now) {
                    let (state, _) = moved(&mut self.seen, record, Event::LeaseEnded)?;
                    record.state = state;
                    record.settled_at = Some(now);
                    record.lease_until = None;
                }
                return same("the record found", &*answer(reserved)?.record, record);
            }
        };
        holds(&format!("token {} is larger than {}", granted.fence, self.fence), granted.fence > self.fence)?;
        self.fence = granted.fence;
        grants.push(granted);
        Ok(())
    }

    fn settled(&mut self, slot: usize, settle: &Settle, settled: Settled, now: Timestamp) -> Checked {
        let Some(record) = &mut self.slots[slot].record else {
            return Err(Wrong::new("there was no grant to settle"));
        };
        let last = record.fence == settle.fence;
        let holds = last && record.state == State::InProgress;
        let event = event(settle.ending, holds, last);
        let (state, review) = moved(&mut self.seen, record, event)?;
        if state != record.state {
            record.state = state;
            record.settled_at = Some(now);
            record.lease_until = None;
            if holds || event == Event::LateOk {
                record.retain_until = state.is_finished().then(|| now.after(settle.retain));
                record.reference = settle.reference.clone().or(record.reference.take());
                record.stored = settle.stored.clone().or(record.stored.take());
            }
        }
        record.review |= review;
        match settled {
            Settled::Late { record: told } if !holds => same("the record told", &*told, record),
            Settled::Recorded { state, settled_at, retain_until } if holds => {
                let told = (state, Some(settled_at), retain_until);
                same("what was recorded", &told, &(record.state, record.settled_at, record.retain_until))
            }
            other => Err(Wrong::new(format!("the answer was {other:?}"))),
        }
    }

    fn renewed(&mut self, slot: usize, renewed: &[Hold], lost: &[i64], now: Timestamp) -> Checked {
        let Some(record) = &mut self.slots[slot].record else {
            return Err(Wrong::new("there was no lease to renew"));
        };
        let mut should_be = Vec::new();
        for hold in renewed {
            if record.state == State::InProgress && record.fence == hold.fence {
                record.lease_until = Some(now.after(hold.lease));
                record.renewed_at = Some(now);
                record.renewals += 1;
            } else {
                should_be.push(hold.row);
            }
        }
        same("the leases lost", &lost, &&should_be[..])
    }
}

/// An attempt's end; now and then it tells no reference, or nothing to keep.
fn random_end(dice: &mut Dice, grant: &Grant) -> Settle {
    let endings = [Ending::Ok, Ending::Retryable, Ending::Final, Ending::Unknown, Ending::NotStarted];
    let ending = dice.pick(&endings).copied().unwrap_or(Ending::Unknown);
    let Settle { reference, stored, .. } = end(grant, ending);
    let reference = reference.filter(|_| dice.below(4) > 0);
    Settle { reference, stored: stored.filter(|_| dice.below(4) > 0), ..end(grant, ending) }
}

/// The record after its first reservation.
fn first(asked: &Reserve, grant: &Grant, now: Timestamp) -> Record {
    Record {
        row: grant.row,
        operation: grant.operation,
        tool: Arc::clone(&asked.tool),
        principal: None,
        fingerprint: asked.fingerprint,
        parts: Arc::clone(&asked.parts),
        content: Arc::clone(&asked.content),
        state: State::InProgress,
        attempt: 1,
        fence: grant.fence,
        lease_until: Some(now.after(asked.lease)),
        renewed_at: None,
        renewals: 0,
        reserved_at: now,
        settled_at: None,
        retain_until: None,
        reference: None,
        review: false,
        stored: None,
    }
}

/// What an ending means: from who holds the lease, from the last attempt, or from an older one.
fn event(ending: Ending, holds: bool, last: bool) -> Event {
    match (ending, holds, last) {
        (Ending::Ok, true, _) => Event::SettleOk,
        (Ending::Retryable, true, _) => Event::SettleRetryable,
        (Ending::Final, true, _) => Event::SettleFinal,
        (Ending::Unknown, true, _) => Event::SettleUnknown,
        (Ending::NotStarted, true, _) => Event::NotStarted,
        (Ending::Ok, false, _) => Event::LateOk,
        (Ending::Retryable | Ending::Final | Ending::NotStarted, false, true) => Event::LateNoEffect,
        (Ending::Retryable | Ending::Final | Ending::NotStarted, false, false) | (Ending::Unknown, false, _) => {
            Event::LateUnknown
        }
    }
}

/// Where the pure function says that `event` leads, and whether somebody should look.
fn moved(seen: &mut HashSet<(State, Event)>, record: &Record, event: Event) -> Checked<(State, bool)> {
    seen.insert((record.state, event));
    match transition(record.state, event) {
        Ok(Moved::To(to)) => Ok((to, false)),
        Ok(Moved::ToWithReview(to)) => Ok((to, true)),
        Ok(Moved::Kept) => Ok((record.state, false)),
        Err(illegal @ Illegal { .. }) => Err(Wrong::new(format!("the model tried to {illegal}"))),
    }
}
