//! A tool of rig's, called with the call that it answers.
//!
//! It must not know whether the tool is guarded: what it calls finds out by itself.

use std::error::Error;

use idem_runtime::{Refusal, RefusalKind, ToolCall, scope};
use rig_agent::tool::RegisteredTool;
use rig_core::{
    effect::{EffectKind, HandlerDescriptor, Outcome, family},
    serve::{Dispatch, Reply, Serve, adapters::ToolAdapter},
    tool::{Tool, ToolExecutionError, ToolResult},
};

use crate::calls;

/// What the model reads of a call that nobody carried here.
const UNKNOWN: &str = "nothing was done: the application has not said whose conversation this call belongs to";

/// Makes a tool one whose `#[idempotent]` functions are called with the call that it answers.
///
/// They take no parameter for it; it is the call of the task. The tool's `call` may itself be such a function. Register the
/// tool with [`ToolServer::registered_tool`](rig_agent::tool::server::ToolServer::registered_tool), and put each run
/// [`within`](crate::within) its conversation.
///
/// A [`Refusal`] in the tool's error (or behind it, as its `source`) is told to the model in the refusal's own words;
/// of any other error rig says only that the tool failed.
///
/// # Panics
/// Never: rig refuses handlers without a name alone, and such a tool does not compile.
pub fn guarded<T: Tool + 'static>(tool: T) -> RegisteredTool {
    const { assert!(!T::NAME.is_empty(), "a tool without a name") };
    RegisteredTool::from_handler(Guarded(ToolAdapter::new(tool))).expect("the handler of a tool that has a name")
}

struct Guarded<T>(ToolAdapter<T>);

impl<T: Tool + 'static> Serve for Guarded<T> {
    type Family = family::Tool;

    fn descriptor(&self) -> HandlerDescriptor {
        self.0.descriptor()
    }

    async fn serve(&self, kind: EffectKind, dispatch: Dispatch) -> Reply {
        match calls::dispatched(&dispatch) {
            Some(carried) => {
                let (call, id) = carried.identified(false);
                let call = id.into_iter().fold(call, ToolCall::tool_call_id);
                told(scope(call, self.0.serve(kind, dispatch)).await)
            }
            // Not without a call: a guarded function could take one from further out, and it would not be this one.
            None => nobodys(),
        }
    }
}

/// The answer to a call that nobody carried here.
pub(crate) fn nobodys() -> Reply {
    result(ToolResult::failed(ToolExecutionError::refused(UNKNOWN).with_retryable(false)))
}

pub(crate) fn result(result: ToolResult) -> Reply {
    Reply::Outcome(Ok(Outcome::ToolResult { result }))
}

/// The same answer, with a refusal in its own words.
fn told(reply: Reply) -> Reply {
    let Reply::Outcome(Ok(Outcome::ToolResult { result: given })) = &reply else { return reply };
    let Some(error) = given.error() else { return reply };
    let Some(refusal) = refusal(error) else { return reply };
    let again = matches!(refusal.kind(), RefusalKind::InProgress { .. } | RefusalKind::FailedRetryable);
    let error = error.clone().with_model_feedback(refusal.to_model_text()).with_retryable(again);
    result(ToolResult::failed(error))
}

fn refusal(error: &ToolExecutionError) -> Option<&Refusal> {
    let mut at: Option<&(dyn Error + 'static)> = error.source();
    while let Some(error) = at {
        if let Some(refusal) = error.downcast_ref() {
            return Some(refusal);
        }
        at = error.source();
    }
    None
}
