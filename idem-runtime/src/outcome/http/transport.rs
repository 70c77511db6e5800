//! Ways in which a request comes to no answer, and what each proves.
//!
//! Must not know any client; which of its errors is which way, `client.rs` finds out.

use std::fmt;

use crate::outcome::ErrorClass;

/// A way in which a request comes to no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transport {
    /// There is no request: it could not be built.
    Building,
    /// There is no connection: refused, no address, TLS failed, or it took too long to connect.
    Connecting,
    /// The connection was lost before the first byte of the request was written to it.
    NotBegun,
    /// No answer came in time.
    TimedOut,
    /// The connection ended before the answer did: "connection closed before message completed".
    Closed,
    /// A body broke off.
    Body,
    /// The answer could not be read.
    Decoding,
    /// A redirect could not be followed.
    Redirecting,
    /// Anything else, such as a reset.
    Other,
}

impl Transport {
    /// Its words in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Building => "building the request",
            Self::Connecting => "connecting: refused, no address, TLS, connect timeout",
            Self::NotBegun => "connection lost before the first byte of the request",
            Self::TimedOut => "timeout of the request or of reading",
            Self::Closed => "connection closed before message completed",
            Self::Body => "body broken off",
            Self::Decoding => "decoding the answer",
            Self::Redirecting => "following a redirect",
            Self::Other => "anything else, such as a reset",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What one way to no answer proves, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransportRule {
    /// The way.
    pub of: Transport,
    /// What an error of it proves.
    pub class: ErrorClass,
    /// Why.
    pub why: &'static str,
}

impl TransportRule {
    const fn new(of: Transport, class: ErrorClass, why: &'static str) -> Self {
        Self { of, class, why }
    }
}

impl fmt::Display for TransportRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} | {} | {} |", self.of, self.class, self.why)
    }
}

/// What each way to no answer proves, unless a tool knows better: one rule for each.
pub const TRANSPORTS: [TransportRule; 9] = {
    use ErrorClass::{Final, Retryable, Unknown};
    [
        TransportRule::new(Transport::Building, Final, "nothing was sent, and the same request fails again"),
        TransportRule::new(Transport::Connecting, Retryable, "nothing was sent: there was nothing to send it on"),
        TransportRule::new(Transport::NotBegun, Unknown, "nothing was sent, says the client; a tool may take its word"),
        TransportRule::new(Transport::TimedOut, Unknown, "it may have arrived, and may be at work still"),
        TransportRule::new(Transport::Closed, Unknown, "the provider may have acted before it hung up"),
        TransportRule::new(Transport::Body, Unknown, "a part was sent, or the answer's rest is missing"),
        TransportRule::new(Transport::Decoding, Unknown, "there was an answer, and nobody can tell what it said"),
        TransportRule::new(Transport::Redirecting, Unknown, "the first request was answered, perhaps after its effect"),
        TransportRule::new(Transport::Other, Unknown, "bytes may have been sent"),
    ]
};

/// What ways to no answer prove to one tool: [`TRANSPORTS`], changed.
///
/// ```
/// use idem_runtime::{ErrorClass, http::{Transport, Transports}};
///
/// const BANK: Transports = Transports::STANDARD.with(Transport::NotBegun, ErrorClass::Retryable);
///
/// assert_eq!(Transports::STANDARD.classify(Transport::NotBegun), ErrorClass::Unknown);
/// assert_eq!(BANK.classify(Transport::NotBegun), ErrorClass::Retryable);
/// assert_eq!(BANK.classify(Transport::Closed), ErrorClass::Unknown);
/// ```
///
/// Its `Display` is the table as Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transports {
    rules: [TransportRule; TRANSPORTS.len()],
}

impl Transports {
    /// [`TRANSPORTS`] as it is.
    pub const STANDARD: Self = Self { rules: TRANSPORTS };

    /// The same, but for one way.
    #[must_use]
    pub const fn with(mut self, of: Transport, class: ErrorClass) -> Self {
        // A rule stands where its way stands in the enum.
        self.rules[of as usize] = TransportRule::new(of, class, "this tool's own rule");
        self
    }

    /// The rules.
    pub fn rules(&self) -> impl Iterator<Item = &TransportRule> {
        self.rules.iter()
    }

    /// What an error of this kind proves.
    pub const fn classify(&self, of: Transport) -> ErrorClass {
        self.rules[of as usize].class
    }
}

impl Default for Transports {
    fn default() -> Self {
        Self::STANDARD
    }
}

impl fmt::Display for Transports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| no answer, because of | an error of it is | because |\n| --- | --- | --- |")?;
        self.rules().try_for_each(|rule| writeln!(f, "{rule}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_stands_where_its_way_does() {
        for (at, rule) in TRANSPORTS.iter().enumerate() {
            assert_eq!(rule.of as usize, at, "{rule}");
            let changed = Transports::STANDARD.with(rule.of, ErrorClass::Final);
            let others = TRANSPORTS.iter().filter(|other| other.of != rule.of);
            assert_eq!(changed.classify(rule.of), ErrorClass::Final);
            assert!(others.into_iter().all(|other| changed.classify(other.of) == other.class), "{rule}");
            assert!(changed.to_string().contains("| final | this tool's own rule |"));
        }
    }

    #[test]
    fn r055_only_what_was_never_sent_is_no_effect() {
        let proved = TRANSPORTS.iter().filter(|rule| rule.class != ErrorClass::Unknown);
        let proved: Vec<_> = proved.map(|rule| (rule.of, rule.class)).collect();
        assert_eq!(proved, [(Transport::Building, ErrorClass::Final), (Transport::Connecting, ErrorClass::Retryable)]);
    }
}
