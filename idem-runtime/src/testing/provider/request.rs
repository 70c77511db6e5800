//! What is asked of a provider, and what it answers.
//!
//! Must not know how a request travels.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{EffectError, ErrorClass, Timestamp};

/// A request for one effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// What is to happen, by the name that a fixture counts: `refund`.
    pub effect: String,
    /// The business identifier of what it happens to.
    #[serde(default)]
    pub object: String,
    /// Who is reached by it.
    #[serde(default)]
    pub recipient: String,
    /// The key that the caller sends along.
    #[serde(default)]
    pub key: Option<String>,
    /// Whatever else is in it.
    #[serde(default)]
    pub fields: Map<String, Value>,
}

impl Request {
    /// A request for an effect of this name.
    pub fn of(effect: impl Into<String>) -> Self {
        let (object, recipient) = (String::new(), String::new());
        Self { effect: effect.into(), object, recipient, key: None, fields: Map::new() }
    }

    /// The business identifier of what it happens to: an order, an invoice.
    #[must_use]
    pub fn object(self, object: impl Into<String>) -> Self {
        Self { object: object.into(), ..self }
    }

    /// Who is reached by it.
    #[must_use]
    pub fn recipient(self, recipient: impl Into<String>) -> Self {
        Self { recipient: recipient.into(), ..self }
    }

    /// The key that the provider is to know the request by: [`Attempt::provider_key`](crate::Attempt::provider_key).
    #[must_use]
    pub fn key(self, key: impl fmt::Display) -> Self {
        Self { key: Some(key.to_string()), ..self }
    }

    /// A field of the request, which comes back with the reply and with every look-up.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.insert(name.into(), value.into());
        self
    }
}

/// One effect, as the provider has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The provider's id of it.
    pub reference: String,
    /// What was asked for.
    #[serde(flatten)]
    pub request: Request,
    /// When it happened.
    pub at: Timestamp,
}

/// The provider's answer: there is such an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The provider's id of the effect.
    pub reference: String,
    /// It had happened before, and the provider knew the key.
    pub known: bool,
    /// The business identifier.
    pub object: String,
    /// Who was reached.
    pub recipient: String,
    /// The fields of the request.
    pub fields: Map<String, Value>,
}

impl Reply {
    pub(crate) fn of(effect: &Effect, known: bool) -> Self {
        let Effect { reference, request, .. } = effect.clone();
        let Request { object, recipient, fields, .. } = request;
        Self { reference, known, object, recipient, fields }
    }

    /// A field as text; empty where there is none.
    pub fn text(&self, name: &str) -> &str {
        self.fields.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A field as a number; 0 where there is none.
    pub fn number(&self, name: &str) -> u64 {
        self.fields.get(name).and_then(Value::as_u64).unwrap_or_default()
    }
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderError {
    /// The provider is busy: it says that it did nothing, and may be asked again.
    Busy,
    /// The provider says no: it did nothing, and never will.
    Declined(String),
    /// No answer in time.
    TimedOut,
    /// The connection broke.
    Reset,
    /// The connection ended without an answer.
    NoAnswer,
    /// The answer cannot be read.
    Garbage,
    /// It cannot be asked that now, or at all.
    Unavailable,
}

impl ProviderError {
    /// What it proves about the effect.
    pub const fn class(&self) -> ErrorClass {
        match self {
            Self::Busy => ErrorClass::Retryable,
            Self::Declined(_) => ErrorClass::Final,
            Self::TimedOut | Self::Reset | Self::NoAnswer | Self::Garbage | Self::Unavailable => ErrorClass::Unknown,
        }
    }
}

impl EffectError for ProviderError {
    fn effect_class(&self) -> ErrorClass {
        self.class()
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("the provider is busy; it did nothing"),
            Self::Declined(why) => write!(f, "the provider declined: {why}"),
            Self::TimedOut => f.write_str("no answer of the provider in time"),
            Self::Reset => f.write_str("connection reset by peer"),
            Self::NoAnswer => f.write_str("the connection ended without an answer"),
            Self::Garbage => f.write_str("the provider's answer cannot be read"),
            Self::Unavailable => f.write_str("the provider cannot be asked that"),
        }
    }
}

impl std::error::Error for ProviderError {}
