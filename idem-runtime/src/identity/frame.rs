//! Digests over framed parts: every part is preceded by its length, so no choice of texts can make two
//! lists of parts read alike.
//!
//! Must not know what a part means.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest as _, Sha256};

use super::canonical;
use crate::secret::IdentityKey;

/// The version of what is hashed here and in which order; the canonical form has its own. A change raises it, and the
/// golden vectors with it.
pub(crate) const FORMAT: u8 = 1;

/// 32 bytes that identify.
pub type Digest = [u8; 32];

/// A digest under way: SHA-256, or HMAC-SHA-256 where the deployment has a key.
#[derive(Clone)]
pub(crate) enum Frame {
    Plain(Sha256),
    Keyed(Box<Hmac<Sha256>>),
}

impl Frame {
    /// An empty frame; `domain` keeps digests of one purpose apart from those of another.
    pub(crate) fn new(key: Option<&IdentityKey>, domain: u8) -> Self {
        let mut frame = match key.map(|key| Hmac::new_from_slice(key.bytes())) {
            // HMAC takes keys of any length; a key that it refused could not have been made.
            None | Some(Err(_)) => Self::Plain(Sha256::new()),
            Some(Ok(mac)) => Self::Keyed(Box::new(mac)),
        };
        frame.raw(&[FORMAT, canonical::VERSION, domain]);
        frame
    }

    /// Adds one part.
    pub(crate) fn part(&mut self, bytes: &[u8]) {
        self.raw(&(bytes.len() as u64).to_le_bytes());
        self.raw(bytes);
    }

    /// Adds a part that may be absent; absent differs from empty.
    pub(crate) fn optional(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            None => self.raw(&[0]),
            Some(bytes) => {
                self.raw(&[1]);
                self.part(bytes);
            }
        }
    }

    /// Adds what sets an operation apart from equal ones in another way than an occurrence's name: `how` is 2 or more, so
    /// that it reads like no [`optional`](Self::optional) part.
    pub(crate) fn apart(&mut self, how: u8, bytes: &[u8]) {
        self.raw(&[how]);
        self.part(bytes);
    }

    /// Adds a number of fixed width.
    pub(crate) fn number(&mut self, number: u64) {
        self.raw(&number.to_le_bytes());
    }

    fn raw(&mut self, bytes: &[u8]) {
        match self {
            Self::Plain(hash) => hash.update(bytes),
            Self::Keyed(mac) => mac.update(bytes),
        }
    }

    pub(crate) fn digest(self) -> Digest {
        match self {
            Self::Plain(hash) => hash.finalize().into(),
            Self::Keyed(mac) => mac.finalize().into_bytes().into(),
        }
    }
}

/// What a digest is for.
pub(crate) mod domain {
    pub(crate) const SCOPE: u8 = 1;
    pub(crate) const ARGUMENTS: u8 = 2;
    pub(crate) const PARAMETER: u8 = 3;
    pub(crate) const PROVIDER_KEY: u8 = 4;
    pub(crate) const RESOURCE: u8 = 5;
    pub(crate) const REPEAT: u8 = 6;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn digest(parts: &[String]) -> Digest {
        let mut frame = Frame::new(None, domain::SCOPE);
        for part in parts {
            frame.part(part.as_bytes());
        }
        frame.digest()
    }

    proptest! {
        #[test]
        fn no_two_lists_of_parts_read_alike(
            left in prop::collection::vec("[a:|_\\x00]{0,4}", 0..5),
            right in prop::collection::vec("[a:|_\\x00]{0,4}", 0..5),
        ) {
            prop_assert_eq!(left == right, digest(&left) == digest(&right));
        }
    }

    #[test]
    fn absent_differs_from_empty_and_keyed_from_plain() {
        let with = |part: Option<&[u8]>, key: Option<&IdentityKey>| {
            let mut frame = Frame::new(key, domain::SCOPE);
            frame.optional(part);
            frame.digest()
        };
        let key = IdentityKey::new(*b"0123456789abcdef").expect("long enough");
        assert_ne!(with(None, None), with(Some(b""), None));
        assert_ne!(with(None, None), with(None, Some(&key)));
    }
}
