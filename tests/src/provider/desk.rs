//! What a tool makes of the client's errors.
//!
//! Must not know the provider's books.

use idem_runtime::{ErrorClass, Refusal};

use super::BankError;

/// How a tool that sends refunds fails.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The call was refused.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The provider did not do it, or did not say.
    #[error("{0}")]
    Bank(#[from] BankError),
}

impl SendError {
    /// The refusal that it is.
    ///
    /// # Panics
    /// When it is none.
    pub fn refusal(&self) -> &Refusal {
        match self {
            Self::Refused(refusal) => refusal,
            Self::Bank(other) => panic!("no refusal: {other}"),
        }
    }
}

/// What each error proves about the effect: the client sends once, and the provider says 402, 429 and 503 before it does
/// anything.
pub fn classify(error: &SendError) -> ErrorClass {
    match error {
        SendError::Bank(BankError::Unreachable(_) | BankError::Refused { status: 429 | 503, .. }) => {
            ErrorClass::Retryable
        }
        SendError::Bank(BankError::Refused { status: 402, .. }) => ErrorClass::Final,
        SendError::Bank(BankError::NoAnswer(_) | BankError::Refused { .. } | BankError::Unreadable(_))
        | SendError::Refused(_) => ErrorClass::Unknown,
    }
}
