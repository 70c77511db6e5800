//! What the client gets: the tool's own response, the first one again with a marker, or a refusal that the model can read.
//!
//! Must not know how a call was made. Markers go into `_meta`, never into the content or the structured content, which are the
//! tool's.

use idem_runtime::{Overheard, Refusal, Told};
use rmcp::{
    ErrorData,
    model::{CallToolResponse, CallToolResult, ContentBlock, MetaObject},
};
use serde_json::{Value, json};

use crate::request::Unresolved;

/// Set on a result of an earlier call.
const REPLAYED: &str = "idem/replayed";
/// The operation that it is the result of.
const OPERATION: &str = "idem/operation";
/// When that was first reserved.
const FIRST_AT: &str = "idem/first_at";
/// Why there is no result.
const REFUSAL: &str = "idem/refusal";

/// The response to a call that was guarded, or to one that met no guard.
pub(crate) fn told(
    response: Result<CallToolResponse, ErrorData>,
    heard: Option<&Overheard>,
) -> Result<CallToolResponse, ErrorData> {
    match heard {
        None => response,
        Some(Overheard::Refused(refusal)) => Ok(refused(refusal).into()),
        Some(Overheard::Success(told)) => response.map(|response| replayed(response, told)),
        // The tool's own words stay as they are.
        Some(Overheard::Failed(refusal)) => response.map(|response| match response {
            CallToolResponse::Complete(mut result) if result.is_error == Some(true) => {
                mark(&mut result, REFUSAL, about(refusal));
                result.into()
            }
            other => other,
        }),
    }
}

fn replayed(response: CallToolResponse, told: &Told) -> CallToolResponse {
    match response {
        CallToolResponse::Complete(mut result) if told.replay.is_some() => {
            mark(&mut result, REPLAYED, true);
            mark(&mut result, OPERATION, told.operation.to_string());
            mark(&mut result, FIRST_AT, told.first_at.to_string());
            result.into()
        }
        other => other,
    }
}

/// A refusal as the model reads it. A protocol error would not reach it.
fn refused(refusal: &Refusal) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(refusal.to_model_text())]);
    mark(&mut result, REFUSAL, about(refusal));
    result
}

/// The answer to a call of which nobody can say whose it is.
pub(crate) fn unresolved(why: &Unresolved) -> CallToolResponse {
    let words = format!("The call is not valid; nothing was done. Reason: {why}.");
    let mut result = CallToolResult::error(vec![ContentBlock::text(words)]);
    mark(&mut result, REFUSAL, json!({ "outcome": "invalid_call" }));
    result.into()
}

/// The refusal without its words, which are the content.
fn about(refusal: &Refusal) -> Value {
    let mut about = refusal.to_json();
    if let Value::Object(fields) = &mut about {
        fields.remove("message");
    }
    about
}

fn mark(result: &mut CallToolResult, key: &str, value: impl Into<Value>) {
    result.meta.get_or_insert_with(MetaObject::default).0.insert(key.to_owned(), value.into());
}
