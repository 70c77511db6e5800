//! Random commands of callers, against the store and against the pure function that moves a record.
//!
//! The model keeps the records that the store should show. It knows who holds a lease and what a move brings with it,
//! and leaves every move to [`transition`]. What is found out about an unknown outcome is not its matter.

use std::{collections::HashSet, sync::Arc, time::Duration};

use super::{
    calls::{LEASE, NANO, call, end, just_under},
    dice::Dice,
    findings::value,
    stand::again,
    subject::{Checked, Subject, Wrong, answer, grant, holds, same},
};
use crate::{
    Timestamp,
    ledger::{
        Budget, Command, Ending, Event, Grant, Hold, Moved, Record, Reply, Reserve, Reserved, Settle, Settled,
        Standing, State, Stored, StoredKind, transition,
    },
};

/// How many batches (more, where a move is still missing), of how many commands at most, over how many operations at a
/// time.
const BATCHES: usize = 400;
const BATCHES_MAX: usize = 4_000;
const COMMANDS_MAX: u64 = 24;
const SLOTS: u64 = 4;

/// What callers make happen.
const EVENTS: [Event; 13] = [
    Event::Reserve,
    Event::Resend,
    Event::SettleOk,
    Event::SettleUnproved,
    Event::SettleRetryable,
    Event::SettleFinal,
    Event::SettleUnknown,
    Event::NotStarted,
    Event::LeaseEnded,
    Event::LateOk,
    Event::LateNoEffect,
    Event::LateUnknown,
    Event::BudgetOver,
];

/// Whether callers alone bring a record there. Whoever holds the last token of a record that is in progress holds its
/// lease, so its proof is not late; and what is found out about an unknown outcome is not in this model.
fn reached(from: Standing, event: Event) -> bool {
    let found_out = matches!(from.state, State::Reconciling | State::OperatorReview);
    !found_out && (from.state, event) != (State::InProgress, Event::LateNoEffect) && transition(from, event).is_ok()
}

fn pairs() -> impl Iterator<Item = (Standing, Event)> {
    Standing::all().flat_map(|from| EVENTS.map(|event| (from, event)))
}

pub(super) async fn random(subject: &mut Subject) -> Checked {
    let mut model = Model::new(subject.seed);
    for at in 0..BATCHES_MAX {
        if at >= BATCHES && model.saw_all() {
            break;
        }
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
    for (from, event) in pairs() {
        let what = format!("`{}` happened to a record at {from:?}", event.name());
        same(&what, &model.seen.contains(&(from, event)), &reached(from, event))?;
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
    seen: HashSet<(Standing, Event)>,
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

    fn saw_all(&self) -> bool {
        pairs().all(|(from, event)| self.seen.contains(&(from, event)) || !reached(from, event))
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
            _ => Command::Reserve(Arc::new(random_call(&mut self.dice, order))),
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
                *record = Some(Record::created(asked, grant.operation, grant.row, now));
                grant
            }
            Some(record) => match event_of(asked, record, now) {
                Some(event @ (Event::Reserve | Event::Resend)) => {
                    let grant = grant(reserved)?;
                    moves(&mut self.seen, record, event, now)?;
                    record.attempt += 1;
                    record.fence = grant.fence;
                    record.lease_until = Some(now.after(asked.lease));
                    grant
                }
                event => {
                    if event == Some(Event::LeaseEnded) {
                        record.unknown_at = record.lease_until;
                    }
                    event.map(|event| moves(&mut self.seen, record, event, now)).transpose()?;
                    return same("the record found", &*answer(reserved)?.record, record);
                }
            },
        };
        let record = record.as_ref().ok_or_else(|| Wrong::new("a grant without a record"))?;
        let told = (granted.attempt, granted.in_doubt, Some(granted.lease_until));
        same("what is granted", &told, &(record.attempt, record.in_doubt, record.lease_until))?;
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
        let proved = settle.reference.is_some() || record.reference.is_some() || !record.needs_reference;
        let event = if holds { own_event(settle.ending, proved) } else { late_event(settle.ending, last, proved) };
        let before = record.state;
        moves(&mut self.seen, record, event, now)?;
        if holds {
            record.reference = settle.reference.clone().or(record.reference.take());
            record.stored = settle.stored.clone().or(record.stored.take());
        } else if event == Event::LateOk {
            let result = |stored: &Option<Stored>| stored.clone().filter(|stored| stored.kind == StoredKind::Value);
            let (told, held) = (result(&settle.stored), result(&record.stored));
            if before != State::Succeeded || (told.is_some() && held.is_none()) {
                record.reference = settle.reference.clone().or(record.reference.take());
                // The model's attempts tell a result or nothing; which words stand for none is the ledger's.
                let nothing = || not_held(&settled);
                record.stored = told.or(held).or_else(nothing);
            }
        } else if event == Event::LateNoEffect {
            record.disproved |= record.state.is_unsettled();
        } else if last && settle.ending == Ending::Unknown && record.state.is_unsettled() {
            record.unknown_at = Some(now);
        }
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

/// A call of an operation: half of them may send again, some have a budget of two attempts. Every other operation
/// succeeds with a reference only.
fn random_call(dice: &mut Dice, order: &str) -> Reserve {
    let asked = Reserve { needs_reference: order.ends_with(['1', '3', '5', '7', '9']), ..call(order, 5, order) };
    match dice.below(6) {
        0..=2 => again(&asked),
        3 => Reserve { budget: Some(Budget { attempts_max: 2, deadline: LEASE * 10_000 }), ..asked },
        _ => asked,
    }
}

/// An attempt's end. Success tells a reference or not: one that a failure told would prove every later success. Now and
/// then there is nothing to keep.
fn random_end(dice: &mut Dice, grant: &Grant) -> Settle {
    // Not knowing leads to where it is seldom otherwise: in doubt.
    let unknown = [Ending::Unknown; 3];
    let endings = [Ending::Ok, Ending::Retryable, Ending::Final, Ending::NotStarted].into_iter().chain(unknown);
    let endings: Vec<Ending> = endings.collect();
    let ending = dice.pick(&endings).copied().unwrap_or(Ending::Unknown);
    let Settle { reference, stored, .. } = end(grant, ending);
    let reference = reference.filter(|_| ending == Ending::Ok && dice.below(2) == 0);
    Settle { reference, stored: stored.filter(|_| dice.below(4) > 0), ..end(grant, ending) }
}

/// What was recorded of a success whose result nobody told.
fn not_held(settled: &Settled) -> Option<Stored> {
    let Settled::Late { record } = settled else { return None };
    record.stored.clone().filter(|stored| stored.kind == StoredKind::NotHeld).or(Some(value("a result nobody told")))
}

/// What a reservation makes happen to a record that is there.
fn event_of(asked: &Reserve, record: &Record, now: Timestamp) -> Option<Event> {
    let over = asked.budget.is_some_and(|budget| record.attempt >= budget.attempts_max);
    // One part in 48 of the window is left unused.
    let open = |window: Duration| now.after(asked.lease) < record.reserved_at.after(window * 47 / 48);
    match record.state {
        State::FailedRetryable if over => Some(Event::BudgetOver),
        State::FailedRetryable => Some(Event::Reserve),
        State::OutcomeUnknown if asked.resend.is_some_and(open) => Some(Event::Resend),
        _ => record.lease_ended(now).then_some(Event::LeaseEnded),
    }
}

/// What an ending means from who holds the lease.
const fn own_event(ending: Ending, proved: bool) -> Event {
    match ending {
        Ending::Ok if proved => Event::SettleOk,
        Ending::Ok => Event::SettleUnproved,
        Ending::Retryable => Event::SettleRetryable,
        Ending::Final => Event::SettleFinal,
        Ending::Unknown => Event::SettleUnknown,
        Ending::NotStarted => Event::NotStarted,
    }
}

/// What it means from the last attempt, or from an older one, that does not.
const fn late_event(ending: Ending, last: bool, proved: bool) -> Event {
    match ending {
        Ending::Ok if proved => Event::LateOk,
        Ending::Retryable | Ending::Final | Ending::NotStarted if last => Event::LateNoEffect,
        Ending::Ok | Ending::Retryable | Ending::Final | Ending::NotStarted | Ending::Unknown => Event::LateUnknown,
    }
}

/// Moves the record where the pure function says that `event` leads, with what that brings.
fn moves(seen: &mut HashSet<(Standing, Event)>, record: &mut Record, event: Event, now: Timestamp) -> Checked {
    let from = record.standing();
    seen.insert((from, event));
    let illegal = |illegal| Wrong::new(format!("the model tried to {illegal}"));
    let (to, review) = match transition(from, event).map_err(illegal)? {
        Moved::To(to) => (to, false),
        Moved::ToWithReview(to) => (to, true),
        Moved::Kept => (from, false),
    };
    record.version += 1;
    record.review |= review;
    (record.state, record.in_doubt) = (to.state, to.in_doubt);
    if to.state == from.state {
        return Ok(());
    }
    record.lease_until = None;
    record.settled_at = (to.state != State::InProgress).then_some(now);
    if to.state == State::OutcomeUnknown {
        record.next_at = Some(now);
        record.unknown_at = record.unknown_at.or(Some(now));
    } else {
        (record.next_at, record.unknown_at, record.disproved) = (None, None, false);
    }
    if to.state.is_finished() {
        record.retain_until = Some(now.after(record.retain));
    }
    Ok(())
}
