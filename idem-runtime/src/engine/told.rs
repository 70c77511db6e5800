//! What callers are told: of the attempt that they ran, of an earlier one, or why there is neither.
//!
//! Must not know how a call came to its answer.

use std::{sync::Arc, time::Duration};

use super::{
    around::{self, Heard},
    asked::Asked,
    codec::{IsResult, Policy},
    enter::words,
    tool_call::Attempt,
};
use crate::{
    effect::{self, Ran},
    identity::Source,
    ledger::{Answer, End, Ending, Grant, Record, Settled, State, Stored, StoredKind},
    outcome::{ErrorClass, Held, Refusal, RefusalKind, Told},
};

/// An attempt that was granted, and how it went.
pub(super) struct Ended<R> {
    pub(super) asked: Arc<Asked>,
    pub(super) attempt: Attempt,
    pub(super) grant: Grant,
    pub(super) ran: Ran<R>,
}

impl Asked {
    /// What the ledger is to record of a body's output.
    pub(super) fn end<R>(&self, policy: Policy<R>, attempt: &Attempt, output: &R) -> (End, Held)
    where
        R: IsResult,
    {
        let config = &self.engine.config;
        let reference = attempt.heard().take();
        let retain = self.reserve.retain;
        let pause = self.pause(attempt.number());
        let end = |ending, stored, resources| End { ending, reference, stored: Some(stored), retain, pause, resources };
        match policy.judge(output) {
            Ok(value) => match policy.values.write(value, config.result_bytes_max) {
                Ok(stored) => {
                    let named = self.resources.of_result(&stored.bytes, self.engine.identity_key.as_ref());
                    (end(Ending::Ok, stored, named), Held::Result)
                }
                Err(why) => {
                    let stored = Stored { kind: StoredKind::NotHeld, bytes: why.as_bytes().into() };
                    (end(Ending::Ok, stored, Arc::default()), Held::NoResult(why))
                }
            },
            Err((class, stored)) => {
                let ending = match class {
                    ErrorClass::Retryable => Ending::Retryable,
                    ErrorClass::Final => Ending::Final,
                    ErrorClass::Unknown => Ending::Unknown,
                };
                (end(ending, stored, Arc::default()), Held::Result)
            }
        }
    }
}

impl<R> Ended<R> {
    /// Where the ledger says the operation stands, if it could be told.
    pub(super) fn state(&self) -> Option<State> {
        match &self.ran {
            Ran::TooLate | Ran::Lost => None,
            Ran::Ended { end, .. } => match &end.settled {
                Ok(Settled::Recorded { state, .. }) => Some(*state),
                Ok(Settled::Late { record }) => Some(record.state),
                Ok(Settled::Gone) | Err(_) => None,
            },
        }
    }

    /// Whether the body gave a value that is no success: it is its caller's to do something about it, not another
    /// attempt's.
    pub(super) fn gave_way(&self, policy: Policy<R>) -> bool
    where
        R: IsResult,
    {
        matches!(&self.ran, Ran::Ended { output, .. } if output.as_result().is_ok() && policy.judge(output).is_err())
    }

    /// How long the next attempt is to wait.
    pub(super) fn pause(&self) -> Duration {
        match &self.ran {
            Ran::Ended { end, .. } => end.pause,
            Ran::TooLate | Ran::Lost => Duration::ZERO,
        }
    }

    /// The answer to the call that ran the body.
    pub(super) fn told(self, policy: Policy<R>) -> R
    where
        R: IsResult,
    {
        let state = self.state();
        let Self { asked, attempt, grant, ran } = self;
        let refusal = |kind| Refusal::new(kind).of(grant.operation).first_at(grant.reserved_at);
        let (output, end) = match ran {
            Ran::TooLate => {
                let why = "too much of the lease had passed before the body could start";
                let kind = if grant.in_doubt { RefusalKind::Unknown } else { RefusalKind::FailedRetryable };
                return refuse(policy, refusal(kind).because(why));
            }
            Ran::Lost => {
                let why = "the runtime was shut down under the body";
                return refuse(policy, refusal(RefusalKind::Unknown).because(why));
            }
            Ran::Ended { output, end } => (output, end),
        };
        if let Ok(settled) = &end.settled {
            asked.settled(&grant, settled, end.stored.clone(), end.reference.clone());
        }
        match policy.judge(&output) {
            Ok(_) => {
                if matches!(state, Some(state) if state != State::Succeeded) {
                    let why = "the tool says that it succeeded, without the provider's reference that it requires";
                    return refuse(policy, refusal(RefusalKind::Unknown).because(why));
                }
                around::tell(|| Heard::Success(success(&attempt, &grant, end)));
            }
            Err((class, said)) => {
                if let Ok(Settled::Late { record }) = &end.settled
                    && record.state == State::Succeeded
                {
                    // Meanwhile it was proved that the effect happened: that is the answer, not what this attempt believes.
                    let told = || asked.told(record, "operation", None, Arc::clone(attempt.record()));
                    return replay(policy, asked.spec.contract_version(), record, told);
                }
                if class != ErrorClass::Unknown && state.is_some_and(State::is_unsettled) {
                    // It proves something about its own attempt, and nothing about the one before.
                    return refuse(policy, refusal(RefusalKind::Unknown).because(words(Some(&said))));
                }
                around::tell(|| {
                    let kind = match (state, class) {
                        (Some(State::FailedFinal), _) | (_, ErrorClass::Final) => RefusalKind::FailedFinal,
                        (_, ErrorClass::Retryable) => RefusalKind::FailedRetryable,
                        (_, ErrorClass::Unknown) => RefusalKind::Unknown,
                    };
                    Heard::Failure(refusal(kind).because(words(Some(&said))))
                });
            }
        }
        output
    }
}

fn success(attempt: &Attempt, grant: &Grant, end: effect::Ended) -> Told {
    let held = match end.settled {
        Ok(Settled::Recorded { .. } | Settled::Late { .. }) => end.held,
        Ok(Settled::Gone) => Held::NoResult("its record is not there any more".to_owned()),
        Err(error) => Held::NotYet(error.to_string()),
    };
    Told {
        operation: grant.operation,
        first_at: grant.reserved_at,
        attempt: grant.attempt,
        replay: None,
        reference: end.reference,
        held,
        record: Arc::clone(attempt.record()),
    }
}

/// The tool's own check said no; a holding that is dropped for it gives its attempt back.
pub(super) fn deny<R: IsResult>(policy: Policy<R>, denied: R::Err) -> R {
    around::tell(|| {
        let words = words(Some(&(policy.errors.write)(&denied)));
        Heard::Failure(Refusal::new(RefusalKind::Denied).because(words))
    });
    R::from_result(Err(denied))
}

pub(super) fn refuse<R: IsResult>(policy: Policy<R>, refusal: Refusal) -> R {
    around::tell(|| Heard::Refusal(refusal.clone()));
    R::from_result(Err((policy.refuse)(refusal)))
}

/// The answer to a call that found its operation finished.
pub(super) fn replayed<R>(policy: Policy<R>, asked: &Asked, answer: &Answer) -> R
where
    R: IsResult,
{
    let Answer { record, by, generations, .. } = answer;
    let told = || {
        let repeat = (*by == Source::Args).then(|| asked.repeat_token(record)).flatten();
        asked.told(record, by.name(), repeat, Arc::new(asked.record(record.operation, generations)))
    };
    replay(policy, asked.spec.contract_version(), record, told)
}

/// A stored outcome, decoded by today's types.
fn replay<R>(policy: Policy<R>, current: u32, record: &Record, told: impl FnOnce() -> Told) -> R
where
    R: IsResult,
{
    let refusal = |kind| Refusal::new(kind).of(record.operation).first_at(record.reserved_at);
    let stored = record.stored.as_ref();
    if record.state == State::FailedFinal {
        let known = stored.filter(|stored| stored.kind == StoredKind::Error);
        let typed = known.and_then(|stored| (policy.errors.read)(&stored.bytes));
        let refusal = refusal(RefusalKind::FailedFinal).because(words(stored));
        return match typed {
            None => refuse(policy, refusal),
            Some(error) => {
                around::tell(|| Heard::Failure(refusal));
                R::from_result(Err(error))
            }
        };
    }
    match stored {
        Some(stored) if stored.kind == StoredKind::Value => match policy.values.read(stored) {
            Ok(value) => {
                around::tell(|| Heard::Success(told()));
                R::from_result(Ok(value))
            }
            Err(error) => {
                let kind = RefusalKind::ResultUnreadable { recorded: record.tool.version, current };
                refuse(policy, refusal(kind).because(error).with_raw(Arc::clone(&stored.bytes)))
            }
        },
        other => refuse(policy, refusal(RefusalKind::ResultNotHeld).because(words(other))),
    }
}
