//! What a tool declares about itself: the static description that the attribute emits.
//!
//! Must not know how a declaration is acted on. Everything here is `const`: the attribute has checked it,
//! so a description cannot be wrong, only read.

use std::time::Duration;

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
}

/// What a repeat of the tool would do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: needs no guard.
    Read,
    /// A read that leaves an audit entry.
    AuditedRead,
    /// Sets an absolute state: repeating changes nothing more.
    Set,
    /// A mutation that can be taken back.
    Reversible,
    /// A mutation that cannot be taken back; what a tool is that does not say.
    Irreversible,
    /// Starts a workflow.
    Trigger,
}

/// Within what a repeat is a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopeSpec {
    kind: ScopeKind,
    with: &'static [&'static str],
}

/// The scopes that a call can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScopeKind {
    /// One conversation of an agent.
    Conversation,
    /// One run of a workflow.
    Workflow,
    /// One user.
    User,
    /// The whole tenant.
    Tenant,
    /// Every scope of the tenant, for tools that the platform calls.
    Global,
    /// A scope that the application names and the call supplies.
    Named(&'static str),
}

/// One way to identify the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySource {
    /// The id that the model's provider gave the call, together with its turn.
    ToolCallId,
    /// The id that the platform issued for an approved step.
    OperationId,
    /// Every parameter that is not marked otherwise.
    Args,
    /// These parameters (or paths below them).
    ArgsOf(&'static [&'static str]),
    /// A text with values of parameters in it.
    Template(&'static [TemplatePart]),
    /// All of these together.
    All(&'static [KeySource]),
}

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplatePart {
    /// Literal text.
    Text(&'static str),
    /// The value at a path.
    Value(&'static str),
}

/// One parameter of a tool that is an argument (not state, not the call).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParamSpec {
    name: &'static str,
    mark: Mark,
}

/// What a parameter means to the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Part of the effect: in the fingerprint, and in the identity under `args`.
    Effect,
    /// Text written by the model: neither; a change is reported with the replay.
    Content,
    /// Differs from attempt to attempt: neither.
    Volatile,
    /// Never stored, hashed or printed.
    Secret,
}

/// What a call finds after its operation's retention has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterRetention {
    /// The same call is told so; equal arguments under a new id are a new operation.
    Tell,
    /// Both are new operations.
    Run,
}

/// What a duplicate does while the first is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBusy {
    /// Waits, until its deadline at the latest.
    Wait,
    /// Is told at once.
    Tell,
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

impl ScopeSpec {
    /// A scope of this kind.
    pub const fn new(kind: ScopeKind) -> Self {
        Self { kind, with: &[] }
    }

    /// Narrowed by the values at these paths.
    #[must_use]
    pub const fn with(self, with: &'static [&'static str]) -> Self {
        Self { with, ..self }
    }

    /// Which scope the call must carry.
    pub const fn kind(&self) -> ScopeKind {
        self.kind
    }

    pub(crate) const fn paths(&self) -> &'static [&'static str] {
        self.with
    }
}

impl ScopeKind {
    /// The scope's name, as it is written in an attribute (the bare name of a named one).
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Workflow => "workflow",
            Self::User => "user",
            Self::Tenant => "tenant",
            Self::Global => "global",
            Self::Named(name) => name,
        }
    }
}

impl ParamSpec {
    /// A parameter and its mark.
    pub const fn new(name: &'static str, mark: Mark) -> Self {
        Self { name, mark }
    }

    /// The parameter's name, or a path below it.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// What the parameter means to the operation.
    pub const fn mark(&self) -> Mark {
        self.mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
