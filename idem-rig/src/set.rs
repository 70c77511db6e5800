//! Tools of a tool set, as rig calls them.
//!
//! It must not know how a call is guarded or what its arguments are: the set finds that out.

use idem_runtime::{
    ToolSet, Wire,
    toolset::{Answer, Entry},
};
use rig_agent::tool::{RegisteredTool, server::ToolServer};
use rig_core::{
    effect::{EffectKind, FamilyDescriptor, HandlerDescriptor, family, tool_key},
    error::{ErrorKind, ErrorReport},
    serve::{Dispatch, Reply, Serve},
    tool::{ContextValue, PublishedContext, ToolContext, ToolExecutionError, ToolOutput, ToolResult},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    calls,
    tool::{nobodys, result},
};

/// The tools of a set, for [`AgentBuilder::tool_server_handle`](rig_agent::AgentBuilder::tool_server_handle). One
/// [`tools!`](idem_runtime::tools) serves rig's agents and [`ToolSet::dispatch`] alike.
///
/// Put each run [`within`](crate::within) its conversation. What an answer was is told to hooks, as [`Told`] in the context of the
/// outcome, and never to the model.
///
/// # Panics
/// Never: rig refuses tools without a name alone, and a set has none.
pub fn server(set: &ToolSet) -> ToolServer {
    let tools = set.entries().map(|entry| {
        let tool = InSet { set: set.clone(), name: entry.name().to_owned(), entry: entry.clone() };
        RegisteredTool::from_handler(tool).expect("the handler of a tool that has a name")
    });
    tools.fold(ToolServer::new(), ToolServer::registered_tool)
}

/// What became of a call of a [set's](server) tool, for the application's own hooks: `event.context` of rig's `OutcomeEvent` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The operation, where the call of a guarded tool got that far.
    pub operation: Option<String>,
    /// Whether an earlier call's result was given and nothing was run now.
    pub is_replay: bool,
}

impl ContextValue for Told {
    const KEY: &'static str = "idem";
}

struct InSet {
    set: ToolSet,
    name: String,
    entry: Entry,
}

impl Serve for InSet {
    type Family = family::Tool;

    fn descriptor(&self) -> HandlerDescriptor {
        HandlerDescriptor {
            key: tool_key(&self.name),
            family: FamilyDescriptor::Tool {
                name: self.name.clone(),
                description: self.entry.description(),
                parameters: self.entry.schema().clone(),
                embedding: None,
            },
            layers: Vec::new(),
        }
    }

    async fn serve(&self, kind: EffectKind, dispatch: Dispatch) -> Reply {
        let EffectKind::ToolCall { args, .. } = kind else {
            return Reply::Outcome(Err(ErrorReport::new(
                ErrorKind::HandlerUnavailable,
                "a tool serves tool calls only",
            )));
        };
        let Some(carried) = calls::dispatched(&dispatch) else { return nobodys() };
        let (call, id) = carried.identified(self.entry.allows_repeats());
        // As a message of one call: the set reads its arguments and its id as it reads any provider's.
        let function = json!({ "name": self.name, "arguments": args });
        let message = json!({ "tool_calls": [{ "id": id, "type": "function", "function": function }] });
        let answer = match Wire::OpenAiChat.read(&message) {
            Ok(message) => self.set.run(&message, &call).await.pop(),
            Err(error) => return result(ToolResult::failed(ToolExecutionError::invalid_args(error.to_string()))),
        };
        answer.map_or_else(nobodys, |answer| told(&dispatch, answer))
    }
}

/// The answer for the model, and what it was for hooks.
fn told(dispatch: &Dispatch, answer: Answer) -> Reply {
    let operation = answer.operation.map(|operation| operation.to_string());
    let told = Told { operation, is_replay: answer.is_replay };
    if let Some(published) = dispatch.scope::<PublishedContext>() {
        let mut context = dispatch.scope::<ToolContext>().map(|context| context.for_dispatch()).unwrap_or_default();
        // Text and a truth value: there is nothing in it that JSON cannot say.
        context.insert_result(told).ok();
        published.publish(context);
    }
    result(if answer.is_error {
        ToolResult::failed(ToolExecutionError::other(answer.text).with_retryable(false))
    } else {
        ToolResult::success(ToolOutput::text(answer.text))
    })
}
