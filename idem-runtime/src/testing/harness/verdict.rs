//! What can be wrong, in four kinds; and what a failure says to whoever reads it.
//!
//! Must not know how a scenario is played.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};

/// The kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// One intended effect happened more than once.
    NoDeduplication,
    /// A caller was told what is not so, or less than is known.
    MisleadingAnswer,
    /// Nobody is at it any more, and the ledger does not come to know.
    HungLease,
    /// Somebody was told of a success, and there is no effect.
    SuccessWithoutEffect,
    /// The fixture does not fit the tool: nothing was proved either way.
    Fixture,
    /// The harness could not do its work: nothing was proved either way.
    Stage,
}

impl FailureKind {
    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoDeduplication => "no deduplication",
            Self::MisleadingAnswer => "misleading answer",
            Self::HungLease => "hung lease",
            Self::SuccessWithoutEffect => "success told without effect",
            Self::Fixture => "the fixture does not fit",
            Self::Stage => "the harness could not go on",
        }
    }

    /// What usually mends it.
    pub const fn mends(self) -> &'static str {
        match self {
            Self::NoDeduplication => {
                "Let the key name what identifies the intent (`tool_call_id|args`, a template), not the id of one call. Let \
                 an error be `retryable` only where it proves that nothing happened. Hand the provider \
                 `call.provider_key(…)` where the tool declares `recover(provider_key = …)`. Turn off whatever sends again \
                 by itself inside of the body."
            }
            Self::MisleadingAnswer => {
                "Let an error be `final` or `retryable` only where it proves that nothing happened; time-outs and lost \
                 connections prove nothing. Return what the provider said, also from the look-up. Return refusals as \
                 they come."
            }
            Self::HungLease => {
                "Do not hold a call behind a guard of your own, and do not wait in the body for another call of the same \
                 operation. Run a reconciler (`Idem::reconciler`), so that silent owners are noticed."
            }
            Self::SuccessWithoutEffect => {
                "Return `Ok` only after the provider has confirmed. Await what the body starts. Say `reference = \
                 required` where the provider gives one. Let the look-up answer `applied` only for the whole effect."
            }
            Self::Fixture => "Change the fixture as the line above says.",
            Self::Stage => "See what the line above says of this machine; it is no finding about the tool.",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A case that failed, for whoever has to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which of the kinds it is.
    pub kind: FailureKind,
    /// Tool and scenario.
    pub case: String,
    /// What had to be so.
    pub expected: String,
    /// What was seen, in order.
    pub seen: Vec<String>,
    /// The command that runs this one case again.
    pub again: String,
    /// Where the record of the case stands.
    pub record: Option<PathBuf>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, case, expected, seen, again, record } = self;
        writeln!(f, "{case}: {kind}")?;
        writeln!(f, "  expected: {expected}")?;
        for line in seen {
            writeln!(f, "  seen:     {line}")?;
        }
        writeln!(f, "  mend:     {}", kind.mends())?;
        if let Some(record) = record {
            writeln!(f, "  record:   {}", record.display())?;
        }
        write!(f, "  again:    {again}")
    }
}

impl std::error::Error for Failure {}
