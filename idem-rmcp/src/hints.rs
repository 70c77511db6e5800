//! When `idempotentHint` is true, and what is wrong with a router's annotations.
//!
//! Must not change a router. A client that reads the hint sends a call again by itself, with the same arguments and perhaps nothing
//! else: a hint that is not true makes effects happen twice.

use std::{fmt, time::Duration};

use idem_runtime::{Config, ScopeKind, ToolSpec};
use rmcp::model::ToolAnnotations;

/// What only the application knows of its deployment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Promises {
    /// The ledger outlives processes, and all replicas have the same one.
    pub(crate) ledger_is_shared: bool,
    /// What a scope is made of is there also when a request is sent again.
    pub(crate) scopes_come_again: bool,
    /// For so long a client may send a call again.
    pub(crate) resent_within: Duration,
}

impl Default for Promises {
    fn default() -> Self {
        // Clients give up after minutes; people who press "retry" come within the hour.
        Self { ledger_is_shared: false, scopes_come_again: false, resent_within: Duration::from_hours(1) }
    }
}

impl Promises {
    /// Why equal arguments, sent again, might have an effect of their own.
    pub(crate) fn unmet(&self, spec: &ToolSpec, config: &Config) -> Vec<&'static str> {
        let certain = matches!(spec.scope_kind(), ScopeKind::Tenant | ScopeKind::Global);
        let conditions = [
            (spec.goes_by_arguments(), "equal arguments alone are not the same operation"),
            (self.ledger_is_shared, "nobody said that the ledger lasts and that all replicas share it"),
            (
                spec.remembers_arguments(config) >= self.resent_within,
                "equal arguments are forgotten before clients stop sending again",
            ),
            (certain || self.scopes_come_again, "nobody said that the scope is there when a request is sent again"),
        ];
        conditions.into_iter().filter(|(holds, _)| !holds).map(|(_, why)| why).collect()
    }
}

/// Something about a tool that its author should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The tool's name.
    pub tool: String,
    /// What it is.
    pub problem: Problem,
}

/// What can be wrong with a tool of a router.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// It is not guarded, and does not say that it only reads.
    NotGuarded,
    /// It is not guarded, and says `idempotentHint`: clients send it again by themselves.
    ClaimsIdempotent,
    /// It is guarded, and says that it only reads: clients call it as often as they like.
    ClaimsReadOnly,
    /// It is guarded, and says `idempotentHint`, which does not hold; the hint was taken away.
    NotIdempotent(Vec<&'static str>),
    /// It was named as guarded, and is not in the router.
    NotThere,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, problem } = self;
        match problem {
            Problem::NotGuarded => {
                write!(
                    f,
                    "`{tool}` is not guarded: write `#[idempotent(…)]`, or `read_only_hint = true` if it only reads"
                )
            }
            Problem::ClaimsIdempotent => {
                write!(f, "`{tool}` says `idempotentHint` and is not guarded: clients will send its calls again")
            }
            Problem::ClaimsReadOnly => write!(f, "`{tool}` says `readOnlyHint` and is guarded: it is one or the other"),
            Problem::NotIdempotent(unmet) => {
                write!(f, "`{tool}` says `idempotentHint`, which does not hold: {}", unmet.join("; "))
            }
            Problem::NotThere => write!(f, "`{tool}` is guarded, and no tool of the router has this name"),
        }
    }
}

/// What is wrong with the annotations of a tool; `guard` is why its hint does not hold, if it has a guard.
pub(crate) fn problems(annotations: Option<&ToolAnnotations>, guard: Option<&[&'static str]>) -> Vec<Problem> {
    let says = |hint: fn(&ToolAnnotations) -> Option<bool>| annotations.and_then(hint) == Some(true);
    let (reads, repeats) = (says(|hints| hints.read_only_hint), says(|hints| hints.idempotent_hint));
    let mut problems = Vec::new();
    match guard {
        None if repeats && !reads => problems.push(Problem::ClaimsIdempotent),
        None if !reads => problems.push(Problem::NotGuarded),
        None => {}
        Some(unmet) => {
            if reads {
                problems.push(Problem::ClaimsReadOnly);
            }
            if repeats && !unmet.is_empty() {
                problems.push(Problem::NotIdempotent(unmet.to_vec()));
            }
        }
    }
    problems
}

/// The annotations with a hint that is true, or with none: a tool's own "no" stays.
pub(crate) fn honest(annotations: Option<ToolAnnotations>, unmet: &[&'static str]) -> Option<ToolAnnotations> {
    let said = annotations.as_ref().and_then(|hints| hints.idempotent_hint);
    let hint = match (unmet.is_empty(), said) {
        (true, None | Some(true)) => Some(true),
        (false, None | Some(true)) => None,
        (_, Some(false)) => Some(false),
    };
    if hint == said {
        return annotations;
    }
    let mut honest = annotations.unwrap_or_default();
    honest.idempotent_hint = hint;
    Some(honest)
}
