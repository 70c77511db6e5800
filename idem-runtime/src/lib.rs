//! Makes the tools of AI agents safe to retry.
//!
//! (crate docs follow)

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
mod outcome;
mod secret;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod tool;

#[doc = include_str!("attribute.md")]
pub use idem_macros::idempotent;

pub use call::{AttemptRecord, Turn};
pub use clock::{Clock, SystemClock, Timestamp};
pub use config::{Config, InlineCommit};
pub use engine::{Attempt, ToolCall, ToolCallSource, outcome, prepare, scope};
pub use id::{InvalidId, OperationId, Principal, Tenant};
pub use idem::{Builder, Idem, OpenError};
pub use identity::{Argument, CanonicalError, CanonicalErrorKind, InvalidArgument, ProviderKey, Source, Unidentified};
pub use outcome::{ErrorClass, Held, Outcome, Refusal, RefusalKind, Replay, Success, Told};
pub use secret::{IdentityKey, WeakKey};
pub use store::MemoryStore;
#[cfg(feature = "sqlite")]
pub use store::SqliteStore;
pub use tool::{Effect, ScopeKind, ToolSpec};
