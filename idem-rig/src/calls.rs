//! Whose calls a run makes, and which call each dispatch is.
//!
//! A hook is told the model's id of a call and rig's id of the dispatch; the tool's handler is told the latter alone. They
//! meet in a value that lives as long as the run: the hook holds it, and so does the run's tool context, as a scope. It must
//! not know the tools.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use idem_runtime::ToolCall;
use rig_agent::{
    AgentHook, AgentRun, AgentRunner, HookContext,
    agent::{CompletionCallAction, CompletionCallEvent, DispatchAction, DispatchEvent, StepEventKind},
};
use rig_core::{
    effect::{EffectId, EffectKind},
    message::{CallId, Message, ProviderCallId},
    serve::Dispatch,
    tool::ToolContext,
};

/// Makes all calls of a run those of `call`'s tenant, conversation and other scopes.
///
/// Each gets the id that the model's provider gave it, if it gave one (an id that rig made up itself is another one in every
/// process, and is none), and as its [turn](ToolCall::turn) the place of the model's response in the conversation: how many
/// messages stand before it. So a conversation that is replayed from its stored history makes the same calls, in any process.
///
/// It sets the run's tool context. Where the run has values of its own in it, say [`Calls::context`] and [`Calls::hook`].
pub fn within<O>(runner: AgentRunner<O>, call: &ToolCall) -> AgentRunner<O> {
    let calls = Calls::of(call.clone());
    runner.add_hook(calls.hook()).tool_context(calls.context(ToolContext::new()))
}

/// The same for a run that goes on from a stored state: `agent.resume(run.clone())`, and that `run`.
///
/// The tools whose calls are pending in it are called before the model is asked again. Their turn is the place of the response
/// that they came in, as it was in the process that stored the run.
pub fn resumed<O>(runner: AgentRunner<O>, run: &AgentRun, call: &ToolCall) -> AgentRunner<O> {
    let place = run.full_history().iter().rposition(|message| matches!(message, Message::Assistant { .. }));
    match place {
        Some(place) => within(runner, &call.clone().turn(place)),
        None => within(runner, call),
    }
}

/// The calls of one run. Clones are the same run's.
///
/// ```
/// use idem_rig::Calls;
/// use idem_runtime::Idem;
/// use rig_agent::{Agent, AgentRunner, tool::ToolContext};
///
/// /// As `within` does it, with a tool context of the application's.
/// fn prompt(agent: &Agent, idem: &Idem, context: ToolContext) -> AgentRunner {
///     let calls = Calls::of(idem.call().tenant("acme").conversation("c-42"));
///     agent.prompt("Please refund order A-1.").add_hook(calls.hook()).tool_context(calls.context(context))
/// }
/// ```
#[derive(Clone)]
pub struct Calls(Arc<Run>);

struct Run {
    call: ToolCall,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// How many messages stand before the model's latest response.
    turn: Option<usize>,
    /// Calls that hooks were told of and whose tools have not begun.
    dispatched: HashMap<EffectId, ToolCall>,
}

impl Calls {
    /// The calls of a run, with the scopes of `call`. Its turn counts for calls that the run finds in a stored state, before
    /// it has asked the model for anything.
    pub fn of(call: ToolCall) -> Self {
        Self(Arc::new(Run { call, seen: Mutex::default() }))
    }

    /// The run's hook. The calls of this run are those that it is told of.
    pub fn hook(&self) -> impl AgentHook + use<> {
        Hook(Arc::clone(&self.0))
    }

    /// The run's tool context: the given one, which now leads guarded tools to this run.
    #[must_use]
    pub fn context(&self, context: ToolContext) -> ToolContext {
        context.with_scope(Arc::<Run>::clone(&self.0))
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").field("call", &self.0.call).finish_non_exhaustive()
    }
}

impl Run {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self, id: Option<&CallId>) -> ToolCall {
        let mut call = self.call.clone();
        if let Some(turn) = self.seen().turn {
            call = call.turn(turn);
        }
        match id.and_then(CallId::provider).map(ProviderCallId::as_str) {
            Some(id) => call.tool_call_id(id),
            None => call,
        }
    }
}

/// The call that is dispatched here, if a hook of its run was told of it. It is handed out once.
pub(crate) fn dispatched(dispatch: &Dispatch) -> Option<ToolCall> {
    let run = dispatch.scope::<ToolContext>()?.scope::<Run>()?;
    run.seen().dispatched.remove(&dispatch.id())
}

struct Hook(Arc<Run>);

impl AgentHook for Hook {
    fn name(&self) -> Option<String> {
        Some("idem".to_owned())
    }

    async fn on_completion_call(&self, _: &HookContext, event: CompletionCallEvent<'_>) -> CompletionCallAction {
        // The prompt stands between the history and the response.
        self.0.seen().turn = Some(event.history.len() + 1);
        CompletionCallAction::Continue
    }

    async fn on_dispatch(&self, _: &HookContext, event: DispatchEvent<'_>) -> DispatchAction {
        if matches!(event.kind, EffectKind::ToolCall { .. }) {
            let call = self.0.call(event.call_id);
            self.0.seen().dispatched.insert(event.id, call);
        }
        DispatchAction::proceed()
    }

    fn observes(&self, kind: StepEventKind) -> bool {
        matches!(kind, StepEventKind::CompletionCall | StepEventKind::ToolDispatch)
    }
}
