//! How storage fails, and what is true afterwards.
//!
//! Must not know a database's own error codes: each store translates its own.

use std::{fmt, sync::Arc};

/// What went wrong in a store.
#[derive(Debug, Clone)]
pub struct StoreError {
    kind: StoreErrorKind,
    aftermath: Aftermath,
    source: Arc<dyn std::error::Error + Send + Sync>,
}

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Another process was writing for longer than this one waits.
    Busy,
    /// There is no space left.
    Full,
    /// The store cannot be reached or opened.
    Unavailable,
    /// What is stored is not what this crate writes.
    Corrupt,
    /// Anything else.
    Other,
}

/// What is true of a batch that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aftermath {
    /// Nothing of it was applied.
    Nothing,
    /// It may have been applied, in whole.
    Unknown,
}

impl StoreError {
    /// A failure after which `aftermath` is true.
    pub fn new(
        kind: StoreErrorKind,
        aftermath: Aftermath,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { kind, aftermath, source: Arc::from(source.into()) }
    }

    /// What kind of failure it was.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// What is true afterwards.
    pub fn aftermath(&self) -> Aftermath {
        self.aftermath
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            StoreErrorKind::Busy => "write to the ledger: it is busy",
            StoreErrorKind::Full => "write to the ledger: it is full",
            StoreErrorKind::Unavailable => "reach the ledger",
            StoreErrorKind::Corrupt => "understand the ledger",
            StoreErrorKind::Other => "use the ledger",
        };
        let then = match self.aftermath {
            Aftermath::Nothing => "nothing was changed",
            Aftermath::Unknown => "whether it was changed is not known",
        };
        write!(f, "{what}: {} ({then})", self.source)
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}

/// Why the ledger did not answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum LedgerError {
    /// Its store failed.
    Store(StoreError),
    /// It was closed, or its thread ended.
    Closed,
    /// Its store answered another question than it was asked.
    Confused,
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Closed => f.write_str("reach the ledger: it is closed"),
            Self::Confused => f.write_str("understand the ledger: its store answered another question"),
        }
    }
}

impl std::error::Error for LedgerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::Closed | Self::Confused => None,
        }
    }
}

impl From<StoreError> for LedgerError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
