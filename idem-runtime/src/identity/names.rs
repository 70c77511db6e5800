//! What identities are made of and what they name: tool, scope, source, operation.

use std::{borrow::Cow, sync::Arc};

use super::frame::Digest;
use crate::{
    id::{OPERATION_BYTES, OperationId},
    tool::{Mark, ToolSpec},
};

/// A tool as the ledger knows it: its name, and the shape of its arguments.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Tool {
    /// The name that takes part in identities.
    pub name: Arc<str>,
    /// The version of the contract.
    pub version: u32,
    /// The names of its effect parameters in order, then `;`, then those of its content parameters.
    pub params: Arc<str>,
}

impl Tool {
    pub(crate) fn new(spec: &ToolSpec, of: Option<&'static str>) -> Self {
        let names = |mark| {
            let of_mark = spec.parameters().iter().filter(move |param| param.mark() == mark);
            of_mark.map(crate::tool::ParamSpec::name).collect::<Vec<_>>().join(",")
        };
        Self {
            name: spec.ledger_name(of).into(),
            version: spec.contract_version(),
            params: format!("{};{}", names(Mark::Effect), names(Mark::Content)).into(),
        }
    }

    pub(crate) fn effect_names(&self) -> impl Iterator<Item = &str> {
        self.params.split(';').next().unwrap_or_default().split(',')
    }

    pub(crate) fn content_names(&self) -> impl Iterator<Item = &str> {
        self.params.split(';').nth(1).unwrap_or_default().split(',')
    }
}

/// What an identity was made from; the earlier, the more stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Source {
    /// The id that the platform issued.
    OperationId = 0,
    /// A template.
    Template = 1,
    /// Arguments, all or some.
    Args = 2,
    /// The provider's id of the call, with its turn.
    ToolCallId = 3,
}

impl Source {
    /// The source's name in an attribute.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OperationId => "operation_id",
            Self::Template => "template",
            Self::Args => "args",
            Self::ToolCallId => "tool_call_id",
        }
    }

    /// The number under which the ledger stores it.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The source with this number.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::OperationId),
            1 => Some(Self::Template),
            2 => Some(Self::Args),
            3 => Some(Self::ToolCallId),
            _ => None,
        }
    }
}

/// One way to find the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// What it was made from.
    pub source: Source,
    /// The digest.
    pub digest: Digest,
    /// Which occurrence of it, where an attempt record says; else the newest.
    pub generation: Option<u32>,
}

/// Within what the identities are unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// `conversation`, `tenant`, …
    pub kind: Cow<'static, str>,
    /// The id that the call carried for it.
    pub value: Option<Arc<str>>,
    /// Digest of tenant, kind, value and what narrows it.
    pub digest: Digest,
}

/// The id of the operation whose most stable identity is `identity`, in its `generation`.
///
/// The beginning of the scope's digest, that of the identity's, and the generation: what it takes to find the operation
/// again by the indexes that there are, so that ids need none of their own.
pub(crate) fn operation_id(scope: &Digest, identity: &Digest, generation: u32) -> OperationId {
    let mut bytes = [0; OPERATION_BYTES];
    bytes[..SCOPE_BYTES].copy_from_slice(&scope[..SCOPE_BYTES]);
    bytes[SCOPE_BYTES..GENERATION_AT].copy_from_slice(&identity[..IDENTITY_BYTES]);
    bytes[GENERATION_AT..].copy_from_slice(&generation.to_be_bytes());
    OperationId::from_bytes(bytes)
}

const SCOPE_BYTES: usize = 4;
const IDENTITY_BYTES: usize = 12;
const GENERATION_AT: usize = SCOPE_BYTES + IDENTITY_BYTES;

/// The scopes and identities among which an operation id is to be looked for: closed ranges of digests.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn where_to_look(operation: OperationId) -> [(Digest, Digest); 2] {
    let bytes = operation.as_bytes();
    [range(&bytes[..SCOPE_BYTES]), range(&bytes[SCOPE_BYTES..GENERATION_AT])]
}

#[cfg(any(feature = "sqlite", feature = "postgres"))]
fn range(prefix: &[u8]) -> (Digest, Digest) {
    let (mut from, mut to) = ([0; 32], [0xff; 32]);
    from[..prefix.len()].copy_from_slice(prefix);
    to[..prefix.len()].copy_from_slice(prefix);
    (from, to)
}
