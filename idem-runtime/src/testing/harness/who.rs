//! Who calls, under which ids: the circumstances of one call.

use super::Fixture;
use crate::{AttemptRecord, Idem, RepeatToken, ScopeKind, ToolCall, ToolSpec};

/// The circumstances of a call.
#[derive(Debug, Clone)]
pub(super) struct Who {
    pub(super) tenant: Option<String>,
    /// The value of the tool's scope; none where the call leaves it out.
    pub(super) scope: Option<String>,
    pub(super) id: String,
    pub(super) turn: u64,
    /// The id that the platform issued, for tools that are keyed by it.
    pub(super) operation_id: String,
    pub(super) occurrence: Option<String>,
    pub(super) principal: Option<String>,
    pub(super) record: Option<AttemptRecord>,
    pub(super) repeat: Option<RepeatToken>,
    pub(super) deadline: Option<std::time::Duration>,
}

impl Who {
    /// The first call of a conversation.
    pub(super) fn first<S, A>(fixture: &Fixture<S, A>) -> Self {
        Self {
            tenant: Some(fixture.tenants.0.clone()),
            scope: Some("s-1".to_owned()),
            id: "call_1".to_owned(),
            turn: 1,
            operation_id: "op-1".to_owned(),
            occurrence: None,
            principal: None,
            record: None,
            repeat: None,
            deadline: None,
        }
    }

    /// The same intent under another id, in a response of the model of its own.
    pub(super) fn replanned(&self, nth: u64) -> Self {
        Self { id: format!("call_{nth}"), turn: nth, ..self.clone() }
    }

    /// The same intent under another id, in the same response of the model.
    pub(super) fn twice_in_one_message(&self) -> Self {
        Self { id: format!("{}_twin", self.id), ..self.clone() }
    }

    /// Another intent, in the same response of the model.
    pub(super) fn of_another_intent(&self) -> Self {
        Self { id: format!("{}_other", self.id), operation_id: format!("{}-other", self.operation_id), ..self.clone() }
    }

    /// Set apart from every equal call.
    pub(super) fn occurrence(&self, occurrence: impl Into<String>) -> Self {
        Self { occurrence: Some(occurrence.into()), ..self.clone() }
    }

    /// With the record of an earlier attempt.
    pub(super) fn carrying(&self, record: Option<AttemptRecord>) -> Self {
        Self { record, ..self.clone() }
    }

    /// In words, for a record.
    pub(super) fn in_words(&self, spec: &ToolSpec) -> String {
        let mut words = vec![format!("tenant {}", self.tenant.as_deref().unwrap_or("(none)"))];
        let kind = spec.declared_scope().kind().name();
        words.push(format!("{kind} {}", self.scope.as_deref().unwrap_or("(none)")));
        words.push(format!("call {} in turn {}", self.id, self.turn));
        words.extend(self.occurrence.as_ref().map(|occurrence| format!("occurrence {occurrence}")));
        words.join(", ")
    }

    /// The call.
    pub(super) fn tool_call<S, A>(&self, idem: &Idem, spec: &ToolSpec, fixture: &Fixture<S, A>) -> ToolCall {
        let mut call = idem.call();
        if let Some(tenant) = &self.tenant {
            call = call.tenant(tenant.as_str());
        }
        if let Some(scope) = &self.scope {
            call = match spec.declared_scope().kind() {
                ScopeKind::Conversation => call.conversation(scope.as_str()),
                ScopeKind::Workflow => call.workflow(scope.as_str()),
                ScopeKind::User => call.user(scope.as_str()),
                ScopeKind::Tenant | ScopeKind::Global => call,
                ScopeKind::Named(name) => call.scope(name, scope.as_str()),
            };
            call = (fixture.call)(call);
        }
        call = call.tool_call_id(self.id.as_str()).turn(self.turn);
        if spec.is_keyed_by("operation_id") {
            call = call.operation_id(self.operation_id.as_str());
        }
        if let Some(occurrence) = &self.occurrence {
            call = call.occurrence(occurrence.as_str());
        }
        if let Some(principal) = &self.principal {
            call = call.principal(principal.as_str());
        }
        if let Some(record) = &self.record {
            call = call.resume(record.clone());
        }
        if let Some(repeat) = self.repeat {
            call = call.repeat(repeat);
        }
        match self.deadline {
            Some(deadline) => call.deadline(deadline),
            None => call,
        }
    }
}
