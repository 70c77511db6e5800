//! Whose calls a run makes, and which call each dispatch is.
//!
//! A hook is told the model's id of a call and rig's id of the dispatch; the tool's handler is told the latter alone. They
//! meet in a value that lives as long as the run: the hook holds it, and so does the run's tool context, as a scope. It must
//! not know the tools.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use idem_runtime::ToolCall;
use rig_agent::{
    AgentHook, AgentRun, AgentRunner, HookContext,
    agent::{
        CompletionCallAction, CompletionCallEvent, DispatchAction, DispatchEvent, ModelTurnAction, ModelTurnFinished,
        StepEventKind,
    },
};
use rig_core::{
    completion::AssistantContent,
    effect::{EffectId, EffectKind},
    message::{CallId, Message, ProviderCallId, ToolFunction},
    serve::Dispatch,
    tool::ToolContext,
};

/// Makes all calls of a run those of `call`'s tenant, conversation and other scopes.
///
/// Each gets the id that the model's provider gave it, if it gave one (an id that rig made up itself is another one in every
/// process, and is none), and as its [turn](ToolCall::turn) how many messages the model had written before: the same as
/// [`Wire::next_turn`](idem_runtime::Wire::next_turn) says. So a conversation that is replayed from its stored history makes the same
/// calls, in any process. Equal calls in one message are one call under one id, unless their tool allows repeats.
///
/// It sets the run's tool context. Where the run has values of its own in it, say [`Calls::context`] and [`Calls::hook`].
pub fn within<O>(runner: AgentRunner<O>, call: &ToolCall) -> AgentRunner<O> {
    Calls::of(call.clone()).attach(runner)
}

/// The same for a run that goes on from a stored state: `agent.resume(run.clone())`, and that `run`.
///
/// The tools whose calls are pending in it are called before the model is asked again. Their turn is that of the response
/// that they came in, as it was in the process that stored the run.
pub fn resumed<O>(runner: AgentRunner<O>, run: &AgentRun, call: &ToolCall) -> AgentRunner<O> {
    let calls = Calls::of(call.clone());
    let history = run.full_history();
    if let Some(Message::Assistant(last)) = history.iter().rfind(|message| is_the_models(message)) {
        let mut seen = calls.0.seen();
        seen.turn = Some(turn_after(&history) - 1);
        seen.message = equal_calls(&last.content);
    }
    calls.attach(runner)
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
    /// How many messages the model had written before its latest one.
    turn: Option<usize>,
    /// The calls of that message, each with its place among equal ones. A provider may give two of them one id.
    message: HashMap<CallId, VecDeque<Equal>>,
    /// Calls that hooks were told of and whose tools have not begun.
    dispatched: HashMap<EffectId, Carried>,
}

/// The place of a call among the equal ones of its message.
#[derive(Debug, Clone, Default)]
struct Equal {
    /// From 0.
    nth: usize,
    /// The provider's id of the first of them.
    first: Option<String>,
}

/// A call as it is carried to its tool: whose it is, in which turn, and the ids that it can go by.
pub(crate) struct Carried {
    call: ToolCall,
    turn: Option<usize>,
    id: Option<String>,
    equal: Equal,
}

impl Calls {
    /// The calls of a run, with the scopes of `call`.
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

    fn attach<O>(&self, runner: AgentRunner<O>) -> AgentRunner<O> {
        runner.add_hook(self.hook()).tool_context(self.context(ToolContext::new()))
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
}

impl Carried {
    /// The call without an id of its own, and the id that it goes by.
    pub(crate) fn identified(self, allows_repeats: bool) -> (ToolCall, Option<String>) {
        let Self { call, turn, id, equal } = self;
        match (turn, allows_repeats) {
            (None, _) => (call, id),
            (Some(turn), false) => (call.turn(turn), equal.first.or(id)),
            // Each of them is meant: a place of its own in its message.
            (Some(turn), true) if equal.nth > 0 => (call.turn(format!("{turn}, equal call {}", equal.nth + 1)), id),
            (Some(turn), true) => (call.turn(turn), id),
        }
    }
}

/// The call that is dispatched here, if a hook of its run was told of it. It is handed out once.
pub(crate) fn dispatched(dispatch: &Dispatch) -> Option<Carried> {
    let run = dispatch.scope::<ToolContext>()?.scope::<Run>()?;
    run.seen().dispatched.remove(&dispatch.id())
}

fn is_the_models(message: &Message) -> bool {
    matches!(message, Message::Assistant(_))
}

/// The turn of what the model writes after these messages.
fn turn_after(history: &[Message]) -> usize {
    history.iter().filter(|message| is_the_models(message)).count()
}

fn provider_id(id: &CallId) -> Option<String> {
    id.provider().map(|id| ProviderCallId::as_str(id).to_owned())
}

fn equal_calls(message: &[AssistantContent]) -> HashMap<CallId, VecDeque<Equal>> {
    let mut calls: HashMap<CallId, VecDeque<Equal>> = HashMap::new();
    let mut known: Vec<(&ToolFunction, Equal)> = Vec::new();
    for content in message {
        let AssistantContent::ToolCall(call) = content else { continue };
        let equal = if let Some((_, equal)) = known.iter_mut().find(|(function, _)| **function == call.function) {
            equal.nth += 1;
            equal.clone()
        } else {
            let first = Equal { nth: 0, first: provider_id(&call.id) };
            known.push((&call.function, first.clone()));
            first
        };
        calls.entry(call.id.clone()).or_default().push_back(equal);
    }
    calls
}

struct Hook(Arc<Run>);

impl AgentHook for Hook {
    fn name(&self) -> Option<String> {
        Some("idem".to_owned())
    }

    async fn on_completion_call(&self, _: &HookContext, event: CompletionCallEvent<'_>) -> CompletionCallAction {
        self.0.seen().turn = Some(turn_after(event.history));
        CompletionCallAction::Continue
    }

    async fn on_model_turn_finished(&self, _: &HookContext, event: ModelTurnFinished<'_>) -> ModelTurnAction {
        self.0.seen().message = equal_calls(event.content);
        ModelTurnAction::continue_run()
    }

    async fn on_dispatch(&self, _: &HookContext, event: DispatchEvent<'_>) -> DispatchAction {
        if matches!(event.kind, EffectKind::ToolCall { .. }) {
            let mut seen = self.0.seen();
            let equal = event.call_id.and_then(|id| seen.message.get_mut(id)?.pop_front()).unwrap_or_default();
            let id = event.call_id.and_then(provider_id);
            let carried = Carried { call: self.0.call.clone(), turn: seen.turn, id, equal };
            seen.dispatched.insert(event.id, carried);
        }
        DispatchAction::proceed()
    }

    fn observes(&self, kind: StepEventKind) -> bool {
        matches!(kind, StepEventKind::CompletionCall | StepEventKind::ModelTurnFinished | StepEventKind::ToolDispatch)
    }
}
