//! Makes the tools of AI agents safe to retry: one intended effect, however often the call is attempted.
//!
//! An agent calls a tool, the answer is lost, the agent calls again. With [`#[idempotent]`](macro@idempotent) on the
//! tool's function the second call finds the first one's record in a ledger and is told the truth about it: the first
//! result, still running, outcome unknown, or a conflict. The function's body starts again only after proof that the
//! earlier attempt had no effect, or under the same key at a provider that the tool says still knows it.
//!
//! ```
//! use idem_runtime::{Idem, ToolCall, idempotent};
//!
//! # type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
//! /// Gives a customer money back.
//! #[idempotent(scope = "tenant", key = "template:refund-{order_id}", name = "billing.refund")]
//! async fn send_refund(call: &ToolCall, order_id: String, cents: u64) -> Result<String> {
//!     println!("POST /refunds {order_id} {cents}, Idempotency-Key: {}", call.provider_key("refund"));
//!     call.reference("rf_782");
//!     Ok("rf_782".to_owned())
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<()> {
//! let idem = Idem::open("memory:").await?; // "sqlite://idem.db" for one that lasts
//! let call = idem.call().tenant("acme");
//! let first = send_refund(&call, "A-1".into(), 4_900).await?;
//! assert_eq!(send_refund(&call, "A-1".into(), 4_900).await?, first); // the body ran for the first call only
//! # Ok(()) }
//! ```
//!
//! # In reading order
//!
//! 1. **The words.** An *operation* is one intended effect; an *attempt* is one try at it, numbered from 1. A *record* in
//!    the *ledger* says where an operation stands ([`ledger::State`]). A *repeat* is a call that names an operation that is
//!    already there; if it finished, the repeat is answered by a *replay*. A call with other values under the same identity
//!    is *drift*.
//! 2. **The ledger**: [`Idem`] opens it, on an address (`sqlite://…`, `memory:`) or on a [store of one's
//!    own](Builder::with_store). [`Config`] has every limit and span of time.
//! 3. **The call**: [`Idem::call`] makes a [`ToolCall`]: tenant, scopes, the model's [id](ToolCall::tool_call_id) of the call
//!    with its [turn](ToolCall::turn), a deadline. What it lacks for its tool refuses it before anything is reserved.
//! 4. **The tool**: [the attribute](macro@idempotent), argument by argument: [scope](macro@idempotent#scope) and
//!    [key](macro@idempotent#key), [marks](macro@idempotent#parameters), [times](macro@idempotent#times), [who outlives
//!    whom](macro@idempotent#detach), [errors](macro@idempotent#errors) and what they prove ([`EffectError`](trait@EffectError), and
//!    [`http`] for answers of providers), [trying again and finding out](macro@idempotent#trying-again-and-finding-out).
//! 5. **In the body**: [`Attempt`], which is the call with an operation: a [provider key](Attempt::provider_key) to send
//!    along, and a place for the provider's [reference](Attempt::reference).
//! 6. **The answer**: [`Outcome`], from the `…_outcome` beside each tool or from [`outcome()`]; a [`Refusal`] and its
//!    [kind](RefusalKind) where there is no result; [`to_model_text`](Outcome::to_model_text) and
//!    [`to_json`](Outcome::to_json) for the model.
//! 7. **When the outcome is unknown**: the tool's look-ups get an [`Unsettled`] operation and give a [`Verdict`]. A
//!    [`Reconciler`] asks them without a call: [`Idem::reconciler`] makes it of tools that are [bound](BoundTool) to their
//!    state, [`run`](Reconciler::run) is a task's body, [`settle`](Reconciler::settle) asks about one operation now.
//! 8. **From outside**: [`Idem::evidence`] takes what a webhook says; an [`Operator`] lists, shows, decides and records what was
//!    done by hand. [`ledger::State::OperatorReview`] is what waits for one.
//! 9. **Meant otherwise**: a [`RepeatToken`] comes with a [`Replay`] and makes an equal call [a deliberate
//!    repeat](ToolCall::repeat); [`compensates`](ToolCall::compensates) and [`replaces`](ToolCall::replaces) link an operation to
//!    an earlier one.
//! 10. **Many at once**: [`bulk()`] runs a tool for each item of a batch, under a [child key](ToolCall::item); a [`Bulk`] says what
//!     is done, and a repeat runs only what is left.
//! 11. **Across processes**: [`prepare`] and [`AttemptRecord`], which a checkpoint carries to
//!     [`resume`](ToolCall::resume); [`scope()`] and [`ToolCallSource`], for frameworks that carry the call themselves.
//! 12. **Looking after it**: [`Idem::show`], [`Idem::drifted`], [`Idem::purge`].
//! 13. **Below**: [`ledger`], for those who implement a [store](ledger::Store).
//!
//! # What it needs
//!
//! A tokio runtime with its time driver on. The feature `sqlite` (on by default) brings the embedded ledger; without it
//! there is `memory:`, which lasts as long as its process, and [`Builder::with_store`]. `testing` brings a clock that is
//! moved by hand and the checks that every store passes, `tools` [tool sets](ToolSet), which read and answer providers' messages, `reqwest` what the errors of that HTTP client prove. `foreign-flags` is for this crate's own tests.
//!
//! # What it does not promise
//!
//! The repository's README has the list; the first three: an unknown outcome is not settled by itself, but by the tool's
//! look-ups, by evidence or by a person; the bounds that a tool declares and the answers of its look-ups are believed; what a
//! client inside of the body sends again by itself is not seen here.

#[doc(hidden)]
pub mod __private;
mod call;
mod clock;
mod config;
mod effect;
mod engine;
mod id;
mod idem;
mod identity;
pub mod ledger;
mod operator;
mod outcome;
mod reconcile;
mod reconciler;
mod retry;
mod secret;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod tool;
#[cfg(feature = "tools")]
pub mod toolset;

#[doc = include_str!("attribute.md")]
pub use idem_macros::idempotent;

/// Generates the tests of a tool that is a method, beside its impl block.
///
/// A module cannot stand in an impl block, so the method is only marked, with the word `harness` alone, and named here
/// together with the function that makes its fixture:
///
/// ```text
/// impl Billing {
///     #[idempotent(scope = "conversation", harness)]
///     pub async fn send_refund(&self, call: &ToolCall, order_id: String, cents: u64) -> Result<Refund, PaymentError> { … }
/// }
///
/// #[cfg(test)]
/// fn refund_fixture() -> Fixture<Arc<Billing>, (String, u64)> { … }
///
/// idem_runtime::harness!(Billing::send_refund, refund_fixture);
/// ```
///
/// The module is called `send_refund_harness` and exists under `cfg(test)` only. It needs the feature `testing`, in
/// `[dev-dependencies]`. Where the type has parameters, the path says which are tested: `Billing::<FakeBank>::send_refund`.
/// A free function may be named here too, if it is marked in the same way. [`testing`](macro@idempotent#harness) has the rest.
#[macro_export]
macro_rules! harness {
    ($($written:tt)*) => { $crate::__private::harness_at! { $crate; $($written)* } };
}

pub use idem_macros::EffectError;
#[cfg(feature = "tools")]
pub use idem_macros::{tool, tools};

pub use call::{AttemptRecord, Link, LinkKind, NoToken, RepeatToken, Turn};
pub use clock::{Clock, SystemClock, Timestamp};
pub use config::{Config, InlineCommit};
pub use engine::{Attempt, Overheard, ToolCall, ToolCallSource, bulk, outcome, overheard, prepare, scope};
pub use id::{InvalidId, OperationId, Principal, Tenant};
pub use idem::{Builder, Idem, OpenError};
pub use identity::{Argument, CanonicalError, CanonicalErrorKind, InvalidArgument, ProviderKey, Source, Unidentified};
pub use operator::{Operator, Page, ResolveError};
pub use outcome::{
    Bulk, BulkCounts, BulkItem, BulkState, EffectError, ErrorClass, Held, Outcome, Refusal, RefusalKind, Replay,
    Success, Told, http,
};
pub use reconcile::{IntoVerdict, Unsettled, Verdict};
pub use reconciler::{BoundTool, Reconciled, Reconciler};
pub use secret::{IdentityKey, WeakKey};
pub use store::MemoryStore;
#[cfg(feature = "postgres")]
pub use store::PostgresStore;
#[cfg(feature = "sqlite")]
pub use store::SqliteStore;
pub use tool::{Effect, ScopeKind, ToolSpec};
#[cfg(feature = "tools")]
pub use toolset::{ToolSet, Wire};

/// The README's code runs too.
#[cfg(all(doctest, feature = "tools"))]
#[doc = include_str!("../../README.md")]
struct Readme;
