//! The parts of a declaration: the words that an attribute may use, as values.
//!
//! Must not know how a declaration is acted on.

use std::time::Duration;

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
    /// The value at a path below the result; empty for the result itself. In resources only.
    Result(&'static str),
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

/// How often, and how long, a tool tries by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetrySpec {
    /// Attempts in all.
    pub(crate) attempts_max: u32,
    /// The first wait, before jitter.
    pub(crate) base: Duration,
    /// The longest wait, before jitter.
    pub(crate) cap: Duration,
    /// From the first reservation to the start of the last attempt.
    pub(crate) deadline: Duration,
}

/// One way to find out what became of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryStep {
    /// Sending again under the provider's key, for so long (seconds, nanoseconds) after the first attempt.
    ProviderKey(u64, u32),
    /// The tool's own look-up by reference or key.
    Lookup,
    /// The tool's own bounded search.
    Search,
}

impl RecoveryStep {
    /// The step's name in an attribute and in the history.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ProviderKey(..) => "provider_key",
            Self::Lookup => "lookup",
            Self::Search => "search",
        }
    }
}

/// What a duplicate does while nobody knows how the first ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnUnknown {
    /// Finds out, if nobody else does: what a tool with a look-up does that does not say.
    Reconcile,
    /// Is told at once.
    Tell,
}

impl KeySource {
    /// Whether it is made of arguments only.
    pub(super) fn is_arguments(&self) -> bool {
        match self {
            Self::Args | Self::ArgsOf(_) | Self::Template(_) => true,
            Self::ToolCallId | Self::OperationId => false,
            Self::All(all) => all.iter().all(Self::is_arguments),
        }
    }
}

#[cfg(feature = "testing")]
impl KeySource {
    /// The names of what it is made of: `args(…)` where it names some.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        match self {
            Self::ToolCallId => vec!["tool_call_id"],
            Self::OperationId => vec!["operation_id"],
            Self::Args => vec!["args"],
            Self::ArgsOf(_) => vec!["args(…)"],
            Self::Template(_) => vec!["template"],
            Self::All(all) => all.iter().flat_map(Self::names).collect(),
        }
    }
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
