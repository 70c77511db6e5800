//! The deployment's own key for identities.
//!
//! Must not be printed, logged or stored: `Debug` shows that there is one, nothing else.

use std::{fmt, sync::Arc};

/// A key under which identities and fingerprints are HMACs instead of plain digests, so that arguments
/// with few possible values cannot be guessed from a copy of the ledger.
///
/// Changing it makes every earlier operation a stranger: choose it before the first one is recorded.
#[derive(Clone)]
pub struct IdentityKey(Arc<[u8]>);

impl IdentityKey {
    /// At least 16 bytes.
    ///
    /// # Errors
    /// [`WeakKey`] for fewer.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, WeakKey> {
        let bytes = bytes.into();
        if bytes.len() < 16 { Err(WeakKey { bytes: bytes.len() }) } else { Ok(Self(bytes.into())) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for IdentityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdentityKey(…)")
    }
}

/// The identity key is too short to keep anything secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeakKey {
    bytes: usize,
}

impl fmt::Display for WeakKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "use an identity key of {} bytes: at least 16 are needed", self.bytes)
    }
}

impl std::error::Error for WeakKey {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_printed() {
        let key = IdentityKey::new(*b"0123456789abcdef").expect("long enough");
        assert_eq!(format!("{key:?}"), "IdentityKey(…)");
        assert!(IdentityKey::new(*b"short").is_err());
    }
}
