//! From a call and its arguments to the identities and the fingerprint of an operation.
//!
//! Must not know whether the operation exists. One identity for each alternative of the tool's key, the most
//! stable first; each is a digest over tenant, scope, occurrence, tool, source and the source's value.

use std::{borrow::Cow, sync::Arc};

use super::{
    arguments::Arguments,
    frame::{Digest, Frame, domain},
    names::{Identity, Scope, Source, Tool},
    repeat::About,
    sources::{Values, wanted},
    unidentified::Unidentified,
};
use crate::{
    call::{AttemptRecord, CallContext, CarriedIdentity, Link},
    id::{self, OperationId, Principal, Tenant},
    secret::IdentityKey,
    tool::{ScopeKind, ToolSpec},
};

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
    /// The approval under which it is made.
    pub(crate) approval: Option<Arc<str>>,
    /// The operation that it compensates or replaces.
    pub(crate) link: Option<Link>,
}

/// Derives everything once. `arguments` must be finished.
pub(crate) fn identify(
    spec: &ToolSpec,
    tool: &Tool,
    call: &CallContext,
    arguments: &Arguments,
    key: Option<&IdentityKey>,
) -> Result<Identified, Unidentified> {
    let fingerprint = arguments.fingerprint(key);
    if let Some(record) = &call.resumed {
        return resume(tool, call, record, fingerprint);
    }
    let tenant = Tenant::new(call.tenant.clone().ok_or(Unidentified::NoTenant)?)?;
    let principal = call.principal.clone().map(Principal::new).transpose()?;
    let (frame, scope) = scope(spec, call, arguments, &tenant, key)?;
    if let Some(token) = call.repeat {
        let about = About { tenant: &tenant, tool: &tool.name, fingerprint: &fingerprint, key };
        about.is_of(token).then_some(()).ok_or(Unidentified::ForeignToken)?;
    }
    let identities = identities(spec, tool, call, arguments, frame, &fingerprint)?;
    let approval = call.approval.clone().map(|given| id::checked("approval id", given)).transpose()?;
    Ok(Identified {
        tenant,
        principal,
        scope,
        identities,
        fingerprint,
        resumed: None,
        turn_known: call.turn.is_some(),
        approval,
        link: call.link,
    })
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
    if record.tool != tool.name {
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
            kind: Cow::Owned(record.scope_kind.to_string()),
            value: record.scope_value.clone(),
            digest: record.scope,
        },
        identities: record.identities.iter().map(carried).collect::<Result<_, _>>()?,
        fingerprint,
        resumed: Some(record.operation),
        turn_known: true,
        approval: None,
        link: None,
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
    // What sets an operation apart from equal ones. Both are the platform's: nothing that a model writes gets here.
    if let Some(link) = call.link {
        frame.apart(2, link.kind.name().as_bytes());
        frame.part(link.to.as_bytes());
    }
    if let Some(token) = call.repeat {
        frame.apart(3, &token.call);
    }
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
