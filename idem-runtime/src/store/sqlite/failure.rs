//! SQLite's errors in the ledger's words.

use rusqlite::{Error, ErrorCode, types::Type};

use crate::ledger::{Aftermath, Illegal, StoreError, StoreErrorKind};

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

/// A column that holds what this crate does not write.
pub(super) fn misread(column: usize, what: &'static str) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, what.into())
}

/// The record itself is wrong, or was asked for what cannot happen to it.
pub(super) fn illegal(error: Illegal) -> StoreError {
    StoreError::new(StoreErrorKind::Other, Aftermath::Nothing, error)
}

fn kind(error: &Error) -> StoreErrorKind {
    if matches!(error, Error::FromSqlConversionFailure(..) | Error::InvalidColumnType(..)) {
        return StoreErrorKind::Corrupt;
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreErrorKind::Busy,
        Some(ErrorCode::DiskFull) => StoreErrorKind::Full,
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreErrorKind::Unavailable,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch) => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Other,
    }
}
