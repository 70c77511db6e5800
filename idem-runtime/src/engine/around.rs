//! What stands around a call in its task: the call itself where no parameter carries it, and who wants to hear more
//! than a `Result`.

use std::{
    cell::RefCell,
    pin::pin,
    task::{Context, Waker},
};

use super::tool_call::{Attempt, ToolCall};
use crate::{
    call::AttemptRecord,
    outcome::{Outcome, Refusal, RefusalKind, Success, Told},
    tool::ToolSpec,
};

tokio::task_local! {
    static CALL: ToolCall;
    static ATTEMPT: Attempt;
    static LISTENER: RefCell<Listener>;
}

/// What somebody wants to hear about the next guarded call of this task.
#[derive(Debug)]
enum Listener {
    /// How it ended.
    Outcome(Option<Heard>),
    /// Its record; it is not to be carried out.
    Prepare(Option<Result<AttemptRecord, Refusal>>),
    /// Which tool's guard it reaches; it is to go no further.
    Probe(Option<&'static ToolSpec>),
    /// Nothing: it is a call inside the one that was meant.
    Deaf,
}

/// What a guarded call told its listener.
#[derive(Debug)]
pub(super) enum Heard {
    Success(Told),
    /// The guard's own answer: the body did not run for this call, or nobody knows what came of it.
    Refusal(Refusal),
    /// The tool's own error, or a value that is no success: what it gave is the answer, and this is what it proves.
    Failure(Refusal),
}

/// What a guarded call did, for whoever answers in a framework's own form; see [`overheard`].
#[derive(Debug, Clone)]
pub enum Overheard {
    /// It succeeded, now or earlier: the future's output is the result.
    Success(Told),
    /// It was refused. The future's output is the refusal, in the form that the tool's error type gives it.
    Refused(Refusal),
    /// The tool failed, or gave a value that is no success. The future's output is the tool's own; the refusal is what it
    /// proves, which is what repeats are told.
    Failed(Refusal),
}

/// Runs `future` with `call` for every guarded tool in it that is not handed a call of its own.
pub async fn scope<F: Future>(call: ToolCall, future: F) -> F::Output {
    CALL.scope(call, future).await
}

pub(super) fn call() -> Option<ToolCall> {
    CALL.try_with(Clone::clone).ok()
}

pub(super) fn attempt() -> Option<Attempt> {
    ATTEMPT.try_with(Clone::clone).ok()
}

/// Runs a body as its attempt.
pub(super) async fn body<F: Future>(attempt: Attempt, body: F) -> F::Output {
    let call = (*attempt).clone();
    CALL.scope(call, ATTEMPT.scope(attempt, unheard(body))).await
}

/// Runs what belongs to a guarded call: guarded calls inside it are not the one that was meant.
pub(super) async fn unheard<F: Future>(inside: F) -> F::Output {
    LISTENER.scope(RefCell::new(Listener::Deaf), inside).await
}

/// What happened in a guarded call, and why: `outcome(billing.send_refund(&call, …)).await`.
///
/// For methods of trait impls, which can have no `…_outcome` beside them. The future must be that of one call of a
/// guarded tool.
pub fn outcome<T, E>(call: impl Future<Output = Result<T, E>>) -> impl Future<Output = Outcome<T>> {
    // The call's future is large: it is moved once, here, and not kept twice in this one.
    let call = Box::pin(call);
    async move {
        match listening(Listener::Outcome(None), call).await {
            (Ok(value), Listener::Outcome(Some(Heard::Success(told)))) => Outcome::Succeeded(Success { value, told }),
            (_, Listener::Outcome(Some(Heard::Refusal(refusal) | Heard::Failure(refusal)))) => {
                Outcome::Refused(refusal)
            }
            _ => Outcome::Refused(unheard_of()),
        }
    }
}

/// What a future gives, and what the first guarded call in it did; `None` where it made none. For adapters, which answer in
/// their framework's form: [`outcome`] is for callers of one tool.
///
/// ```
/// # use idem_runtime::{Idem, Overheard, ToolCall, idempotent, overheard};
/// # type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
/// #[idempotent(scope = "tenant", key = "args")]
/// async fn send_mail(call: &ToolCall, to: String) -> Result<String> {
///     Ok(format!("sent to {to}"))
/// }
///
/// # #[tokio::main] async fn main() -> Result<()> {
/// let call = Idem::open("memory:").await?.call().tenant("acme");
/// let framework = |to: &str| { let (call, to) = (call.clone(), to.to_owned()); async move { send_mail(&call, to).await.unwrap_or_default() } };
/// let (_, first) = overheard(framework("ann@example.org")).await;
/// let (text, again) = overheard(framework("ann@example.org")).await;
/// assert!(matches!(first, Some(Overheard::Success(told)) if told.replay.is_none()));
/// assert!(matches!(again, Some(Overheard::Success(told)) if told.replay.is_some()));
/// assert_eq!(text, "sent to ann@example.org");
/// assert!(overheard(async { 7 }).await.1.is_none());
/// # Ok(()) }
/// ```
pub fn overheard<F: Future>(call: F) -> impl Future<Output = (F::Output, Option<Overheard>)> {
    let call = Box::pin(call);
    async move {
        let (output, listener) = listening(Listener::Outcome(None), call).await;
        let heard = match listener {
            Listener::Outcome(heard) => heard,
            Listener::Prepare(_) | Listener::Probe(_) | Listener::Deaf => None,
        };
        let heard = heard.map(|heard| match heard {
            Heard::Success(told) => Overheard::Success(told),
            Heard::Refusal(refusal) => Overheard::Refused(refusal),
            Heard::Failure(refusal) => Overheard::Failed(refusal),
        });
        (output, heard)
    }
}

/// The record that a call's retries would carry, before its first dispatch: nothing is reserved, nothing is run.
///
/// # Errors
/// The [`Refusal`] that the call would get because it is incomplete, malformed or in conflict.
pub fn prepare<T, E>(call: impl Future<Output = Result<T, E>>) -> impl Future<Output = Result<AttemptRecord, Refusal>> {
    let call = Box::pin(call);
    async move {
        match listening(Listener::Prepare(None), call).await {
            (_, Listener::Prepare(Some(prepared))) => prepared,
            _ => Err(unheard_of()),
        }
    }
}

/// The tool whose guard a call reaches before it first waits. The call is polled once and given up: its guard looks at no
/// ledger and starts no body.
pub fn probe(call: impl Future) -> Option<&'static ToolSpec> {
    let call = pin!(call);
    LISTENER.sync_scope(RefCell::new(Listener::Probe(None)), || {
        let _ = call.poll(&mut Context::from_waker(Waker::noop()));
        LISTENER.with(|listener| match *listener.borrow() {
            Listener::Probe(reached) => reached,
            Listener::Outcome(_) | Listener::Prepare(_) | Listener::Deaf => None,
        })
    })
}

/// Whether somebody only asks for the guard.
pub(super) fn only_probes(spec: &'static ToolSpec) -> bool {
    let probed = LISTENER.try_with(|listener| match &mut *listener.borrow_mut() {
        Listener::Probe(reached) => {
            reached.get_or_insert(spec);
            true
        }
        Listener::Outcome(_) | Listener::Prepare(_) | Listener::Deaf => false,
    });
    probed.unwrap_or(false)
}

fn unheard_of() -> Refusal {
    Refusal::new(RefusalKind::Invalid).because("the future called no guarded tool")
}

async fn listening<F: Future>(listener: Listener, call: F) -> (F::Output, Listener) {
    LISTENER
        .scope(RefCell::new(listener), async {
            let output = call.await;
            let heard = LISTENER.with(|listener| listener.replace(Listener::Deaf));
            (output, heard)
        })
        .await
}

/// Whether this call is only to be prepared: also one after the one that was meant, which nobody asked to carry out.
pub(super) fn only_prepares() -> bool {
    LISTENER.try_with(|listener| matches!(*listener.borrow(), Listener::Prepare(_))).unwrap_or(false)
}

pub(super) fn tell_prepared(prepared: Result<AttemptRecord, Refusal>) {
    // Nobody listens: then nobody asked.
    let _ = LISTENER.try_with(|listener| {
        if let Listener::Prepare(told) = &mut *listener.borrow_mut() {
            told.get_or_insert(prepared);
        }
    });
}

/// Tells the listener, if there is one. The first guarded call is the one that was meant.
pub(super) fn tell(heard: impl FnOnce() -> Heard) {
    let _ = LISTENER.try_with(|listener| match &mut *listener.borrow_mut() {
        Listener::Outcome(told @ None) => *told = Some(heard()),
        // Refused before it came to be prepared.
        Listener::Prepare(told @ None) => {
            if let Heard::Refusal(refusal) = heard() {
                *told = Some(Err(refusal));
            }
        }
        Listener::Outcome(Some(_)) | Listener::Prepare(Some(_)) | Listener::Probe(_) | Listener::Deaf => {}
    });
}
