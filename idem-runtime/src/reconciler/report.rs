//! What a reconciler came to.
//!
//! Must not know how.

use std::sync::Arc;

use tokio::task::JoinError;

use crate::ledger::{LedgerError, Record, State};

/// What became of the operations that were due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Operations looked at.
    pub looked_at: u64,
    /// Attempts and reconciliations whose owners had fallen silent.
    pub taken_over: u64,
    /// The effect had happened: settled as succeeded.
    pub applied: u64,
    /// It had not: another attempt may, or the budget is used up.
    pub not_applied: u64,
    /// Nobody could tell yet.
    pub inconclusive: u64,
    /// Nobody could tell, and a person has to.
    pub to_operators: u64,
    /// Somebody else was at it, or had been.
    pub left_to_others: u64,
    /// The ledger could not be asked.
    pub failed: u64,
}

impl Reconciled {
    pub(super) fn add(&mut self, done: Result<Result<Option<Arc<Record>>, LedgerError>, JoinError>) {
        let counter = match done {
            Ok(Ok(Some(record))) => match record.state {
                State::Succeeded => &mut self.applied,
                State::FailedRetryable | State::FailedFinal => &mut self.not_applied,
                State::OperatorReview => &mut self.to_operators,
                State::OutcomeUnknown => &mut self.inconclusive,
                State::InProgress | State::Reconciling => &mut self.left_to_others,
            },
            Ok(Ok(None)) => &mut self.left_to_others,
            Ok(Err(error)) => {
                tracing::warn!(%error, "an operation could not be reconciled");
                &mut self.failed
            }
            Err(error) => {
                tracing::warn!(%error, "an operation's reconciliation broke off");
                &mut self.failed
            }
        };
        *counter += 1;
    }
}
