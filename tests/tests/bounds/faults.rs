//! What can go wrong where, and what the ledger says after it.

use idem_runtime::ledger::State;
use idem_tests::home::Place;

/// The named places where a fault can strike, in the order of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Checkpoint {
    Validate,
    Reserve,
    Dispatch,
    ProviderCommit,
    ReceiveResponse,
    PersistResult,
    Return,
}

/// What goes wrong there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// An error whose type says that nothing happened.
    TypedError,
    /// An error that says nothing: a reset connection, a timeout, a lost response.
    Error,
    /// A response that cannot be read.
    Corrupt,
    /// The request is delivered a second time.
    Duplicate,
    Panic,
    /// Nothing goes on any more; the owner's lease ends.
    Hangs,
    /// The caller is dropped.
    Cancelled,
    /// The runtime is shut down under the body.
    RuntimeLost,
    /// The ledger's disk is full for a moment.
    Full,
    /// The ledger wrote, and its answer is lost.
    AnswerLost,
    /// The ledger's disk is full until the process ends.
    FullToTheEnd,
}

/// What the ledger says after the fault.
pub(crate) type After = Option<State>;

pub(crate) const UNKNOWN: After = Some(State::OutcomeUnknown);
pub(crate) const DONE: After = Some(State::Succeeded);
const FREE: After = Some(State::FailedRetryable);
const NOTHING: After = None;

/// Every fault, and what stands in the ledger after it.
const FAULTS: [(Checkpoint, Kind, After); 28] = {
    use Checkpoint as C;
    use Kind as K;
    [
        (C::Validate, K::TypedError, NOTHING),
        (C::Validate, K::Error, NOTHING),
        (C::Validate, K::Panic, NOTHING),
        (C::Validate, K::Cancelled, NOTHING),
        (C::Validate, K::RuntimeLost, NOTHING),
        (C::Reserve, K::Full, NOTHING),
        (C::Reserve, K::AnswerLost, DONE),
        (C::Reserve, K::Cancelled, FREE),
        (C::Dispatch, K::TypedError, FREE),
        (C::Dispatch, K::Error, UNKNOWN),
        (C::Dispatch, K::Panic, UNKNOWN),
        (C::Dispatch, K::Hangs, UNKNOWN),
        (C::Dispatch, K::Cancelled, DONE),
        (C::Dispatch, K::RuntimeLost, UNKNOWN),
        (C::ProviderCommit, K::Error, UNKNOWN),
        (C::ProviderCommit, K::Duplicate, DONE),
        (C::ProviderCommit, K::Panic, UNKNOWN),
        (C::ProviderCommit, K::Hangs, UNKNOWN),
        (C::ProviderCommit, K::Cancelled, DONE),
        (C::ProviderCommit, K::RuntimeLost, UNKNOWN),
        (C::ReceiveResponse, K::Error, UNKNOWN),
        (C::ReceiveResponse, K::Corrupt, UNKNOWN),
        (C::ReceiveResponse, K::Panic, UNKNOWN),
        (C::ReceiveResponse, K::RuntimeLost, UNKNOWN),
        (C::PersistResult, K::Full, DONE),
        (C::PersistResult, K::AnswerLost, DONE),
        (C::PersistResult, K::FullToTheEnd, UNKNOWN),
        (C::Return, K::Cancelled, DONE),
    ]
};

/// The only faults that may leave an outcome unknown: from the moment a request may have left until its answer is written.
pub(crate) fn may_be_unknown(checkpoint: Checkpoint, kind: Kind) -> bool {
    match checkpoint {
        Checkpoint::Dispatch | Checkpoint::ProviderCommit | Checkpoint::ReceiveResponse => true,
        Checkpoint::PersistResult => kind == Kind::FullToTheEnd,
        Checkpoint::Validate | Checkpoint::Reserve | Checkpoint::Return => false,
    }
}

/// Every fault that a ledger can have: one in memory does not outlive its process.
pub(crate) fn faults(place: Place) -> impl Iterator<Item = (Checkpoint, Kind, After)> {
    FAULTS.into_iter().filter(move |(_, kind, _)| place != Place::Memory || *kind != Kind::FullToTheEnd)
}
