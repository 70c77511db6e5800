//! The one pure function that moves a record.
//!
//! Must not know time, storage or callers. Every pair of state and event is written out: a pair that nobody
//! thought of is a compile error here, not a surprise in a ledger.

use std::fmt;

use super::record::State;

/// What can happen to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// A caller starts the next attempt.
    Reserve,
    /// The attempt that holds the lease succeeded.
    SettleOk,
    /// It proved that nothing happened, and that another attempt may.
    SettleRetryable,
    /// It proved that nothing happened, and that no attempt ever will.
    SettleFinal,
    /// It does not know, or it vanished after its body had started.
    SettleUnknown,
    /// It was dropped before its body had started.
    NotStarted,
    /// Its lease ended in silence.
    LeaseEnded,
    /// An attempt that no longer holds the lease says that it succeeded.
    LateOk,
    /// The last attempt, late, proves that nothing happened.
    LateNoEffect,
    /// An attempt that no longer holds the lease does not know.
    LateUnknown,
}

impl Event {
    /// Every event.
    pub const ALL: [Self; 10] = [
        Self::Reserve,
        Self::SettleOk,
        Self::SettleRetryable,
        Self::SettleFinal,
        Self::SettleUnknown,
        Self::NotStarted,
        Self::LeaseEnded,
        Self::LateOk,
        Self::LateNoEffect,
        Self::LateUnknown,
    ];

    /// The event's name in the history.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reserve => "reserve",
            Self::SettleOk => "settle_ok",
            Self::SettleRetryable => "settle_retryable",
            Self::SettleFinal => "settle_final",
            Self::SettleUnknown => "settle_unknown",
            Self::NotStarted => "not_started",
            Self::LeaseEnded => "lease_ended",
            Self::LateOk => "late_ok",
            Self::LateNoEffect => "late_no_effect",
            Self::LateUnknown => "late_unknown",
        }
    }
}

/// Where an event leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// To this state.
    To(State),
    /// To this state, and somebody should look: the evidence contradicts what was recorded.
    ToWithReview(State),
    /// Nowhere: the event is kept as evidence beside a state that it does not change.
    Kept,
}

/// An event that cannot happen in a state: an error in the ledger itself, never in its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Illegal {
    /// The state.
    pub state: State,
    /// The event.
    pub event: Event,
}

impl fmt::Display for Illegal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "apply `{}` to an operation that is `{}`", self.event.name(), self.state.name())
    }
}

impl std::error::Error for Illegal {}

/// Where `event` moves an operation that is in `state`.
///
/// # Errors
/// [`Illegal`] for a pair that cannot occur.
#[expect(clippy::match_same_arms, reason = "one line of the drawn table an arm")]
pub const fn transition(state: State, event: Event) -> Result<Moved, Illegal> {
    use Event as E;
    use State as S;
    let moved = match (state, event) {
        // The attempt that holds the lease speaks.
        (S::InProgress, E::SettleOk) => Moved::To(S::Succeeded),
        (S::InProgress, E::SettleRetryable | E::NotStarted) => Moved::To(S::FailedRetryable),
        (S::InProgress, E::SettleFinal) => Moved::To(S::FailedFinal),
        (S::InProgress, E::SettleUnknown | E::LeaseEnded) => Moved::To(S::OutcomeUnknown),

        // The next attempt starts only from proof that the last one did nothing.
        (S::FailedRetryable, E::Reserve) => Moved::To(S::InProgress),

        // Late success settles whatever is not yet success; where the opposite was recorded, somebody should look.
        (S::InProgress | S::OutcomeUnknown, E::LateOk) => Moved::To(S::Succeeded),
        (S::FailedRetryable | S::FailedFinal, E::LateOk) => Moved::ToWithReview(S::Succeeded),
        (S::Succeeded, E::LateOk) => Moved::Kept,

        // Late proof of no effect counts only while the outcome is unknown; success never regresses.
        (S::OutcomeUnknown, E::LateNoEffect) => Moved::To(S::FailedRetryable),
        (S::Succeeded, E::LateNoEffect) => Moved::ToWithReview(S::Succeeded),
        (S::InProgress | S::FailedRetryable | S::FailedFinal, E::LateNoEffect) => Moved::Kept,

        // Not knowing says nothing.
        (S::InProgress | S::Succeeded | S::FailedRetryable | S::FailedFinal | S::OutcomeUnknown, E::LateUnknown) => {
            Moved::Kept
        }

        // What only the holder of a lease can say cannot be said without one.
        (
            S::Succeeded | S::FailedRetryable | S::FailedFinal | S::OutcomeUnknown,
            E::SettleOk | E::SettleRetryable | E::SettleFinal | E::SettleUnknown | E::NotStarted | E::LeaseEnded,
        )
        | (S::InProgress | S::Succeeded | S::FailedFinal | S::OutcomeUnknown, E::Reserve) => {
            return Err(Illegal { state, event });
        }
    };
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the design, a line a pair that may occur; every other pair is illegal.
    const TABLE: &[(State, Event, Moved)] = &[
        (State::InProgress, Event::SettleOk, Moved::To(State::Succeeded)),
        (State::InProgress, Event::SettleRetryable, Moved::To(State::FailedRetryable)),
        (State::InProgress, Event::SettleFinal, Moved::To(State::FailedFinal)),
        (State::InProgress, Event::SettleUnknown, Moved::To(State::OutcomeUnknown)),
        (State::InProgress, Event::NotStarted, Moved::To(State::FailedRetryable)),
        (State::InProgress, Event::LeaseEnded, Moved::To(State::OutcomeUnknown)),
        (State::InProgress, Event::LateOk, Moved::To(State::Succeeded)),
        (State::InProgress, Event::LateNoEffect, Moved::Kept),
        (State::Succeeded, Event::LateOk, Moved::Kept),
        (State::Succeeded, Event::LateNoEffect, Moved::ToWithReview(State::Succeeded)),
        (State::FailedRetryable, Event::Reserve, Moved::To(State::InProgress)),
        (State::FailedRetryable, Event::LateOk, Moved::ToWithReview(State::Succeeded)),
        (State::FailedRetryable, Event::LateNoEffect, Moved::Kept),
        (State::FailedFinal, Event::LateOk, Moved::ToWithReview(State::Succeeded)),
        (State::FailedFinal, Event::LateNoEffect, Moved::Kept),
        (State::InProgress, Event::LateUnknown, Moved::Kept),
        (State::Succeeded, Event::LateUnknown, Moved::Kept),
        (State::FailedRetryable, Event::LateUnknown, Moved::Kept),
        (State::FailedFinal, Event::LateUnknown, Moved::Kept),
        (State::OutcomeUnknown, Event::LateUnknown, Moved::Kept),
        (State::OutcomeUnknown, Event::LateOk, Moved::To(State::Succeeded)),
        (State::OutcomeUnknown, Event::LateNoEffect, Moved::To(State::FailedRetryable)),
    ];

    #[test]
    fn every_pair_of_state_and_event_is_as_drawn() {
        for state in State::ALL {
            for event in Event::ALL {
                let drawn = TABLE.iter().find(|(from, on, _)| (*from, *on) == (state, event));
                let expected = drawn.map(|(_, _, to)| *to).ok_or(Illegal { state, event });
                assert_eq!(transition(state, event), expected, "{state:?} on {event:?}");
            }
        }
    }

    #[test]
    fn success_never_regresses_and_silence_never_frees() {
        for event in Event::ALL {
            if let Ok(Moved::To(to) | Moved::ToWithReview(to)) = transition(State::Succeeded, event) {
                assert_eq!(to, State::Succeeded);
            }
        }
        assert_eq!(transition(State::InProgress, Event::LeaseEnded), Ok(Moved::To(State::OutcomeUnknown)));
    }
}
