//! What a tool declares about itself: the static description that the attribute emits.
//!
//! Must not know how a declaration is acted on. Everything here is `const`: the attribute has checked it,
//! so a description cannot be wrong, only read. [`parts`] are the words it is made of.

mod parts;

use std::time::Duration;

pub(crate) use parts::RetrySpec;
pub use parts::{
    AfterRetention, Effect, KeySource, Mark, OnBusy, OnUnknown, ParamSpec, RecoveryStep, ScopeKind, ScopeSpec,
    TemplatePart,
};

use crate::config::Config;

/// One annotated tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolSpec {
    name: &'static str,
    module: &'static str,
    named: Option<&'static str>,
    description: &'static str,
    version: u32,
    effect: Effect,
    counts: Option<&'static str>,
    scope: ScopeSpec,
    key: &'static [KeySource],
    params: &'static [ParamSpec],
    window: Option<Duration>,
    retain: Option<Duration>,
    lease: Option<Duration>,
    after_retention: AfterRetention,
    on_busy: OnBusy,
    on_unknown: OnUnknown,
    retry: Option<RetrySpec>,
    recovery: &'static [RecoveryStep],
    settles_in: Option<Duration>,
    needs_reference: bool,
    stores_arguments: bool,
    resources: &'static [&'static [TemplatePart]],
}

impl ToolSpec {
    /// A tool that declares nothing but its name: irreversible, scope tenant, key `tool_call_id|args`.
    pub const fn new(name: &'static str, module: &'static str) -> Self {
        Self {
            name,
            module,
            named: None,
            description: "",
            version: 1,
            effect: Effect::Irreversible,
            counts: None,
            scope: ScopeSpec::new(ScopeKind::Tenant),
            key: &[KeySource::ToolCallId, KeySource::Args],
            params: &[],
            window: None,
            retain: None,
            lease: None,
            after_retention: AfterRetention::Tell,
            on_busy: OnBusy::Wait,
            on_unknown: OnUnknown::Reconcile,
            retry: None,
            recovery: &[],
            settles_in: None,
            needs_reference: false,
            stores_arguments: false,
            resources: &[],
        }
    }

    /// Sets the name under which the ledger knows the tool, whatever its path in the code.
    #[must_use]
    pub const fn named(self, name: &'static str) -> Self {
        Self { named: Some(name), ..self }
    }

    /// What the tool does, in the words of its doc comment.
    #[must_use]
    pub const fn describe(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    /// The version of the tool's contract.
    #[must_use]
    pub const fn version(self, version: u32) -> Self {
        Self { version, ..self }
    }

    /// The tool's effect class.
    #[must_use]
    pub const fn effect(self, effect: Effect) -> Self {
        Self { effect, ..self }
    }

    /// What counts as one effect, in words.
    #[must_use]
    pub const fn counts(self, counts: &'static str) -> Self {
        Self { counts: Some(counts), ..self }
    }

    /// The tool's scope.
    #[must_use]
    pub const fn scope(self, scope: ScopeSpec) -> Self {
        Self { scope, ..self }
    }

    /// The alternatives that identify an operation.
    #[must_use]
    pub const fn key(self, key: &'static [KeySource]) -> Self {
        Self { key, ..self }
    }

    /// The tool's arguments.
    #[must_use]
    pub const fn params(self, params: &'static [ParamSpec]) -> Self {
        Self { params, ..self }
    }

    /// How long equal arguments under a new id still mean a finished operation.
    #[must_use]
    pub const fn window(self, secs: u64, nanos: u32) -> Self {
        Self { window: Some(Duration::new(secs, nanos)), ..self }
    }

    /// How long a finished record answers with its result.
    #[must_use]
    pub const fn retain(self, secs: u64, nanos: u32) -> Self {
        Self { retain: Some(Duration::new(secs, nanos)), ..self }
    }

    /// How long an owner may stay silent.
    #[must_use]
    pub const fn lease(self, secs: u64, nanos: u32) -> Self {
        Self { lease: Some(Duration::new(secs, nanos)), ..self }
    }

    /// What a call finds after retention.
    #[must_use]
    pub const fn after_retention(self, after_retention: AfterRetention) -> Self {
        Self { after_retention, ..self }
    }

    /// What a duplicate does while the first is running.
    #[must_use]
    pub const fn on_busy(self, on_busy: OnBusy) -> Self {
        Self { on_busy, ..self }
    }

    /// What a duplicate does while nobody knows how the first ended.
    #[must_use]
    pub const fn on_unknown(self, on_unknown: OnUnknown) -> Self {
        Self { on_unknown, ..self }
    }

    /// How often the tool tries by itself. The first and the longest wait and the deadline are seconds and nanoseconds.
    #[must_use]
    pub const fn retry(self, attempts_max: u32, base: (u64, u32), cap: (u64, u32), deadline: (u64, u32)) -> Self {
        let retry = RetrySpec {
            attempts_max,
            base: Duration::new(base.0, base.1),
            cap: Duration::new(cap.0, cap.1),
            deadline: Duration::new(deadline.0, deadline.1),
        };
        Self { retry: Some(retry), ..self }
    }

    /// How to find out what became of an operation, in order; a person is asked at the end.
    #[must_use]
    pub const fn recover(self, recovery: &'static [RecoveryStep]) -> Self {
        Self { recovery, ..self }
    }

    /// How long "not found" proves nothing.
    #[must_use]
    pub const fn settles_in(self, secs: u64, nanos: u32) -> Self {
        Self { settles_in: Some(Duration::new(secs, nanos)), ..self }
    }

    /// Success without a provider's reference is not success.
    #[must_use]
    pub const fn reference_required(self) -> Self {
        Self { needs_reference: true, ..self }
    }

    /// The arguments may be stored beside the record.
    #[must_use]
    pub const fn store_arguments(self) -> Self {
        Self { stores_arguments: true, ..self }
    }

    /// What an operation changes.
    #[must_use]
    pub const fn resources(self, resources: &'static [&'static [TemplatePart]]) -> Self {
        Self { resources, ..self }
    }
}

/// What the rest of the runtime asks a description.
impl ToolSpec {
    /// The name a model calls the tool by.
    pub const fn name(&self) -> &'static str {
        match self.named {
            Some(name) => name,
            None => self.name,
        }
    }

    /// The function that it is written as.
    pub const fn function(&self) -> &'static str {
        self.name
    }

    /// The tool's doc comment.
    pub const fn description(&self) -> &'static str {
        self.description
    }

    /// What counts as one effect, if the tool says.
    pub const fn effect_in_words(&self) -> Option<&'static str> {
        self.counts
    }

    /// The tool's effect class.
    pub const fn effect_class(&self) -> Effect {
        self.effect
    }

    /// The version of the tool's contract.
    pub const fn contract_version(&self) -> u32 {
        self.version
    }

    /// The scope within which equal calls are one operation.
    pub const fn scope_kind(&self) -> ScopeKind {
        self.scope.kind()
    }

    /// Whether equal arguments alone lead to the same operation, whatever id comes with them: some alternative of the key is
    /// made of arguments only, and the tool names no `resource` that another operation could change in between.
    pub fn goes_by_arguments(&self) -> bool {
        self.resources.is_empty() && self.key.iter().any(KeySource::is_arguments)
    }

    /// For how long equal arguments under a new id lead to a finished operation.
    pub fn remembers_arguments(&self, config: &Config) -> Duration {
        let held = self.retain.unwrap_or(config.retain);
        self.window.map_or(held, |window| window.min(held))
    }

    pub(crate) const fn declared_scope(&self) -> ScopeSpec {
        self.scope
    }

    pub(crate) const fn sources(&self) -> &'static [KeySource] {
        self.key
    }

    pub(crate) const fn parameters(&self) -> &'static [ParamSpec] {
        self.params
    }

    pub(crate) const fn declared_window(&self) -> Option<Duration> {
        self.window
    }

    pub(crate) const fn declared_retain(&self) -> Option<Duration> {
        self.retain
    }

    pub(crate) const fn declared_lease(&self) -> Option<Duration> {
        self.lease
    }

    pub(crate) const fn when_retention_ended(&self) -> AfterRetention {
        self.after_retention
    }

    pub(crate) const fn when_busy(&self) -> OnBusy {
        self.on_busy
    }

    pub(crate) const fn when_unknown(&self) -> OnUnknown {
        self.on_unknown
    }

    pub(crate) const fn declared_retry(&self) -> Option<RetrySpec> {
        self.retry
    }

    pub(crate) const fn recovery(&self) -> &'static [RecoveryStep] {
        self.recovery
    }

    pub(crate) const fn declared_settling(&self) -> Duration {
        match self.settles_in {
            Some(span) => span,
            None => Duration::ZERO,
        }
    }

    pub(crate) const fn requires_reference(&self) -> bool {
        self.needs_reference
    }

    pub(crate) const fn may_store_arguments(&self) -> bool {
        self.stores_arguments
    }

    pub(crate) const fn declared_resources(&self) -> &'static [&'static [TemplatePart]] {
        self.resources
    }

    /// Whether some alternative of its key identifies an operation whatever id the model gives the call.
    #[cfg(feature = "testing")]
    pub(crate) fn outlives_ids(&self) -> bool {
        self.key.iter().any(|source| !source.names().contains(&"tool_call_id"))
    }

    /// Whether some alternative of its key is an id alone: then the same id is the same operation, whatever the arguments.
    #[cfg(feature = "testing")]
    pub(crate) fn trusts_ids(&self) -> bool {
        self.key.iter().any(|source| matches!(source, KeySource::ToolCallId | KeySource::OperationId))
    }

    /// The names of the arguments that are part of the effect.
    #[cfg(feature = "testing")]
    pub(crate) fn effect_parameters(&self) -> Vec<&'static str> {
        self.params.iter().filter(|param| param.mark() == Mark::Effect).map(ParamSpec::name).collect()
    }

    /// Whether its recovery chain has a step of this name.
    #[cfg(feature = "testing")]
    pub(crate) fn recovers_by(&self, name: &str) -> bool {
        self.recovery.iter().any(|step| step.name() == name)
    }

    /// Whether a source of this name takes part in its key.
    #[cfg(feature = "testing")]
    pub(crate) fn is_keyed_by(&self, name: &str) -> bool {
        self.key.iter().any(|source| source.names().contains(&name))
    }

    /// How long the provider remembers a key, where it has keys.
    pub(crate) fn key_window(&self) -> Option<Duration> {
        self.recovery.iter().find_map(|step| match step {
            RecoveryStep::ProviderKey(secs, nanos) => Some(Duration::new(*secs, *nanos)),
            RecoveryStep::Lookup | RecoveryStep::Search => None,
        })
    }

    /// The parts of the name under which the ledger knows the tool: the given name alone, or module, type
    /// (for methods) and function, so that two functions of one name are two tools.
    pub(crate) fn ledger_name(&self, of: Option<&'static str>) -> String {
        match (self.named, of) {
            (Some(name), _) => name.to_owned(),
            (None, None) => format!("{}::{}", self.module, self.name),
            (None, Some(of)) => format!("{}::{}::{}", self.module, without_paths(of), self.name),
        }
    }
}

/// A type's name with its parameters, each without the path to it: `Refunds<Bank>`.
fn without_paths(type_name: &str) -> String {
    let mut bare = String::with_capacity(type_name.len());
    let mut word = 0;
    let mut letters = type_name.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == ':' && letters.next_if_eq(&':').is_some() {
            bare.truncate(word);
            continue;
        }
        bare.push(letter);
        if !letter.is_alphanumeric() && letter != '_' {
            word = bare.len();
        }
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_equal_arguments_lead_to_is_the_key_s_to_say() {
        const ARGS: KeySource = KeySource::Args;
        const ID: KeySource = KeySource::ToolCallId;
        let of = |key: &'static [KeySource]| ToolSpec::new("send", "app").key(key);
        assert!(ToolSpec::new("send", "app").goes_by_arguments(), "`tool_call_id|args` is the default");
        assert!(of(&[KeySource::Template(&[TemplatePart::Value("order")])]).goes_by_arguments());
        assert!(of(&[KeySource::All(&[ARGS, KeySource::ArgsOf(&["order"])])]).goes_by_arguments());
        assert!(!of(&[ID, KeySource::OperationId]).goes_by_arguments());
        assert!(!of(&[KeySource::All(&[ARGS, ID])]).goes_by_arguments());
        let reopened = of(&[ARGS]).resources(&[&[TemplatePart::Value("order")]]);
        assert!(!reopened.goes_by_arguments(), "another operation makes them a new intent");

        let (config, day) = (Config::default(), Duration::from_hours(24));
        assert_eq!(of(&[ARGS]).remembers_arguments(&config), config.retain);
        assert_eq!(of(&[ARGS]).retain(86_400, 0).remembers_arguments(&config), day);
        assert_eq!(of(&[ARGS]).retain(86_400, 0).window(60, 0).remembers_arguments(&config), Duration::from_mins(1));
        assert_eq!(of(&[ARGS]).retain(86_400, 0).window(172_800, 0).remembers_arguments(&config), day);
    }

    #[test]
    fn r012_functions_of_one_name_are_two_tools() {
        let billing = ToolSpec::new("send", "app::billing");
        let mail = ToolSpec::new("send", "app::mail");
        assert_ne!(billing.ledger_name(None), mail.ledger_name(None));
        let refunds = billing.ledger_name(Some("app::billing::Refunds<app::Bank>"));
        assert_eq!(refunds, "app::billing::Refunds<Bank>::send");
        assert_ne!(refunds, billing.ledger_name(Some("app::billing::Refunds<app::Till>")));
        assert_ne!(refunds, billing.ledger_name(Some("app::billing::Credits")));
        assert_eq!(billing.named("send_bill").ledger_name(Some("app::X")), "send_bill");
    }
}
