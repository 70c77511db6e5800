//! PostgreSQL's errors in the ledger's words.

use sqlx::Error;

use super::script::Failed;
use crate::ledger::{Aftermath, Illegal, StoreError, StoreErrorKind};

/// Why a batch was not carried out.
#[derive(Debug)]
pub(super) enum Stopped {
    /// Somebody else came first, or the connection is gone, and nothing was applied: begin again with what is there now.
    Again(StoreError),
    /// For good.
    Failed(StoreError),
}

impl From<Error> for Stopped {
    /// Of an error before `commit` was sent.
    fn from(error: Error) -> Self {
        let again = is_one_of(&error, &AGAIN) || is_gone(&error);
        let error = nothing(error);
        if again { Self::Again(error) } else { Self::Failed(error) }
    }
}

impl From<Failed> for Stopped {
    fn from(failed: Failed) -> Self {
        failed.error.into()
    }
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl From<Illegal> for Stopped {
    /// The record itself is wrong, or was asked for what cannot happen to it.
    fn from(error: Illegal) -> Self {
        Self::Failed(StoreError::new(StoreErrorKind::Other, Aftermath::Nothing, error))
    }
}

/// Another transaction took what this one was about to take.
pub(super) fn overtaken() -> Stopped {
    let what = "another process took an identity at the same time";
    Stopped::Again(StoreError::new(StoreErrorKind::Busy, Aftermath::Nothing, what))
}

/// The names that this batch goes by were learnt from another server: a pooler has led elsewhere since.
pub(super) fn moved() -> Stopped {
    let what = "the server was started since, or another one has taken over";
    Stopped::Again(StoreError::new(StoreErrorKind::Unavailable, Aftermath::Nothing, what))
}

/// Serialisation and deadlock: the transaction was rolled back, for another one's sake.
const AGAIN: [&str; 2] = ["40001", "40P01"];

/// Answers to `commit` after which the transaction is not there, whatever stands before it: it was aborted already, or the
/// server itself rolled it back.
const ROLLED_BACK: [&str; 4] = ["25P02", "40001", "40P01", "40002"];

/// A failure before `commit` was sent: nothing of it is there.
pub(super) fn nothing(error: Error) -> StoreError {
    StoreError::new(kind(&error), Aftermath::Nothing, error)
}

/// A failure of `commit` itself. Only where the server says that it rolled back is that known.
pub(super) fn at_commit(error: Error) -> Stopped {
    if is_one_of(&error, &AGAIN) {
        return Stopped::Again(nothing(error));
    }
    let aftermath = if is_one_of(&error, &ROLLED_BACK) { Aftermath::Nothing } else { Aftermath::Unknown };
    Stopped::Failed(StoreError::new(kind(&error), aftermath, error))
}

/// The store cannot be reached or used.
pub(super) fn unavailable(what: impl Into<String>) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, Aftermath::Nothing, what.into())
}

/// Stored data that this crate does not write.
pub(super) fn corrupt(what: &'static str) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, Aftermath::Nothing, what)
}

/// A column that holds what this crate does not write.
pub(super) fn misread(what: &'static str) -> Error {
    Error::Decode(what.into())
}

/// Whether the connection was gone, or the server did not let it work.
pub(super) fn is_gone(error: &Error) -> bool {
    // Shutting down, from the server itself; no way to it, from a pooler in between.
    let told = |code: String| code.starts_with("57P") || code.starts_with("08");
    matches!(error, Error::Io(_) | Error::Protocol(_)) || code(error).is_some_and(told)
}

pub(super) fn is_one_of(error: &Error, codes: &[&str]) -> bool {
    code(error).is_some_and(|code| codes.contains(&&*code))
}

/// Whether a statement failed because of what it was about: of a value that it was given, or a damaged row. Others may do
/// well.
pub(super) fn is_of_data(error: &Error) -> bool {
    code(error).is_some_and(|code| code.starts_with("22") || code.starts_with("XX"))
}

fn code(error: &Error) -> Option<String> {
    error.as_database_error()?.code().map(std::borrow::Cow::into_owned)
}

fn kind(error: &Error) -> StoreErrorKind {
    match error {
        Error::Decode(_) | Error::ColumnDecode { .. } | Error::ColumnNotFound(_) => return StoreErrorKind::Corrupt,
        Error::Io(_) | Error::Tls(_) | Error::Configuration(_) => return StoreErrorKind::Unavailable,
        _ => {}
    }
    let code = code(error).unwrap_or_default();
    match code.get(..2).unwrap_or_default() {
        // Rolled back for another one's sake; waited too long; no connection left.
        "40" | "55" => StoreErrorKind::Busy,
        _ if code == "53300" => StoreErrorKind::Busy,
        _ if code == "53100" => StoreErrorKind::Full,
        // Not reachable, not allowed in, shutting down, a standby.
        "08" | "28" | "57" | "3D" | "25" => StoreErrorKind::Unavailable,
        "XX" => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Other,
    }
}
