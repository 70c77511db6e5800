//! The PostgreSQL server of a test process: one for all of its tests, or the one that the environment names.
//!
//! Must not know what is kept in it. A ledger is a schema of its own, which goes when its test does.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use idem_runtime::testing::postgres::{Cluster, NoServer};

/// What stands for a null in an answer.
const NULL: &str = "(null)";

/// The server that tests of this process share at the moment. Whoever needs one first starts it, the last one ends it.
static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());

/// A server that other tests use too: whoever stops it, or changes its settings, starts one of their own.
///
/// # Panics
/// Without a server: what is not tested must not look as if it were.
pub fn shared() -> Arc<Cluster> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(cluster) = shared.upgrade() {
        return cluster;
    }
    let cluster = match Cluster::start() {
        Ok(cluster) => Arc::new(cluster),
        Err(error) => panic!("{error}"),
    };
    *shared = Arc::downgrade(&cluster);
    cluster
}

/// A schema for one ledger. It is dropped when this is.
#[derive(Debug)]
pub struct Schema {
    name: String,
    address: String,
    cluster: Arc<Cluster>,
}

impl Default for Schema {
    fn default() -> Self {
        Self::new()
    }
}

impl Schema {
    /// An empty one.
    ///
    /// # Panics
    /// Without a server.
    pub fn new() -> Self {
        let cluster = shared();
        let address = cluster.ledger().expect("a schema");
        let name = address.rsplit("%3D").next().unwrap_or_default().to_owned();
        // Two partitions: enough to tell tenants apart, and soon made.
        Self { name, address: address + "&idem_partitions=2", cluster }
    }

    /// What opens the ledger.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The one column that a query selects, of every row: numbers, or words of one line.
    ///
    /// # Panics
    /// When it cannot be answered.
    pub fn ask(&self, query: &str) -> Vec<Option<String>> {
        let query = format!("select coalesce(it::text, '{NULL}') from ({query}) as asked (it)");
        let answer = self.say(&query).expect("an answer");
        answer.lines().map(|line| (line != NULL).then(|| line.to_owned())).collect()
    }

    /// Changes it by hand.
    ///
    /// # Errors
    /// What the server says.
    pub fn change(&self, statements: &str) -> Result<(), String> {
        self.say(statements).map(drop).map_err(|error| error.to_string())
    }

    fn say(&self, statements: &str) -> Result<String, NoServer> {
        self.cluster.ask(&format!("set search_path = {}; {statements}", self.name))
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        // Who died in the middle of a statement is noticed long before this ends.
        let drop =
            format!("set lock_timeout = '20s'; set client_min_messages = error; drop schema {} cascade", self.name);
        if let Err(error) = self.cluster.say(&drop) {
            // The test has ended, well or not, and is not to end otherwise for this.
            let _ = writeln!(io::stderr(), "a schema of a test stays behind: {error}");
        }
    }
}
