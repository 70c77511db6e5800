//! The call as an agent loop hands it over, and the attempt as the body sees it.

use std::{fmt, ops::Deref, sync::Arc, time::Duration};

use super::Engine;
use crate::{
    call::{AttemptRecord, CallContext, Link, LinkKind, RepeatToken, Turn},
    clock::Timestamp,
    effect::Heard,
    id::OperationId,
    identity::ProviderKey,
};

/// One call of a tool: who asks, in which scope, under which id. Cheap to clone.
///
/// Made by [`Idem::call`](crate::Idem::call). What is given here is checked when a tool is called with it; a call that is
/// incomplete is refused before anything is reserved.
#[derive(Clone)]
pub struct ToolCall {
    engine: Arc<Engine>,
    context: Arc<CallContext>,
}

impl ToolCall {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        let context = CallContext { tenant: engine.single_tenant.clone(), ..CallContext::default() };
        Self { engine, context: Arc::new(context) }
    }

    /// A call that sends again under the provider's key what `record` stands for.
    pub(crate) fn resending(engine: Arc<Engine>, record: Arc<AttemptRecord>) -> Self {
        Self::new(engine).resume(record).with(|context| context.resending = true)
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn context(&self) -> &CallContext {
        &self.context
    }

    /// The call as the body sees it: a record that it was resumed from is its own tool's, not that of a tool called inside.
    pub(super) fn inside(self) -> Self {
        let Some(record) = self.context.resumed.clone() else {
            return self;
        };
        self.with(|context| {
            context.resumed = None;
            context.resending = false;
            context.tenant.get_or_insert_with(|| Arc::clone(&record.tenant));
            if let Some(value) = &record.scope_value
                && context.scope(&record.scope_kind).is_none()
            {
                context.scopes.push((record.scope_kind.as_ref().into(), Arc::clone(value)));
            }
        })
    }

    fn with(mut self, set: impl FnOnce(&mut CallContext)) -> Self {
        set(Arc::make_mut(&mut self.context));
        self
    }

    /// Whose operations these are. Required, unless the runtime has a single tenant.
    #[must_use]
    pub fn tenant(self, tenant: impl Into<Arc<str>>) -> Self {
        self.with(|context| context.tenant = Some(tenant.into()))
    }

    /// The trusted caller together with its permission scope; another principal's reuse of its operations is refused.
    #[must_use]
    pub fn principal(self, principal: impl Into<Arc<str>>) -> Self {
        self.with(|context| context.principal = Some(principal.into()))
    }

    /// The conversation that the call belongs to.
    #[must_use]
    pub fn conversation(self, id: impl Into<Arc<str>>) -> Self {
        self.scope("conversation", id)
    }

    /// The workflow run that the call belongs to.
    #[must_use]
    pub fn workflow(self, id: impl Into<Arc<str>>) -> Self {
        self.scope("workflow", id)
    }

    /// The user on whose behalf the call is made.
    #[must_use]
    pub fn user(self, id: impl Into<Arc<str>>) -> Self {
        self.scope("user", id)
    }

    /// A scope that the application names, for tools that declare `scope = "named:…"`.
    #[must_use]
    pub fn scope(self, name: impl Into<Arc<str>>, id: impl Into<Arc<str>>) -> Self {
        self.with(|context| context.scopes.push((name.into(), id.into())))
    }

    /// The id that the model's provider gave the call. Empty, blank, or equal to the tool's name counts as absent.
    #[must_use]
    pub fn tool_call_id(self, id: impl Into<Arc<str>>) -> Self {
        self.with(|context| context.tool_call_id = Some(id.into()))
    }

    /// Which response of the model the call came in: its index in the conversation, or any stable id of it. Part of a
    /// tool call id's identity, since ids are used again in later responses.
    #[must_use]
    pub fn turn(self, turn: impl Into<Turn>) -> Self {
        self.with(|context| context.turn = Some(turn.into()))
    }

    /// Sets a deliberate repeat apart: equal calls of another occurrence are another operation. Comes from the
    /// application, never from the model.
    #[must_use]
    pub fn occurrence(self, occurrence: impl Into<Arc<str>>) -> Self {
        self.with(|context| context.occurrence = Some(occurrence.into()))
    }

    /// The call of one item of a bulk tool ([`bulk()`](crate::bulk())), under a child key: the ids of the whole call (its tool
    /// call id, its operation id) identify this item alone, together with `key`. By its arguments or a template an item
    /// is found as without, also when it is called alone or in another batch.
    #[must_use]
    pub fn item(self, key: impl Into<Arc<str>>) -> Self {
        self.inside().with(|context| context.items.push(key.into()))
    }

    /// The child key of the item that this is the call of.
    pub fn item_key(&self) -> Option<&str> {
        self.context.items.last().map(|key| &**key)
    }

    /// The id that the platform issued for an approved step.
    #[must_use]
    pub fn operation_id(self, id: impl Into<Arc<str>>) -> Self {
        self.with(|context| context.operation_id = Some(id.into()))
    }

    /// The id of the approval under which the call is made: kept with the operation's record.
    #[must_use]
    pub fn approval(self, id: impl Into<Arc<str>>) -> Self {
        self.with(|context| context.approval = Some(id.into()))
    }

    /// The operation whose effect this call takes back. It is an operation of its own, with a key of its own: equal calls
    /// that compensate the same operation are one. The link shows both ways.
    #[must_use]
    pub fn compensates(self, operation: OperationId) -> Self {
        self.with(|context| context.link = Some(Link { kind: LinkKind::Compensates, to: operation }))
    }

    /// The operation in whose place this call stands, because the intent has changed: a new operation, linked to the old
    /// one both ways. Comes from the application, never from the model.
    #[must_use]
    pub fn replaces(self, operation: OperationId) -> Self {
        self.with(|context| context.link = Some(Link { kind: LinkKind::Replaces, to: operation }))
    }

    /// Means a repeat of what equal arguments led to: the token comes with the replay ([`Replay`](crate::Replay)) that the
    /// call got without it. Presented again, it leads to the same second operation.
    #[must_use]
    pub fn repeat(self, token: RepeatToken) -> Self {
        self.with(|context| context.repeat = Some(token))
    }

    /// How long, from now, the call may wait: for the ledger, and for an earlier call of the same operation. A body that
    /// has started is not cut off.
    #[must_use]
    pub fn deadline(self, from_now: Duration) -> Self {
        let deadline = self.engine.clock.now().after(from_now);
        self.deadline_at(deadline)
    }

    /// The instant until which the call may wait.
    #[must_use]
    pub fn deadline_at(self, deadline: Timestamp) -> Self {
        self.with(|context| context.deadline = Some(deadline))
    }

    /// Carries the record of an earlier attempt: the call keeps its key, whatever else is given here.
    #[must_use]
    pub fn resume(self, record: impl Into<Arc<AttemptRecord>>) -> Self {
        self.with(|context| context.resumed = Some(record.into()))
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall").field("context", &self.context).finish_non_exhaustive()
    }
}

/// What the body of a tool sees in place of its [`ToolCall`]: the same call, now with an operation.
#[derive(Clone)]
pub struct Attempt {
    call: ToolCall,
    record: Arc<AttemptRecord>,
    number: u32,
    heard: Arc<Heard>,
}

impl Attempt {
    pub(super) fn new(call: ToolCall, record: Arc<AttemptRecord>, number: u32) -> Self {
        Self { call, record, number, heard: Arc::default() }
    }

    pub(super) fn heard(&self) -> &Arc<Heard> {
        &self.heard
    }

    /// The operation that this attempt belongs to.
    pub fn operation(&self) -> OperationId {
        self.record.operation()
    }

    /// Which attempt of the operation it is, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The record to keep with a checkpoint and to [`resume`](ToolCall::resume) from.
    pub fn record(&self) -> &Arc<AttemptRecord> {
        &self.record
    }

    /// The token to hand to a provider for the effect of this name: the same for every attempt, another one for every
    /// other effect of the tool.
    pub fn provider_key(&self, effect: &str) -> ProviderKey {
        ProviderKey::derive(self.operation(), effect)
    }

    /// Records the provider's id of the effect. The last one counts.
    pub fn reference(&self, reference: impl AsRef<str>) {
        self.heard.reference(reference.as_ref());
    }

    /// The attempt whose body is running in this task, for helpers that are not handed their call.
    pub fn current() -> Option<Self> {
        super::around::attempt()
    }
}

impl Deref for Attempt {
    type Target = ToolCall;

    fn deref(&self) -> &ToolCall {
        &self.call
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("operation", &self.operation())
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
