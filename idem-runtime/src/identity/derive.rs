//! From a call and its arguments to the identities and the fingerprint of an operation.
//!
//! Must not know whether the operation exists. One identity for each alternative of the tool's key, the most
//! stable first; each is a digest over tenant, scope, occurrence, tool, source and the source's value.

use std::{fmt, sync::Arc};

use super::{
    arguments::{Arguments, InvalidArgument},
    frame::{Digest, Frame, domain},
};
use crate::{
    call::{AttemptRecord, CallContext, CarriedIdentity, Turn},
    id::{self, InvalidId, OperationId, Principal, Tenant},
    secret::IdentityKey,
    tool::{KeySource, Mark, ScopeKind, TemplatePart, ToolSpec},
};

/// A tool as the ledger knows it: its name, and the shape of its arguments.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Tool {
    /// The name that takes part in identities.
    pub name: Arc<str>,
    /// The version of the contract.
    pub version: u32,
    /// The names of its effect parameters in order, then `;`, then those of its content parameters.
    pub params: Arc<str>,
}

impl Tool {
    pub(crate) fn new(spec: &ToolSpec, of: Option<&'static str>) -> Self {
        let names = |mark| {
            let of_mark = spec.parameters().iter().filter(move |param| param.mark() == mark);
            of_mark.map(|param| param.name()).collect::<Vec<_>>().join(",")
        };
        Self {
            name: spec.ledger_name(of).into(),
            version: spec.contract_version(),
            params: format!("{};{}", names(Mark::Effect), names(Mark::Content)).into(),
        }
    }

    pub(crate) fn effect_names(&self) -> impl Iterator<Item = &str> {
        self.params.split(';').next().unwrap_or_default().split(',')
    }

    pub(crate) fn content_names(&self) -> impl Iterator<Item = &str> {
        self.params.split(';').nth(1).unwrap_or_default().split(',')
    }
}

/// What an identity was made from; the earlier, the more stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Source {
    /// The id that the platform issued.
    OperationId = 0,
    /// A template.
    Template = 1,
    /// Arguments, all or some.
    Args = 2,
    /// The provider's id of the call, with its turn.
    ToolCallId = 3,
}

impl Source {
    /// The source's name in an attribute.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OperationId => "operation_id",
            Self::Template => "template",
            Self::Args => "args",
            Self::ToolCallId => "tool_call_id",
        }
    }

    /// The number under which the ledger stores it.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The source with this number.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::OperationId),
            1 => Some(Self::Template),
            2 => Some(Self::Args),
            3 => Some(Self::ToolCallId),
            _ => None,
        }
    }
}

/// One way to find the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// What it was made from.
    pub source: Source,
    /// The digest.
    pub digest: Digest,
    /// Which occurrence of it, where an attempt record says; else the newest.
    pub generation: Option<u32>,
}

/// Within what the identities are unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// `conversation`, `tenant`, …
    pub kind: Arc<str>,
    /// The id that the call carried for it.
    pub value: Option<Arc<str>>,
    /// Digest of tenant, kind, value and what narrows it.
    pub digest: Digest,
}

/// A call with everything that the ledger needs to know about it.
#[derive(Debug, Clone)]
pub(crate) struct Identified {
    pub(crate) tenant: Tenant,
    pub(crate) principal: Option<Principal>,
    pub(crate) scope: Scope,
    pub(crate) identities: Vec<Identity>,
    pub(crate) fingerprint: Digest,
    /// The call came with a record of an earlier attempt.
    pub(crate) resumed: Option<OperationId>,
    /// The call named a turn.
    pub(crate) turn_known: bool,
}

/// Why a call has no identity. Nothing was reserved, nothing was run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unidentified {
    /// The call names no tenant and the runtime has no single one.
    NoTenant,
    /// The call lacks the scope that its tool declares.
    NoScope {
        /// The scope, as the attribute names it.
        scope: &'static str,
    },
    /// No source of the tool's key is present.
    NoKey {
        /// The sources that were looked for.
        wanted: String,
    },
    /// A part of a template, of `args(…)` or of a scope is missing, empty or blank.
    EmptyPart {
        /// The parameter or path.
        path: &'static str,
    },
    /// A name is blank or too long.
    Id(InvalidId),
    /// An argument has no canonical form.
    Argument(InvalidArgument),
    /// The arguments are larger than the runtime allows.
    TooLarge {
        /// Their canonical form, in bytes.
        bytes: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The attempt record belongs to another tool, tenant, principal or version.
    ForeignRecord {
        /// What differs.
        what: &'static str,
    },
}

impl fmt::Display for Unidentified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTenant => f.write_str("the call names no tenant: say `.tenant(…)`, or `single_tenant` once"),
            Self::NoScope { scope } => write!(f, "the call lacks the scope `{scope}` that its tool declares"),
            Self::NoKey { wanted } => write!(f, "the call has nothing to identify it: the tool wants {wanted}"),
            Self::EmptyPart { path } => write!(f, "`{path}` is missing or empty, and the tool's key needs it"),
            Self::Id(error) => error.fmt(f),
            Self::Argument(error) => error.fmt(f),
            Self::TooLarge { bytes, limit } => {
                write!(f, "the arguments have {bytes} bytes in canonical form, at most {limit} are allowed")
            }
            Self::ForeignRecord { what } => {
                write!(f, "the attempt record belongs to another {what}")
            }
        }
    }
}

impl std::error::Error for Unidentified {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Id(error) => Some(error),
            Self::Argument(error) => Some(error),
            _ => None,
        }
    }
}

impl From<InvalidId> for Unidentified {
    fn from(error: InvalidId) -> Self {
        Self::Id(error)
    }
}

/// Derives everything once. `arguments` must be finished.
pub(crate) fn identify(
    spec: &ToolSpec,
    tool: &Tool,
    call: &CallContext,
    arguments: &Arguments,
    key: Option<&IdentityKey>,
) -> Result<Identified, Unidentified> {
    let mut frame = Frame::new(key, domain::ARGUMENTS);
    frame.part(arguments.object());
    let fingerprint = frame.digest();
    if let Some(record) = &call.resumed {
        return resume(tool, call, record, fingerprint);
    }
    let tenant = Tenant::new(call.tenant.clone().ok_or(Unidentified::NoTenant)?)?;
    let principal = call.principal.clone().map(Principal::new).transpose()?;
    let (frame, scope) = scope(spec, call, arguments, &tenant, key)?;
    let identities = identities(spec, tool, call, arguments, frame, &fingerprint)?;
    Ok(Identified { tenant, principal, scope, identities, fingerprint, resumed: None, turn_known: call.turn.is_some() })
}

/// A call that carries a record keeps the record's key, whatever it is called with.
fn resume(
    tool: &Tool,
    call: &CallContext,
    record: &AttemptRecord,
    fingerprint: Digest,
) -> Result<Identified, Unidentified> {
    let foreign = |what| Unidentified::ForeignRecord { what };
    if record.version != AttemptRecord::VERSION {
        return Err(foreign("version of this crate"));
    }
    if *record.tool != *tool.name {
        return Err(foreign("tool"));
    }
    let tenant = record.tenant().ok_or(foreign("tenant"))?;
    if call.tenant.as_deref().is_some_and(|given| given != tenant.as_str()) {
        return Err(foreign("tenant"));
    }
    if call.principal.is_some() && call.principal.as_deref() != record.principal.as_deref() {
        return Err(foreign("principal"));
    }
    let carried = |identity: &CarriedIdentity| {
        let source = Source::from_code(identity.source).ok_or(foreign("version of this crate"))?;
        Ok::<_, Unidentified>(Identity { source, digest: identity.digest, generation: Some(identity.generation) })
    };
    Ok(Identified {
        tenant,
        principal: record.principal(),
        scope: Scope {
            kind: record.scope_kind.as_str().into(),
            value: record.scope_value.as_deref().map(Into::into),
            digest: record.scope,
        },
        identities: record.identities.iter().map(carried).collect::<Result<_, _>>()?,
        fingerprint,
        resumed: Some(record.operation),
        turn_known: true,
    })
}

/// The frame that every identity of the call starts with, and the scope's own digest.
fn scope(
    spec: &ToolSpec,
    call: &CallContext,
    arguments: &Arguments,
    tenant: &Tenant,
    key: Option<&IdentityKey>,
) -> Result<(Frame, Scope), Unidentified> {
    let declared = spec.declared_scope();
    let kind = declared.kind();
    let value = match kind {
        ScopeKind::Tenant | ScopeKind::Global => None,
        _ => {
            let given = call.scope(kind.name()).ok_or(Unidentified::NoScope { scope: kind.name() })?;
            Some(id::checked(kind.name(), given.clone())?)
        }
    };
    let mut frame = Frame::new(key, domain::SCOPE);
    frame.part(tenant.as_str().as_bytes());
    frame.number(u64::from(matches!(kind, ScopeKind::Named(_))));
    frame.part(kind.name().as_bytes());
    frame.optional(value.as_deref().map(str::as_bytes));
    frame.number(declared.paths().len() as u64);
    for path in declared.paths() {
        frame.part(arguments.value(path).ok_or(Unidentified::EmptyPart { path })?);
    }
    let digest = frame.clone().digest();
    Ok((frame, Scope { kind: kind.name().into(), value, digest }))
}

fn identities(
    spec: &ToolSpec,
    tool: &Tool,
    call: &CallContext,
    arguments: &Arguments,
    mut frame: Frame,
    fingerprint: &Digest,
) -> Result<Vec<Identity>, Unidentified> {
    let occurrence = match &call.occurrence {
        None => None,
        Some(given) => Some(id::checked("occurrence", given.clone())?),
    };
    frame.optional(occurrence.as_deref().map(str::as_bytes));
    frame.part(tool.name.as_bytes());
    let values = Values { call, arguments, fingerprint, names: [spec.name(), &tool.name] };
    let mut identities = Vec::with_capacity(spec.sources().len());
    for wanted in spec.sources() {
        let mut frame = frame.clone();
        if let Some(source) = values.add(wanted, &mut frame)? {
            identities.push(Identity { source, digest: frame.digest(), generation: None });
        }
    }
    if identities.is_empty() {
        return Err(Unidentified::NoKey { wanted: wanted(spec.sources(), " or ") });
    }
    // Most stable first: operation ids are derived from the first one.
    identities.sort_by_key(|identity| identity.source);
    Ok(identities)
}

/// Where the values of sources come from.
struct Values<'a> {
    call: &'a CallContext,
    arguments: &'a Arguments,
    fingerprint: &'a Digest,
    /// A tool call id equal to one of these was made up by a client that got none.
    names: [&'a str; 2],
}

impl Values<'_> {
    /// Adds the source's kind and value to `frame`; `None` when the call does not have it.
    fn add(&self, wanted: &KeySource, frame: &mut Frame) -> Result<Option<Source>, Unidentified> {
        match wanted {
            KeySource::ToolCallId => self.tool_call_id(frame),
            KeySource::OperationId => {
                let Some(given) = &self.call.operation_id else {
                    return Ok(None);
                };
                frame.part(b"operation_id");
                frame.part(id::checked("operation id", given.clone())?.as_bytes());
                Ok(Some(Source::OperationId))
            }
            KeySource::Args => {
                frame.part(b"args");
                frame.part(self.fingerprint);
                Ok(Some(Source::Args))
            }
            KeySource::ArgsOf(paths) => {
                frame.part(b"args(..)");
                let mut paths = paths.to_vec();
                paths.sort_unstable();
                for path in paths {
                    frame.part(path.as_bytes());
                    frame.part(self.value(path)?);
                }
                Ok(Some(Source::Args))
            }
            KeySource::Template(parts) => {
                frame.part(b"template");
                for part in *parts {
                    match part {
                        TemplatePart::Text(text) => frame.optional(Some(text.as_bytes())),
                        TemplatePart::Value(path) => {
                            frame.optional(None);
                            frame.part(self.value(path)?);
                        }
                    }
                }
                Ok(Some(Source::Template))
            }
            KeySource::All(all) => {
                frame.part(b"all");
                frame.number(all.len() as u64);
                let mut least_stable = Source::OperationId;
                for wanted in *all {
                    let Some(source) = self.add(wanted, frame)? else {
                        return Ok(None);
                    };
                    least_stable = least_stable.max(source);
                }
                Ok(Some(least_stable))
            }
        }
    }

    fn tool_call_id(&self, frame: &mut Frame) -> Result<Option<Source>, Unidentified> {
        let Some(given) = self.call.tool_call_id.as_ref().filter(|given| !given.trim().is_empty()) else {
            return Ok(None);
        };
        if self.names.contains(&&**given) {
            return Ok(None);
        }
        frame.part(b"tool_call_id");
        frame.part(id::checked("tool call id", given.clone())?.as_bytes());
        match &self.call.turn {
            None => frame.number(0),
            Some(Turn::Index(index)) => {
                frame.number(1);
                frame.number(*index);
            }
            Some(Turn::Id(turn)) => {
                frame.number(2);
                frame.part(id::checked("turn", turn.clone())?.as_bytes());
            }
        }
        Ok(Some(Source::ToolCallId))
    }

    fn value(&self, path: &'static str) -> Result<&[u8], Unidentified> {
        self.arguments.value(path).ok_or(Unidentified::EmptyPart { path })
    }
}

/// The sources in words, for the refusal of a call that has none.
fn wanted(sources: &[KeySource], between: &str) -> String {
    let name = |source: &KeySource| match source {
        KeySource::ToolCallId => "a tool call id".to_owned(),
        KeySource::OperationId => "an operation id".to_owned(),
        KeySource::Args | KeySource::ArgsOf(_) => "arguments".to_owned(),
        KeySource::Template(_) => "the values of its template".to_owned(),
        KeySource::All(all) => wanted(all, " and "),
    };
    sources.iter().map(name).collect::<Vec<_>>().join(between)
}

/// The id of the operation whose most stable identity is `identity`, in its `generation`.
///
/// Three bytes of the scope, twelve of the identity, one of the generation: what it takes to find the operation
/// again by the indexes that there are, so that ids need none of their own.
pub(crate) fn operation_id(scope: &Digest, identity: &Digest, generation: u32) -> OperationId {
    let mut bytes = [0; 16];
    bytes[..SCOPE_BYTES].copy_from_slice(&scope[..SCOPE_BYTES]);
    bytes[SCOPE_BYTES..15].copy_from_slice(&identity[..IDENTITY_BYTES]);
    bytes[15] = generation.to_le_bytes()[0];
    OperationId::from_bytes(bytes)
}

const SCOPE_BYTES: usize = 3;
const IDENTITY_BYTES: usize = 12;

/// The scopes and identities among which an operation id is to be looked for: closed ranges of digests.
pub(crate) fn where_to_look(operation: OperationId) -> [(Digest, Digest); 2] {
    let bytes = operation.as_bytes();
    [range(&bytes[..SCOPE_BYTES]), range(&bytes[SCOPE_BYTES..15])]
}

fn range(prefix: &[u8]) -> (Digest, Digest) {
    let (mut from, mut to) = ([0; 32], [0xff; 32]);
    from[..prefix.len()].copy_from_slice(prefix);
    to[..prefix.len()].copy_from_slice(prefix);
    (from, to)
}
