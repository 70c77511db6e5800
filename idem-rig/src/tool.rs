//! A tool of rig's, called with the call that it answers.
//!
//! It must not know whether the tool is guarded: what it calls finds out by itself.

use std::error::Error;

use idem_runtime::{Overheard, Refusal, RefusalKind, ToolCall, overheard, scope};
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
/// Of an error rig tells the model only that the tool failed. So what became of the guarded call is told in the words of its
/// [`Refusal`]: the one in the tool's error (or behind it, as its `source`), or else what the first guarded function that it
/// called came to. A model that is not told that an outcome is unknown calls again.
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
                let (reply, heard) = overheard(scope(call, self.0.serve(kind, dispatch))).await;
                told(reply, heard.as_ref())
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

/// The same answer, with what became of the call in the words of a refusal.
fn told(reply: Reply, heard: Option<&Overheard>) -> Reply {
    let Reply::Outcome(Ok(Outcome::ToolResult { result: given })) = &reply else { return reply };
    let Some(error) = given.error() else { return reply };
    let heard = match heard {
        Some(Overheard::Refused(refusal) | Overheard::Failed(refusal)) => Some(refusal),
        Some(Overheard::Success(_)) | None => None,
    };
    let Some(refusal) = refusal(error).or(heard) else { return reply };
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
