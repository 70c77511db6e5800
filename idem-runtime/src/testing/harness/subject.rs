//! A tool as the harness calls it: its description, a call, and the same bound to its state.

use std::{fmt, sync::Arc};

use super::answer::Answer;
use crate::{BoundTool, ToolCall, ToolSpec, ledger::BoxFuture};

/// A call of a tool, with its states and its arguments.
type Runner<S, A> = dyn Fn(ToolCall, S, A) -> BoxFuture<'static, Answer> + Send + Sync;

/// A tool under test. `S` are its states, `A` its arguments: `()` for none, `T` for one, a tuple for several.
///
/// The attribute makes it (`harness = …`); one that is made by hand can be any closure.
pub struct Subject<S, A> {
    pub(super) spec: &'static ToolSpec,
    pub(super) of: Option<&'static str>,
    run: Arc<Runner<S, A>>,
    tool: Option<Arc<dyn Fn(S) -> BoundTool + Send + Sync>>,
    /// Calls go through [`asked`](super::asked), and so can be prepared.
    pub(super) guarded: bool,
}

impl<S, A> Clone for Subject<S, A> {
    fn clone(&self) -> Self {
        let Self { spec, of, run, tool, guarded } = self;
        Self { spec, of: *of, run: Arc::clone(run), tool: tool.clone(), guarded: *guarded }
    }
}

impl<S, A> Subject<S, A> {
    /// A guarded tool; its calls go through [`asked`](super::asked).
    pub fn new(
        spec: &'static ToolSpec,
        run: impl Fn(ToolCall, S, A) -> BoxFuture<'static, Answer> + Send + Sync + 'static,
    ) -> Self {
        Self { spec, of: None, run: Arc::new(run), tool: None, guarded: true }
    }

    /// Any other closure, called in place of a tool: it has no guard of ours, or one that is not to be relied on.
    pub fn by_hand(
        spec: &'static ToolSpec,
        run: impl Fn(ToolCall, S, A) -> BoxFuture<'static, Answer> + Send + Sync + 'static,
    ) -> Self {
        Self { guarded: false, ..Self::new(spec, run) }
    }

    /// The type whose method the tool is.
    #[must_use]
    pub fn of(self, type_name: &'static str) -> Self {
        Self { of: Some(type_name), ..self }
    }

    /// The tool bound to its states, for a reconciler.
    #[must_use]
    pub fn tool(self, tool: impl Fn(S) -> BoundTool + Send + Sync + 'static) -> Self {
        Self { tool: Some(Arc::new(tool)), ..self }
    }

    /// Calls the tool.
    pub fn call(&self, call: ToolCall, states: S, arguments: A) -> BoxFuture<'static, Answer> {
        (self.run)(call, states, arguments)
    }

    pub(super) fn can_be_bound(&self) -> bool {
        self.tool.is_some()
    }

    pub(super) fn bound(&self, states: S) -> Option<BoundTool> {
        self.tool.as_ref().map(|tool| tool(states))
    }
}

impl<S, A> fmt::Debug for Subject<S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").field("tool", &self.spec.name()).finish_non_exhaustive()
    }
}
