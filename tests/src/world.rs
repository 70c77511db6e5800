//! Ledgers under test, their clocks, and the world outside them.
//!
//! Must not know the tools. A test gets its ledgers from [`every_store`] or [`every_store_with`], so that each of them runs
//! over memory, over a real SQLite file and, with the feature `postgres`, over a real PostgreSQL server.

use std::sync::{Arc, Mutex, PoisonError};

use idem_runtime::{Builder, Config, Idem, OperationId, Tenant, ToolCall, ledger::Record, testing::TestClock};

use crate::{
    home::{Home, Place},
    store::{AnyStore, Watch, Watched},
};

/// The tenant of calls that name no other.
pub const TENANT: &str = "acme";

/// The world outside: every effect, by business identifier, in order. Clones are the same world.
#[derive(Debug, Clone, Default)]
pub struct World(Arc<Mutex<Vec<String>>>);

impl World {
    /// Something happens; says as which effect, from 1.
    pub fn effect(&self, what: impl Into<String>) -> usize {
        let mut effects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        effects.push(what.into());
        effects.len()
    }

    /// Everything that happened.
    pub fn effects(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often this happened.
    pub fn count(&self, what: &str) -> usize {
        self.effects().iter().filter(|effect| *effect == what).count()
    }
}

/// The default configuration, changed.
pub fn config(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::default();
    change(&mut config);
    config
}

/// One ledger under test.
#[derive(Debug)]
pub struct Setup {
    /// The ledger.
    pub idem: Idem,
    /// The clock of ledger and leases; stands still.
    pub clock: TestClock,
    /// The world outside.
    pub world: World,
    /// Where it lies, unless that is in memory.
    pub home: Option<Home>,
}

/// One ledger in each kind of store.
pub async fn every_store() -> Vec<Setup> {
    every_store_with(Idem::builder).await
}

/// The same, set up otherwise.
pub async fn every_store_with(builder: impl Fn() -> Builder) -> Vec<Setup> {
    let mut setups = Vec::new();
    for place in Place::EVERY {
        setups.push(setup(*place, builder()).await);
    }
    setups
}

/// One ledger in each kind of store that outlives its process, and that other processes open too.
pub async fn lasting() -> Vec<Setup> {
    lasting_with(Idem::builder).await
}

/// The same, set up otherwise.
pub async fn lasting_with(builder: impl Fn() -> Builder) -> Vec<Setup> {
    let mut setups = Vec::new();
    for place in Place::lasting() {
        setups.push(setup(place, builder()).await);
    }
    setups
}

/// A ledger in memory.
///
/// # Panics
/// When it does not open.
pub async fn memory(builder: Builder) -> Setup {
    setup(Place::Memory, builder).await
}

/// A new ledger there.
///
/// # Panics
/// When it does not open.
pub async fn setup(place: Place, builder: Builder) -> Setup {
    let (clock, home) = (TestClock::default(), place.home());
    let address = home.as_ref().map_or("memory:", Home::address);
    let idem = builder.clock(clock.clone()).open(address).await.expect("a ledger");
    Setup { idem, clock, world: World::default(), home }
}

/// A new ledger there whose store is watched.
///
/// # Panics
/// When it does not open.
pub async fn watched(config: &Config, place: Place) -> (Setup, Watch) {
    let watch = Watch::default();
    let setup = decorated(place, |clock, store| {
        let builder = Idem::builder().config(config.clone()).clock(clock.clone());
        builder.with_store(Watched::new(store, &watch)).expect("a ledger")
    });
    (setup.await, watch)
}

/// A new ledger there that reaches its store through whatever `begin` puts before it.
pub async fn decorated(place: Place, begin: impl FnOnce(&TestClock, AnyStore) -> Idem) -> Setup {
    let (clock, home) = (TestClock::default(), place.home());
    let store = AnyStore::at(home.as_ref().map_or("memory:", Home::address)).await;
    Setup { idem: begin(&clock, store), clock, world: World::default(), home }
}

impl Setup {
    /// A call of the usual tenant in the usual conversation.
    pub fn call(&self) -> ToolCall {
        self.idem.call().tenant(TENANT).conversation("c-1")
    }

    /// That call, under an id in a turn.
    pub fn call_as(&self, id: &str, turn: u64) -> ToolCall {
        self.call().tool_call_id(id).turn(turn)
    }

    /// How many operations the ledger holds, of all tenants.
    ///
    /// # Panics
    /// When it cannot be asked.
    pub async fn operations(&self) -> u64 {
        match &self.home {
            Some(home) => home.count("idem_operations"),
            // Nothing has ended where this is asked: a purge only counts.
            None => self.idem.purge(u32::MAX).await.expect("a purge").looked_at,
        }
    }

    /// The record of an operation of the usual tenant.
    ///
    /// # Panics
    /// When there is none.
    pub async fn record(&self, operation: OperationId) -> Record {
        let tenant = Tenant::new(TENANT).expect("a tenant");
        self.idem.show(&tenant, operation).await.expect("a readable ledger").expect("a record")
    }

    /// The name of the state that the operation is in.
    pub async fn state(&self, operation: OperationId) -> &'static str {
        self.record(operation).await.state.name()
    }

    /// Where the ledger lies.
    pub fn place(&self) -> Place {
        self.home.as_ref().map_or(Place::Memory, Home::place)
    }

    /// Which ledger it is, for messages.
    pub fn name(&self) -> &'static str {
        self.place().name()
    }
}
