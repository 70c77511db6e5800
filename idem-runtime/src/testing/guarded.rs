//! Proves that a tool is guarded: that no other macro has dropped its attribute on the way to the compiler.
//!
//! Must not know the ledger: a probe goes as far as the guard, and no further.

use tokio::runtime::Builder;

use crate::__private::probe;

/// Fails the test if a tool is not guarded.
///
/// `#[idempotent]` is an attribute, and a macro that writes a function anew can forget the attributes that stood on it.
/// Nothing fails then: the tool compiles, runs, and runs again. One line in a test notices:
///
/// ```
/// use idem_runtime::{Idem, Refusal, ToolCall, idempotent, testing::assert_guarded};
///
/// #[idempotent(scope = "tenant")]
/// async fn send_refund(call: &ToolCall, order_id: String) -> Result<String, Refusal> {
///     unreachable!("a probe starts no body")
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let idem = Idem::open("memory:").await?;
/// let call = idem.call().tenant("acme");
/// assert_guarded!(send_refund(&call, "A-1".into()));
/// # Ok(()) }
/// ```
///
/// The call is polled once, and answered by its guard before it first waits: nothing is reserved, `validate` is not asked, and
/// the body does not run. Whatever the future gives is dropped, so the call need not be complete.
///
/// # When the tool is not guarded
///
/// Then that one poll is the body's. It runs as far as its first wait, in a runtime that has no timer, no network and no
/// turn for tasks that are spawned: a client on tokio sends nothing, and a test fails with a sentence that says what to do. What
/// a body does *before* it first waits without tokio, such as a write to a file, cannot be held back: give the tool a
/// provider for tests.
///
/// # Another name
///
/// The guard that answers must be that of the function that is called, so that an unguarded tool is not taken for
/// guarded because it calls a guarded one. Where the call goes through something else, name the tool behind it:
/// `assert_guarded!(server.call_tool("send_refund", arguments), send_refund)`.
#[doc(hidden)]
#[macro_export]
macro_rules! __idem_assert_guarded {
    ($call:expr $(,)?) => {
        $crate::testing::guarded(::core::stringify!($call), ::core::option::Option::None, $call)
    };
    ($call:expr, $tool:ident $(,)?) => {
        $crate::testing::guarded(
            ::core::stringify!($call),
            ::core::option::Option::Some(::core::stringify!($tool)),
            $call,
        )
    };
}

/// What `assert_guarded!` does.
///
/// # Panics
/// When the tool is not guarded.
#[track_caller]
pub fn guarded(written: &str, tool: Option<&str>, call: impl Future) {
    let named = tool.unwrap_or_else(|| called(written));
    let named = named.strip_prefix("r#").unwrap_or(named);
    match reached(call) {
        Some(found) if found == named => {}
        Some(found) => panic!(
            "`{written}` is not known to be guarded: the guard that answered is that of `{found}`.\n\
             If `{named}` calls `{found}`, `{named}` itself has no guard; if it only leads to it, write \
             `assert_guarded!({written}, {found})`.",
        ),
        None => panic!(
            "`{written}` is not guarded: it came to its body, or to its first wait, and no guard had answered.\n\
             Another macro has probably dropped `#[idempotent(…)]`: put `#[idempotent(…)]` above that macro's attribute, so \
             that it is expanded first, or on a function of its own that `{named}` calls.",
        ),
    }
}

/// The tool whose guard answers, with nothing around the call that could carry out what an unguarded body begins.
fn reached(call: impl Future) -> Option<&'static str> {
    let idle = Builder::new_current_thread().build().ok()?;
    let within = idle.enter();
    // A body that needs a runtime panics here, which says what is asked: no guard was before it.
    let reached = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| probe(call))).ok().flatten();
    drop(within);
    idle.shutdown_background();
    reached.map(crate::ToolSpec::function)
}

/// The name of the function in a call as it is written: `send_refund` of `billing.send_refund(&call)`.
fn called(written: &str) -> &str {
    let path = written.split_once('(').map_or(written, |(path, _)| path).trim_end();
    let path = path.split_once("::<").map_or(path, |(path, _)| path).trim_end();
    path.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or(path)
}
