//! The runtime as an application holds it: where the ledger is, and where calls begin.

use std::{fmt, sync::Arc};

use crate::{
    clock::{Clock, SystemClock},
    config::Config,
    engine::{Engine, ToolCall},
    id::{InvalidId, OperationId, Tenant},
    ledger::{
        Command, Drifted, Evidence, Ledger, LedgerError, PurgeReport, Record, Reply, Store, StoreError, Witnessed,
    },
    operator::{self, Operator, ResolveError},
    reconciler::{BoundTool, Reconciler},
    retry::Jitter,
    secret::IdentityKey,
    store::MemoryStore,
};

/// A ledger, opened. Cheap to clone; the ledger closes when the last clone, and the last call made from it, is gone.
///
/// ```
/// # #[tokio::main] async fn main() -> Result<(), idem_runtime::OpenError> {
/// let idem = idem_runtime::Idem::open("memory:").await?;
/// let call = idem.call().tenant("acme").conversation("c-42").turn(7).tool_call_id("call_abc");
/// # let _ = call; Ok(()) }
/// ```
#[derive(Clone)]
pub struct Idem {
    engine: Arc<Engine>,
}

/// How a runtime is set up, before it is opened.
#[derive(Debug, Default)]
pub struct Builder {
    config: Config,
    clock: Option<Arc<dyn Clock>>,
    identity_key: Option<IdentityKey>,
    single_tenant: Option<Arc<str>>,
    jitter_seed: Option<u64>,
}

/// Why a ledger was not opened. Nothing was changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The address is none that this build knows.
    Address {
        /// The address, without what may be a password.
        address: String,
        /// What to write instead.
        help: &'static str,
    },
    /// The store could not be opened.
    Store(StoreError),
    /// The ledger could not be started on it.
    Ledger(LedgerError),
    /// The single tenant's name is not one.
    Tenant(InvalidId),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { address, help } => write!(f, "open a ledger at `{address}`: {help}"),
            Self::Store(error) => write!(f, "open the ledger: {error}"),
            Self::Ledger(error) => write!(f, "start the ledger: {error}"),
            Self::Tenant(error) => write!(f, "open the ledger for a single tenant: {error}"),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Address { .. } => None,
            Self::Store(error) => Some(error),
            Self::Ledger(error) => Some(error),
            Self::Tenant(error) => Some(error),
        }
    }
}

impl Idem {
    /// Opens a ledger: `sqlite://path/to/file.db` (created when it is not there), `postgres://user@host/database` (with the
    /// feature `postgres`; its tables are created when they are not there), or `memory:`.
    ///
    /// # Errors
    /// [`OpenError`], when there is no such store or it cannot be used.
    pub async fn open(address: &str) -> Result<Self, OpenError> {
        Self::builder().open(address).await
    }

    /// Starts a set-up that differs from the default.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The limits and spans of time that it was opened with.
    pub fn config(&self) -> &Config {
        &self.engine.config
    }

    /// A call of a tool, to be filled in.
    pub fn call(&self) -> ToolCall {
        ToolCall::new(Arc::clone(&self.engine))
    }

    /// The record of a tenant's operation; `None` for every id that is not this tenant's.
    ///
    /// # Errors
    /// [`LedgerError`], when the ledger cannot be read.
    pub async fn show(&self, tenant: &Tenant, operation: OperationId) -> Result<Option<Record>, LedgerError> {
        Ok(self.engine.ledger.reader().show(tenant, operation).await?)
    }

    /// A tenant's operations that were called again with other arguments, newest first: for review.
    ///
    /// Counts are written a moment after the calls they count ([`Config::tally_every`]).
    ///
    /// # Errors
    /// [`LedgerError`], when the ledger cannot be read.
    pub async fn drifted(&self, tenant: &Tenant, records_max: u32) -> Result<Vec<Drifted>, LedgerError> {
        Ok(self.engine.ledger.reader().drifted(tenant, records_max).await?)
    }

    /// What settles unknown outcomes of these tools, each bound to its state: to be [run](Reconciler::run) as a task, or
    /// [once](Reconciler::run_once).
    ///
    /// ```no_run
    /// # async fn settle(idem: idem_runtime::Idem, send_refund_tool: fn() -> idem_runtime::BoundTool) {
    /// tokio::spawn(idem.reconciler([send_refund_tool()]).run());
    /// # }
    /// ```
    pub fn reconciler(&self, tools: impl IntoIterator<Item = BoundTool>) -> Reconciler {
        Reconciler::new(Arc::clone(&self.engine), tools)
    }

    /// What a person can do about a tenant's operations. `actor` names the person, and stands beside every change.
    ///
    /// # Errors
    /// [`InvalidId`], when the name is blank or too long.
    pub fn operator(&self, tenant: &Tenant, actor: impl Into<Arc<str>>) -> Result<Operator, InvalidId> {
        Operator::new(Arc::clone(&self.engine), tenant.clone(), actor.into())
    }

    /// What somebody outside says about an operation, such as a provider's webhook. The same event counts once; success
    /// settles whatever is not settled, with the provider's reference where the tool requires one; evidence for an operation that is not there yet is kept until it is.
    ///
    /// # Errors
    /// [`ResolveError`], when a name is blank or too long, or the ledger cannot be written. Nothing was changed then.
    pub async fn evidence(&self, evidence: Evidence) -> Result<Witnessed, ResolveError> {
        operator::witness(&self.engine, evidence).await
    }

    /// Removes results whose retention has ended and tombstones that are old enough, looking at no more than
    /// `records_max` records; the next call goes on where this one stopped. Records that are in progress or unknown are
    /// never touched.
    ///
    /// # Errors
    /// [`LedgerError`], when the ledger cannot be written. Nothing was removed then.
    pub async fn purge(&self, records_max: u32) -> Result<PurgeReport, LedgerError> {
        let command = Command::Purge { records_max, tombstone: self.engine.config.tombstone };
        match self.engine.ledger.ask(command).await? {
            Reply::Purged(report) => Ok(report),
            _ => Err(LedgerError::Confused),
        }
    }
}

impl Builder {
    /// Sets limits and spans of time.
    #[must_use]
    pub fn config(self, config: Config) -> Self {
        Self { config, ..self }
    }

    /// Sets the clock, in place of the machine's or, in PostgreSQL, the server's.
    #[must_use]
    pub fn clock(self, clock: impl Clock) -> Self {
        Self { clock: Some(Arc::new(clock)), ..self }
    }

    /// Makes identities HMACs under the deployment's key.
    #[must_use]
    pub fn identity_key(self, key: IdentityKey) -> Self {
        Self { identity_key: Some(key), ..self }
    }

    /// Says once whose operations all of these are.
    #[must_use]
    pub fn single_tenant(self, tenant: impl Into<Arc<str>>) -> Self {
        Self { single_tenant: Some(tenant.into()), ..self }
    }

    /// Draws pauses between attempts and between reconciliations from this seed, so that a test sees the same ones.
    #[must_use]
    pub fn jitter_seed(self, seed: u64) -> Self {
        Self { jitter_seed: Some(seed), ..self }
    }

    /// Opens the ledger at `address`, see [`Idem::open`].
    ///
    /// # Errors
    /// [`OpenError`], when there is no such store or it cannot be used.
    #[cfg_attr(
        not(any(feature = "sqlite", feature = "postgres")),
        expect(clippy::unused_async, reason = "only a file or a server makes it wait")
    )]
    pub async fn open(self, address: &str) -> Result<Idem, OpenError> {
        if address == "memory:" {
            return self.with_store(MemoryStore::new());
        }
        #[cfg(feature = "sqlite")]
        if let Some(path) = address.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path).to_owned();
            if path.is_empty() || path.starts_with(":memory:") {
                let help = "an SQLite ledger is a file; a ledger that lasts no longer than the process is `memory:`";
                return Err(OpenError::Address { address: address.to_owned(), help });
            }
            let open = move || crate::store::SqliteStore::open(path);
            // Opening may wait for another process that migrates.
            let store = match tokio::runtime::Handle::try_current() {
                Err(_) => open(),
                Ok(runtime) => match runtime.spawn_blocking(open).await {
                    Ok(store) => store,
                    Err(_) => return Err(OpenError::Ledger(LedgerError::Closed)),
                },
            };
            return self.with_store(store.map_err(OpenError::Store)?);
        }
        #[cfg(feature = "postgres")]
        if address.starts_with("postgres://") || address.starts_with("postgresql://") {
            let store = crate::store::PostgresStore::open(address).await;
            return self.with_store(store.map_err(OpenError::Store)?);
        }
        let scheme = address.split(':').next().unwrap_or_default().to_owned();
        let help = if cfg!(feature = "postgres") {
            "write `sqlite://path/to/file.db`, `postgres://user@host/database` or `memory:`"
        } else {
            "write `sqlite://path/to/file.db` or `memory:`; `postgres://…` needs the feature `postgres`"
        };
        Err(OpenError::Address { address: format!("{scheme}:…"), help })
    }

    /// Uses a store of one's own.
    ///
    /// # Errors
    /// [`OpenError`], when the ledger cannot be started.
    pub fn with_store(self, store: impl Store) -> Result<Idem, OpenError> {
        let single_tenant = self.single_tenant.map(Tenant::new).transpose().map_err(OpenError::Tenant)?;
        let single_tenant = single_tenant.map(|tenant| tenant.as_str().into());
        let clock = self.clock.or_else(|| store.clock()).unwrap_or_else(|| Arc::new(SystemClock::new()));
        let ledger = Ledger::start(Box::new(store), Arc::clone(&clock), &self.config).map_err(OpenError::Ledger)?;
        let engine =
            Engine::new(ledger, clock, self.config, self.identity_key, single_tenant, Jitter::new(self.jitter_seed));
        Ok(Idem { engine: Arc::new(engine) })
    }
}

impl fmt::Debug for Idem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idem").finish_non_exhaustive()
    }
}
