//! A crate that lets nothing pass: ten tools under every lint that a strict house turns on, clippy's too.
//!
//! The compiler and `cargo clippy` check it as they check any crate; that its tools are guarded all the same is what
//! runs here. It must not allow a lint for what the attribute writes.

#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unused_qualifications,
    unused_lifetimes,
    single_use_lifetimes,
    unused_results,
    let_underscore_drop,
    elided_lifetimes_in_paths,
    unnameable_types,
    unsafe_code,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::used_underscore_binding,
    clippy::shadow_unrelated,
    clippy::allow_attributes_without_reason,
    clippy::let_underscore_untyped
)]

use idem_runtime::{Idem, Outcome, Refusal, ToolCall, idempotent, outcome};

/// What the tools here return.
pub type Answer = Result<u64, Refusal>;

/// A plain one.
#[idempotent(scope = "conversation")]
pub async fn plain(call: &ToolCall, id: u64, #[idem(content)] reason: String) -> Answer {
    wait().await;
    Ok(id + u64::from(reason.is_empty()))
}

/// One with a name that starts with an underscore, a pattern, and a place that it does not look at.
#[idempotent(scope = "conversation")]
pub async fn patterns(call: ToolCall, mut id: u64, (a, _b): (u64, u64), _: bool, _later: u64) -> Answer {
    wait().await;
    id += a;
    Ok(id)
}

/// One that uses no argument, and not the call.
#[idempotent(scope = "conversation", key = "tool_call_id", name = "strict.nothing", version = 2)]
pub async fn nothing(_call: &ToolCall) -> Answer {
    wait().await;
    Ok(7)
}

/// A generic one that borrows.
#[idempotent(scope = "conversation")]
pub async fn generic<T: serde::Serialize + Sync>(call: &ToolCall, value: &T, id: u64) -> Answer {
    wait().await;
    let _: &T = value;
    Ok(id)
}

/// One with an instrument below.
#[idempotent(scope = "conversation")]
#[tracing::instrument(skip(call))]
pub async fn instrumented_below(call: &ToolCall, id: u64) -> Answer {
    wait().await;
    Ok(id)
}

/// One with an instrument above.
#[tracing::instrument(skip(call))]
#[idempotent(scope = "conversation")]
pub async fn instrumented_above(call: &ToolCall, id: u64) -> Answer {
    wait().await;
    Ok(id)
}

/// One that is checked before it runs.
#[idempotent(scope = "conversation", validate = check)]
pub async fn checked(call: &ToolCall, mut id: u64) -> Answer {
    wait().await;
    id += 1;
    Ok(id)
}

async fn check(id: &u64) -> Result<(), Refusal> {
    let _: &u64 = id;
    wait().await;
    Ok(())
}

/// A set of tools.
#[derive(Debug)]
pub struct Tools {
    /// Whose tools they are.
    pub merchant: &'static str,
}

impl Tools {
    /// A method.
    #[idempotent(scope = "conversation+{self.merchant}")]
    pub async fn method(&self, call: &ToolCall, id: u64) -> Answer {
        wait().await;
        Ok(id)
    }
}

/// What a set of tools can do.
#[async_trait::async_trait]
pub trait Acts {
    /// Below our attribute, async-trait's has boxed the future.
    async fn boxed(&self, call: &ToolCall, id: u64, pair: (u64, u64)) -> Answer;
}

#[async_trait::async_trait]
impl Acts for Tools {
    #[idempotent(scope = "conversation+{self.merchant}")]
    async fn boxed(&self, call: &ToolCall, mut id: u64, (a, b): (u64, u64)) -> Answer {
        wait().await;
        id += a + b;
        Ok(id)
    }
}

/// The same without boxes.
pub trait ActsPlainly {
    /// An async function in a trait.
    fn act(&self, call: &ToolCall, id: u64) -> impl Future<Output = Answer> + Send;
}

impl ActsPlainly for Tools {
    #[idempotent(scope = "conversation+{self.merchant}")]
    async fn act(&self, call: &ToolCall, id: u64) -> Answer {
        wait().await;
        Ok(id)
    }
}

/// Clippy would ask why an async function never waits.
async fn wait() {
    tokio::task::yield_now().await;
}

#[tokio::test]
async fn r123_ten_tools_of_a_strict_crate_are_guarded() {
    let idem = Idem::open("memory:").await.expect("a ledger");
    let call = &idem.call().tenant("acme").conversation("c-1").tool_call_id("call_1").turn(1);
    let tools = Tools { merchant: "A" };
    let mut runs: Vec<Vec<Outcome<u64>>> = Vec::new();
    for _ in 0..2 {
        runs.push(vec![
            plain_outcome(call, 1, String::new()).await,
            patterns_outcome(call.clone(), 1, (2, 3), true, 4).await,
            nothing_outcome(call).await,
            generic_outcome(call, &"x", 4).await,
            instrumented_below_outcome(call, 5).await,
            instrumented_above_outcome(call, 6).await,
            checked_outcome(call, 7).await,
            tools.method_outcome(call, 8).await,
            outcome(tools.boxed(call, 9, (1, 2))).await,
            outcome(tools.act(call, 10)).await,
        ]);
    }
    for (run, replay) in runs.iter().zip([false, true]) {
        let values: Vec<_> = run.iter().filter_map(Outcome::value).copied().collect();
        assert_eq!(values, [2, 3, 7, 4, 5, 6, 8, 8, 12, 10]);
        assert!(run.iter().all(|outcome| outcome.is_replay() == replay), "{run:?}");
    }
}
