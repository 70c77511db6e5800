//! What an error of a tool proves about the effect, and how its type says so.
//!
//! Must not know any error type but by what it says of itself, nor what the ledger makes of an answer.

use std::{fmt, sync::Arc};

/// What an error of the tool says about the effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// It proves that nothing happened; another attempt may.
    Retryable,
    /// It proves that nothing happened, and no attempt will succeed.
    Final,
    /// It proves nothing. What an error is unless its type or `classify` says otherwise.
    Unknown,
}

impl ErrorClass {
    /// Its name in tables: `retryable`, `final` or `unknown`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retryable => "retryable",
            Self::Final => "final",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An error that knows what it proves about the effect.
///
/// A tool whose error type implements it needs no `classify`; one that says `classify = path` is not asked here. An
/// error type without it is [unknown](ErrorClass::Unknown), always: **an error is unknown unless its type says that no
/// effect happened.** A timeout, a lost connection, a broken answer prove nothing, however often they turn out to be
/// harmless.
///
/// Two conditions make "no effect" a proof, and no type can check them:
///
/// - **The client never sends again by itself.** A client that tries three times reports its last failure; that the third
///   try was not sent says nothing of the first. Turn the client's own retries off, and the following of redirects with
///   them: the operation's next attempt is the retry.
/// - **The error speaks for all that the body did.** "Not connected" from a body's second request proves nothing about its
///   first. One effect a tool.
///
/// A call that was refused by another tool within the body is no proof either: a `Refusal` is not classified.
///
/// ```
/// use idem_runtime::{EffectError, ErrorClass};
///
/// enum PaymentError {
///     NotConnected,
///     Declined,
///     TimedOut,
/// }
///
/// impl EffectError for PaymentError {
///     fn effect_class(&self) -> ErrorClass {
///         match self {
///             Self::NotConnected => ErrorClass::Retryable, // not a byte was sent
///             Self::Declined => ErrorClass::Final,         // the provider's own no
///             Self::TimedOut => ErrorClass::Unknown,       // it may have arrived
///         }
///     }
/// }
///
/// assert_eq!(PaymentError::TimedOut.effect_class(), ErrorClass::Unknown);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what it proves about the effect",
    label = "no `EffectError`",
    note = "write `#[derive(EffectError)]` above a type of your own; for a foreign one, mark the variant that holds it, \
            or write `classify = path` in the attribute"
)]
pub trait EffectError {
    /// What this error proves. The answer depends on nothing but the error.
    fn effect_class(&self) -> ErrorClass;
}

impl<E: EffectError + ?Sized> EffectError for &E {
    fn effect_class(&self) -> ErrorClass {
        (**self).effect_class()
    }
}

impl<E: EffectError + ?Sized> EffectError for Box<E> {
    fn effect_class(&self) -> ErrorClass {
        (**self).effect_class()
    }
}

impl<E: EffectError + ?Sized> EffectError for Arc<E> {
    fn effect_class(&self) -> ErrorClass {
        (**self).effect_class()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Said(ErrorClass);

    impl EffectError for Said {
        fn effect_class(&self) -> ErrorClass {
            self.0
        }
    }

    fn asked(error: impl EffectError) -> ErrorClass {
        error.effect_class()
    }

    #[test]
    fn a_pointer_says_what_its_error_says() {
        for class in [ErrorClass::Retryable, ErrorClass::Final, ErrorClass::Unknown] {
            let said = Said(class);
            assert_eq!(asked(&said), said.effect_class());
            assert_eq!(asked(Box::new(Said(class))), class);
            assert_eq!(asked(Arc::new(Said(class))), class);
            assert_eq!(asked(Box::new(Said(class)) as Box<dyn EffectError>), class);
        }
    }
}
