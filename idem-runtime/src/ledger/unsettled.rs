//! What is asked and answered about operations whose outcome is not known: owners that fell silent, reconciliations,
//! verdicts, operators, evidence from outside.
//!
//! Must not know who finds out, nor how. Everything here is a [`Command`](super::Command) or a reply to one.

use std::{sync::Arc, time::Duration};

use super::{
    command::Budget,
    record::{Record, Stored, StoredKind},
};
use crate::{
    id::{OperationId, Tenant},
    identity::Digest,
};

/// An attempt or a reconciliation whose lease ended in silence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silent {
    /// Whose operation it is.
    pub tenant: Tenant,
    /// The record's handle.
    pub row: i64,
    /// The version in which it was seen.
    pub version: u64,
}

/// Somebody is about to find out what happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeginReconcile {
    /// Whose operation it is.
    pub tenant: Tenant,
    /// The record's handle.
    pub row: i64,
    /// The version in which it was seen.
    pub version: u64,
    /// How long whoever finds out may stay silent.
    pub lease: Duration,
    /// A person asked for it: also where finding out was given up.
    pub by_hand: bool,
}

/// Whether somebody may find out.
#[derive(Debug, Clone)]
pub enum Begun {
    /// Yes, under this token; nobody else does meanwhile.
    Yours {
        /// The fencing token.
        fence: i64,
        /// The record as it stands now.
        record: Arc<Record>,
    },
    /// No: it is not, or no longer, what it was taken for.
    NotNow {
        /// The record as it stands.
        record: Arc<Record>,
    },
    /// There is no such record of this tenant.
    Gone,
}

/// What was found out about an operation, and how.
#[derive(Debug, Clone)]
pub struct Judge {
    /// Whose operation it is.
    pub tenant: Tenant,
    /// The record's handle.
    pub row: i64,
    /// The fencing token from [`Begun::Yours`].
    pub fence: i64,
    /// What was found out.
    pub finding: Finding,
    /// The steps that were tried, in order.
    pub steps: Vec<Step>,
    /// The provider answered, and could have told: the pass counts towards the bound.
    pub counted: bool,
    /// When to give up.
    pub bound: Bound,
    /// Callers can still use the provider's key: a person is not asked yet.
    pub spare_operators: bool,
    /// When to ask again, from now.
    pub again_in: Duration,
    /// The attempts that the tool allows itself.
    pub budget: Option<Budget>,
    /// Digests of the resources that the recovered result names.
    pub resources: Arc<[Digest]>,
}

/// What there is to say about an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It happened.
    Applied {
        /// The result, where it is known.
        stored: Option<Stored>,
        /// The provider's id of it.
        reference: Option<Arc<str>>,
    },
    /// It did not happen.
    NotApplied,
    /// Nobody could tell.
    Inconclusive,
}

impl Finding {
    /// The finding's name, as it stands in columns and logs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Applied { .. } => "applied",
            Self::NotApplied => "not_applied",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// The provider's id of the effect, where it says one.
    pub const fn reference(&self) -> Option<&Arc<str>> {
        match self {
            Self::Applied { reference, .. } => reference.as_ref(),
            Self::NotApplied | Self::Inconclusive => None,
        }
    }
}

/// One step of a recovery chain, as it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// `provider_key`, `lookup` or `search`.
    pub name: &'static str,
    /// `applied`, `not_applied`, `inconclusive` or `skipped`.
    pub said: &'static str,
    /// The evidence, in words.
    pub evidence: Arc<str>,
}

/// How often an operation may be asked about before a person is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Passes in which the provider answered and could have told.
    pub answered_max: u32,
    /// Passes in all.
    pub passes_max: u32,
}

/// What a verdict led to.
#[derive(Debug, Clone)]
pub enum Judged {
    /// The record is as the verdict says.
    Recorded {
        /// The record now.
        record: Arc<Record>,
    },
    /// Something else had moved the record on. What was found out was kept as evidence.
    Late {
        /// The record after the evidence was weighed.
        record: Arc<Record>,
    },
    /// There is no such record of this tenant.
    Gone,
}

/// What a person decided about an operation, on what they saw.
#[derive(Debug, Clone)]
pub struct Resolve {
    /// Whose operation it is.
    pub tenant: Tenant,
    /// The record's handle.
    pub row: i64,
    /// The version that the person saw.
    pub version: u64,
    /// Who decided.
    pub actor: Arc<str>,
    /// Why.
    pub reason: Arc<str>,
    /// What it rests on.
    pub evidence: Option<Arc<str>>,
    /// The decision.
    pub resolution: Resolution,
}

/// What a person can decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// The effect happened.
    Succeeded {
        /// The result, as JSON, where it is known.
        stored: Option<Stored>,
        /// The provider's id of it.
        reference: Option<Arc<str>>,
    },
    /// Nothing happened; another attempt may.
    Retryable,
    /// Nothing happened, and nothing ever will.
    Final,
}

impl Resolution {
    /// The effect happened, with this result (JSON) and the provider's id of it.
    pub fn succeeded(result: Option<&serde_json::Value>, reference: Option<&str>) -> Self {
        let stored = |result: &serde_json::Value| Stored {
            kind: StoredKind::Value,
            bytes: result.to_string().into_bytes().into(),
        };
        Self::Succeeded { stored: result.map(stored), reference: reference.map(Into::into) }
    }
}

/// What became of a person's decision.
#[derive(Debug, Clone)]
pub enum Resolved {
    /// It stands.
    Recorded {
        /// The record now.
        record: Arc<Record>,
    },
    /// The record is not any more as it was seen: it stays as it is, and the history has the attempt.
    Changed {
        /// The record as it stands.
        record: Arc<Record>,
    },
    /// A success needs the provider's reference. Nothing was changed.
    NoReference {
        /// The record as it stands.
        record: Arc<Record>,
    },
    /// There is no such record of this tenant. Nothing was changed.
    Gone,
}

/// What somebody outside says about an effect.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// Whose operation it is.
    pub tenant: Tenant,
    /// The operation; its record may come later.
    pub operation: OperationId,
    /// Where it comes from: a webhook's name, `by hand`.
    pub source: Arc<str>,
    /// The id of the event there: the same one is stored once.
    pub event: Arc<str>,
    /// The person who says so, where one does.
    pub actor: Option<Arc<str>>,
    /// What it says.
    pub finding: Finding,
    /// In words.
    pub words: Option<Arc<str>>,
}

impl Evidence {
    /// Evidence of `source` about an operation, under the id that the event has there. Says nothing yet.
    pub fn of(
        tenant: &Tenant,
        operation: OperationId,
        source: impl Into<Arc<str>>,
        event: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            tenant: tenant.clone(),
            operation,
            source: source.into(),
            event: event.into(),
            actor: None,
            finding: Finding::Inconclusive,
            words: None,
        }
    }

    /// The effect happened.
    #[must_use]
    pub fn applied(self, stored: Option<Stored>, reference: Option<&str>) -> Self {
        Self { finding: Finding::Applied { stored, reference: reference.map(Into::into) }, ..self }
    }

    /// The effect did not happen.
    #[must_use]
    pub fn not_applied(self) -> Self {
        Self { finding: Finding::NotApplied, ..self }
    }

    /// In words.
    #[must_use]
    pub fn words(self, words: impl Into<Arc<str>>) -> Self {
        Self { words: Some(words.into()), ..self }
    }

    /// Said by this person.
    #[must_use]
    pub fn by(self, actor: impl Into<Arc<str>>) -> Self {
        Self { actor: Some(actor.into()), ..self }
    }
}

/// What became of evidence.
#[derive(Debug, Clone)]
pub enum Witnessed {
    /// There is no record yet: it is kept until there is one.
    Kept,
    /// It was weighed.
    Weighed {
        /// The record after it.
        record: Arc<Record>,
    },
    /// This event was there before. Nothing was changed.
    Known {
        /// The record, if there is one.
        record: Option<Arc<Record>>,
    },
}
