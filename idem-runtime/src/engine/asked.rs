//! One call, identified: everything that is asked of the ledger on its behalf.

use std::{sync::Arc, time::Duration};

use super::{Engine, tool_call::ToolCall};
use crate::{
    call::{AttemptRecord, CarriedIdentity},
    clock::Timestamp,
    config::DEADLINE_LEFT_MIN,
    id::{OperationId, Principal},
    identity::{Arguments, Resources, Source, Unidentified, identify},
    ledger::{Answer, Budget, Decision, Record, Reserve, decide},
    outcome::{Refusal, RefusalKind},
    retry::nonce,
    tool::{OnUnknown, RecoveryStep, ToolSpec},
};

/// An identified call.
#[derive(Debug, Clone)]
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
    /// What the operation changes.
    pub(super) resources: Resources,
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
        let resources = Resources::of_call(spec, &arguments, key).map_err(invalid)?;
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
            nonce: nonce(),
            paused: false,
            resend: if context.resending { spec.key_window() } else { key_first(spec) },
            budget: budget(spec),
            retain: spec.declared_retain().unwrap_or(engine.config.retain),
            needs_reference: spec.requires_reference(),
            approval: identified.approval,
            link: identified.link,
            resources: Arc::clone(&resources.known),
            arguments: None,
        };
        // A repeat with the same arguments, found in memory, needs no digest of each: they could only name what differs.
        let known = known(engine, spec, &reserve);
        if known.is_none() {
            reserve.parts = arguments.effect_parts(key);
            reserve.arguments = spec.may_store_arguments().then(|| arguments.to_store());
        }
        reserve.content = arguments.content_parts(key);
        Ok(Self { engine: Arc::clone(engine), spec, reserve: Arc::new(reserve), deadline, bare_id, known, resources })
    }

    /// From here on the call may send again under the provider's key, or may not.
    pub(super) fn resend(&mut self, window: Option<Duration>) {
        Arc::make_mut(&mut self.reserve).resend = window;
    }

    /// The call has waited for as long as the tool declares.
    pub(super) fn paused(&mut self) {
        Arc::make_mut(&mut self.reserve).paused = true;
    }

    /// The next reservation is another one than the last: it does not take that one's grant for its own.
    pub(super) fn anew(&mut self) {
        Arc::make_mut(&mut self.reserve).nonce = nonce();
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
fn known(engine: &Engine, spec: &ToolSpec, reserve: &Reserve) -> Option<Answer> {
    let now = engine.clock.now();
    let by_args_alone = reserve.identities.iter().all(|identity| identity.source == Source::Args);
    if by_args_alone && reserve.resumed.is_none() && !spec.declared_resources().is_empty() {
        // Another process may have changed what the operation is about: then equal arguments are a new intent.
        return None;
    }
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

/// The provider's key window, where sending again is the first thing that the tool declares, and a duplicate's to do.
fn key_first(spec: &ToolSpec) -> Option<Duration> {
    let first = matches!(spec.recovery(), [RecoveryStep::ProviderKey(..), ..]);
    (first && spec.when_unknown() == OnUnknown::Reconcile).then(|| spec.key_window()).flatten()
}

/// The attempts that the tool allows itself.
pub(crate) fn budget(spec: &ToolSpec) -> Option<Budget> {
    spec.declared_retry().map(|retry| Budget { attempts_max: retry.attempts_max, deadline: retry.deadline })
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
