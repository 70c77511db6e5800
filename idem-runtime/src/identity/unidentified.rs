//! Why a call has no identity.
//!
//! Must not name a value: parameters, paths and limits only.

use std::fmt;

use super::arguments::InvalidArgument;
use crate::id::{InvalidId, OperationId};

/// Why a call has no identity. Nothing was reserved, nothing was run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unidentified {
    /// The call names no tenant and the runtime has no single one.
    NoTenant,
    /// The call lacks the scope that its tool declares.
    NoScope {
        /// The scope, as the attribute names it.
        scope: &'static str,
    },
    /// No source of the tool's key is present.
    NoKey {
        /// The sources that were looked for.
        wanted: String,
    },
    /// A part of a template, of `args(…)` or of a scope is missing, empty or blank.
    EmptyPart {
        /// The parameter or path.
        path: &'static str,
    },
    /// A part of a resource is missing, empty or blank.
    NoResource {
        /// The parameter or path.
        path: &'static str,
    },
    /// The repeat token was made for other arguments, another tool or another tenant.
    ForeignToken,
    /// The operation that the call compensates or replaces is not there.
    NoSuchOperation {
        /// That operation.
        operation: OperationId,
    },
    /// A name is blank or too long.
    Id(InvalidId),
    /// An argument has no canonical form.
    Argument(InvalidArgument),
    /// The arguments are larger than the runtime allows.
    TooLarge {
        /// Their canonical form, in bytes.
        bytes: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The attempt record belongs to another tool, tenant, principal or version.
    ForeignRecord {
        /// What differs.
        what: &'static str,
    },
}

impl fmt::Display for Unidentified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTenant => f.write_str("the call names no tenant: say `.tenant(…)`, or `single_tenant` once"),
            Self::NoScope { scope } => write!(f, "the call lacks the scope `{scope}` that its tool declares"),
            Self::NoKey { wanted } => write!(f, "the call has nothing to identify it: the tool wants {wanted}"),
            Self::EmptyPart { path } => write!(f, "`{path}` is missing or empty, and the tool's key needs it"),
            Self::NoResource { path } => write!(f, "`{path}` is missing or empty, and the tool's resource needs it"),
            Self::ForeignToken => {
                f.write_str("the repeat token belongs to another call: other arguments, tool or tenant")
            }
            Self::NoSuchOperation { operation } => {
                write!(f, "the tenant has no operation {operation} to compensate or to replace")
            }
            Self::Id(error) => error.fmt(f),
            Self::Argument(error) => error.fmt(f),
            Self::TooLarge { bytes, limit } => {
                write!(f, "the arguments have {bytes} bytes in canonical form, at most {limit} are allowed")
            }
            Self::ForeignRecord { what } => {
                write!(f, "the attempt record belongs to another {what}")
            }
        }
    }
}

impl std::error::Error for Unidentified {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Id(error) => Some(error),
            Self::Argument(error) => Some(error),
            _ => None,
        }
    }
}

impl From<InvalidId> for Unidentified {
    fn from(error: InvalidId) -> Self {
        Self::Id(error)
    }
}
