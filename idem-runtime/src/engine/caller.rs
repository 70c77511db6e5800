//! Where a tool's call comes from: a parameter, an expression, or the task.

use super::{around, tool_call::ToolCall};

/// Where the call of a tool comes from.
pub trait Caller {
    /// The call, if there is one.
    fn tool_call(self) -> Option<ToolCall>;
}

impl Caller for ToolCall {
    fn tool_call(self) -> Option<ToolCall> {
        Some(self)
    }
}

impl Caller for &ToolCall {
    fn tool_call(self) -> Option<ToolCall> {
        Some(self.clone())
    }
}

/// Something of a framework or an application that carries a [`ToolCall`], for `ctx = expression`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` carries no `ToolCall`",
    note = "implement `idem_runtime::ToolCallSource` for it, or give the tool a parameter `call: &ToolCall`"
)]
pub trait ToolCallSource {
    /// The call that it carries; `None` refuses the tool's call, it never runs unguarded.
    fn tool_call(&self) -> Option<ToolCall>;
}

impl ToolCallSource for ToolCall {
    fn tool_call(&self) -> Option<ToolCall> {
        Some(self.clone())
    }
}

impl<S: ToolCallSource + ?Sized> ToolCallSource for &S {
    fn tool_call(&self) -> Option<ToolCall> {
        (**self).tool_call()
    }
}

impl<S: ToolCallSource> ToolCallSource for Option<S> {
    fn tool_call(&self) -> Option<ToolCall> {
        self.as_ref().and_then(ToolCallSource::tool_call)
    }
}

/// The call that a source carries.
#[derive(Debug)]
pub struct Sourced(Option<ToolCall>);

/// Asks `ctx = expression` for its call.
pub fn source(source: &impl ToolCallSource) -> Sourced {
    Sourced(source.tool_call())
}

impl Caller for Sourced {
    fn tool_call(self) -> Option<ToolCall> {
        self.0
    }
}

/// The call of the task.
#[derive(Debug)]
pub struct Current(());

/// Asks the task for its call.
pub fn current() -> Current {
    Current(())
}

impl Caller for Current {
    fn tool_call(self) -> Option<ToolCall> {
        around::call()
    }
}
