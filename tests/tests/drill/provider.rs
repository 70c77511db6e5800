//! The provider: effects, requests and switches as rows of a file of its own, which outlives whoever calls it.
//!
//! Must not know that its callers have a ledger.

use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use idem_runtime::{Clock, testing::TestClock};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

/// What can be switched at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    /// It can be asked for a key or a reference (1), or is out of order (0).
    Lookup,
    /// It can be searched by order.
    Search,
    /// How many seconds pass before its index sees a new effect.
    Lag,
    /// It has forgotten the keys that it knew (1).
    Forgets,
}

/// One effect, as the provider tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Payment {
    pub(crate) reference: String,
    pub(crate) cents: u64,
}

/// The provider did not answer a question.
#[derive(Debug, thiserror::Error)]
#[error("the provider is out of order")]
pub(crate) struct Down;

/// What a request bears its caller's key as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bears {
    /// As its idempotency key: the provider has one effect for it.
    Key,
    /// As a field that can be asked for, and no more.
    Field,
}

/// A connection to the provider, which goes by this clock.
#[derive(Debug)]
pub(crate) struct Provider {
    connection: Mutex<Connection>,
    clock: TestClock,
}

const SCHEMA: &str = "
    create table if not exists effects (
        id integer primary key, intent text not null, key text not null, cents integer not null,
        seen_at integer not null);
    create table if not exists requests (id integer primary key, intent text not null, key text not null);
    create table if not exists switches (name text primary key, value integer not null);
    insert or ignore into switches values ('Lookup', 1), ('Search', 1), ('Lag', 0), ('Forgets', 0);";

impl Provider {
    /// The provider whose file stands at `path`. It has no need to survive a loss of power: processes are killed here.
    pub(crate) fn at(path: &Path, clock: &TestClock) -> Self {
        let connection = Connection::open(path).expect("the provider's file");
        connection.busy_timeout(Duration::from_mins(1)).expect("a busy time-out");
        connection.pragma_update(None, "journal_mode", "wal").expect("a log");
        connection.pragma_update(None, "synchronous", "off").expect("no syncs");
        connection.execute_batch(SCHEMA).expect("the provider's tables");
        Self { connection: Mutex::new(connection), clock: clock.clone() }
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn switch(&self, switch: Switch, value: i64) {
        let update = "update switches set value = ?2 where name = ?1";
        self.connection().execute(update, params![format!("{switch:?}"), value]).expect("a switch");
    }

    /// A request for an effect: durable when this returns.
    pub(crate) fn pay(&self, bears: Bears, key: &str, intent: &str, cents: u64) -> Payment {
        let mut connection = self.connection();
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate).expect("a transaction");
        change.execute("insert into requests (intent, key) values (?1, ?2)", params![intent, key]).expect("a request");
        let knows = bears == Bears::Key && is(&change, Switch::Forgets) == 0;
        let known = if knows { one(&change, "key = ?1", key) } else { None };
        let payment = known.unwrap_or_else(|| {
            let insert = "insert into effects (intent, key, cents, seen_at) values (?1, ?2, ?3, ?4)";
            let amount = i64::try_from(cents).expect("an amount");
            let lag = Duration::from_secs(is(&change, Switch::Lag).unsigned_abs());
            let seen_at = self.clock.now().after(lag).as_nanos();
            change.execute(insert, params![intent, key, amount, seen_at]).expect("an effect");
            Payment { reference: reference(change.last_insert_rowid()), cents }
        });
        change.commit().expect("a durable effect");
        payment
    }

    /// What it has under a key.
    pub(crate) fn by_key(&self, key: &str) -> Result<Option<Payment>, Down> {
        self.asked(Switch::Lookup, "key = ?1", key)
    }

    /// What it has under its own id.
    pub(crate) fn by_reference(&self, reference: &str) -> Result<Option<Payment>, Down> {
        self.asked(Switch::Lookup, "'pay_' || id = ?1", reference)
    }

    /// What it has for an order.
    pub(crate) fn by_intent(&self, intent: &str) -> Result<Option<Payment>, Down> {
        self.asked(Switch::Search, "intent = ?1", intent)
    }

    fn asked(&self, by: Switch, filter: &str, value: &str) -> Result<Option<Payment>, Down> {
        let connection = self.connection();
        if is(&connection, by) == 0 {
            return Err(Down);
        }
        // The index lags behind.
        let seen = format!("{filter} and seen_at <= {}", self.clock.now().as_nanos());
        Ok(one(&connection, &seen, value))
    }

    /// How often something happened for an order: the truth.
    pub(crate) fn effects(&self, intent: &str) -> usize {
        self.count("select count(*) from effects where intent = ?1", intent)
    }

    /// How many requests arrived for an order.
    pub(crate) fn requests(&self, intent: &str) -> usize {
        self.count("select count(*) from requests where intent = ?1", intent)
    }

    /// With how many keys they did.
    pub(crate) fn keys(&self, intent: &str) -> usize {
        self.count("select count(distinct key) from requests where intent = ?1", intent)
    }

    /// The effect of an order, as its log has it, whatever its index says.
    pub(crate) fn truth(&self, intent: &str) -> Option<Payment> {
        one(&self.connection(), "intent = ?1", intent)
    }

    fn count(&self, query: &str, intent: &str) -> usize {
        let counted: i64 = self.connection().query_row(query, [intent], |row| row.get(0)).expect("a count");
        usize::try_from(counted).expect("a count")
    }
}

fn is(connection: &Connection, switch: Switch) -> i64 {
    let query = "select value from switches where name = ?1";
    connection.query_row(query, [format!("{switch:?}")], |row| row.get(0)).expect("a switch")
}

fn one(connection: &Connection, filter: &str, value: &str) -> Option<Payment> {
    let query = format!("select id, cents from effects where {filter} order by id limit 1");
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    let found = connection.query_row(&query, [value], read).optional().expect("an answer");
    found.map(|(id, cents)| Payment { reference: reference(id), cents: cents.unsigned_abs() })
}

fn reference(id: i64) -> String {
    format!("pay_{id}")
}
