//! The user's body, run under its lease.
//!
//! Must not know why it may run or who asked. What it guarantees: the body starts only under a lease that is
//! young enough, and its end is recorded before anybody is told.

use std::{future::poll_fn, panic, sync::Arc, task::Poll, time::Duration};

use tokio::task::JoinError;

use crate::{
    config::ID_BYTES_MAX,
    ledger::{End, Holding, LedgerError, Settled, Stored},
    outcome::Held,
};

/// How a body ended.
#[derive(Debug)]
pub(crate) enum Ran<R> {
    /// It came to its end, and this is what the ledger holds.
    Ended { output: R, end: Ended },
    /// It was not started: too much of the lease had passed.
    TooLate,
    /// Its runtime was shut down under it.
    Lost,
}

/// What the ledger was told of a body's end, and what it made of it.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) settled: Result<Settled, LedgerError>,
    pub(crate) stored: Option<Stored>,
    pub(crate) reference: Option<Arc<str>>,
    pub(crate) held: Held,
    /// How long the next attempt is to wait.
    pub(crate) pause: Duration,
}

/// Runs `body` here; dropping this future drops the body, which the ledger learns at once.
pub(crate) async fn in_place<R>(
    mut holding: Holding,
    body: impl Future<Output = R>,
    end_of: impl FnOnce(&R) -> (End, Held),
) -> Ran<R> {
    if holding.start().is_err() {
        return Ran::TooLate;
    }
    let output = body.await;
    ended(holding, output, end_of).await
}

/// Runs `body` so that whoever asked may vanish: the effect and its record complete. It begins here, and becomes a task of
/// its own when it first waits; one that never waits needs none.
pub(crate) async fn detached<R>(
    mut holding: Holding,
    body: impl Future<Output = R> + Send + 'static,
    end_of: impl FnOnce(&R) -> (End, Held) + Send + 'static,
) -> Ran<R>
where
    R: Send + 'static,
{
    if holding.start().is_err() {
        return Ran::TooLate;
    }
    let mut body = Box::pin(body);
    match poll_fn(|context| Poll::Ready(body.as_mut().poll(context))).await {
        // What ends it is queued before this future can be dropped again.
        Poll::Ready(output) => ended(holding, output, end_of).await,
        Poll::Pending => {
            let rest = async move { ended(holding, body.await, end_of).await };
            tokio::spawn(rest).await.unwrap_or_else(lost)
        }
    }
}

async fn ended<R>(holding: Holding, output: R, end_of: impl FnOnce(&R) -> (End, Held)) -> Ran<R> {
    let (end, held) = end_of(&output);
    let (stored, reference, pause) = (end.stored.clone(), end.reference.clone(), end.pause);
    let settled = holding.settle(end).await;
    Ran::Ended { output, end: Ended { settled, stored, reference, held, pause } }
}

fn lost<R>(error: JoinError) -> Ran<R> {
    match error.try_into_panic() {
        Ok(payload) => panic::resume_unwind(payload),
        Err(_) => Ran::Lost,
    }
}

/// What a body told about its effect while it ran.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    reference: std::sync::Mutex<Option<Arc<str>>>,
}

impl Heard {
    /// The provider's id of the effect; the last one counts.
    pub(crate) fn reference(&self, reference: &str) {
        if reference.trim().is_empty() {
            // It names nothing, and must not pass for the proof that a tool requires.
            return;
        }
        if reference.len() > ID_BYTES_MAX {
            // Cut off it would name something else.
            tracing::warn!(bytes = reference.len(), "a provider's reference is too long to be recorded");
            return;
        }
        *self.reference.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(reference.into());
    }

    pub(crate) fn take(&self) -> Option<Arc<str>> {
        self.reference.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // R-U5
    #[test]
    fn a_blank_reference_is_none() {
        let heard = Heard::default();
        for blank in ["", " \t"] {
            heard.reference(blank);
            assert_eq!(heard.take(), None);
        }
        heard.reference("rf_1");
        heard.reference("");
        assert_eq!(heard.take().as_deref(), Some("rf_1"));
    }
}
