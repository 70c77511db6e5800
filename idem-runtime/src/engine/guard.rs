//! What generated code calls: one call of one tool, guarded.
//!
//! Generic over the body; everything that is not is in [`enter`](super::enter).

use std::{fmt, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};

use super::{
    around::{self, Heard},
    asked::Asked,
    caller::Caller,
    codec::{self, IsResult, Policy},
    enter::{Entered, First, Looked, words},
    tool_call::{Attempt, ToolCall},
};
use crate::{
    effect::{self, Ended, Ran},
    identity::Arguments,
    ledger::{Answer, BoxFuture, End, Ending, Grant, Holding, Record, Settled, State, Stored, StoredKind},
    outcome::{ErrorClass, Held, Refusal, RefusalKind, Told},
    tool::ToolSpec,
};

/// One call of a tool, on its way.
pub struct Guard {
    spec: &'static ToolSpec,
    of: Option<&'static str>,
    call: Option<ToolCall>,
    arguments: Arguments,
}

/// A call that was identified and, if there is anything to run, granted.
enum Way<R: IsResult> {
    Run(Box<Run>),
    Told(R),
}

/// Everything that a granted attempt needs.
struct Run {
    asked: Arc<Asked>,
    holding: Holding,
    attempt: Attempt,
    grant: Grant,
}

impl Guard {
    /// A call of `spec`.
    pub fn new(spec: &'static ToolSpec, caller: impl Caller, arguments: Arguments) -> Self {
        Self { spec, of: None, call: caller.tool_call(), arguments }
    }

    /// The type whose method the tool is.
    #[must_use]
    pub fn of(self, type_name: &'static str) -> Self {
        Self { of: Some(type_name), ..self }
    }

    /// Runs the body as a task of its own, if it is to run.
    pub async fn detached<R, B, F>(self, policy: Policy<R>, body: B) -> R
    where
        R: IsResult + Send + 'static,
        R::Ok: Serialize + DeserializeOwned,
        B: FnOnce(Attempt) -> F,
        F: Future<Output = R> + Send + 'static,
    {
        match self.way(policy, First::IfItPays, async || Ok(())).await {
            Way::Told(told) => told,
            Way::Run(run) => {
                let body = body(run.attempt.clone());
                run.detached(policy, body).await
            }
        }
    }

    /// Runs the body here, if it is to run.
    pub async fn in_place<R, B, F>(self, policy: Policy<R>, body: B) -> R
    where
        R: IsResult,
        R::Ok: Serialize + DeserializeOwned,
        B: FnOnce(Attempt) -> F,
        F: Future<Output = R>,
    {
        match self.way(policy, First::IfItPays, async || Ok(())).await {
            Way::Told(told) => told,
            Way::Run(run) => {
                let body = Box::pin(body(run.attempt.clone()));
                run.in_place(policy, body).await
            }
        }
    }

    /// As [`detached`](Self::detached), after the tool's own check.
    pub async fn checked<R, A, V, B, F>(self, policy: Policy<R>, args: A, validate: V, body: B) -> R
    where
        R: IsResult + Send + 'static,
        R::Ok: Serialize + DeserializeOwned,
        V: for<'a> FnOnce(&'a A) -> BoxFuture<'a, Result<(), R::Err>>,
        B: FnOnce(Attempt, A) -> F,
        F: Future<Output = R> + Send + 'static,
    {
        match self.way(policy, First::Always, async || validate(&args).await).await {
            Way::Told(told) => told,
            Way::Run(run) => {
                let body = body(run.attempt.clone(), args);
                run.detached(policy, body).await
            }
        }
    }

    /// As [`in_place`](Self::in_place), after the tool's own check.
    pub async fn checked_in_place<R, A, V, B, F>(self, policy: Policy<R>, args: A, validate: V, body: B) -> R
    where
        R: IsResult,
        R::Ok: Serialize + DeserializeOwned,
        V: for<'a> FnOnce(&'a A) -> BoxFuture<'a, Result<(), R::Err>>,
        B: FnOnce(Attempt, A) -> F,
        F: Future<Output = R>,
    {
        match self.way(policy, First::Always, async || validate(&args).await).await {
            Way::Told(told) => told,
            Way::Run(run) => {
                let body = Box::pin(body(run.attempt.clone(), args));
                run.in_place(policy, body).await
            }
        }
    }

    /// Identity, then the ledger, then the tool's own check, then the reservation.
    async fn way<R>(self, policy: Policy<R>, first: First, validate: impl AsyncFnOnce() -> Result<(), R::Err>) -> Way<R>
    where
        R: IsResult,
        R::Ok: DeserializeOwned,
    {
        let Self { spec, of, call, arguments } = self;
        let Some(call) = call else {
            let why = "no call reached the tool: hand it a `ToolCall`, or run it in `idem_runtime::scope`";
            return Way::Told(refuse(policy, Refusal::new(RefusalKind::Invalid).because(why)));
        };
        let asked = match Asked::new(&call, spec, of, arguments) {
            Ok(asked) => asked,
            Err(refusal) => return Way::Told(refuse(policy, refusal)),
        };
        if around::only_prepares() {
            around::tell_prepared(asked.prepared().await);
            return Way::Told(refuse(policy, Refusal::new(RefusalKind::Invalid).because("the call was only prepared")));
        }
        let _under_way = asked.engine.ledger.under_way();
        let entered = match asked.look(first).await {
            Looked::Known(entered) => entered,
            Looked::Free => match around::unheard(validate()).await {
                Ok(()) => Box::pin(asked.enter()).await,
                Err(denied) => return Way::Told(deny(policy, denied)),
            },
            // A repeat of what is running is no new effect: it waits unchecked, and is checked only if its turn comes.
            Looked::Taken => match Box::pin(asked.enter()).await {
                Entered::Run(holding) => match around::unheard(validate()).await {
                    Ok(()) => Entered::Run(holding),
                    Err(denied) => return Way::Told(deny(policy, denied)),
                },
                answered => answered,
            },
        };
        match entered {
            Entered::Refused(refusal) => Way::Told(refuse(policy, refusal)),
            Entered::Replay(answer) => {
                let Answer { record, by, generations, .. } = &*answer;
                let told = || asked.told(record, by.name(), Arc::new(asked.record(record.operation, generations)));
                Way::Told(replay(policy, spec.contract_version(), record, told))
            }
            Entered::Run(holding) => {
                let grant = holding.grant().clone();
                let record = Arc::new(asked.record(grant.operation, &grant.generations));
                let attempt = Attempt::new(call.inside(), record, grant.attempt);
                Way::Run(Box::new(Run { asked: Arc::new(asked), holding: *holding, attempt, grant }))
            }
        }
    }
}

impl Run {
    async fn detached<R, F>(self, policy: Policy<R>, body: F) -> R
    where
        R: IsResult + Send + 'static,
        R::Ok: Serialize + DeserializeOwned,
        F: Future<Output = R> + Send + 'static,
    {
        let Self { asked, holding, attempt, grant } = self;
        let (end_of, of_task) = (Arc::clone(&asked), attempt.clone());
        let body = around::body(attempt.clone(), body);
        let ran = effect::detached(holding, body, move |output| end_of.end(policy, &of_task, output)).await;
        told(policy, &asked, &attempt, &grant, ran)
    }

    async fn in_place<R, F>(self, policy: Policy<R>, body: F) -> R
    where
        R: IsResult,
        R::Ok: Serialize + DeserializeOwned,
        F: Future<Output = R>,
    {
        let Self { asked, holding, attempt, grant } = self;
        let body = around::body(attempt.clone(), body);
        let ran = effect::in_place(holding, body, |output| asked.end(policy, &attempt, output)).await;
        told(policy, &asked, &attempt, &grant, ran)
    }
}

impl Asked {
    /// What the ledger is to record of a body's output.
    fn end<R>(&self, policy: Policy<R>, attempt: &Attempt, output: &R) -> (End, Held)
    where
        R: IsResult,
        R::Ok: Serialize,
    {
        let config = &self.engine.config;
        let reference = attempt.heard().take();
        let retain = self.spec.declared_retain().unwrap_or(config.retain);
        let end = |ending, stored| End { ending, reference, stored: Some(stored), retain };
        match output.as_result() {
            Ok(value) => match codec::write(value, config.result_bytes_max) {
                Ok(stored) => (end(Ending::Ok, stored), Held::Result),
                Err(why) => {
                    let stored = Stored { kind: StoredKind::NotHeld, bytes: why.as_bytes().into() };
                    (end(Ending::Ok, stored), Held::NoResult(why))
                }
            },
            Err(error) => {
                let ending = match (policy.classify)(error) {
                    ErrorClass::Retryable => Ending::Retryable,
                    ErrorClass::Final => Ending::Final,
                    ErrorClass::Unknown => Ending::Unknown,
                };
                (end(ending, (policy.errors.write)(error)), Held::Result)
            }
        }
    }
}

/// The answer to the call that ran the body.
fn told<R>(policy: Policy<R>, asked: &Asked, attempt: &Attempt, grant: &Grant, ran: Ran<R>) -> R
where
    R: IsResult,
    R::Ok: DeserializeOwned,
{
    let refusal = |kind| Refusal::new(kind).of(grant.operation).first_at(grant.reserved_at);
    let (output, end) = match ran {
        Ran::TooLate => {
            let why = "too much of the lease had passed before the body could start";
            return refuse(policy, refusal(RefusalKind::FailedRetryable).because(why));
        }
        Ran::Lost => {
            return refuse(policy, refusal(RefusalKind::Unknown).because("the runtime was shut down under the body"));
        }
        Ran::Ended { output, end } => (output, end),
    };
    if let Ok(settled) = &end.settled {
        asked.settled(grant, settled, end.stored.clone(), end.reference.clone());
    }
    let result = output.into_result();
    if result.is_err()
        && let Ok(Settled::Late { record }) = &end.settled
        && record.state == State::Succeeded
    {
        // Meanwhile it was proved that the effect happened: that is the answer, not what this attempt believes.
        let told = || asked.told(record, "operation", Arc::clone(attempt.record()));
        return replay(policy, asked.spec.contract_version(), record, told);
    }
    match result {
        Ok(value) => {
            around::tell(|| Heard::Success(success(attempt, grant, end)));
            R::from_result(Ok(value))
        }
        Err(error) => {
            around::tell(|| {
                let kind = match (policy.classify)(&error) {
                    ErrorClass::Retryable => RefusalKind::FailedRetryable,
                    ErrorClass::Final => RefusalKind::FailedFinal,
                    ErrorClass::Unknown => RefusalKind::Unknown,
                };
                Heard::Refusal(refusal(kind).because(words(Some(&(policy.errors.write)(&error)))))
            });
            R::from_result(Err(error))
        }
    }
}

fn success(attempt: &Attempt, grant: &Grant, end: Ended) -> Told {
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
fn deny<R: IsResult>(policy: Policy<R>, denied: R::Err) -> R {
    around::tell(|| {
        let words = words(Some(&(policy.errors.write)(&denied)));
        Heard::Refusal(Refusal::new(RefusalKind::Denied).because(words))
    });
    R::from_result(Err(denied))
}

fn refuse<R: IsResult>(policy: Policy<R>, refusal: Refusal) -> R {
    around::tell(|| Heard::Refusal(refusal.clone()));
    R::from_result(Err((policy.refuse)(refusal)))
}

/// A stored outcome, decoded by today's types.
fn replay<R>(policy: Policy<R>, current: u32, record: &Record, told: impl FnOnce() -> Told) -> R
where
    R: IsResult,
    R::Ok: DeserializeOwned,
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
                around::tell(|| Heard::Refusal(refusal));
                R::from_result(Err(error))
            }
        };
    }
    match stored {
        Some(stored) if stored.kind == StoredKind::Value => match codec::read(stored) {
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

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("tool", &self.spec.name()).finish_non_exhaustive()
    }
}
