//! One call, identified: everything that is asked of the ledger on its behalf.

use std::sync::Arc;

use super::{Engine, tool_call::ToolCall};
use crate::{
    call::{AttemptRecord, CarriedIdentity},
    clock::Timestamp,
    config::DEADLINE_LEFT_MIN,
    id::{OperationId, Principal},
    identity::{Arguments, Unidentified, identify},
    ledger::{Answer, Decision, Record, Reserve, decide},
    outcome::{Refusal, RefusalKind},
    tool::ToolSpec,
};

/// An identified call.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(super) engine: Arc<Engine>,
    pub(super) spec: &'static ToolSpec,
    pub(super) reserve: Arc<Reserve>,
    /// Until when the caller waits.
    pub(super) deadline: Timestamp,
    /// A tool call id came without a turn.
    pub(super) bare_id: bool,
    /// A finished operation's answer, from memory.
    pub(super) known: Option<Answer>,
}

impl Asked {
    /// Identifies a call. Refuses what is incomplete or malformed, before anything is looked up or reserved.
    pub(crate) fn new(
        call: &ToolCall,
        spec: &'static ToolSpec,
        of: Option<&'static str>,
        arguments: Arguments,
    ) -> Result<Self, Refusal> {
        let engine = call.engine();
        let invalid = |error: Unidentified| Refusal::new(RefusalKind::Invalid).because(error);
        let tool = engine.tool(spec, of)?;
        let arguments = arguments.finish().map_err(|error| invalid(Unidentified::Argument(error)))?;
        let (bytes, limit) = (arguments.size(), engine.config.arguments_bytes_max);
        if bytes > limit {
            return Err(invalid(Unidentified::TooLarge { bytes, limit }));
        }
        let deadline = deadline(call, engine)?;
        let key = engine.identity_key.as_ref();
        let context = call.context();
        let identified = identify(spec, &tool, context, &arguments, key).map_err(invalid)?;
        let bare_id = context.tool_call_id.is_some() && !identified.turn_known;
        let mut reserve = Reserve {
            tenant: identified.tenant,
            principal: identified.principal,
            scope: identified.scope,
            tool,
            identities: identified.identities,
            resumed: identified.resumed,
            fingerprint: identified.fingerprint,
            parts: Arc::default(),
            content: Arc::default(),
            window: spec.declared_window(),
            after_retention: spec.when_retention_ended(),
            lease: spec.declared_lease().unwrap_or(engine.config.lease),
        };
        // A repeat with the same arguments, found in memory, needs no digest of each: they could only name what differs.
        let known = known(engine, &reserve);
        if known.is_none() {
            reserve.parts = arguments.effect_parts(key);
        }
        reserve.content = arguments.content_parts(key);
        Ok(Self { engine: Arc::clone(engine), spec, reserve: Arc::new(reserve), deadline, bare_id, known })
    }

    /// The record that retries of this call carry.
    pub(super) fn record(&self, operation: OperationId, generations: &[u32]) -> AttemptRecord {
        let Reserve { tenant, principal, scope, tool, identities, fingerprint, .. } = &*self.reserve;
        let carried = identities.iter().zip(generations).map(|(identity, generation)| CarriedIdentity {
            source: identity.source.code(),
            digest: identity.digest,
            generation: *generation,
        });
        AttemptRecord {
            version: AttemptRecord::VERSION,
            tool: Arc::clone(&tool.name),
            tenant: tenant.shared(),
            principal: principal.as_ref().map(Principal::shared),
            scope_kind: scope.kind.clone(),
            scope_value: scope.value.clone(),
            scope: scope.digest,
            identities: carried.collect(),
            fingerprint: *fingerprint,
            operation,
        }
    }
}

/// The answer of memory: with these arguments, and while the result is retained. After that only the store knows what was
/// purged.
fn known(engine: &Engine, reserve: &Reserve) -> Option<Answer> {
    let now = engine.clock.now();
    let matches = engine.cache.find(&reserve.identities)?;
    let equal = |record: &Record| record.fingerprint == reserve.fingerprint;
    if !matches.iter().flatten().all(|found| equal(&found.record)) {
        return None;
    }
    match decide(reserve, &matches, now) {
        Decision::Answer(answer) if !answer.retention_ended => Some(answer),
        _ => None,
    }
}

/// Until when a call waits: its own deadline, or the runtime's patience.
fn deadline(call: &ToolCall, engine: &Engine) -> Result<Timestamp, Refusal> {
    let now = engine.clock.now();
    match call.context().deadline {
        None => Ok(now.after(engine.config.wait)),
        Some(deadline) if deadline.since(now) < DEADLINE_LEFT_MIN => {
            let left = deadline.since(now);
            let why = format!("the call's deadline leaves {left:?}, at least {DEADLINE_LEFT_MIN:?} are needed");
            Err(Refusal::new(RefusalKind::Invalid).because(why))
        }
        Some(deadline) => Ok(deadline),
    }
}
