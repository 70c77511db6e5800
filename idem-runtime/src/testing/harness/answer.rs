//! What a caller of a tool was told, whatever the tool's types.

use std::cell::Cell;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    __private::outcome, AttemptRecord, Held, OperationId, Outcome, Refusal, RefusalKind, RepeatToken, prepare,
};

tokio::task_local! {
    /// What the harness wants of the next call: to be made, or only to be prepared.
    static PREPARES: Cell<bool>;
}

/// What a caller was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The outcome's name: `succeeded`, or a refusal's.
    pub outcome: String,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// An earlier call's result was given, and nothing was run for this one.
    #[serde(default)]
    pub replayed: bool,
    /// The operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Which attempt succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The provider's id of the effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The ledger does not hold the success yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_held: bool,
    /// The parameters that differ, where the call is in conflict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
    /// What the caller reads, where there is no result.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// What retries carry.
    #[serde(skip)]
    pub record: Option<AttemptRecord>,
    /// What makes an equal call a deliberate repeat.
    #[serde(skip)]
    pub repeat: Option<RepeatToken>,
}

/// The outcome's name of a call that was only prepared.
const PREPARED: &str = "prepared";

impl Answer {
    /// An answer with this outcome's name, and nothing else.
    pub fn named(outcome: impl Into<String>) -> Self {
        Self {
            outcome: outcome.into(),
            value: None,
            replayed: false,
            operation: None,
            attempt: None,
            reference: None,
            not_held: false,
            parameters: Vec::new(),
            words: String::new(),
            record: None,
            repeat: None,
        }
    }

    /// The answer of a tool that has no guard: its result.
    pub fn value(value: impl Into<Value>) -> Self {
        Self { value: Some(value.into()), ..Self::named("succeeded") }
    }

    /// The answer of a tool that has no guard: it failed, in these words.
    pub fn failed(words: impl Into<String>) -> Self {
        Self { words: words.into(), ..Self::named("failed") }
    }

    /// Whether it says that the effect happened, with a result.
    pub fn is_success(&self) -> bool {
        self.outcome == "succeeded"
    }

    fn refused(refusal: &Refusal) -> Self {
        let parameters = match refusal.kind() {
            RefusalKind::Drift { parameters, .. } => parameters.clone(),
            _ => Vec::new(),
        };
        Self {
            operation: refusal.operation().map(|operation: OperationId| operation.to_string()),
            words: refusal.to_model_text(),
            parameters,
            ..Self::named(refusal.kind().name())
        }
    }
}

impl<T: Serialize> From<Outcome<T>> for Answer {
    fn from(outcome: Outcome<T>) -> Self {
        let success = match outcome {
            Outcome::Refused(refusal) => return Self::refused(&refusal),
            Outcome::Succeeded(success) => success,
        };
        let told = success.told;
        Self {
            value: serde_json::to_value(&success.value).ok(),
            replayed: told.replay.is_some(),
            operation: Some(told.operation.to_string()),
            attempt: Some(told.attempt),
            reference: told.reference.as_deref().map(str::to_owned),
            not_held: matches!(told.held, Held::NotYet(_)),
            record: Some(AttemptRecord::clone(&told.record)),
            repeat: told.replay.and_then(|replay| replay.repeat),
            ..Self::named("succeeded")
        }
    }
}

/// One call of a guarded tool, as the harness wants it: made, or only prepared.
pub async fn asked<T, E>(call: impl Future<Output = Result<T, E>>) -> Answer
where
    T: Serialize,
{
    if !PREPARES.try_with(Cell::get).unwrap_or(false) {
        return outcome(call).await.into();
    }
    match prepare(call).await {
        Err(refusal) => Answer::refused(&refusal),
        Ok(record) => {
            Answer { operation: Some(record.operation().to_string()), record: Some(record), ..Answer::named(PREPARED) }
        }
    }
}

/// Calls in `call` are only prepared.
pub(super) async fn only_prepared<F: Future>(call: F) -> F::Output {
    PREPARES.scope(Cell::new(true), call).await
}
