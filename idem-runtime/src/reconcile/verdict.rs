//! What a look-up answers.
//!
//! Must not know what is made of it.

use std::fmt;

/// What a look-up or a search found out about an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<T> {
    /// It happened.
    Applied {
        /// The result, as the tool would have returned it.
        value: T,
        /// The provider's id of the effect.
        reference: Option<String>,
    },
    /// It did not happen, and what was sent will not happen any more. Before the tool's `settles_in` has passed this
    /// counts as inconclusive.
    NotApplied {
        /// How that is known, in words.
        evidence: String,
    },
    /// The provider answered, and that does not tell.
    Inconclusive {
        /// What it said, in words.
        evidence: String,
    },
}

impl<T> Verdict<T> {
    /// The effect happened; the provider calls it `reference`.
    pub fn applied(value: T, reference: impl Into<String>) -> Self {
        Self::Applied { value, reference: Some(reference.into()) }
    }

    /// The effect did not happen.
    pub fn not_applied(evidence: impl Into<String>) -> Self {
        Self::NotApplied { evidence: evidence.into() }
    }

    /// The answer does not tell.
    pub fn inconclusive(evidence: impl Into<String>) -> Self {
        Self::Inconclusive { evidence: evidence.into() }
    }
}

/// A verdict, or the words of a look-up that got no answer.
#[derive(Debug)]
pub struct Answered<T>(pub(crate) Result<Verdict<T>, String>);

/// What a look-up may return: a [`Verdict`], or a `Result` of one whose error means that the provider did not answer.
#[diagnostic::on_unimplemented(
    message = "a look-up must return a `Verdict<{T}>`, or a `Result` of one",
    label = "returns `{Self}`",
    note = "write `async fn look_up(…, operation: idem_runtime::Unsettled) -> idem_runtime::Verdict<{T}>`"
)]
pub trait IntoVerdict<T> {
    /// The verdict, or why there is none.
    fn into_verdict(self) -> Answered<T>;
}

impl<T> IntoVerdict<T> for Verdict<T> {
    fn into_verdict(self) -> Answered<T> {
        Answered(Ok(self))
    }
}

impl<T, E: fmt::Display> IntoVerdict<T> for Result<Verdict<T>, E> {
    fn into_verdict(self) -> Answered<T> {
        Answered(self.map_err(|error| error.to_string()))
    }
}

/// A look-up's future, whatever it returns.
pub async fn answered<T, V: IntoVerdict<T>>(asked: impl Future<Output = V>) -> Answered<T> {
    asked.await.into_verdict()
}
