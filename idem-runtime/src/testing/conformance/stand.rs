//! Operations that are brought to where a check begins.
//!
//! Must not know what the check is about.

use std::{sync::Arc, time::Duration};

use super::{
    calls::{call, end},
    findings::last_verdict,
    subject::{Checked, Subject, same},
};
use crate::ledger::{Ending, Grant, Record, Reserve, Settle, Standing, State};

/// How long the provider of the suite's calls knows a key.
pub(super) const KEY_WINDOW: Duration = Duration::from_hours(1);

/// An operation, and what is needed to go on with it.
#[derive(Debug)]
pub(super) struct Brought {
    pub(super) asked: Reserve,
    /// An attempt that was, and is not the last.
    pub(super) older: Grant,
    pub(super) last: Grant,
    pub(super) record: Record,
}

/// A call that may send again under the same provider key.
pub(super) fn again(asked: &Reserve) -> Reserve {
    Reserve { resend: Some(KEY_WINDOW), ..asked.clone() }
}

/// What an attempt says that has no reference to tell.
pub(super) fn plain(grant: &Grant, ending: Ending) -> Settle {
    Settle { reference: None, ..end(grant, ending) }
}

/// An operation of its own that stands so after two attempts.
pub(super) async fn bring(subject: &mut Subject, order: &str, standing: Standing) -> Checked<Brought> {
    brought(subject, call(order, 5, order), standing).await
}

/// The same, of a call that is asked otherwise.
pub(super) async fn brought(subject: &mut Subject, asked: Reserve, standing: Standing) -> Checked<Brought> {
    let older = subject.granted(asked.clone()).await?;
    let (first, next) =
        if standing.in_doubt { (Ending::Unknown, again(&asked)) } else { (Ending::Retryable, asked.clone()) };
    subject.settle(plain(&older, first)).await?;
    let last = subject.granted(next).await?;
    let ending = match standing.state {
        State::InProgress => None,
        State::Succeeded => Some(end(&last, Ending::Ok)),
        State::FailedRetryable => Some(plain(&last, Ending::Retryable)),
        State::FailedFinal => Some(plain(&last, Ending::Final)),
        State::OutcomeUnknown | State::Reconciling | State::OperatorReview => Some(plain(&last, Ending::Unknown)),
    };
    if let Some(ending) = ending {
        subject.settle(ending).await?;
    }
    let mut record = subject.show(last.operation).await?;
    if matches!(standing.state, State::Reconciling | State::OperatorReview) {
        record = subject.begun(&record).await?;
    }
    if standing.state == State::OperatorReview {
        record = subject.judged(last_verdict(&record)).await?;
    }
    same("where the operation was brought", &record.standing(), &standing)?;
    Ok(Brought { asked, older, last, record })
}

/// The calls of `brought`'s operation are the same tool's: what an equal call finds.
pub(super) async fn repeat(subject: &mut Subject, brought: &Brought) -> Checked<Arc<Record>> {
    Ok(subject.found(brought.asked.clone()).await?.record)
}
