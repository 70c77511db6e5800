//! What answers of an HTTP provider, and failures to get one, prove about the effect: tables, as data.
//!
//! Must not know how a request is made. Only what proves that nothing was sent, or that the provider refused, counts as
//! no effect; all else is unknown. The tables are copied into `attribute.md`, and a test compares them.

#[cfg(feature = "reqwest")]
mod client;
mod transport;

use std::{fmt, ops::RangeInclusive};

#[cfg(feature = "reqwest")]
pub use client::{classify, sends_once};
pub use transport::{TRANSPORTS, Transport, TransportRule, Transports};

use super::ErrorClass;

/// What a range of statuses proves, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusRule {
    /// The first status it speaks of.
    pub first: u16,
    /// The last one.
    pub last: u16,
    /// What an error of such a status proves.
    pub class: ErrorClass,
    /// Why.
    pub why: &'static str,
}

impl StatusRule {
    const fn new(first: u16, last: u16, class: ErrorClass, why: &'static str) -> Self {
        Self { first, last, class, why }
    }

    const fn holds(&self, status: u16) -> bool {
        self.first <= status && status <= self.last
    }
}

impl fmt::Display for StatusRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last, class, why } = self;
        if first == last {
            write!(f, "| {first} | {class} | {why} |")
        } else {
            write!(f, "| {first}–{last} | {class} | {why} |")
        }
    }
}

/// What statuses prove, unless a tool knows better of its provider. The first rule that holds a status decides.
///
/// A status that no rule holds is none of HTTP's, and unknown.
pub const STATUSES: &[StatusRule] = {
    use ErrorClass::{Final, Retryable, Unknown};
    &[
        StatusRule::new(408, 408, Unknown, "the server gave up on a request that it may have had whole"),
        StatusRule::new(409, 409, Unknown, "may mean \"already processed\" or \"in progress\": ask the provider"),
        StatusRule::new(425, 425, Retryable, "refused before processing: too early"),
        StatusRule::new(429, 429, Retryable, "refused before processing: too many requests"),
        StatusRule::new(499, 499, Unknown, "a gateway saw its client leave; the request may have been passed on"),
        StatusRule::new(400, 498, Final, "the provider refused this request, and will again"),
        StatusRule::new(500, 599, Unknown, "the provider or a gateway failed, perhaps after the effect"),
        StatusRule::new(100, 199, Unknown, "an interim answer: the last one is missing"),
        StatusRule::new(200, 299, Unknown, "a success that is treated as an error: the effect may well have happened"),
        StatusRule::new(300, 399, Unknown, "a redirect may follow an effect (303)"),
    ]
};

/// How many rules of its own a tool may have.
const OWN_MAX: usize = 16;

/// What statuses prove to one tool: [`STATUSES`], after rules of its own.
///
/// ```
/// use idem_runtime::{ErrorClass, http::Statuses};
///
/// // This provider documents that 503 means "not accepted", and 409 "refused, for good".
/// const BANK: Statuses =
///     Statuses::STANDARD.with(503, ErrorClass::Retryable).with(409, ErrorClass::Final);
///
/// assert_eq!(Statuses::STANDARD.classify(503), ErrorClass::Unknown);
/// assert_eq!(BANK.classify(503), ErrorClass::Retryable);
/// assert_eq!(BANK.classify(504), ErrorClass::Unknown);
/// ```
///
/// Its `Display` is the table as Markdown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Statuses {
    own: [Option<StatusRule>; OWN_MAX],
}

impl Statuses {
    /// [`STATUSES`], and nothing else.
    pub const STANDARD: Self = Self { own: [None; OWN_MAX] };

    /// The same, but for one status.
    ///
    /// # Panics
    /// At the seventeenth rule; in a `const` that is an error of the compiler.
    #[must_use]
    pub const fn with(self, status: u16, class: ErrorClass) -> Self {
        self.with_range(status..=status, class)
    }

    /// The same, but for these statuses. What was said last decides.
    ///
    /// # Panics
    /// At the seventeenth rule; in a `const` that is an error of the compiler.
    #[must_use]
    pub const fn with_range(mut self, statuses: RangeInclusive<u16>, class: ErrorClass) -> Self {
        let mut free = 0;
        while self.own[free].is_some() {
            free += 1;
            assert!(free < OWN_MAX, "a tool has at most 16 rules of its own");
        }
        self.own[free] = Some(StatusRule::new(*statuses.start(), *statuses.end(), class, "this tool's own rule"));
        self
    }

    /// The rules, in the order in which they decide.
    pub fn rules(&self) -> impl Iterator<Item = &StatusRule> {
        self.own.iter().rev().flatten().chain(STATUSES)
    }

    /// What an error of this status proves.
    pub fn classify(&self, status: u16) -> ErrorClass {
        self.rules().find(|rule| rule.holds(status)).map_or(ErrorClass::Unknown, |rule| rule.class)
    }
}

impl Default for Statuses {
    fn default() -> Self {
        Self::STANDARD
    }
}

impl fmt::Debug for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rules()).finish()
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| status | an error of it is | because |\n| --- | --- | --- |")?;
        self.rules().try_for_each(|rule| writeln!(f, "{rule}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANUAL: &str = include_str!("../attribute.md");

    #[test]
    fn the_manual_prints_the_tables() {
        for table in [Statuses::STANDARD.to_string(), Transports::STANDARD.to_string()] {
            assert!(MANUAL.contains(&table), "`## Error classes` in attribute.md lacks the table:\n{table}");
        }
    }

    #[test]
    fn r055_each_status_has_one_class() {
        use ErrorClass::{Final, Retryable, Unknown};
        for status in 0..=u16::MAX {
            let class = match status {
                425 | 429 => Retryable,
                408 | 409 | 499 => Unknown,
                400..=498 => Final,
                _ => Unknown,
            };
            assert_eq!(Statuses::STANDARD.classify(status), class, "{status}");
        }
    }

    #[test]
    fn a_tool_s_own_rule_decides_and_the_last_one_most() {
        const OWN: Statuses = Statuses::STANDARD
            .with_range(500..=504, ErrorClass::Retryable)
            .with(502, ErrorClass::Unknown)
            .with(429, ErrorClass::Final);
        for (status, class) in [
            (500, ErrorClass::Retryable),
            (502, ErrorClass::Unknown),
            (504, ErrorClass::Retryable),
            (505, ErrorClass::Unknown),
            (429, ErrorClass::Final),
            (404, ErrorClass::Final),
        ] {
            assert_eq!(OWN.classify(status), class, "{status}");
        }
        let table = OWN.to_string();
        let rows: Vec<_> = table.lines().collect();
        assert_eq!(rows[2], "| 429 | final | this tool's own rule |");
        assert_eq!(rows[4], "| 500–504 | retryable | this tool's own rule |");
        assert_eq!(rows.len(), 2 + 3 + STATUSES.len());
    }

    #[test]
    fn every_rule_decides_for_some_status() {
        for rule in STATUSES {
            let first = (rule.first..=rule.last).find(|status| {
                STATUSES.iter().find(|other| other.holds(*status)).is_some_and(|decides| decides == rule)
            });
            assert!(first.is_some(), "dead: {rule}");
        }
    }
}
