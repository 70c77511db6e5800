//! How results of rmcp's types are kept and given again, and which of them are no success.
//!
//! Must not know of requests. What comes back from the ledger is the whole of what went in: content, structured content and
//! `_meta`.

use idem_runtime::{
    __private::{Unsuccessful, ValueCodec},
    ErrorClass,
};
use rmcp::{
    Json,
    model::{CallToolResponse, CallToolResult, MetaObject},
};
use serde::{Serialize, de::DeserializeOwned, ser::Error as _};

/// Set on a result that says "error", by a tool that knows what that proves.
const NOTHING_DONE: &str = "idem/nothing_done";

/// Says of a result with `isError: true` that nothing was done, and that the call may be made again: the customer said no, a
/// check failed before anything was sent.
///
/// ```
/// use idem_rmcp::nothing_done;
/// use rmcp::model::{CallToolResult, ContentBlock};
///
/// let declined = nothing_done(CallToolResult::error(vec![ContentBlock::text("the user declined")]));
/// assert_eq!(declined.is_error, Some(true));
/// ```
#[must_use]
pub fn nothing_done(mut result: CallToolResult) -> CallToolResult {
    result.is_error = Some(true);
    result.meta.get_or_insert_with(MetaObject::default).0.insert(NOTHING_DONE.to_owned(), true.into());
    result
}

/// What is inside of `Json`.
pub(crate) fn json<T: Serialize + DeserializeOwned>() -> ValueCodec<Json<T>> {
    ValueCodec::new(|Json(value)| serde_json::to_vec(value), |json| serde_json::from_slice(json).map(Json))
}

/// A result, whole.
pub(crate) fn result() -> ValueCodec<CallToolResult> {
    ValueCodec::serde().fails(failure)
}

/// A response, if it is the last one.
pub(crate) fn response() -> ValueCodec<CallToolResponse> {
    let write = |response: &CallToolResponse| match response {
        CallToolResponse::Complete(result) => serde_json::to_vec(result),
        _ => Err(serde_json::Error::custom("it is not the call's last response")),
    };
    let read = |json: &[u8]| serde_json::from_slice::<CallToolResult>(json).map(CallToolResponse::Complete);
    ValueCodec::new(write, read).fails(|response| match response {
        CallToolResponse::Complete(result) => failure(result),
        CallToolResponse::InputRequired(_) => Some(Unsuccessful {
            class: ErrorClass::Retryable,
            words: "the tool asks its client for input before it does anything".to_owned(),
        }),
        // It goes on where no guard sees it.
        _ => Some(Unsuccessful {
            class: ErrorClass::Unknown,
            words: "the call goes on as a task, whose end the ledger was not told".to_owned(),
        }),
    })
}

/// What a result with `isError: true` proves: nothing, unless its tool says so.
fn failure(result: &CallToolResult) -> Option<Unsuccessful> {
    if result.is_error != Some(true) {
        return None;
    }
    let says_so = result.meta.as_ref().and_then(|meta| meta.0.get(NOTHING_DONE)).is_some_and(|says| *says == true);
    let class = if says_so { ErrorClass::Retryable } else { ErrorClass::Unknown };
    let words = result.content.iter().find_map(|block| block.as_text()).map(|text| text.text.clone());
    Some(Unsuccessful {
        class,
        words: words.unwrap_or_else(|| "the tool's result says that it is an error".to_owned()),
    })
}
