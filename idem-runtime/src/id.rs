//! The names by which things are known: tenant, principal, operation.
//!
//! Must not know where a name comes from or what it is looked up in. A value of these types is never
//! absent, empty, blank or oversized; that is checked once, when it is made.

use std::{fmt, str::FromStr, sync::Arc};

use crate::config::ID_BYTES_MAX;

/// Why a text cannot be a name. Nothing was reserved and nothing changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidId {
    /// Absent, empty, or white space only.
    Blank {
        /// What was being named.
        what: &'static str,
    },
    /// Longer than 512 bytes.
    TooLong {
        /// What was being named.
        what: &'static str,
        /// How long it was, in bytes.
        bytes: usize,
    },
    /// Not an operation id as this crate writes them.
    NotAnOperation,
}

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blank { what } => write!(f, "the {what} is empty or blank"),
            Self::TooLong { what, bytes } => {
                write!(f, "the {what} has {bytes} bytes, at most {ID_BYTES_MAX} are allowed")
            }
            Self::NotAnOperation => f.write_str("an operation id reads `op_` and 40 hexadecimal digits"),
        }
    }
}

impl std::error::Error for InvalidId {}

/// `text` if it can be the name of a `what`.
pub(crate) fn checked(what: &'static str, text: impl Into<Arc<str>>) -> Result<Arc<str>, InvalidId> {
    let text = text.into();
    if text.trim().is_empty() {
        return Err(InvalidId::Blank { what });
    }
    if text.len() > ID_BYTES_MAX {
        return Err(InvalidId::TooLong { what, bytes: text.len() });
    }
    Ok(text)
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $type(Arc<str>);

        impl $type {
            #[doc = concat!("Checks that `text` can name a ", $what, ": not blank, of at most ")]
            /// 512 bytes.
            ///
            /// # Errors
            /// [`InvalidId`] otherwise.
            pub fn new(text: impl Into<Arc<str>>) -> Result<Self, InvalidId> {
                checked($what, text).map(Self)
            }

            pub(crate) fn shared(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }

            /// The name as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// Whose operations these are. Takes part in every identity and every read: nothing crosses it.
    Tenant, "tenant"
}
name! {
    /// The trusted caller together with its permission scope, as the application names them.
    Principal, "principal"
}

/// How long an operation's id is.
pub(crate) const OPERATION_BYTES: usize = 20;

/// The stable id of one intended effect, written `op_` and 40 hexadecimal digits.
///
/// Derived from the operation's identity, not minted: a ledger that was lost and rebuilt gives the same
/// operation the same id, so a provider that kept its keys still recognises it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId([u8; OPERATION_BYTES]);

impl OperationId {
    /// The id with these bytes.
    pub const fn from_bytes(bytes: [u8; OPERATION_BYTES]) -> Self {
        Self(bytes)
    }

    /// The id's bytes.
    pub const fn as_bytes(&self) -> &[u8; OPERATION_BYTES] {
        &self.0
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("op_")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for OperationId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let hex = text
            .strip_prefix("op_")
            .filter(|hex| hex.len() == 2 * OPERATION_BYTES && hex.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let hex = hex.ok_or(InvalidId::NotAnOperation)?;
        let mut bytes = [0; OPERATION_BYTES];
        for (byte, digits) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| InvalidId::NotAnOperation)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| InvalidId::NotAnOperation)?;
        }
        Ok(Self(bytes))
    }
}

impl serde::Serialize for OperationId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for OperationId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_and_oversized_names_are_refused() {
        assert_eq!(Tenant::new("  "), Err(InvalidId::Blank { what: "tenant" }));
        assert!(matches!(Tenant::new("x".repeat(ID_BYTES_MAX + 1)), Err(InvalidId::TooLong { .. })));
        assert_eq!(Tenant::new("acme").expect("valid").as_str(), "acme");
    }

    #[test]
    fn an_operation_id_survives_its_text() {
        let id = OperationId::from_bytes(*b"0123456789abcdefghij");
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!("op_12".parse::<OperationId>().is_err());
        assert!("op_+123456789abcdef0123456789abcdef01234567".parse::<OperationId>().is_err());
    }
}
