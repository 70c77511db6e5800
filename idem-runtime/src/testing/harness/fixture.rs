//! What a harness has to be told about a tool: how to build its states, what to call it with, what to count.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use super::scenario::Scenario;
use crate::{
    ToolCall,
    testing::{Checkpoint, Habits, Provider, Sandbox},
};

type Build<S> = dyn Fn(&Provider) -> S + Send + Sync;

/// Everything that a harness has to be told about a tool. `S` are the tool's states, `A` its arguments: `()` for none, `T`
/// for one, a tuple for several.
///
/// ```
/// use std::sync::Arc;
/// use idem_runtime::testing::{Provider, harness::Fixture};
///
/// struct Bank(Provider);
///
/// fn refund_fixture() -> Fixture<Arc<Bank>, (String, u64)> {
///     Fixture::of(|provider| Arc::new(Bank(provider.clone())))
///         .arguments(("A-1".into(), 4_900))
///         .other(("A-2".into(), 1_200))
///         .drift("amount_cents", ("A-1".into(), 9_400))
///         .effect("refund")
/// }
/// # let _ = refund_fixture();
/// ```
pub struct Fixture<S, A> {
    pub(super) build: Arc<Build<S>>,
    pub(super) arguments: Option<A>,
    pub(super) other: Option<A>,
    pub(super) drifts: Vec<(String, A)>,
    pub(super) invalid: Option<A>,
    pub(super) missing: Option<A>,
    pub(super) effects: Vec<String>,
    pub(super) tenants: (String, String),
    pub(super) call: Arc<dyn Fn(ToolCall) -> ToolCall + Send + Sync>,
    pub(super) skips: BTreeMap<Scenario, String>,
    pub(super) at: Vec<Checkpoint>,
    pub(super) habits: Arc<dyn Fn(Habits) -> Habits + Send + Sync>,
    pub(super) owner: Option<String>,
    pub(super) sandbox: Option<Arc<Build<Arc<dyn Sandbox>>>>,
    pub(super) without_postgres: Option<String>,
    pub(super) records: Option<PathBuf>,
}

impl<S, A> Fixture<S, A> {
    /// A tool whose states are built so, on the provider of the test.
    pub fn of(build: impl Fn(&Provider) -> S + Send + Sync + 'static) -> Self {
        Self {
            build: Arc::new(build),
            arguments: None,
            other: None,
            drifts: Vec::new(),
            invalid: None,
            missing: None,
            effects: Vec::new(),
            tenants: ("acme".to_owned(), "globex".to_owned()),
            call: Arc::new(|call| call),
            skips: BTreeMap::new(),
            at: vec![Checkpoint::ProviderCommit],
            habits: Arc::new(|habits| habits),
            owner: None,
            sandbox: None,
            without_postgres: None,
            records: None,
        }
    }

    /// What the tool is called with.
    #[must_use]
    pub fn arguments(self, arguments: A) -> Self {
        Self { arguments: Some(arguments), ..self }
    }

    /// Another valid call, which means another effect.
    #[must_use]
    pub fn other(self, other: A) -> Self {
        Self { other: Some(other), ..self }
    }

    /// The arguments with another value of this one: the same operation with a changed intent, which is refused. One for
    /// each argument that is part of the effect.
    #[must_use]
    pub fn drift(mut self, argument: impl Into<String>, changed: A) -> Self {
        self.drifts.push((argument.into(), changed));
        self
    }

    /// Arguments that the tool's `validate` refuses.
    #[must_use]
    pub fn invalid(self, invalid: A) -> Self {
        Self { invalid: Some(invalid), ..self }
    }

    /// Arguments whose business object is empty: where the key is a template, or names arguments, the call is refused.
    #[must_use]
    pub fn missing(self, missing: A) -> Self {
        Self { missing: Some(missing), ..self }
    }

    /// An effect to count, by the name that the provider logs. One call has one of each.
    #[must_use]
    pub fn effect(mut self, name: impl Into<String>) -> Self {
        self.effects.push(name.into());
        self
    }

    /// Whose operations they are.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenants.0 = tenant.into();
        self
    }

    /// Somebody else, who must not meet them.
    #[must_use]
    pub fn other_tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenants.1 = tenant.into();
        self
    }

    /// What else a call carries. Tenant, ids and the value of the scope that the tool declares are there already.
    #[must_use]
    pub fn call(self, call: impl Fn(ToolCall) -> ToolCall + Send + Sync + 'static) -> Self {
        Self { call: Arc::new(call), ..self }
    }

    /// Leaves a scenario out, for this reason: it stands in the record and in the summary.
    #[must_use]
    pub fn skip(mut self, scenario: Scenario, reason: impl Into<String>) -> Self {
        self.skips.insert(scenario, reason.into());
        self
    }

    /// The checkpoint at which the effect happens, where it is not the provider's commit; repeatable.
    #[must_use]
    pub fn at(mut self, checkpoints: impl IntoIterator<Item = Checkpoint>) -> Self {
        self.at = checkpoints.into_iter().collect();
        self
    }

    /// How the tool's real provider behaves. By default it has keys where the tool recovers by `provider_key`, and can be
    /// asked.
    #[must_use]
    pub fn provider(self, habits: impl Fn(Habits) -> Habits + Send + Sync + 'static) -> Self {
        Self { habits: Arc::new(habits), ..self }
    }

    /// Who sees to what a case finds.
    #[must_use]
    pub fn owner(self, owner: impl Into<String>) -> Self {
        Self { owner: Some(owner.into()), ..self }
    }

    /// Effects are counted there, and not at the provider of the test: the sandbox of a real one.
    #[must_use]
    pub fn sandbox(self, sandbox: impl Fn(&Provider) -> Arc<dyn Sandbox> + Send + Sync + 'static) -> Self {
        Self { sandbox: Some(Arc::new(sandbox)), ..self }
    }

    /// With the feature `postgres`, kills and races run on a server too; not those of this tool, for this reason.
    #[must_use]
    pub fn without_postgres(self, reason: impl Into<String>) -> Self {
        Self { without_postgres: Some(reason.into()), ..self }
    }

    /// Where records are written, if not to `target/idem/records`.
    #[must_use]
    pub fn records(self, folder: impl Into<PathBuf>) -> Self {
        Self { records: Some(folder.into()), ..self }
    }
}

impl<S, A> fmt::Debug for Fixture<S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture")
            .field("effects", &self.effects)
            .field("tenants", &self.tenants)
            .field("skips", &self.skips)
            .finish_non_exhaustive()
    }
}
