//! The providers' own file: every effect that exists outside, in the order in which it came to be. It is the judge.
//!
//! A row is on the disk before a provider answers, so it outlives a `kill -9` of anyone. It must not know of HTTP, nor
//! that its callers keep a ledger.

use std::path::Path;

use rusqlite::{Connection, Transaction, params};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

const SCHEMA: &str = r"
create table if not exists effects (
    seq          integer primary key,
    service      text not null,
    provider_key text,
    rma          text,
    effect       text not null
) strict;
";

/// What can be asked for outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// Money back. The bank honours idempotency keys.
    Refunds,
    /// Tickets of the support desk. A key is a tag on the ticket, and nothing more.
    Tickets,
    /// Emails. A key is a tag on the email, and nothing more.
    Emails,
}

impl Service {
    /// Every service.
    pub const ALL: [Self; 3] = [Self::Refunds, Self::Tickets, Self::Emails];

    /// Its name, as it stands in addresses and rows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refunds => "refunds",
            Self::Tickets => "tickets",
            Self::Emails => "emails",
        }
    }

    /// The effect's id at the provider.
    fn id(self, number: u64) -> String {
        match self {
            Self::Refunds => format!("rf_{number}"),
            Self::Tickets => format!("T-{number}"),
            Self::Emails => format!("msg_{number}"),
        }
    }
}

/// The open file.
#[derive(Debug)]
pub struct Effects {
    connection: Connection,
}

impl Effects {
    /// Opens the file, or makes it.
    pub fn open(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection })
    }

    /// Does what is wanted, and gives the effect: what was wanted, with an id.
    pub fn create(
        &mut self,
        service: Service,
        key: Option<&str>,
        wanted: Map<String, Value>,
    ) -> rusqlite::Result<Value> {
        let transaction = self.connection.transaction()?;
        if let (Service::Refunds, Some(key)) = (service, key)
            && let Some(first) = tagged(&transaction, service, key)?.into_iter().next()
        {
            return Ok(first);
        }
        let sql = "select count(*) from effects where service = ?1";
        let before: i64 = transaction.query_row(sql, [service.name()], |row| row.get(0))?;
        let mut effect = wanted;
        effect.insert("id".to_owned(), service.id(before.unsigned_abs() + 1).into());
        let rma = effect.get("rma").and_then(Value::as_str).map(str::to_owned);
        let effect = Value::Object(effect);
        transaction.execute(
            "insert into effects (service, provider_key, rma, effect) values (?1, ?2, ?3, ?4)",
            params![service.name(), key, rma, effect.to_string()],
        )?;
        transaction.commit()?;
        Ok(effect)
    }

    /// The effects that came with this key.
    pub fn find(&mut self, service: Service, key: &str) -> rusqlite::Result<Vec<Value>> {
        tagged(&self.connection.transaction()?, service, key)
    }

    /// The effects that concern a return.
    pub fn of(&self, service: Service, rma: &str) -> rusqlite::Result<Vec<Value>> {
        let sql = "select effect from effects where service = ?1 and rma = ?2 order by seq";
        let mut statement = self.connection.prepare(sql)?;
        statement.query_map([service.name(), rma], |row| Ok(read(&row.get::<_, String>(0)?)))?.collect()
    }
}

fn tagged(transaction: &Transaction<'_>, service: Service, key: &str) -> rusqlite::Result<Vec<Value>> {
    let sql = "select effect from effects where service = ?1 and provider_key = ?2 order by seq";
    let mut statement = transaction.prepare(sql)?;
    statement.query_map([service.name(), key], |row| Ok(read(&row.get::<_, String>(0)?)))?.collect()
}

/// Only [`Effects::create`] writes, and it writes JSON.
fn read(effect: &str) -> Value {
    serde_json::from_str(effect).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wanted(rma: &str) -> Map<String, Value> {
        Map::from_iter([("rma".to_owned(), rma.into())])
    }

    fn open() -> (tempfile::TempDir, Effects) {
        let folder = tempfile::tempdir().unwrap();
        let effects = Effects::open(&folder.path().join("outside.db")).unwrap();
        (folder, effects)
    }

    #[test]
    fn the_bank_honours_a_key_and_the_others_do_not() {
        let (_folder, mut effects) = open();
        for service in Service::ALL {
            let first = effects.create(service, Some("k"), wanted("R")).unwrap();
            let second = effects.create(service, Some("k"), wanted("R")).unwrap();
            assert_eq!(first == second, service == Service::Refunds, "{service:?}");
        }
        let counted = Service::ALL.map(|service| effects.of(service, "R").unwrap().len());
        assert_eq!(counted, [1, 2, 2]);
    }

    #[test]
    fn another_key_or_none_is_another_effect() {
        let (_folder, mut effects) = open();
        for key in [Some("k1"), Some("k2"), None, None] {
            effects.create(Service::Refunds, key, wanted("R")).unwrap();
        }
        assert_eq!(effects.of(Service::Refunds, "R").unwrap().len(), 4);
        assert_eq!(effects.of(Service::Refunds, "S").unwrap(), [Value::Null; 0]);
    }

    #[test]
    fn what_was_done_is_found_by_its_key_when_the_file_is_opened_again() {
        let (folder, mut effects) = open();
        effects.create(Service::Emails, Some("k"), wanted("R")).unwrap();
        drop(effects);
        let mut effects = Effects::open(&folder.path().join("outside.db")).unwrap();
        assert_eq!(effects.find(Service::Emails, "k").unwrap(), [json!({"rma": "R", "id": "msg_1"})]);
        assert_eq!(effects.find(Service::Tickets, "k").unwrap(), [Value::Null; 0]);
    }
}
