//! The one pure function that moves a record.
//!
//! Must not know time, storage or callers. Every pair that changes something is written out, and what becomes of every
//! other one is said event by event: an event that nobody thought of is a compile error here, not a surprise in a ledger.

use std::fmt;

use super::record::State;

/// What can happen to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// A caller starts the next attempt.
    Reserve,
    /// A caller sends again under the same provider key what may have been sent before.
    Resend,
    /// The attempt that holds the lease succeeded.
    SettleOk,
    /// It says that it succeeded, and has no reference where the tool requires one.
    SettleUnproved,
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
    /// The retry budget is used up.
    BudgetOver,
    /// Somebody starts to find out what happened.
    Begin,
    /// The provider says that the effect happened.
    Applied,
    /// The provider says that it did not.
    NotApplied,
    /// Nobody could tell, and it is worth asking again.
    Inconclusive,
    /// Nobody could tell, and there is nobody left to ask but a person.
    Exhausted,
    /// Whoever tried to find out fell silent.
    ReconcileEnded,
    /// A person says that the effect happened.
    ResolveOk,
    /// A person says that nothing happened, and that another attempt may.
    ResolveRetryable,
    /// A person says that nothing happened, and that nothing ever will.
    ResolveFinal,
    /// Evidence from outside that the effect happened: a webhook, or a person who caused it by hand.
    EvidenceOk,
    /// Evidence from outside that it did not.
    EvidenceAgainst,
    /// Evidence from outside that says neither.
    EvidenceUnclear,
}

impl Event {
    /// Every event.
    pub const ALL: [Self; 25] = [
        Self::Reserve,
        Self::Resend,
        Self::SettleOk,
        Self::SettleUnproved,
        Self::SettleRetryable,
        Self::SettleFinal,
        Self::SettleUnknown,
        Self::NotStarted,
        Self::LeaseEnded,
        Self::LateOk,
        Self::LateNoEffect,
        Self::LateUnknown,
        Self::BudgetOver,
        Self::Begin,
        Self::Applied,
        Self::NotApplied,
        Self::Inconclusive,
        Self::Exhausted,
        Self::ReconcileEnded,
        Self::ResolveOk,
        Self::ResolveRetryable,
        Self::ResolveFinal,
        Self::EvidenceOk,
        Self::EvidenceAgainst,
        Self::EvidenceUnclear,
    ];

    /// The event's name in the history.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reserve => "reserve",
            Self::Resend => "resend",
            Self::SettleOk => "settle_ok",
            Self::SettleUnproved => "settle_unproved",
            Self::SettleRetryable => "settle_retryable",
            Self::SettleFinal => "settle_final",
            Self::SettleUnknown => "settle_unknown",
            Self::NotStarted => "not_started",
            Self::LeaseEnded => "lease_ended",
            Self::LateOk => "late_ok",
            Self::LateNoEffect => "late_no_effect",
            Self::LateUnknown => "late_unknown",
            Self::BudgetOver => "budget_over",
            Self::Begin => "begin_reconcile",
            Self::Applied => "verdict_applied",
            Self::NotApplied => "verdict_not_applied",
            Self::Inconclusive => "verdict_inconclusive",
            Self::Exhausted => "verdict_exhausted",
            Self::ReconcileEnded => "reconcile_ended",
            Self::ResolveOk => "resolve_succeeded",
            Self::ResolveRetryable => "resolve_retryable",
            Self::ResolveFinal => "resolve_final",
            Self::EvidenceOk => "evidence_applied",
            Self::EvidenceAgainst => "evidence_not_applied",
            Self::EvidenceUnclear => "evidence_inconclusive",
        }
    }

    /// The event with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }
}

/// Where an operation stands, as far as it decides where it can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Standing {
    /// Its state.
    pub state: State,
    /// An earlier attempt may have had the effect: proof about a later one says nothing about the operation.
    pub in_doubt: bool,
}

impl Standing {
    /// In `state`, without doubt.
    pub const fn sure(state: State) -> Self {
        Self { state, in_doubt: false }
    }

    /// Every standing that there is: only what is not known or under way can be in doubt.
    pub fn all() -> impl Iterator<Item = Self> {
        State::ALL.into_iter().flat_map(|state| {
            let doubtful = !state.is_finished() && state != State::FailedRetryable;
            let sure = Self { state, in_doubt: false };
            [Some(sure), doubtful.then_some(Self { state, in_doubt: true })].into_iter().flatten()
        })
    }
}

/// Where an event leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// To this standing.
    To(Standing),
    /// To this standing, and somebody should look: the evidence contradicts what was recorded.
    ToWithReview(Standing),
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

/// Where `event` moves an operation that stands at `from`.
///
/// # Errors
/// [`Illegal`] for a pair that cannot occur.
pub const fn transition(from: Standing, event: Event) -> Result<Moved, Illegal> {
    use Event as E;
    if let Some(moved) = drawn(from, event) {
        return Ok(moved);
    }
    match event {
        // What comes late, or from outside, is kept beside a state that it does not change.
        E::LateOk | E::LateNoEffect | E::LateUnknown | E::EvidenceOk | E::EvidenceAgainst | E::EvidenceUnclear => {
            Ok(Moved::Kept)
        }
        // Everything else is said by somebody who holds the operation in a state that it is not in.
        E::Reserve
        | E::Resend
        | E::SettleOk
        | E::SettleUnproved
        | E::SettleRetryable
        | E::SettleFinal
        | E::SettleUnknown
        | E::NotStarted
        | E::LeaseEnded
        | E::BudgetOver
        | E::Begin
        | E::Applied
        | E::NotApplied
        | E::Inconclusive
        | E::Exhausted
        | E::ReconcileEnded
        | E::ResolveOk
        | E::ResolveRetryable
        | E::ResolveFinal => Err(Illegal { state: from.state, event }),
    }
}

/// The drawn table: every pair that changes something.
#[expect(clippy::match_same_arms, reason = "one line of the drawn table an arm")]
const fn drawn(from: Standing, event: Event) -> Option<Moved> {
    use Event as E;
    use State as S;
    let moved = match (from.state, event) {
        // The attempt that holds the lease speaks. A no-effect ending proves only its own attempt: doubt survives it.
        (S::InProgress, E::SettleOk) => to(S::Succeeded),
        (S::InProgress, E::SettleRetryable | E::NotStarted) if !from.in_doubt => to(S::FailedRetryable),
        (S::InProgress, E::SettleFinal) if !from.in_doubt => to(S::FailedFinal),
        (S::InProgress, E::SettleRetryable | E::NotStarted | E::SettleFinal) => from.goes(S::OutcomeUnknown),
        (S::InProgress, E::SettleUnproved | E::SettleUnknown | E::LeaseEnded) => from.goes(S::OutcomeUnknown),

        // The next attempt starts from proof that the last one did nothing, or under the same provider key.
        (S::FailedRetryable, E::Reserve) => to(S::InProgress),
        (S::FailedRetryable, E::BudgetOver) => to(S::FailedFinal),
        (S::OutcomeUnknown, E::Resend) => Moved::To(Standing { state: S::InProgress, in_doubt: true }),

        // Somebody finds out, or a person decides.
        (S::OutcomeUnknown | S::OperatorReview, E::Begin) => from.goes(S::Reconciling),
        (S::Reconciling, E::Applied) => to(S::Succeeded),
        (S::Reconciling, E::NotApplied) => to(S::FailedRetryable),
        (S::Reconciling, E::Inconclusive | E::ReconcileEnded) => from.goes(S::OutcomeUnknown),
        (S::Reconciling, E::Exhausted) => from.goes(S::OperatorReview),
        (S::OutcomeUnknown | S::OperatorReview, E::ResolveOk) => to(S::Succeeded),
        (S::OutcomeUnknown | S::OperatorReview, E::ResolveRetryable) => to(S::FailedRetryable),
        (S::OutcomeUnknown | S::OperatorReview, E::ResolveFinal) => to(S::FailedFinal),

        // Success settles whatever is not yet success; where the opposite was recorded, somebody should look.
        (S::InProgress | S::OutcomeUnknown | S::Reconciling | S::OperatorReview, E::LateOk | E::EvidenceOk) => {
            to(S::Succeeded)
        }
        (S::FailedRetryable | S::FailedFinal, E::LateOk | E::EvidenceOk) => review(S::Succeeded),

        // Late proof of no effect counts only while the outcome is unknown and not in doubt; success never regresses.
        (S::OutcomeUnknown, E::LateNoEffect) if !from.in_doubt => to(S::FailedRetryable),
        (S::Succeeded, E::LateNoEffect | E::EvidenceAgainst) => review(S::Succeeded),
        _ => return None,
    };
    Some(moved)
}

const fn review(state: State) -> Moved {
    Moved::ToWithReview(Standing::sure(state))
}

const fn to(state: State) -> Moved {
    Moved::To(Standing::sure(state))
}

impl Standing {
    /// To `state`, and what is in doubt stays so.
    const fn goes(self, state: State) -> Moved {
        Moved::To(Self { state, in_doubt: self.in_doubt })
    }
}

#[cfg(test)]
mod tests;
