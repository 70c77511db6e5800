//! One pass over a tool's recovery chain: its steps in the order declared, until one of them can tell.
//!
//! Must not know how a step asks. A look-up that panics, fails or takes too long has not answered; one that finds nothing
//! before the tool's effects have settled has answered, and proves nothing.

use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use super::{
    unsettled::Unsettled,
    verdict::{Answered, Verdict},
};
use crate::{
    clock::{Clock, Timestamp},
    config::Config,
    identity::Digest,
    ledger::{Bound, BoxFuture, Budget, Finding, Judge, Record, Step, Stored, usable},
    retry::Jitter,
    tool::{RecoveryStep, ToolSpec},
};

/// What a step asks, and how a recovered result is stored.
pub(crate) trait Asks<T>: Sync {
    /// Asks a look-up or a search; `None` when the tool has none.
    fn ask(&self, step: RecoveryStep, operation: Unsettled) -> Option<BoxFuture<'_, Answered<T>>>;

    /// The result as it is stored, and the resources that it names.
    fn stored(&self, value: &T) -> (Stored, Arc<[Digest]>);
}

/// What a pass needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain<'a> {
    pub(crate) spec: &'a ToolSpec,
    pub(crate) config: &'a Config,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) jitter: &'a Jitter,
    pub(crate) budget: Option<Budget>,
    /// Why the provider's key is not used in this pass.
    pub(crate) without_key: &'static str,
    /// How long a look-up may take.
    pub(crate) timeout: Duration,
}

/// How long whoever makes a pass may stay silent: every step may use up its time.
pub(crate) fn lease(spec: &ToolSpec, timeout: Duration, lease: Duration) -> Duration {
    let steps = u32::try_from(spec.recovery().len()).unwrap_or(u32::MAX).max(1);
    timeout.saturating_mul(steps).saturating_add(lease)
}

/// What the pass has come to so far.
#[derive(Default)]
struct Log {
    steps: Vec<Step>,
    /// Some look-up answered when it could have told.
    counted: bool,
}

impl Chain<'_> {
    /// Asks step by step under the token `fence`. What comes out is for the ledger.
    pub(crate) async fn pass<T>(&self, operation: &Unsettled, fence: i64, asks: &impl Asks<T>) -> Judge {
        let record = operation.record();
        let mut log = Log::default();
        let (mut finding, mut resources) = (Finding::Inconclusive, Arc::default());
        for step in self.spec.recovery() {
            match self.step(*step, operation, asks, &mut log).await {
                Some(Verdict::Applied { value, reference }) => {
                    let (stored, named) = asks.stored(&value);
                    let reference = reference.filter(|reference| !reference.trim().is_empty()).map(Into::into);
                    (finding, resources) = (Finding::Applied { stored: Some(stored), reference }, named);
                    break;
                }
                Some(Verdict::NotApplied { .. }) => {
                    finding = Finding::NotApplied;
                    break;
                }
                Some(Verdict::Inconclusive { .. }) | None => {}
            }
        }
        let now = self.clock.now();
        let open = self.spec.key_window().map(|window| record.reserved_at.after(usable(window)));
        Judge {
            tenant: operation.tenant().clone(),
            row: record.row,
            fence,
            finding,
            steps: log.steps,
            counted: log.counted,
            bound: Bound {
                answered_max: self.config.reconcile_answers_max,
                passes_max: self.config.reconcile_passes_max,
            },
            spare_operators: open.is_some_and(|until| now < until),
            again_in: self.again_in(record, now),
            budget: self.budget,
            resources,
        }
    }

    async fn step<T>(
        &self,
        step: RecoveryStep,
        operation: &Unsettled,
        asks: &impl Asks<T>,
        log: &mut Log,
    ) -> Option<Verdict<T>> {
        // Judged when the look-up starts: what it finds out is about that instant.
        let settled_at = self.settled_at(operation.record());
        let unsettled_for = settled_at.since(self.clock.now());
        let asked = match step {
            RecoveryStep::ProviderKey(..) => None,
            RecoveryStep::Lookup | RecoveryStep::Search => asks.ask(step, operation.clone()),
        };
        let Some(asked) = asked else {
            log.enter(step, "skipped", self.without_key);
            return None;
        };
        let answer = match tokio::time::timeout(self.timeout, caught(asked)).await {
            Err(_) => Err(format!("no answer within {:?}", self.timeout)),
            Ok(Err(panicked)) => Err(panicked),
            Ok(Ok(Answered(answer))) => answer.map_err(|error| format!("no answer: {error}")),
        };
        match answer {
            Ok(Verdict::NotApplied { evidence }) if !unsettled_for.is_zero() => {
                log.enter(step, "inconclusive", &format!("{evidence}; that proves nothing for {unsettled_for:?} yet"));
                None
            }
            Ok(verdict) => {
                log.counted |= unsettled_for.is_zero();
                match &verdict {
                    Verdict::Applied { reference, .. } => {
                        log.enter(step, "applied", reference.as_deref().unwrap_or("found, without a reference"));
                    }
                    Verdict::NotApplied { evidence } => log.enter(step, "not_applied", evidence),
                    Verdict::Inconclusive { evidence } => log.enter(step, "inconclusive", evidence),
                }
                Some(verdict)
            }
            Err(words) => {
                log.enter(step, "inconclusive", &words);
                None
            }
        }
    }

    /// From when on "not found" proves something.
    fn settled_at(&self, record: &Record) -> Timestamp {
        record.unknown_at.unwrap_or(record.reserved_at).after(self.spec.declared_settling())
    }

    /// A pause that grows; never beyond the instant from which "not found" proves something.
    fn again_in(&self, record: &Record, now: Timestamp) -> Duration {
        let Config { reconcile_base, reconcile_cap, .. } = self.config;
        let pause = self.jitter.wait(*reconcile_base, *reconcile_cap, record.passes.saturating_add(1));
        let pause = pause.max(*reconcile_base / 2);
        let settles = self.settled_at(record).since(now);
        if settles.is_zero() { pause } else { pause.min(settles) }
    }
}

impl Log {
    fn enter(&mut self, step: RecoveryStep, said: &'static str, evidence: &str) {
        self.steps.push(Step { name: step.name(), said, evidence: evidence.into() });
    }
}

/// A future whose panic is an answer like another.
async fn caught<T>(mut asked: BoxFuture<'_, T>) -> Result<T, String> {
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| asked.as_mut().poll(context))) {
        Ok(polled) => polled.map(Ok),
        Err(payload) => Poll::Ready(Err(format!("the look-up panicked: {}", in_words(&*payload)))),
    })
    .await
}

fn in_words(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("without words")
}
