//! The token handed to a provider: derived from the operation, in the shapes that providers accept.
//!
//! Must not know which provider it is for.

use std::fmt;

use super::frame::{Frame, domain};
use crate::id::OperationId;

/// What a provider deduplicates by: stable over all attempts of one operation, distinct for each named effect
/// of it, and free of arguments and tenants.
///
/// As text: 37 characters of `[a-z0-9-]` ([`as_str`](Self::as_str)). As a UUID of version 8:
/// [`uuid`](Self::uuid). Derived from the operation's id, so a ledger that was lost gives the same key again.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ProviderKey {
    digest: [u8; 16],
    text: Box<str>,
}

impl ProviderKey {
    pub(crate) fn derive(operation: OperationId, effect: &str) -> Self {
        let mut frame = Frame::new(None, domain::PROVIDER_KEY);
        frame.part(operation.as_bytes());
        frame.part(effect.as_bytes());
        let full = frame.digest();
        let mut digest = [0; 16];
        digest.copy_from_slice(&full[..16]);
        let text = format!("idem-{:032x}", u128::from_be_bytes(digest)).into();
        Self { digest, text }
    }

    /// The key as text, 37 characters.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The key as a UUID (version 8), for providers that demand one.
    pub fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::new_v8(self.digest)
    }
}

impl fmt::Display for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_stable_distinct_and_well_formed() {
        let operation = OperationId::from_bytes([5; 20]);
        let refund = ProviderKey::derive(operation, "refund");
        assert_eq!(refund, ProviderKey::derive(operation, "refund"));
        assert_ne!(refund, ProviderKey::derive(operation, "mail"));
        assert_eq!(refund.as_str().len(), 37);
        assert_eq!(refund.uuid().get_version_num(), 8);
    }
}
