//! The shared ledger: a PostgreSQL database, for the processes of many machines.
//!
//! In reading order: [`open`] (what server it may be, migrations), [`transact`] (a batch in one transaction, again where
//! others came first), [`straight`] (a batch that needs no look at the ledger), [`plainly`] (put into words), [`work`]
//! (records as they are read, moved in memory and written together), [`begun`] (those that need not be read), [`gather`]
//! (what a batch reads), [`reserve`], [`unsettled`] and [`evidence`], [`flush`] and [`beside`] (the statements that write),
//! [`script`] (several of them in one message; those of every call are functions, in `functions.sql` and `straight.sql`),
//! [`upkeep`] (leases and counts), [`purge`]; [`read`] (records), [`readers`] (on a thread of their own), [`finds`] (what
//! many calls look for, together), [`detail`], [`listing`], [`sweep`]; [`catalogue`] (names interned to numbers), [`text`] as
//! columns hold it, [`clock`] (the server's time), and how PostgreSQL's [`failure`]s read in the ledger's words.

mod begun;
mod beside;
mod catalogue;
mod clock;
mod detail;
mod evidence;
mod failure;
mod finds;
mod flush;
mod gather;
mod listing;
mod open;
mod plainly;
mod purge;
mod read;
mod readers;
mod reserve;
mod script;
mod straight;
mod sweep;
mod text;
mod transact;
mod unsettled;
mod upkeep;
mod work;

use std::sync::{Arc, atomic::AtomicI64};

use sqlx::{
    Postgres,
    postgres::{PgArguments, PgConnectOptions, PgConnection},
    query::Query,
};

use self::{begun::Begun, catalogue::Catalogue, readers::Readers};
use crate::{
    clock::{Clock, ServerClock, Timestamp},
    ledger::{BoxFuture, Command, Flow, Reader, Reply, Store, StoreError},
};

/// A ledger in a PostgreSQL database: a connection that writes, one transaction a batch. Its twin has a connection of its own.
#[derive(Debug)]
pub struct PostgresStore {
    options: PgConnectOptions,
    clock: Arc<ServerClock>,
    /// Opened where it is used: a connection belongs to the runtime that drives it.
    writer: Option<PgConnection>,
    catalogue: Catalogue,
    begun: Begun,
    /// How many batches still go the long way, though they look plain.
    long_ways: u32,
    readers: Arc<Readers>,
    /// Where the next purge goes on.
    purged_to: Arc<AtomicI64>,
}

impl PostgresStore {
    /// Opens the ledger in the database at `address` (`postgres://user@host/database`), and brings its schema up to date.
    /// Safe from several processes at once.
    ///
    /// A new ledger is divided by tenant, into as many partitions as `idem_partitions` in the address says
    /// (`postgres://…/database?idem_partitions=16`, from 1 to 64), or 4. They serve deployments with many tenants and many
    /// records; the count stays what it was when the ledger was made.
    ///
    /// # Errors
    /// [`StoreError`] when the server cannot be reached, cannot write, its ledger was written by a newer version of this
    /// crate, or is divided into another number of partitions than the address says.
    pub async fn open(address: &str) -> Result<Self, StoreError> {
        let place = open::place(address)?;
        let clock = Arc::new(open::prepare(&place).await?);
        let options = place.options;
        let readers = Arc::new(Readers::start(options.clone())?);
        Ok(Self {
            options,
            clock,
            writer: None,
            catalogue: Catalogue::default(),
            begun: Begun::default(),
            long_ways: 0,
            readers,
            purged_to: Arc::default(),
        })
    }
}

impl Store for PostgresStore {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        Box::pin(self.apply_all(commands, now))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::<Readers>::clone(&self.readers)
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        Some(Arc::<ServerClock>::clone(&self.clock))
    }

    fn flow(&self) -> Flow {
        Flow::Driven
    }

    fn twin(&self) -> Option<Box<dyn Store>> {
        Some(Box::new(Self {
            options: self.options.clone(),
            clock: Arc::clone(&self.clock),
            writer: None,
            catalogue: Catalogue::default(),
            begun: self.begun.clone(),
            long_ways: 0,
            readers: Arc::clone(&self.readers),
            purged_to: Arc::clone(&self.purged_to),
        }))
    }

    fn ready(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(self.is_connected())
    }

    fn close(&mut self) {
        // The server notices, and there is nothing under way.
        self.writer = None;
    }
}

/// A statement without a name: a named one would not survive a pooler that lends connections by the transaction.
fn sql<'q>(text: &'static str) -> Query<'q, Postgres, PgArguments> {
    sqlx::query(text).persistent(false)
}

/// A number as a column holds it.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A span of time as a column holds it.
fn nanos(span: std::time::Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}
