//! The call as a tool of a router takes it: an extractor.
//!
//! Must not know how a request is read.

use std::ops::Deref;

use idem_runtime::{__private::Caller, ToolCallSource};
use rmcp::{
    ErrorData,
    handler::server::{common::FromContextPart, tool::ToolCallContext},
};

/// What a tool takes, `call: ToolCall`, to get at its [`Attempt`](idem_runtime::Attempt): a provider's key, and a place for its
/// reference.
///
/// It stands before an extractor that takes `_meta` or the arguments away. A router that is not
/// [guarded](crate::Adapter::guard) has no call: the tool is not run then.
#[derive(Debug, Clone)]
pub struct ToolCall(idem_runtime::ToolCall);

impl ToolCall {
    pub(crate) fn new(call: idem_runtime::ToolCall) -> Self {
        Self(call)
    }
}

impl Deref for ToolCall {
    type Target = idem_runtime::ToolCall;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl From<ToolCall> for idem_runtime::ToolCall {
    fn from(call: ToolCall) -> Self {
        call.0
    }
}

impl From<idem_runtime::ToolCall> for ToolCall {
    fn from(call: idem_runtime::ToolCall) -> Self {
        Self(call)
    }
}

impl ToolCallSource for ToolCall {
    fn tool_call(&self) -> Option<idem_runtime::ToolCall> {
        Some(self.0.clone())
    }
}

impl Caller for ToolCall {
    fn tool_call(self) -> Option<idem_runtime::ToolCall> {
        Some(self.0)
    }
}

impl<S> FromContextPart<ToolCallContext<'_, S>> for ToolCall {
    fn from_context_part(context: &mut ToolCallContext<'_, S>) -> Result<Self, ErrorData> {
        context.request_context.extensions.get::<Self>().cloned().ok_or_else(|| {
            let words = format!(
                "`{}` is guarded and its router is not: nothing was done. Put the router through `Adapter::guard`",
                context.name
            );
            ErrorData::internal_error(words, None)
        })
    }
}
