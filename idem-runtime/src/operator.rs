//! What a person can do: list, look, decide, and record what they did by hand.
//!
//! Beside the engine, not inside it. Everything is bound to one tenant and signed by one actor. Must not know how a person
//! is asked.

use std::{fmt, sync::Arc};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{
    config::WORDS_BYTES_MAX,
    engine::Engine,
    id::{InvalidId, OperationId, Tenant, checked},
    ledger::{
        Command, Detail, Evidence, Finding, LedgerError, Listing, Record, Reply, Resolution, Resolve, Resolved, Stored,
        StoredKind, Witnessed,
    },
};

/// One person's view of one tenant's operations. Made by [`Idem::operator`](crate::Idem::operator).
///
/// Whoever hands it out has checked who the person is: the ledger keeps the name with every change.
#[derive(Debug, Clone)]
pub struct Operator {
    engine: Arc<Engine>,
    tenant: Tenant,
    actor: Arc<str>,
}

/// A page of records, in the order in which they were first reserved.
#[derive(Debug, Clone)]
pub struct Page {
    /// The records.
    pub records: Vec<Record>,
    /// What [`Listing::after`] has to be for the next page; `None` after the last.
    pub next: Option<i64>,
}

/// Why a decision or evidence was not recorded. Nothing was changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ResolveError {
    /// The ledger could not be used.
    Ledger(LedgerError),
    /// A name is blank or too long.
    Invalid(InvalidId),
    /// A reason, or evidence in words, is longer than 4,096 bytes.
    Words(String),
    /// A result is larger than the runtime allows, or has no JSON.
    Result(String),
    /// The operation is not as it was seen: somebody else was faster, or is finding out.
    Changed(Box<Record>),
    /// The tool requires the provider's reference of a success, and none was given.
    NoReference,
    /// The tenant has no such operation.
    Gone,
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ledger(error) => error.fmt(f),
            Self::Invalid(error) => error.fmt(f),
            Self::Words(why) => write!(f, "record a {why}; nothing was changed"),
            Self::Result(why) => write!(f, "record a result: {why}; nothing was changed"),
            Self::Changed(record) => write!(
                f,
                "settle operation {}: it is `{}` by now (version {}); nothing was changed, look again",
                record.operation,
                record.state.name(),
                record.version
            ),
            Self::NoReference => {
                f.write_str("record a success: the tool requires the provider's reference of it; nothing was changed")
            }
            Self::Gone => f.write_str("settle an operation: the tenant has no such operation; nothing was changed"),
        }
    }
}

impl std::error::Error for ResolveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Ledger(error) => Some(error),
            Self::Invalid(error) => Some(error),
            Self::Words(_) | Self::Result(_) | Self::Changed(_) | Self::NoReference | Self::Gone => None,
        }
    }
}

impl From<LedgerError> for ResolveError {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

impl Operator {
    pub(crate) fn new(engine: Arc<Engine>, tenant: Tenant, actor: Arc<str>) -> Result<Self, InvalidId> {
        Ok(Self { engine, tenant, actor: checked("actor", actor)? })
    }

    /// The tenant's operations, a page at a time.
    ///
    /// # Errors
    /// [`LedgerError`], when the ledger cannot be read.
    pub async fn list(&self, listing: &Listing) -> Result<Page, LedgerError> {
        let records = self.engine.ledger.reader().list(&self.tenant, listing).await?;
        let full = u32::try_from(records.len()).is_ok_and(|count| count >= listing.records_max);
        let next = records.last().map(|record| record.row).filter(|_| full);
        Ok(Page { records, next })
    }

    /// Everything that is kept about an operation: record, attempts, history, evidence, links. `None` for every id that is
    /// not the tenant's.
    ///
    /// # Errors
    /// [`LedgerError`], when the ledger cannot be read.
    pub async fn show(&self, operation: OperationId) -> Result<Option<Detail>, LedgerError> {
        Ok(self.engine.ledger.reader().detail(&self.tenant, operation).await?)
    }

    /// Settles an operation whose outcome is unknown or in review. It rests on the record that the person saw: if that has
    /// changed since, nothing happens.
    ///
    /// # Errors
    /// [`ResolveError`]; with [`Changed`](ResolveError::Changed) comes the record as it stands.
    pub async fn resolve(
        &self,
        seen: &Record,
        resolution: Resolution,
        reason: &str,
        evidence: Option<&str>,
    ) -> Result<Record, ResolveError> {
        let config = &self.engine.config;
        for text in [Some(reason), evidence].into_iter().flatten() {
            within("reason or evidence", text)?;
        }
        if let Resolution::Succeeded { stored, reference } = &resolution {
            bounded(stored.as_ref(), reference.as_ref(), config.result_bytes_max)?;
        }
        let resolve = Resolve {
            tenant: self.tenant.clone(),
            row: seen.row,
            version: seen.version,
            actor: Arc::clone(&self.actor),
            reason: reason.into(),
            evidence: evidence.map(Into::into),
            resolution,
        };
        match self.engine.ledger.ask(Command::Resolve(Box::new(resolve))).await? {
            Reply::Resolved(Resolved::Recorded { record }) => Ok(Record::clone(&record)),
            Reply::Resolved(Resolved::Changed { record }) => {
                Err(ResolveError::Changed(Box::new(Record::clone(&record))))
            }
            Reply::Resolved(Resolved::NoReference { .. }) => Err(ResolveError::NoReference),
            Reply::Resolved(Resolved::Gone) => Err(ResolveError::Gone),
            _ => Err(ResolveError::Ledger(LedgerError::Confused)),
        }
    }

    /// Records an effect that a person caused by hand at the provider, so that the call finds it done. The operation need
    /// not be there yet: [`prepare`](crate::prepare()) says what its id will be.
    ///
    /// # Errors
    /// [`ResolveError`].
    pub async fn record_external<T: Serialize>(
        &self,
        operation: OperationId,
        result: Option<&T>,
        reference: Option<&str>,
        reason: &str,
    ) -> Result<Witnessed, ResolveError> {
        let stored = result.map(|result| stored(result, self.engine.config.result_bytes_max)).transpose()?;
        // The same statement of the same person is one event, however often it is sent.
        let said = (&*self.actor, reference, reason, stored.as_ref().map(|stored| &*stored.bytes));
        let said = serde_json::to_vec(&said).map_err(|error| ResolveError::Result(error.to_string()))?;
        let mut half = [0; 16];
        half.copy_from_slice(&Sha256::digest(said)[..16]);
        let event = format!("{:032x}", u128::from_be_bytes(half));
        let evidence = Evidence::of(&self.tenant, operation, "by hand", event).words(reason);
        let evidence = evidence.applied(stored, reference).by(Arc::clone(&self.actor));
        witness(&self.engine, evidence).await
    }
}

/// A result as it is stored.
pub(crate) fn stored<T: Serialize>(result: &T, bytes_max: usize) -> Result<Stored, ResolveError> {
    let json = serde_json::to_vec(result).map_err(|error| ResolveError::Result(error.to_string()))?;
    if json.len() > bytes_max {
        return Err(too_large(json.len(), bytes_max));
    }
    Ok(Stored { kind: StoredKind::Value, bytes: json.into() })
}

/// A result and a reference within their limits.
fn bounded(stored: Option<&Stored>, reference: Option<&Arc<str>>, bytes_max: usize) -> Result<(), ResolveError> {
    if let Some(reference) = reference {
        checked("reference", Arc::clone(reference)).map_err(ResolveError::Invalid)?;
    }
    match stored.map(|stored| stored.bytes.len()) {
        Some(bytes) if bytes > bytes_max => Err(too_large(bytes, bytes_max)),
        _ => Ok(()),
    }
}

fn too_large(bytes: usize, bytes_max: usize) -> ResolveError {
    ResolveError::Result(format!("it has {bytes} bytes as JSON, at most {bytes_max} are stored"))
}

/// A person's words: there are some, and not too many.
fn within(what: &'static str, words: &str) -> Result<(), ResolveError> {
    if words.trim().is_empty() {
        return Err(ResolveError::Invalid(InvalidId::Blank { what }));
    }
    if words.len() > WORDS_BYTES_MAX {
        let bytes = words.len();
        return Err(ResolveError::Words(format!("{what} of {bytes} bytes, at most {WORDS_BYTES_MAX} are kept")));
    }
    Ok(())
}

/// Hands evidence to the ledger.
pub(crate) async fn witness(engine: &Engine, evidence: Evidence) -> Result<Witnessed, ResolveError> {
    let Evidence { source, event, actor, words, finding, .. } = &evidence;
    let names = [("source of evidence", Some(source)), ("event of evidence", Some(event)), ("actor", actor.as_ref())];
    for (what, name) in names {
        name.map(|name| checked(what, Arc::clone(name))).transpose().map_err(ResolveError::Invalid)?;
    }
    if let Some(words) = words {
        within("words of evidence", words)?;
    }
    if let Finding::Applied { stored, reference } = finding {
        bounded(stored.as_ref(), reference.as_ref(), engine.config.result_bytes_max)?;
    }
    match engine.ledger.ask(Command::Evidence(Box::new(evidence))).await? {
        Reply::Witnessed(witnessed) => Ok(witnessed),
        _ => Err(ResolveError::Ledger(LedgerError::Confused)),
    }
}
