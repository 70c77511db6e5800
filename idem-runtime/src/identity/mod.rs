//! Identity of an operation: what makes two calls one intended effect.
//!
//! Must not know the ledger: everything here is a function of the tool's declaration, the call and its
//! arguments. In reading order: [`canonical`](canonical) form of a value, [`arguments`] of a call, digests over
//! framed parts ([`frame`]), the value of each key source ([`sources`]), the identities and fingerprint of a call
//! ([`derive`](mod@derive)), what they are called ([`names`]), the token for a
//! provider ([`provider_key`]), the token for a deliberate [`repeat`], and the [`resources`] that an operation changes.

mod arguments;
mod canonical;
mod derive;
mod frame;
mod names;
mod provider_key;
mod repeat;
mod resources;
mod sources;
mod unidentified;

pub use arguments::{Argument, Arguments, InvalidArgument};
pub use canonical::{CanonicalError, CanonicalErrorKind};
pub use names::{Identity, Scope, Source, Tool};
pub use provider_key::ProviderKey;
pub use unidentified::Unidentified;

pub(crate) use arguments::PART_BYTES;
pub(crate) use derive::identify;
pub use frame::Digest;
pub(crate) use names::operation_id;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) use names::where_to_look;
pub(crate) use repeat::About;
pub(crate) use resources::Resources;
