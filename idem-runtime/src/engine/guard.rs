//! What generated code calls: one call of one tool, guarded.
//!
//! Generic over the body; everything that is not is in [`enter`](super::enter). The short forms run a body at most once;
//! the full ones have the tool's [`Hooks`] and go on for as long as its retry budget and its recovery chain allow.

use std::{fmt, sync::Arc};

use super::{
    around,
    asked::Asked,
    caller::Caller,
    codec::{IsResult, Policy},
    enter::{Entered, First, Looked, unknown},
    find_out::{Goes, Next},
    hooks::{Hooks, Lookups},
    told::{Ended, deny, refuse, replayed},
    tool_call::{Attempt, ToolCall},
};
use crate::{
    effect::{self, Ran},
    identity::Arguments,
    ledger::{Answer, Grant, Holding},
    outcome::{Refusal, RefusalKind},
    tool::ToolSpec,
};

/// One call of a tool, on its way.
pub struct Guard {
    spec: &'static ToolSpec,
    of: Option<&'static str>,
    call: Option<ToolCall>,
    arguments: Arguments,
}

/// A call that is identified, with what is known of it before an attempt is asked for.
struct Identified {
    call: ToolCall,
    asked: Asked,
    entered: Entered,
    /// The tool's own check has said yes.
    checked: bool,
}

/// Everything that a granted attempt needs.
pub(super) struct Run {
    pub(super) asked: Arc<Asked>,
    pub(super) holding: Holding,
    pub(super) attempt: Attempt,
    pub(super) grant: Grant,
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
        B: FnOnce(Attempt) -> F,
        F: Future<Output = R> + Send + 'static,
    {
        match self.once(policy).await {
            Err(told) => told,
            Ok(run) => {
                let body = body(run.attempt.clone());
                detached(policy, *run, body).await.told(policy)
            }
        }
    }

    /// Runs the body here, if it is to run.
    pub async fn in_place<R, B, F>(self, policy: Policy<R>, body: B) -> R
    where
        R: IsResult,
        B: FnOnce(Attempt) -> F,
        F: Future<Output = R>,
    {
        match self.once(policy).await {
            Err(told) => told,
            Ok(run) => {
                let body = Box::pin(body(run.attempt.clone()));
                in_place(policy, *run, body).await.told(policy)
            }
        }
    }

    /// As [`detached`](Self::detached), with all that the tool brings.
    pub async fn full<R, A, B, F>(self, hooks: Hooks<R, A>, body: B) -> R
    where
        R: IsResult + Send + 'static,
        A: Send + Sync,
        B: Fn(Attempt, A) -> F,
        F: Future<Output = R> + Send + 'static,
    {
        self.on(hooks, body, detached).await
    }

    /// As [`in_place`](Self::in_place), with all that the tool brings.
    pub async fn full_in_place<R, A, B, F>(self, hooks: Hooks<R, A>, body: B) -> R
    where
        R: IsResult,
        A: Sync,
        B: Fn(Attempt, A) -> F,
        F: Future<Output = R>,
    {
        self.on(hooks, |attempt, args| Box::pin(body(attempt, args)), in_place).await
    }

    /// Identity, then the ledger, then the reservation: for a tool that brings nothing but its body.
    async fn once<R>(self, policy: Policy<R>) -> Result<Box<Run>, R>
    where
        R: IsResult,
    {
        let Identified { call, asked, entered, .. } = self.identified(policy, First::IfItPays, async || Ok(())).await?;
        match entered {
            Entered::Run(holding) => Ok(Box::new(Run::new(Arc::new(asked), *holding, call))),
            Entered::Replay(answer) => Err(replayed(policy, &asked, &answer)),
            Entered::Unknown(answer) => Err(refuse(policy, unknown(&answer.record))),
            Entered::Refused(refusal) => Err(refuse(policy, refusal)),
        }
    }

    /// Goes on until there is something to tell.
    async fn on<R, A, F, G>(
        self,
        hooks: Hooks<R, A>,
        body: impl Fn(Attempt, A) -> F,
        place: impl Fn(Policy<R>, Run, F) -> G,
    ) -> R
    where
        G: Future<Output = Ended<R>>,
        R: IsResult,
        A: Sync,
    {
        let Hooks { policy, args, validate, again, lookups } = hooks;
        let first = if validate.is_some() { First::Always } else { First::IfItPays };
        let check = async || match validate {
            None => Ok(()),
            Some(validate) => validate(&args).await,
        };
        let identified = match self.identified(policy, first, check).await {
            Ok(identified) => identified,
            Err(told) => return told,
        };
        let Identified { call, asked, mut entered, checked } = identified;
        // A call that found out first is checked when its turn comes.
        let mut unchecked = validate.filter(|_| !checked);
        let _under_way = asked.engine.ledger.under_way();
        let (mut asked, mut args) = (Arc::new(asked), Some(args));
        // A reconciler that sends again asks by itself afterwards.
        let asks = lookups.any() && !call.context().resending;
        let mut may_ask = asks;
        loop {
            let holding = match entered {
                Entered::Run(holding) => holding,
                Entered::Replay(answer) => return replayed(policy, &asked, &answer),
                Entered::Refused(refusal) => return refuse(policy, refusal),
                Entered::Unknown(answer) => match (&args, may_ask) {
                    (Some(with), true) => {
                        may_ask = false;
                        if let Next::Tell(refusal) =
                            Box::pin(found_out(&mut asked, &answer, policy, lookups, with)).await
                        {
                            return refuse(policy, refusal);
                        }
                        entered = Box::pin(asked.enter()).await;
                        continue;
                    }
                    _ => return refuse(policy, unknown(&answer.record)),
                },
            };
            // Whoever goes on after an attempt has them once more.
            let Some(given) = args.take() else { return refuse(policy, Refusal::new(RefusalKind::FailedRetryable)) };
            if let Some(validate) = unchecked.take()
                && let Err(denied) = around::unheard(validate(&given)).await
            {
                return deny(policy, denied);
            }
            args = again.map(|again| again(&given));
            let run = Run::new(Arc::clone(&asked), *holding, call.clone());
            let body = body(run.attempt.clone(), given);
            let ended = Box::pin(place(policy, run, body)).await;
            let goes =
                if args.is_some() && !ended.gave_way(policy) { asked.goes(&ended, asks).await } else { Goes::Nowhere };
            if goes == Goes::Nowhere {
                return ended.told(policy);
            }
            may_ask = asks;
            Arc::make_mut(&mut asked).next_attempt(goes);
            entered = Box::pin(asked.enter()).await;
        }
    }

    /// Identity, then the ledger, then the tool's own check, then the reservation.
    async fn identified<R>(
        self,
        policy: Policy<R>,
        first: First,
        validate: impl AsyncFnOnce() -> Result<(), R::Err>,
    ) -> Result<Identified, R>
    where
        R: IsResult,
    {
        let Self { spec, of, call, arguments } = self;
        if around::only_probes(spec) {
            return Err(refuse(policy, Refusal::new(RefusalKind::Invalid).because("the call was only a probe")));
        }
        let Some(call) = call else {
            let why = "no call reached the tool: hand it a `ToolCall`, or run it in `idem_runtime::scope`";
            return Err(refuse(policy, Refusal::new(RefusalKind::Invalid).because(why)));
        };
        let asked = Asked::new(&call, spec, of, arguments).map_err(|refusal| refuse(policy, refusal))?;
        if around::only_prepares() {
            around::tell_prepared(asked.prepared().await);
            return Err(refuse(policy, Refusal::new(RefusalKind::Invalid).because("the call was only prepared")));
        }
        let _under_way = asked.engine.ledger.under_way();
        asked.linked().await.map_err(|refusal| refuse(policy, refusal))?;
        let (entered, checked) = match asked.look(first).await {
            Looked::Known(entered) => (entered, false),
            Looked::Free => match around::unheard(validate()).await {
                Ok(()) => (Box::pin(asked.enter()).await, true),
                Err(denied) => return Err(deny(policy, denied)),
            },
            // A repeat of what is running is no new effect: it waits unchecked, and is checked only if its turn comes.
            Looked::Taken => (Box::pin(asked.enter()).await, false),
        };
        Ok(Identified { call, asked, entered, checked })
    }
}

/// Finds out what became of an operation, on behalf of a call that came again.
async fn found_out<R, A>(
    asked: &mut Arc<Asked>,
    answer: &Answer,
    policy: Policy<R>,
    lookups: Lookups<R, A>,
    with: &A,
) -> Next
where
    R: IsResult,
    A: Sync,
{
    let next = asked.find_out(answer, policy, lookups, with).await;
    if matches!(next, Next::Enter) {
        // Whatever was declared before the look-ups was tried; what stands behind them may be now.
        Arc::make_mut(asked).after_asking();
    }
    next
}

impl Run {
    fn new(asked: Arc<Asked>, holding: Holding, call: ToolCall) -> Self {
        let grant = holding.grant().clone();
        let record = Arc::new(asked.record(grant.operation, &grant.generations));
        let attempt = Attempt::new(call.inside(), record, grant.attempt);
        Self { asked, holding, attempt, grant }
    }
}

/// Runs a body as a task of its own.
async fn detached<R, F>(policy: Policy<R>, run: Run, body: F) -> Ended<R>
where
    R: IsResult + Send + 'static,
    F: Future<Output = R> + Send + 'static,
{
    let Run { asked, holding, attempt, grant } = run;
    let (end_of, of_task) = (Arc::clone(&asked), attempt.clone());
    let body = around::body(attempt.clone(), body);
    let ran = effect::detached(holding, body, move |output| end_of.end(policy, &of_task, output)).await;
    Ended { asked, attempt, grant, ran }
}

/// Runs a body where it was called.
async fn in_place<R, F>(policy: Policy<R>, run: Run, body: F) -> Ended<R>
where
    R: IsResult,
    F: Future<Output = R>,
{
    let Run { asked, holding, attempt, grant } = run;
    let body = around::body(attempt.clone(), body);
    let ran: Ran<R> = effect::in_place(holding, body, |output| asked.end(policy, &attempt, output)).await;
    Ended { asked, attempt, grant, ran }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("tool", &self.spec.name()).finish_non_exhaustive()
    }
}
