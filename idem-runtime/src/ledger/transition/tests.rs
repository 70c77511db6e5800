//! The table of the design, line by line.

use super::*;

const P: State = State::InProgress;
const OK: State = State::Succeeded;
const FR: State = State::FailedRetryable;
const FF: State = State::FailedFinal;
const U: State = State::OutcomeUnknown;
const R: State = State::Reconciling;
const OR: State = State::OperatorReview;

/// Whether an operation has to be in doubt for a line to hold.
#[derive(Clone, Copy, PartialEq)]
enum Doubt {
    /// The line holds either way, and doubt ends.
    Ends,
    /// The line holds either way, and doubt stays as it is.
    Stays,
    /// The line holds without doubt only.
    Without,
    /// The line holds in doubt only, and doubt stays.
    Within,
    /// Doubt begins.
    Begins,
}

use Doubt::{Begins, Ends, Stays, Within, Without};

/// The moves of the design, a line a move; every other pair is kept or illegal.
const MOVES: &[(State, Event, Doubt, State)] = &[
    (P, Event::SettleOk, Ends, OK),
    (P, Event::SettleUnproved, Stays, U),
    (P, Event::SettleRetryable, Without, FR),
    (P, Event::SettleRetryable, Within, U),
    (P, Event::NotStarted, Without, FR),
    (P, Event::NotStarted, Within, U),
    (P, Event::SettleFinal, Without, FF),
    (P, Event::SettleFinal, Within, U),
    (P, Event::SettleUnknown, Stays, U),
    (P, Event::LeaseEnded, Stays, U),
    (P, Event::LateOk, Ends, OK),
    (P, Event::EvidenceOk, Ends, OK),
    (FR, Event::Reserve, Without, P),
    (FR, Event::BudgetOver, Without, FF),
    (U, Event::Begin, Stays, R),
    (U, Event::Resend, Begins, P),
    (U, Event::LateNoEffect, Without, FR),
    (U, Event::LateOk, Ends, OK),
    (U, Event::EvidenceOk, Ends, OK),
    (U, Event::ResolveOk, Ends, OK),
    (U, Event::ResolveRetryable, Ends, FR),
    (U, Event::ResolveFinal, Ends, FF),
    (R, Event::Applied, Ends, OK),
    (R, Event::NotApplied, Ends, FR),
    (R, Event::Inconclusive, Stays, U),
    (R, Event::ReconcileEnded, Stays, U),
    (R, Event::Exhausted, Stays, OR),
    (R, Event::LateOk, Ends, OK),
    (R, Event::EvidenceOk, Ends, OK),
    (OR, Event::Begin, Stays, R),
    (OR, Event::ResolveOk, Ends, OK),
    (OR, Event::ResolveRetryable, Ends, FR),
    (OR, Event::ResolveFinal, Ends, FF),
    (OR, Event::LateOk, Ends, OK),
    (OR, Event::EvidenceOk, Ends, OK),
];

/// Moves that raise a review.
const REVIEWED: &[(State, Event)] = &[
    (FR, Event::LateOk),
    (FR, Event::EvidenceOk),
    (FF, Event::LateOk),
    (FF, Event::EvidenceOk),
    (OK, Event::LateNoEffect),
    (OK, Event::EvidenceAgainst),
];

/// What is kept beside a state that it does not change, where no move says otherwise.
const KEPT: &[Event] = &[
    Event::LateOk,
    Event::EvidenceOk,
    Event::LateNoEffect,
    Event::EvidenceAgainst,
    Event::LateUnknown,
    Event::EvidenceUnclear,
];

#[test]
fn every_pair_of_standing_and_event_is_as_drawn() {
    for from in Standing::all() {
        for event in Event::ALL {
            let line = MOVES.iter().find(|(state, on, doubt, _)| {
                let fits = match doubt {
                    Without => !from.in_doubt,
                    Within => from.in_doubt,
                    Ends | Stays | Begins => true,
                };
                fits && (*state, *on) == (from.state, event)
            });
            let expected = match line {
                Some((_, _, doubt, to)) => {
                    let in_doubt = matches!(doubt, Begins) || matches!(doubt, Stays | Within) && from.in_doubt;
                    Ok(Moved::To(Standing { state: *to, in_doubt }))
                }
                None if REVIEWED.contains(&(from.state, event)) => {
                    Ok(Moved::ToWithReview(Standing::sure(State::Succeeded)))
                }
                None if KEPT.contains(&event) => Ok(Moved::Kept),
                None => Err(Illegal { state: from.state, event }),
            };
            assert_eq!(transition(from, event), expected, "{from:?} on {event:?}");
        }
    }
}

#[test]
fn success_never_regresses_and_silence_never_frees() {
    for event in Event::ALL {
        if let Ok(Moved::To(to) | Moved::ToWithReview(to)) = transition(Standing::sure(OK), event) {
            assert_eq!(to.state, OK);
        }
    }
    for in_doubt in [false, true] {
        for (state, event) in [(P, Event::LeaseEnded), (R, Event::ReconcileEnded)] {
            let moved = transition(Standing { state, in_doubt }, event);
            assert_eq!(moved, Ok(Moved::To(Standing { state: U, in_doubt })));
        }
    }
}

#[test]
fn only_a_verdict_a_person_or_success_ends_doubt() {
    let ends = |event| {
        Standing::all().filter(|from| from.in_doubt).any(|from| match transition(from, event) {
            Ok(Moved::To(to) | Moved::ToWithReview(to)) => !to.in_doubt,
            Ok(Moved::Kept) | Err(_) => false,
        })
    };
    let ending: Vec<Event> = Event::ALL.into_iter().filter(|event| ends(*event)).collect();
    let may = [
        Event::SettleOk,
        Event::LateOk,
        Event::Applied,
        Event::NotApplied,
        Event::ResolveOk,
        Event::ResolveRetryable,
        Event::ResolveFinal,
        Event::EvidenceOk,
    ];
    assert_eq!(ending, may);
}

#[test]
fn names_of_events_are_read_back() {
    for event in Event::ALL {
        assert_eq!(Event::from_name(event.name()), Some(event));
    }
}
