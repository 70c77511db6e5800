//! What is known about one call of a tool before it runs, and the record that an attempt carries.
//!
//! Must not know which tool is called, how identities are derived or that there is a ledger. Values stand
//! here as the caller gave them; they are checked when an identity is derived from them.

mod link;
mod repeat;

use std::{borrow::Cow, sync::Arc};

pub use link::{Link, LinkKind};
pub use repeat::{NoToken, RepeatToken};

use crate::{
    clock::Timestamp,
    id::{OperationId, Principal, Tenant},
};

/// Which response of the model a tool call came in: its index in the conversation, or any stable id of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Turn {
    /// The index of the message in its conversation.
    Index(u64),
    /// Some other stable id of the response.
    Id(Arc<str>),
}

impl From<u64> for Turn {
    fn from(index: u64) -> Self {
        Self::Index(index)
    }
}

impl From<u32> for Turn {
    fn from(index: u32) -> Self {
        Self::Index(index.into())
    }
}

impl From<usize> for Turn {
    fn from(index: usize) -> Self {
        Self::Index(index as u64)
    }
}

impl From<i32> for Turn {
    /// A negative number is taken as an id: no message has a negative index.
    fn from(index: i32) -> Self {
        u64::try_from(index).map_or_else(|_| Self::Id(index.to_string().into()), Self::Index)
    }
}

impl From<&str> for Turn {
    fn from(id: &str) -> Self {
        Self::Id(id.into())
    }
}

impl From<String> for Turn {
    fn from(id: String) -> Self {
        Self::Id(id.into())
    }
}

/// Everything a caller said about a call, unchecked.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallContext {
    pub(crate) tenant: Option<Arc<str>>,
    pub(crate) principal: Option<Arc<str>>,
    /// Scope name and value; the last one given under a name counts.
    pub(crate) scopes: Vec<(Arc<str>, Arc<str>)>,
    pub(crate) tool_call_id: Option<Arc<str>>,
    pub(crate) turn: Option<Turn>,
    pub(crate) occurrence: Option<Arc<str>>,
    /// Child keys of an item of a bulk tool, the outermost first.
    pub(crate) items: Vec<Arc<str>>,
    pub(crate) operation_id: Option<Arc<str>>,
    pub(crate) approval: Option<Arc<str>>,
    pub(crate) link: Option<Link>,
    pub(crate) repeat: Option<RepeatToken>,
    pub(crate) deadline: Option<Timestamp>,
    /// Made by a reconciler: the provider's key is the step at hand, wherever it stands in the chain.
    pub(crate) resending: bool,
    pub(crate) resumed: Option<Arc<AttemptRecord>>,
}

impl CallContext {
    pub(crate) fn scope(&self, name: &str) -> Option<&Arc<str>> {
        self.scopes.iter().rev().find(|(given, _)| &**given == name).map(|(_, value)| value)
    }
}

/// The key of an operation as its first dispatch computed it: a value to be kept with the workflow's
/// checkpoint and given to every retry ([`ToolCall::resume`](crate::ToolCall::resume)), which then does not
/// compute it again.
///
/// Serialises to a few hundred bytes without argument values. Version 1.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptRecord {
    pub(crate) version: u32,
    pub(crate) tool: Arc<str>,
    pub(crate) tenant: Arc<str>,
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) scope_kind: Cow<'static, str>,
    pub(crate) scope_value: Option<Arc<str>>,
    #[serde(with = "hex")]
    pub(crate) scope: [u8; 32],
    pub(crate) identities: Vec<CarriedIdentity>,
    #[serde(with = "hex")]
    pub(crate) fingerprint: [u8; 32],
    pub(crate) operation: OperationId,
}

/// One identity on an attempt record.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CarriedIdentity {
    pub(crate) source: u8,
    #[serde(with = "hex")]
    pub(crate) digest: [u8; 32],
    pub(crate) generation: u32,
}

impl AttemptRecord {
    /// The version that this crate writes and the only one it reads.
    pub(crate) const VERSION: u32 = 1;

    /// The operation that the attempt belongs to.
    pub fn operation(&self) -> OperationId {
        self.operation
    }

    /// The name under which the ledger knows the tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The key itself: the digests by which the ledger finds the operation, most stable source first, as hexadecimal
    /// text. Two attempts of one operation carry the same ones.
    pub fn key(&self) -> Vec<String> {
        self.identities.iter().map(|identity| hex::text(&identity.digest)).collect()
    }

    pub(crate) fn tenant(&self) -> Option<Tenant> {
        Tenant::new(Arc::clone(&self.tenant)).ok()
    }

    pub(crate) fn principal(&self) -> Option<Principal> {
        self.principal.clone().and_then(|name| Principal::new(name).ok())
    }
}

/// Digests as hexadecimal text in serialised records.
mod hex {
    use std::fmt::Write;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn text(bytes: &[u8; 32]) -> String {
        bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    pub(super) fn serialize<S: Serializer>(bytes: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || D::Error::custom("a digest has 64 hexadecimal digits");
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_record_survives_its_text() {
        let record = AttemptRecord {
            version: AttemptRecord::VERSION,
            tool: "app::send_refund".into(),
            tenant: "acme".into(),
            principal: None,
            scope_kind: "conversation".into(),
            scope_value: Some("c-1".into()),
            scope: [7; 32],
            identities: vec![CarriedIdentity { source: 2, digest: [9; 32], generation: 1 }],
            fingerprint: [3; 32],
            operation: OperationId::from_bytes([1; 20]),
        };
        let text = serde_json::to_string(&record).expect("a record serialises");
        assert_eq!(serde_json::from_str::<AttemptRecord>(&text).expect("and back"), record);
        assert!(serde_json::from_str::<AttemptRecord>(&text.replace("09", "zz")).is_err());
    }

    #[test]
    fn the_last_scope_under_a_name_counts() {
        let context = CallContext {
            scopes: vec![("conversation".into(), "a".into()), ("conversation".into(), "b".into())],
            ..CallContext::default()
        };
        assert_eq!(context.scope("conversation").map(|value| &**value), Some("b"));
    }
}
