//! How a call that came again goes on where nobody knows how the operation ended: it asks the tool's own look-ups, and
//! a tool with a retry budget tries again when that is allowed.
//!
//! Must not know what a look-up does. One caller at a time finds out: the others wait for it, or are told.

use std::{sync::Arc, time::Duration};

use super::{
    Engine, around,
    asked::{Asked, budget},
    codec::{IsResult, Policy},
    enter::{unavailable, unknown},
    hooks::{Asking, Lookups},
    told::Ended,
};
use crate::{
    clock::Timestamp,
    id::Tenant,
    identity::Unidentified,
    ledger::{Answer, BeginReconcile, Begun, Command, Judge, Judged, LedgerError, Record, Reply, State, StoreError},
    outcome::{Refusal, RefusalKind},
    reconcile::{self, Chain, Unsettled},
    tool::{OnUnknown, RecoveryStep, ToolSpec},
};

/// How a call goes on after somebody found out, or tried to.
pub(super) enum Next {
    /// The ledger is asked again: there is something new, or somebody else is at it.
    Enter,
    /// There is nothing new to say.
    Tell(Refusal),
}

/// How a call goes on after an attempt of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goes {
    /// It is told how the attempt ended.
    Nowhere,
    /// It asks for another attempt.
    Again,
    /// It asks the tool's look-ups.
    Asking,
}

impl Asked {
    /// One pass over the tool's look-ups, if nobody else makes one.
    pub(super) async fn find_out<R, A>(
        &self,
        answer: &Answer,
        policy: Policy<R>,
        lookups: Lookups<R, A>,
        with: &A,
    ) -> Next
    where
        R: IsResult,
        A: Sync,
    {
        if self.spec.when_unknown() == OnUnknown::Tell {
            return Next::Tell(unknown(&answer.record));
        }
        match self.pass(answer, policy, lookups, with).await {
            Err(error) => Next::Tell(unavailable(error)),
            Ok(Some(record)) if record.state.is_unsettled() && !self.key_is_next(&record) => {
                Next::Tell(not_found_out(&record))
            }
            Ok(_) => Next::Enter,
        }
    }

    async fn pass<R, A>(
        &self,
        answer: &Answer,
        policy: Policy<R>,
        lookups: Lookups<R, A>,
        with: &A,
    ) -> Result<Option<Arc<Record>>, LedgerError>
    where
        R: IsResult,
        A: Sync,
    {
        let (engine, spec) = (&self.engine, self.spec);
        let left = self.deadline.since(engine.clock.now());
        let timeout = engine.config.lookup_timeout.min(left);
        let begin = BeginReconcile {
            tenant: self.reserve.tenant.clone(),
            row: answer.record.row,
            version: answer.record.version,
            lease: reconcile::lease(spec, timeout, self.reserve.lease),
            by_hand: false,
        };
        let Begun::Yours { fence, record } = engine.begin(begin).await? else {
            return Ok(None);
        };
        let arguments = stored_arguments(engine, spec, &self.reserve.tenant, &record).await?;
        let operation = Unsettled::new(self.reserve.tenant.clone(), record, arguments);
        let asking = Asking { values: policy.values, lookups, with, engine, resources: &self.resources };
        let chain = Chain {
            spec,
            config: &engine.config,
            clock: &*engine.clock,
            jitter: &engine.jitter,
            budget: budget(spec),
            without_key: "left to a call's own attempt while the provider's key window is open",
            timeout,
        };
        let judge = around::unheard(chain.pass(&operation, fence, &asking)).await;
        found(engine, judge).await
    }

    /// Whether the chain goes on with sending again under the provider's key.
    fn key_is_next(&self, record: &Record) -> bool {
        let window = self.spec.key_window().filter(|_| key_last(self.spec));
        let lease = self.reserve.lease;
        record.state == State::OutcomeUnknown
            && window.is_some_and(|window| record.may_resend(window, lease, self.now()))
    }

    fn now(&self) -> Timestamp {
        self.engine.clock.now()
    }

    /// How long the attempt after `attempt` is to wait: nothing without a budget.
    pub(super) fn pause(&self, attempt: u32) -> Duration {
        let retry = self.spec.declared_retry();
        retry.map_or(Duration::ZERO, |retry| self.engine.jitter.wait(retry.base, retry.cap, attempt.saturating_add(1)))
    }

    /// How the call goes on after an attempt, once it has waited for as long as that takes.
    pub(super) async fn goes<R>(&self, ended: &Ended<R>, asks: bool) -> Goes {
        let unsettled = match ended.state() {
            Some(State::FailedRetryable) => false,
            Some(State::OutcomeUnknown) => true,
            _ => return Goes::Nowhere,
        };
        let (now, retry) = (self.engine.clock.now(), self.spec.declared_retry());
        let next = ended.grant.attempt.saturating_add(1);
        let budget =
            retry.filter(|retry| next <= retry.attempts_max && now < ended.grant.reserved_at.after(retry.deadline));
        if budget.is_none() {
            // The key's step of the chain came to nothing: the next step is a look-up.
            let next_step = unsettled && ended.grant.in_doubt && asks;
            return if next_step { Goes::Asking } else { Goes::Nowhere };
        }
        if unsettled && !asks && self.spec.key_window().is_none() {
            return Goes::Nowhere;
        }
        let wait = ended.pause();
        if self.deadline.since(now) <= wait {
            return Goes::Nowhere;
        }
        tokio::time::sleep(wait).await;
        Goes::Again
    }

    /// The next reservation of this call, after an attempt of its own.
    pub(super) fn next_attempt(&mut self, goes: Goes) {
        self.anew();
        self.paused();
        if goes == Goes::Asking {
            self.resend(None);
        }
    }

    /// The next reservation of this call, after it has asked.
    pub(super) fn after_asking(&mut self) {
        self.anew();
        if key_last(self.spec) {
            self.resend(self.spec.key_window());
        }
    }

    /// An operation that this one compensates or replaces has to be there.
    pub(super) async fn linked(&self) -> Result<(), Refusal> {
        let Some(link) = self.reserve.link else { return Ok(()) };
        let shown = self.engine.ledger.reader().show(&self.reserve.tenant, link.to).await;
        if shown.map_err(|error: StoreError| unavailable(error.into()))?.is_some() {
            return Ok(());
        }
        let why = Unidentified::NoSuchOperation { operation: link.to };
        Err(Refusal::new(RefusalKind::Invalid).because(why))
    }
}

/// Nobody could tell: what the caller reads.
fn not_found_out(record: &Record) -> Refusal {
    let refusal = Refusal::new(RefusalKind::Unknown).of(record.operation).first_at(record.reserved_at);
    refusal.because("it was asked about just now, and the provider could not tell")
}

/// Whether sending again under the provider's key comes after the look-ups.
fn key_last(spec: &ToolSpec) -> bool {
    !matches!(spec.recovery().first(), Some(RecoveryStep::ProviderKey(..)))
}

/// The arguments of an operation whose tool allows storing them.
pub(crate) async fn stored_arguments(
    engine: &Engine,
    spec: &ToolSpec,
    tenant: &Tenant,
    record: &Record,
) -> Result<Option<Arc<[u8]>>, LedgerError> {
    if !spec.may_store_arguments() {
        return Ok(None);
    }
    let detail = engine.ledger.reader().detail(tenant, record.operation).await?;
    Ok(detail.and_then(|detail| detail.arguments))
}

/// Tells the ledger what was found out; gives the record after it, unless it is gone.
pub(crate) async fn found(engine: &Engine, judge: Judge) -> Result<Option<Arc<Record>>, LedgerError> {
    match engine.ledger.ask(Command::Verdict(Box::new(judge))).await? {
        Reply::Judged(Judged::Recorded { record } | Judged::Late { record }) => Ok(Some(record)),
        Reply::Judged(Judged::Gone) => Ok(None),
        _ => Err(LedgerError::Confused),
    }
}

impl Engine {
    pub(crate) async fn begin(&self, begin: BeginReconcile) -> Result<Begun, LedgerError> {
        match self.ledger.ask(Command::BeginReconcile(begin)).await? {
            Reply::Begun(begun) => Ok(begun),
            _ => Err(LedgerError::Confused),
        }
    }
}
