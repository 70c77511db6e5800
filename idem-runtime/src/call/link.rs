//! What one operation is to another.
//!
//! Must not know whether the other is there.

use crate::id::OperationId;

/// What one operation is to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// In which way.
    pub kind: LinkKind,
    /// The other operation, which was there before.
    pub to: OperationId,
}

/// The ways in which operations belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// It takes back the other's effect.
    Compensates,
    /// It stands in the other's place, since the intent changed.
    Replaces,
}

impl LinkKind {
    /// The kind's name in the ledger.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compensates => "compensates",
            Self::Replaces => "replaces",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Compensates, Self::Replaces].into_iter().find(|kind| kind.name() == name)
    }
}
