//! What a request says of its call: ids and conversations, by the names that hosts give them.
//!
//! Must not know which tool is called with it. A JSON-RPC id, a progress token and a session are never looked at: none of them
//! is the same when the call is sent again.

use std::{borrow::Cow, error::Error, fmt};

use idem_runtime::ToolCall;
use rmcp::{
    handler::server::tool::ToolCallContext,
    model::{Extensions, JsonObject, RequestMetaObject},
};
use serde_json::Value;

/// Where the id of a call is looked for in `_meta`, the first that is there counts: ours, and what Claude Code sends.
pub const CALL_IDS: &[&str] = &["idem/callId", "claudecode/toolUseId"];

/// Where the model's response that the call came in is looked for in `_meta`, a number or a text.
pub const TURNS: &[&str] = &["idem/turn"];

/// Where the conversation is looked for in `_meta`, the first that is there counts: ours, and what the hosts of OpenAI,
/// Codex, opencode and Antigravity send.
pub const CONVERSATIONS: &[&str] =
    &["idem/conversation", "openai/session", "threadId", "ai.opencode/sessionID", "antigravity.google/conversation_id"];

/// One `tools/call`, for whoever says whose it is.
#[derive(Debug, Clone, Copy)]
pub struct Request<'r> {
    tool: &'r str,
    meta: &'r RequestMetaObject,
    arguments: Option<&'r JsonObject>,
    extensions: &'r Extensions,
}

impl<'r> Request<'r> {
    pub(crate) fn of<S>(context: &'r ToolCallContext<'_, S>) -> Self {
        let request = &context.request_context;
        let arguments = context.arguments.as_ref();
        Self { tool: &context.name, meta: &request.meta, arguments, extensions: &request.extensions }
    }

    /// The tool's name.
    pub fn tool(&self) -> &'r str {
        self.tool
    }

    /// A text in `_meta`, if it is there and not blank. The client wrote it.
    pub fn meta(&self, key: &str) -> Option<&'r str> {
        self.meta.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
    }

    /// A text in the arguments, by JSON pointer (`/meta/idempotency-key`), if it is there and not blank. The model wrote it.
    pub fn argument(&self, pointer: &str) -> Option<&'r str> {
        let mut steps = pointer.strip_prefix('/')?.split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
        let first = self.arguments?.get(&steps.next()?)?;
        let value = steps.try_fold(first, |value, step| match value {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            other => other.get(&step),
        });
        value?.as_str().filter(|text| !text.trim().is_empty())
    }

    /// A header of the HTTP request; `None` over stdio.
    pub fn header(&self, name: &str) -> Option<&'r str> {
        self.extension::<http::request::Parts>()?.headers.get(name)?.to_str().ok()
    }

    /// What the transport, or a layer in front of it, left for the handler.
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<&'r T> {
        let parts = || self.extensions.get::<http::request::Parts>();
        self.extensions.get::<T>().or_else(|| parts()?.extensions.get::<T>())
    }

    /// The first of these keys that is in `_meta`.
    fn first_of<'k>(&self, keys: &'k [Cow<'static, str>]) -> Option<(&'k str, &'r str)> {
        keys.iter().find_map(|key| Some((&**key, self.meta(key)?)))
    }
}

/// Why nobody can say whose a call is. It is refused, and nothing is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved(Cow<'static, str>);

impl Unresolved {
    /// For this reason, which the model reads: no values of arguments, no secrets.
    pub fn new(why: impl Into<Cow<'static, str>>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Unresolved {}

/// The names to look for.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) call_ids: Vec<Cow<'static, str>>,
    pub(crate) turns: Vec<Cow<'static, str>>,
    pub(crate) conversations: Vec<Cow<'static, str>>,
    /// A JSON pointer into the arguments.
    pub(crate) argument: Option<Cow<'static, str>>,
}

impl Default for Names {
    fn default() -> Self {
        let names = |known: &[&'static str]| known.iter().map(|name| Cow::Borrowed(*name)).collect();
        Self { call_ids: names(CALL_IDS), turns: names(TURNS), conversations: names(CONVERSATIONS), argument: None }
    }
}

impl Names {
    /// The call with what the request says of it.
    ///
    /// # Errors
    /// When `_meta` and the arguments give it two ids.
    pub(crate) fn read(&self, request: &Request<'_>, mut call: ToolCall) -> Result<ToolCall, Unresolved> {
        if let Some((_, conversation)) = request.first_of(&self.conversations) {
            call = call.conversation(conversation);
        }
        let in_meta = request.first_of(&self.call_ids);
        let in_arguments = self.argument.as_ref().and_then(|at| Some((&**at, request.argument(at)?)));
        let id = match (in_meta, in_arguments) {
            (Some((key, meta)), Some((pointer, argument))) if meta != argument => {
                tracing::warn!(tool = request.tool, in_meta = key, in_arguments = pointer, "a call came with two ids");
                return Err(Unresolved::new(format!(
                    "the call has one id in `_meta` (`{key}`) and another in its arguments (`{pointer}`)"
                )));
            }
            (Some((_, id)), _) | (None, Some((_, id))) => id,
            (None, None) => return Ok(call),
        };
        let turn = self.turns.iter().find_map(|key| request.meta.get(&**key));
        call = match turn {
            Some(Value::Number(turn)) => match turn.as_u64() {
                Some(turn) => call.turn(turn),
                None => call.turn(turn.to_string()),
            },
            Some(Value::String(turn)) => call.turn(turn.as_str()),
            _ => call,
        };
        Ok(call.tool_call_id(id))
    }
}
