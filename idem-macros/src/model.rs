//! A tool that cannot be wrong: every question the expansion asks has an answer here.
//!
//! It must not know how the attribute was worded. Only `validate` makes one.

use proc_macro2::{Group, Ident, Span, TokenStream};
use syn::{Attribute, Expr, Generics, Member, Path, Signature, Token, Type, Visibility};

use crate::duration::Length;
use crate::scope::ScopeKind;
use crate::signature::Parameter;
use crate::types::TakesCall;
use crate::words::Choice;

/// Whose attribute it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// The runtime's own.
    Runtime,
    /// That of the adapter for rmcp.
    Rmcp,
}

/// Who can ask for the tool's description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Nobody,
    Everybody,
}

/// One tool.
#[derive(Debug)]
pub(crate) struct Tool {
    /// `::idem_runtime`, or what `crate = …` says.
    pub(crate) runtime: TokenStream,
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    /// Every parameter has a name.
    pub(crate) sig: Signature,
    pub(crate) shape: Shape,
    /// What the body gives, a `Result` under some name.
    pub(crate) result: Type,
    pub(crate) spec: Spec,
    pub(crate) caller: Caller,
    /// Without the tool call.
    pub(crate) inputs: Vec<Input>,
    /// What is told of the arguments, in order.
    pub(crate) steps: Vec<Step>,
    pub(crate) place: Place,
    pub(crate) receiver: Option<Receiver>,
    pub(crate) validate: Option<Path>,
    pub(crate) classify: Option<Path>,
    pub(crate) refuse: Option<Path>,
    /// Where other functions find it.
    pub(crate) standing: Standing,
    /// Whether `…_spec` stands beside it.
    pub(crate) shown: Shown,
    /// Whether `…_outcome` stands beside it.
    pub(crate) sibling: Sibling,
    /// What stands beside it for the reconciler.
    pub(crate) descriptor: Option<Descriptor>,
    /// What stands beside it for its own tests.
    pub(crate) harness: Option<Harness>,
    /// What stands beside it for the tool framework.
    pub(crate) entry: Option<Entry>,
}

/// The receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver {
    /// The user's own `self`: another one would not be found in a body from `macro_rules!`.
    pub(crate) token: Token![self],
    /// Whether it is `&self`, however that is written.
    pub(crate) plain: bool,
    /// Where it stands.
    pub(crate) span: Span,
}

/// A parameter other than the tool call.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) parameter: Parameter,
    pub(crate) role: InputRole,
    /// Whether a model says what it is: an argument, and no secret.
    pub(crate) told: bool,
}

/// The function that makes the tool one of a set.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Other than the default.
    pub(crate) repeats: Option<Choice>,
}

/// What the hooks of a tool get of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputRole {
    Argument,
    /// Marked so. A parameter that only `ctx` names is neither.
    State,
    Context,
}

/// The function that binds the tool to its state.
#[derive(Debug)]
pub(crate) struct Descriptor {
    /// The tool's generics without lifetimes.
    pub(crate) generics: Generics,
    pub(crate) resend: Resend,
}

/// The generated tests of a tool: every parameter is owned, or a state that can be shared.
#[derive(Debug)]
pub(crate) struct Harness {
    /// Where the word stands.
    pub(crate) span: Span,
    /// The function that makes the fixture, where the attribute names it.
    pub(crate) fixture: Option<Path>,
}

/// Whether the reconciler can call the tool again with stored arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resend {
    Never,
    Stored,
}

/// The static description of the tool.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) function: String,
    pub(crate) naming: Naming,
    pub(crate) description: Option<String>,
    pub(crate) version: Option<u32>,
    pub(crate) effect: Option<Choice>,
    pub(crate) counts: Option<String>,
    pub(crate) scope: Scope,
    pub(crate) key: Vec<KeySource>,
    /// Sorted by name.
    pub(crate) params: Vec<Param>,
    pub(crate) window: Option<Length>,
    pub(crate) retain: Option<Length>,
    pub(crate) lease: Option<Length>,
    pub(crate) after_retention: Option<Choice>,
    pub(crate) on_busy: Option<Choice>,
    pub(crate) resources: Vec<Vec<TemplatePart>>,
    pub(crate) recovery: Recovery,
}

/// What happens when an attempt has failed, or may have.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) retry: Option<Retry>,
    /// In the order they are tried.
    pub(crate) steps: Vec<RecoveryStep>,
    pub(crate) settles_in: Option<Length>,
    pub(crate) reference: Reference,
    pub(crate) on_unknown: Option<Choice>,
    pub(crate) arguments: KeptArguments,
}

/// The budget of attempts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retry {
    /// Attempts in all.
    pub(crate) max: u32,
    pub(crate) base: Length,
    pub(crate) cap: Length,
    pub(crate) deadline: Length,
}

/// One way to learn what came of an attempt.
#[derive(Debug)]
pub(crate) enum RecoveryStep {
    ProviderKey(Length),
    Lookup(Path),
    Search(Path),
}

/// Whether success needs the provider's reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reference {
    Optional,
    Required,
}

/// Whether the arguments may be stored with the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptArguments {
    No,
    Stored,
}

impl Recovery {
    /// The paths that the steps name.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.steps.iter().filter_map(|step| match step {
            RecoveryStep::ProviderKey(_) => None,
            RecoveryStep::Lookup(path) | RecoveryStep::Search(path) => Some(path),
        })
    }
}

/// Where the tool's name in the ledger comes from.
#[derive(Debug)]
pub(crate) enum Naming {
    /// Module and function.
    Function,
    /// Module, type and method.
    Method,
    /// `name = "…"`.
    Given(String),
}

/// Where two calls can be the same operation.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) kind: ScopeKind,
    pub(crate) paths: Vec<String>,
}

/// What makes two calls the same operation.
#[derive(Debug)]
pub(crate) enum KeySource {
    ToolCallId,
    OperationId,
    Args,
    ArgsOf(Vec<String>),
    Template(Vec<TemplatePart>),
    All(Vec<KeySource>),
}

/// A part of a template.
#[derive(Debug)]
pub(crate) enum TemplatePart {
    Text(String),
    Value(String),
    /// Below the tool's result, in a resource only.
    Result(String),
}

/// A described parameter.
#[derive(Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) mark: Described,
    pub(crate) cfgs: Vec<Attribute>,
}

/// How a parameter is marked in the description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Described {
    Effect,
    Content,
    Volatile,
    Secret,
}

/// Who asks.
#[derive(Debug)]
pub(crate) enum Caller {
    Parameter {
        parameter: Box<Parameter>,
        takes: TakesCall,
        /// How many arguments stand before it.
        place: usize,
    },
    Expression(Box<Expr>),
    Current,
}

/// One statement about the arguments.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) value: Value,
    pub(crate) tells: Tells,
}

/// What a step tells of its value.
#[derive(Debug)]
pub(crate) enum Tells {
    Effect,
    EffectWithout(Vec<String>),
    Content,
    Part,
    /// Nothing: the compiler checks that the path exists.
    Exists,
}

/// A parameter, or a path below one.
#[derive(Debug)]
pub(crate) struct Value {
    /// Its name in the ledger.
    pub(crate) name: String,
    pub(crate) root: Root,
    pub(crate) fields: Vec<Member>,
    pub(crate) span: Span,
}

/// Where a path begins.
#[derive(Debug)]
pub(crate) enum Root {
    Receiver(Token![self]),
    Parameter(Ident),
}

/// Whether the body may outlive its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Detached,
    InPlace,
}

/// How the function is written.
#[derive(Debug)]
pub(crate) enum Shape {
    /// `async fn`.
    Async { body: Group },
    /// What `#[async_trait]` and `#[tool]` make of it: `Box::pin(async move { … })`.
    Boxed { pin: TokenStream, body: Group },
}

/// How other functions name the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Free,
    Method,
    /// In an impl block, without a receiver.
    Associated,
}

/// The function that answers with the whole outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sibling {
    None,
    Beside,
}
