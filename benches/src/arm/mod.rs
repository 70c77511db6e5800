//! The ways to guard a call that are compared.
//!
//! Each arm runs some callers on one file or schema for a while, checks there that the work was done, and gives a
//! [`Sample`](crate::load::Sample). Must not know what the figures are compared with.

pub mod disk;
pub mod naive;
pub mod ours;
pub mod postgres;
pub mod raw;
pub mod store;

use std::fmt;

/// Where keys lie in an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// Behind an ascending scope.
    Scoped,
    /// Anywhere.
    Random,
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scoped => "scoped",
            Self::Random => "random",
        })
    }
}

/// Size of a stored result, as the tool's.
const RESULT_BYTES: usize = 200;
