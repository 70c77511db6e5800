//! How results and errors of tools are stored and read again.
//!
//! A result is serde's, unless an adapter brings a way of its own for its framework's results. An error is stored as JSON
//! where it can be, and in words otherwise; which of the two is decided where the attribute stands, by what the error
//! type implements.

use std::{error::Error, fmt, marker::PhantomData};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    ledger::{Stored, StoredKind},
    outcome::{EffectError, ErrorClass, Refusal},
};

/// What a tool returns.
#[diagnostic::on_unimplemented(
    message = "an idempotent tool must return a `Result`",
    label = "this is not a `Result`",
    note = "its error type has to take a `Refusal`: `impl From<idem_runtime::Refusal>`, or `refuse = path`"
)]
pub trait IsResult {
    /// What it gives.
    type Ok;
    /// How it fails.
    type Err;

    /// The result itself.
    fn into_result(self) -> Result<Self::Ok, Self::Err>;

    /// The result, looked at.
    fn as_result(&self) -> Result<&Self::Ok, &Self::Err>;

    /// The return value for a result.
    fn from_result(result: Result<Self::Ok, Self::Err>) -> Self;
}

impl<T, E> IsResult for Result<T, E> {
    type Ok = T;
    type Err = E;

    fn into_result(self) -> Self {
        self
    }

    fn as_result(&self) -> Result<&T, &E> {
        self.as_ref()
    }

    fn from_result(result: Self) -> Self {
        result
    }
}

/// An error that can take a refusal in: how the guard answers through a tool's own error type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of an idempotent tool: it does not take a `Refusal`",
    label = "how would it say that the call was refused?",
    note = "write `impl From<idem_runtime::Refusal> for {Self}`, or `refuse = path` in the attribute"
)]
pub trait TakesRefusal {
    /// The error for a refusal.
    fn refused(refusal: Refusal) -> Self;
}

impl<E: From<Refusal>> TakesRefusal for E {
    fn refused(refusal: Refusal) -> Self {
        refusal.into()
    }
}

/// What a tool declares about its errors.
#[derive(Debug)]
pub struct Policy<R: IsResult> {
    pub(super) refuse: fn(Refusal) -> R::Err,
    pub(super) classify: fn(&R::Err) -> ErrorClass,
    pub(super) errors: ErrorCodec<R::Err>,
    pub(crate) values: ValueCodec<R::Ok>,
}

impl<R: IsResult> Clone for Policy<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: IsResult> Copy for Policy<R> {}

impl<R: IsResult> Policy<R> {
    /// A policy of these parts.
    pub fn new(
        refuse: fn(Refusal) -> R::Err,
        classify: fn(&R::Err) -> ErrorClass,
        errors: ErrorCodec<R::Err>,
        values: ValueCodec<R::Ok>,
    ) -> Self {
        Self { refuse, classify, errors, values }
    }

    /// What a body gave: a success, or what it proves about the effect and how that is stored.
    pub(super) fn judge<'r>(&self, output: &'r R) -> Result<&'r R::Ok, (ErrorClass, Stored)> {
        match output.as_result() {
            Ok(value) => match (self.values.fails)(value) {
                None => Ok(value),
                Some(Unsuccessful { class, words }) => Err((class, text(words))),
            },
            Err(error) => Err(((self.classify)(error), (self.errors.write)(error))),
        }
    }
}

/// An error proves nothing unless its tool says otherwise.
fn unclassified<E>(_: &E) -> ErrorClass {
    ErrorClass::Unknown
}

/// How results of one type are stored, and which of them are no success.
#[derive(Debug)]
pub struct ValueCodec<T> {
    write: fn(&T) -> serde_json::Result<Vec<u8>>,
    read: fn(&[u8]) -> serde_json::Result<T>,
    fails: fn(&T) -> Option<Unsuccessful>,
}

/// Why a value that a body gave is no success, though it is no error of Rust's either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsuccessful {
    /// What it proves about the effect.
    pub class: ErrorClass,
    /// In words, for the ledger.
    pub words: String,
}

impl<T> Clone for ValueCodec<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ValueCodec<T> {}

impl<T> ValueCodec<T> {
    /// As serde has it; every value is a success.
    pub fn serde() -> Self
    where
        T: Serialize + DeserializeOwned,
    {
        Self::new(|value| serde_json::to_vec(value), |json| serde_json::from_slice(json))
    }

    /// A framework's own way; what is written is JSON.
    pub fn new(write: fn(&T) -> serde_json::Result<Vec<u8>>, read: fn(&[u8]) -> serde_json::Result<T>) -> Self {
        Self { write, read, fails: |_| None }
    }

    /// Which values are no success. The caller gets them as they are; repeats are told what they prove.
    #[must_use]
    pub fn fails(self, fails: fn(&T) -> Option<Unsuccessful>) -> Self {
        Self { fails, ..self }
    }

    /// A result as it is stored, or why it cannot be.
    pub(crate) fn write(&self, value: &T, bytes_max: usize) -> Result<Stored, String> {
        match (self.write)(value) {
            Ok(json) if json.len() <= bytes_max => Ok(Stored { kind: StoredKind::Value, bytes: json.into() }),
            Ok(json) => Err(format!("it has {} bytes as JSON, at most {bytes_max} are stored", json.len())),
            Err(error) => Err(format!("it cannot be written as JSON: {error}")),
        }
    }

    /// A stored result.
    pub(super) fn read(&self, stored: &Stored) -> Result<T, Box<dyn Error + Send + Sync>> {
        (self.read)(&stored.bytes).map_err(Into::into)
    }
}

/// How errors of one type are stored.
#[derive(Debug)]
pub struct ErrorCodec<E> {
    pub(super) write: fn(&E) -> Stored,
    pub(super) read: fn(&[u8]) -> Option<E>,
}

impl<E> Clone for ErrorCodec<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for ErrorCodec<E> {}

/// Finds out how errors of a type can be stored, `(&&&Probe::<E>::new()).codec()`, and what tells what they prove,
/// `(&&Probe::<E>::new()).classifier()`: by method lookup.
#[derive(Debug)]
pub struct Probe<E>(PhantomData<fn() -> E>);

impl<E> Probe<E> {
    /// A probe for `E`.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<E> Default for Probe<E> {
    fn default() -> Self {
        Self::new()
    }
}

/// Errors that serde can write and read: replayed as they were.
pub trait SerdeError<E> {
    /// The codec.
    fn codec(&self) -> ErrorCodec<E>;
}

impl<E: Serialize + DeserializeOwned + fmt::Display> SerdeError<E> for &&Probe<E> {
    fn codec(&self) -> ErrorCodec<E> {
        ErrorCodec {
            write: |error| match serde_json::to_vec(error) {
                Ok(json) if json.len() <= ERROR_BYTES_MAX => Stored { kind: StoredKind::Error, bytes: json.into() },
                Ok(_) | Err(_) => in_words(error),
            },
            read: |json| serde_json::from_slice(json).ok(),
        }
    }
}

/// Every other error that has words: replayed in words.
pub trait TextError<E> {
    /// The codec.
    fn codec(&self) -> ErrorCodec<E>;
}

impl<E: fmt::Display> TextError<E> for &Probe<E> {
    fn codec(&self) -> ErrorCodec<E> {
        ErrorCodec { write: in_words, read: |_| None }
    }
}

/// An error without words: what is known is its type.
pub trait MuteError<E> {
    /// The codec.
    fn codec(&self) -> ErrorCodec<E>;
}

impl<E> MuteError<E> for Probe<E> {
    fn codec(&self) -> ErrorCodec<E> {
        let write = |_: &E| {
            let words = format!("an error of type {}", std::any::type_name::<E>());
            Stored { kind: StoredKind::Text, bytes: words.into_bytes().into() }
        };
        ErrorCodec { write, read: |_| None }
    }
}

/// Errors whose type says what they prove.
pub trait ClassedError<E> {
    /// What tells it.
    fn classifier(&self) -> fn(&E) -> ErrorClass;
}

impl<E: EffectError> ClassedError<E> for &Probe<E> {
    fn classifier(&self) -> fn(&E) -> ErrorClass {
        E::effect_class
    }
}

/// Every other error: it proves nothing.
pub trait UnclassedError<E> {
    /// What tells it.
    fn classifier(&self) -> fn(&E) -> ErrorClass;
}

impl<E> UnclassedError<E> for Probe<E> {
    fn classifier(&self) -> fn(&E) -> ErrorClass {
        unclassified
    }
}

/// An error that is larger as JSON is stored in words.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// How much of an error's words is stored.
const WORDS_BYTES_MAX: usize = 4 * 1024;

fn in_words<E: fmt::Display>(error: &E) -> Stored {
    text(error.to_string())
}

/// Words as they are stored.
fn text(mut words: String) -> Stored {
    if words.len() > WORDS_BYTES_MAX {
        let end = words.floor_char_boundary(WORDS_BYTES_MAX);
        words.truncate(end);
    }
    Stored { kind: StoredKind::Text, bytes: words.into_bytes().into() }
}
