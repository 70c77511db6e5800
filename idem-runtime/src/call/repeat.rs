//! The token that makes an equal call a deliberate repeat, as a value.
//!
//! Must not know how one is made or checked.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Permission to do an equal effect once more: a new occurrence, the same one however often the token is presented.
///
/// Serialises as text (`again_…`), so that it can wait for an approval. With an [`IdentityKey`](crate::IdentityKey)
/// nobody without that key can make one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RepeatToken {
    pub(crate) call: [u8; 16],
    pub(crate) proof: [u8; 16],
}

const PREFIX: &str = "again_";

impl fmt::Display for RepeatToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [call, proof] = [self.call, self.proof].map(u128::from_be_bytes);
        write!(f, "{PREFIX}{call:032x}{proof:032x}")
    }
}

impl fmt::Debug for RepeatToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whoever reads a log must not be able to present it.
        f.write_str("RepeatToken(…)")
    }
}

/// A text that is no repeat token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoToken;

impl fmt::Display for NoToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a repeat token is `again_` and 64 hexadecimal digits")
    }
}

impl std::error::Error for NoToken {}

impl std::str::FromStr for RepeatToken {
    type Err = NoToken;

    fn from_str(text: &str) -> Result<Self, NoToken> {
        let digits = text.strip_prefix(PREFIX).ok_or(NoToken)?;
        if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(NoToken);
        }
        let number = |digits| u128::from_str_radix(digits, 16).map(u128::to_be_bytes).map_err(|_| NoToken);
        Ok(Self { call: number(&digits[..32])?, proof: number(&digits[32..])? })
    }
}

impl Serialize for RepeatToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RepeatToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
