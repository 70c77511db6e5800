//! Identity of an operation: what makes two calls one intended effect.
//!
//! Must not know the ledger: everything here is a function of the tool's declaration, the call and its
//! arguments. In reading order: [`canonical`](canonical) form of a value, [`arguments`] of a call, digests over
//! framed parts ([`frame`]), the identities and fingerprint of a call ([`derive`](mod@derive)), and the token for a
//! provider ([`provider_key`]).

mod arguments;
mod canonical;
mod derive;
mod frame;
mod provider_key;

pub use arguments::{Argument, Arguments, InvalidArgument};
pub use canonical::{CanonicalError, CanonicalErrorKind};
pub use derive::{Identity, Scope, Source, Tool, Unidentified};
pub use provider_key::ProviderKey;

pub(crate) use arguments::PART_BYTES;
pub(crate) use derive::{identify, operation_id, where_to_look};
pub use frame::Digest;
