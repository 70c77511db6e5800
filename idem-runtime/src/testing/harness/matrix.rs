//! The matrix: which fault at which checkpoint can leave what, and the cells that mean nothing, each with its reason.
//!
//! Must not know how a cell is run, nor how a tool classifies its errors: it says only what is so for every tool.

use crate::testing::{Checkpoint as C, Fault as F};

/// What a fault can leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Left {
    /// Effects of each name when the fault is over; `None` where the tool's form decides (a detached body goes on).
    pub(super) effects: Option<usize>,
    /// The states in which the operation may stand then; none for no record.
    pub(super) states: &'static [&'static str],
}

const NONE: &[&str] = &["none"];
const FREE: &[&str] = &["failed_retryable"];
const DONE: &[&str] = &["succeeded"];
const DARK: &[&str] = &["in_progress"];
/// What a tool makes of an error that proves nothing; one that finds out by itself has succeeded already.
const DOUBT: &[&str] = &["outcome_unknown", "reconciling", "operator_review", "succeeded"];
/// The same before the effect: the tool may know that nothing was sent.
const DOUBT_BEFORE: &[&str] =
    &["outcome_unknown", "reconciling", "operator_review", "succeeded", "failed_retryable", "failed_final"];

/// What has to be left of this fault at this checkpoint, or why the two do not go together.
#[expect(clippy::match_same_arms, reason = "it is read by checkpoint")]
pub(super) fn left(at: C, fault: F) -> Result<Left, &'static str> {
    let left = |effects, states| Ok(Left { effects, states });
    match (at, fault) {
        // The ledger is read, and the tool checks its arguments: nothing is reserved.
        (C::Validate, F::Error | F::Timeout | F::Reset | F::CorruptResponse | F::Panic | F::Cancel | F::Kill) => {
            left(Some(0), NONE)
        }
        (C::Validate, F::LostResponse) => Err("a question changes nothing: that its answer is lost is a reset"),
        (C::Validate, F::DuplicateDelivery) => left(Some(1), DONE),

        (C::Reserve, F::Error) => left(Some(0), NONE),
        // The reservation is carried out after all, for nobody, and is given back unused.
        (C::Reserve, F::Timeout | F::Cancel) => left(Some(0), FREE),
        // The ledger asks again under the same nonce, and the call goes on.
        (C::Reserve, F::Reset | F::LostResponse | F::DuplicateDelivery) => left(Some(1), DONE),
        (C::Reserve, F::Kill) => left(Some(0), &["none", "in_progress"]),
        (C::Reserve | C::PersistResult, F::CorruptResponse | F::Panic) => {
            Err("a store that loses its mind ends its process: that is a kill")
        }

        (C::Dispatch, F::Error) => left(None, DOUBT_BEFORE),
        (C::Dispatch, F::Timeout | F::Reset) => left(None, DOUBT_BEFORE),
        (C::Dispatch, F::LostResponse) => Err("before the effect there is no response to lose"),
        (C::Dispatch, F::CorruptResponse) => Err("before the effect there is no response to garble"),
        (C::Dispatch, F::DuplicateDelivery) => left(Some(1), DONE),
        (C::Dispatch, F::Panic) => left(Some(0), DOUBT_BEFORE),
        (C::Dispatch, F::Cancel) => left(None, DOUBT),
        (C::Dispatch, F::Kill) => left(Some(0), DARK),

        (C::ProviderCommit | C::ReceiveResponse, F::Error) => {
            Err("a provider that says after its effect that nothing happened lies; no ledger can know")
        }
        (C::ProviderCommit, F::Timeout | F::Reset | F::LostResponse) => left(Some(1), DOUBT),
        (C::ProviderCommit, F::CorruptResponse) => Err("the provider has not sent its response yet"),
        (C::ProviderCommit, F::DuplicateDelivery) => left(Some(1), DONE),
        (C::ProviderCommit | C::ReceiveResponse, F::Panic | F::Cancel) => left(Some(1), DOUBT),
        (C::ProviderCommit | C::ReceiveResponse, F::Kill) => left(Some(1), DARK),

        (C::ReceiveResponse, F::Timeout | F::Reset | F::CorruptResponse) => left(Some(1), DOUBT),
        (C::ReceiveResponse, F::LostResponse) => Err("it has arrived: what is lost later is the tool's own"),
        (C::ReceiveResponse, F::DuplicateDelivery) => Err("a client reads one response to its request"),

        // The caller has its result; the ledger goes on trying for as long as its process lives.
        (C::PersistResult, F::Error | F::Reset | F::LostResponse | F::DuplicateDelivery) => left(Some(1), DONE),
        (C::PersistResult, F::Cancel) => left(Some(1), DONE),
        (C::PersistResult, F::Timeout) => {
            Err("a caller whose body has ended waits for its settlement, however long it takes")
        }
        (C::PersistResult, F::Kill) => left(Some(1), &["in_progress", "succeeded"]),

        (C::Return, F::Reset | F::LostResponse | F::CorruptResponse | F::DuplicateDelivery | F::Cancel | F::Kill) => {
            left(Some(1), DONE)
        }
        (C::Return, F::Error | F::Timeout | F::Panic) => {
            Err("behind the guard nothing is left to fail but the way to the caller, and that is a reset")
        }
    }
}

/// Why a cell that means something in general means nothing for a provider without keys.
pub(super) const DOUBLED: &str =
    "the provider has no keys: what the network doubles, it does twice, and no caller can know";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_says_what_is_left_or_why_it_means_nothing() {
        let all = C::ALL.into_iter().flat_map(|at| F::ALL.map(|fault| left(at, fault)));
        let (played, meaningless): (Vec<_>, Vec<_>) = all.partition(Result::is_ok);
        assert_eq!(played.len() + meaningless.len(), 63);
        assert_eq!(meaningless.len(), 16);
    }

    #[test]
    fn a_kill_strikes_everywhere() {
        assert!(C::ALL.into_iter().all(|at| left(at, F::Kill).is_ok()));
    }
}
