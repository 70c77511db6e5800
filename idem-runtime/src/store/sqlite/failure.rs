//! SQLite's errors in the ledger's words.

use rusqlite::{Error, ErrorCode};

use crate::ledger::{Aftermath, StoreError, StoreErrorKind};

/// A failure before or inside a transaction that was rolled back: nothing of it is there.
pub(super) fn nothing(error: Error) -> StoreError {
    StoreError::new(kind(&error), Aftermath::Nothing, error)
}

/// A failure of `commit` itself. SQLite rolls back what it could not commit, but a disk that fails while it syncs may
/// have kept either version.
pub(super) fn at_commit(error: Error) -> StoreError {
    let aftermath = match error.sqlite_error_code() {
        Some(ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt) | None => Aftermath::Unknown,
        Some(_) => Aftermath::Nothing,
    };
    StoreError::new(kind(&error), aftermath, error)
}

/// Stored data that this crate does not write.
pub(super) fn corrupt(what: &'static str) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, Aftermath::Nothing, what)
}

fn kind(error: &Error) -> StoreErrorKind {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreErrorKind::Busy,
        Some(ErrorCode::DiskFull) => StoreErrorKind::Full,
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreErrorKind::Unavailable,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch) => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Other,
    }
}
