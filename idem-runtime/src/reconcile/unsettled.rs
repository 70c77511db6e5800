//! An operation as a look-up sees it.
//!
//! Must not know how a look-up asks its provider.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    clock::Timestamp,
    id::{OperationId, Tenant},
    identity::ProviderKey,
    ledger::Record,
};

/// An operation whose outcome is not known. Handed to a tool's `lookup` and `search`. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Unsettled {
    tenant: Tenant,
    record: Arc<Record>,
    arguments: Option<Arc<[u8]>>,
}

impl Unsettled {
    pub(crate) fn new(tenant: Tenant, record: Arc<Record>, arguments: Option<Arc<[u8]>>) -> Self {
        Self { tenant, record, arguments }
    }

    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// The operation's id.
    pub fn operation(&self) -> OperationId {
        self.record.operation
    }

    /// Whose operation it is.
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// The token that every attempt handed to the provider for the effect of this name.
    pub fn provider_key(&self, effect: &str) -> ProviderKey {
        ProviderKey::derive(self.record.operation, effect)
    }

    /// The provider's id of the effect, if an attempt told one before its outcome was lost.
    pub fn reference(&self) -> Option<&str> {
        self.record.reference.as_deref()
    }

    /// When the operation was first reserved: nothing was sent before.
    pub fn first_at(&self) -> Timestamp {
        self.record.reserved_at
    }

    /// Since when nothing more of its last attempt was heard.
    pub fn unknown_at(&self) -> Timestamp {
        self.record.unknown_at.or(self.record.settled_at).unwrap_or(self.record.reserved_at)
    }

    /// How many attempts were made.
    pub fn attempts(&self) -> u32 {
        self.record.attempt
    }

    /// The stored argument of this name; `None` when the tool does not store arguments (`store_arguments`), when there was
    /// none of this name, or when it does not read as a `T`.
    pub fn argument<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let arguments: Value = serde_json::from_slice(self.arguments.as_deref()?).ok()?;
        serde_json::from_value(arguments.get(name)?.clone()).ok()
    }

    /// What an attempt returned that could not prove its success (`reference = required`).
    pub fn unproved<T: DeserializeOwned>(&self) -> Option<T> {
        let stored = self.record.stored.as_ref()?;
        serde_json::from_slice(&stored.bytes).ok()
    }
}
