//! The matrix: what has to be left of each fault at each checkpoint, the ways to recover from it, and the cells that mean
//! nothing, each with its reason.
//!
//! Must not know how a cell is run.

use idem_runtime::ledger::State;

use super::{
    site::{Checkpoint as C, Fault as F},
    tools::Tool,
};

/// What a fault has to leave behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Left {
    /// Where the operation stands; `None` where there is none. A killed process leaves `in_progress`, which its lease's end
    /// makes `outcome_unknown`.
    pub(crate) state: Option<State>,
    /// The effects at the provider.
    pub(crate) effects: usize,
    /// The name of what the caller was told; `None` where it heard nothing.
    pub(crate) told: Option<&'static str>,
}

impl Left {
    /// Whether somebody has to find out.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self.state, Some(State::InProgress | State::OutcomeUnknown))
    }
}

/// What has to be left of this fault at this checkpoint, or why the two do not go together.
#[expect(clippy::match_same_arms, reason = "it is read by checkpoint")]
pub(crate) fn left(here: C, fault: F) -> Result<Left, &'static str> {
    let left = |state, effects, told| Ok(Left { state, effects, told });
    let unknown = |effects| left(Some(State::OutcomeUnknown), effects, Some("unknown_requires_reconciliation"));
    let unheard = |effects| left(Some(State::OutcomeUnknown), effects, None);
    let running = |effects| left(Some(State::InProgress), effects, None);
    let given_back = |told| left(Some(State::FailedRetryable), 0, told);
    match (here, fault) {
        // A check that fails is a denial, whatever its error says. Nothing was reserved.
        (C::Validate, F::NoEffect | F::Corrupt | F::Reset | F::Timeout) => left(None, 0, Some("denied")),
        (C::Validate, F::Kill | F::Panic | F::Dropped) => left(None, 0, None),

        (C::BeforeReserve, F::Kill) => left(None, 0, None),
        (C::BeforeReserve, F::NoEffect) => left(None, 0, Some("ledger_unavailable")),
        // The reservation is carried out after all, for nobody, and is given back unused.
        (C::BeforeReserve | C::Reserved, F::Timeout) => given_back(Some("ledger_unavailable")),
        (C::BeforeReserve | C::Reserved, F::Dropped) => given_back(None),
        (C::BeforeReserve, F::Reset) => {
            Err("a connection that breaks before the commit is an error that applied nothing")
        }
        (C::Reserved, F::Kill) => running(0),
        // The ledger asks again under the same nonce, and the call goes on.
        (C::Reserved, F::Reset) => left(Some(State::Succeeded), 1, Some("succeeded")),
        (C::Reserved, F::NoEffect) => Err("a commit that is made cannot be said not to be"),

        (C::Dispatch, F::Kill) => running(0),
        (C::Dispatch, F::NoEffect) => given_back(Some("failed_retryable")),
        (C::Dispatch, F::Reset | F::Timeout) => unknown(0),
        (C::Dispatch, F::Panic | F::Dropped) => unheard(0),
        (C::Dispatch, F::Corrupt) => Err("there is no response before a request"),

        (C::ProviderCommit | C::ReceiveResponse, F::Kill) => running(1),
        (C::ProviderCommit | C::ReceiveResponse, F::Reset | F::Timeout) | (C::ReceiveResponse, F::Corrupt) => {
            unknown(1)
        }
        (C::ProviderCommit | C::ReceiveResponse, F::Panic | F::Dropped) => unheard(1),
        (C::ProviderCommit, F::Corrupt) => Err("the provider has not sent its response yet"),
        (C::ProviderCommit | C::ReceiveResponse, F::NoEffect) => {
            Err("a client that says that nothing happened after the effect lies; no ledger can know")
        }

        (C::BeforeSettle, F::Kill) => running(1),
        // The caller has its result; the ledger goes on trying for as long as its process lives.
        (C::BeforeSettle, F::NoEffect | F::Reset) | (C::Settled, F::Reset) => {
            left(Some(State::Succeeded), 1, Some("succeeded"))
        }
        (C::BeforeSettle, F::Dropped) => left(Some(State::Succeeded), 1, None),
        (C::Settled, F::Kill | F::Dropped) => left(Some(State::Succeeded), 1, None),
        (C::BeforeSettle | C::Settled, F::Timeout) => {
            Err("a caller whose body has ended waits for its settlement, however long it takes")
        }
        (C::Settled, F::NoEffect) => Err("a commit that is made cannot be said not to be"),

        (C::Return, F::Kill | F::Reset | F::Dropped) => left(Some(State::Succeeded), 1, None),
        (C::Return, F::NoEffect | F::Corrupt | F::Timeout | F::Panic) => {
            Err("behind the guard nothing is left to fail but the way to the caller, and that is a reset")
        }
        (C::BeforeReserve | C::Reserved | C::BeforeSettle | C::Settled, F::Corrupt | F::Panic) => {
            Err("a store that loses its mind ends its process: that is a kill")
        }
    }
}

/// The ways to find out, or to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Path {
    /// A caller brings the arguments again, and the provider knows the key.
    Key,
    /// The same after the key's window: the provider has forgotten the key.
    KeyTooLate,
    /// The reconciler asks the look-up.
    LookUp,
    /// A caller that comes again asks it.
    LookUpByCaller,
    /// The reconciler searches.
    Search,
    /// The provider says by itself what it did.
    Webhook,
    /// The reconciler sends again with stored arguments.
    Stored,
    /// A person looks at the provider's log and decides.
    Operator,
    /// Nobody finds out.
    None,
}

impl Path {
    pub(crate) const ALL: [Self; 9] = [
        Self::Key,
        Self::KeyTooLate,
        Self::LookUp,
        Self::LookUpByCaller,
        Self::Search,
        Self::Webhook,
        Self::Stored,
        Self::Operator,
        Self::None,
    ];

    pub(crate) fn tool(self) -> Tool {
        match self {
            Self::Key | Self::KeyTooLate => Tool::Keyed,
            Self::LookUp | Self::LookUpByCaller => Tool::LookedUp,
            Self::Search => Tool::Searched,
            Self::Stored => Tool::Stored,
            Self::Webhook | Self::Operator | Self::None => Tool::Alone,
        }
    }

    /// Whether it settles an unknown outcome, given what happened.
    pub(crate) fn settles(self, effects: usize) -> bool {
        match self {
            Self::Key | Self::LookUp | Self::LookUpByCaller | Self::Search | Self::Stored | Self::Operator => true,
            // A provider tells of what it did, and not of what it never heard of.
            Self::Webhook => effects > 0,
            Self::KeyTooLate | Self::None => false,
        }
    }

    /// Whether it sends again what may have been sent before.
    pub(crate) fn sends_again(self) -> bool {
        matches!(self, Self::Key | Self::Stored)
    }
}

/// One cell that means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) here: C,
    pub(crate) fault: F,
    pub(crate) path: Path,
    pub(crate) left: Left,
}

/// Every cell that means something, and the pairs of checkpoint and fault that do not, with their reasons.
pub(crate) fn cells() -> (Vec<Cell>, Vec<(C, F, &'static str)>) {
    let (mut cells, mut meaningless) = (Vec::new(), Vec::new());
    for here in C::ALL {
        for fault in F::ALL {
            match left(here, fault) {
                Ok(left) => cells.extend(Path::ALL.map(|path| Cell { here, fault, path, left })),
                Err(reason) => meaningless.push((here, fault, reason)),
            }
        }
    }
    (cells, meaningless)
}
