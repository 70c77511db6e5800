//! The provider's own file: every request that arrived and every refund that exists. It is the judge of all stories.
//!
//! A row is on the disk before the provider answers, so it outlives a `kill -9` of anyone. It must not know of HTTP, nor
//! that its callers keep a ledger.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::bank::{Count, Refund, RefundRequest};

const SCHEMA: &str = r"
create table if not exists requests (
    seq          integer primary key,
    provider_key text,
    order_id     text not null,
    amount_cents integer not null
) strict;
create table if not exists refunds (
    seq          integer primary key,
    provider_key text,
    order_id     text not null,
    amount_cents integer not null
) strict;
";

/// Whether the provider honours idempotency keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Keys {
    /// The same key is answered with the first refund.
    On,
    /// Every request is a refund of its own.
    Off,
}

/// What a request came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Booked {
    /// Money moved.
    Now(Refund),
    /// It had moved before, under the same key.
    Before(Refund),
    /// The key stands for another refund: nothing moved.
    Conflict,
    /// No amount of money that can be moved: nothing moved.
    BadAmount,
}

/// The open file.
#[derive(Debug)]
pub struct EffectLog {
    connection: Connection,
    keys: Keys,
}

impl EffectLog {
    /// Opens the file, or makes it.
    pub fn open(path: &Path, keys: Keys) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection, keys })
    }

    /// Writes the request down and moves the money, in one transaction.
    pub fn book(&mut self, key: Option<&str>, wanted: &RefundRequest) -> rusqlite::Result<Booked> {
        let cents = match i64::try_from(wanted.amount_cents) {
            Ok(cents) if cents > 0 => cents,
            _ => return Ok(Booked::BadAmount),
        };
        let honoured = key.filter(|_| self.keys == Keys::On);
        let transaction = self.connection.transaction()?;
        transaction.execute(
            "insert into requests (provider_key, order_id, amount_cents) values (?1, ?2, ?3)",
            params![key, wanted.order_id, cents],
        )?;
        let booked = match honoured.map(|key| stored(&transaction, key)).transpose()?.flatten() {
            Some(first) if asks_for(wanted, &first) => Booked::Before(first),
            Some(_) => Booked::Conflict,
            None => {
                transaction.execute(
                    "insert into refunds (provider_key, order_id, amount_cents) values (?1, ?2, ?3)",
                    params![key, wanted.order_id, cents],
                )?;
                Booked::Now(refund(transaction.last_insert_rowid(), wanted.order_id.clone(), wanted.amount_cents))
            }
        };
        transaction.commit()?;
        Ok(booked)
    }

    /// Counts what exists for an order.
    pub fn count(&self, order_id: &str) -> rusqlite::Result<Count> {
        let number =
            |sql: &str| self.connection.query_row(sql, [order_id], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
        Ok(Count {
            effects: number("select count(*) from refunds where order_id = ?1")?,
            keys: number("select count(distinct provider_key) from requests where order_id = ?1")?,
        })
    }
}

fn stored(transaction: &Transaction<'_>, key: &str) -> rusqlite::Result<Option<Refund>> {
    transaction
        .query_row(
            "select seq, order_id, amount_cents from refunds where provider_key = ?1 order by seq limit 1",
            [key],
            |row| Ok(refund(row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?.unsigned_abs())),
        )
        .optional()
}

fn refund(seq: i64, order_id: String, amount_cents: u64) -> Refund {
    Refund { id: format!("rf_{seq}"), order_id, amount_cents }
}

fn asks_for(wanted: &RefundRequest, first: &Refund) -> bool {
    wanted.order_id == first.order_id && wanted.amount_cents == first.amount_cents
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(order_id: &str, amount_cents: u64) -> RefundRequest {
        RefundRequest { order_id: order_id.to_owned(), amount_cents }
    }

    fn open(keys: Keys) -> (tempfile::TempDir, EffectLog) {
        let folder = tempfile::tempdir().unwrap();
        let log = EffectLog::open(&folder.path().join("provider.db"), keys).unwrap();
        (folder, log)
    }

    fn is_now(booked: &Booked) -> bool {
        matches!(booked, Booked::Now(_))
    }

    #[test]
    fn the_same_key_gets_the_first_refund_and_another_body_under_it_conflicts() {
        let (_folder, mut log) = open(Keys::On);
        let Booked::Now(first) = log.book(Some("k"), &wanted("A", 5)).unwrap() else {
            panic!("the first request must move money")
        };
        assert_eq!(first.id, "rf_1");
        assert_eq!(log.book(Some("k"), &wanted("A", 5)).unwrap(), Booked::Before(first));
        assert_eq!(log.book(Some("k"), &wanted("A", 6)).unwrap(), Booked::Conflict);
        assert_eq!(log.book(Some("k"), &wanted("B", 5)).unwrap(), Booked::Conflict);
        assert_eq!(log.count("A").unwrap(), Count { effects: 1, keys: 1 });
    }

    #[test]
    fn another_key_or_none_is_another_refund() {
        let (_folder, mut log) = open(Keys::On);
        assert!(is_now(&log.book(Some("k1"), &wanted("A", 5)).unwrap()));
        assert!(is_now(&log.book(Some("k2"), &wanted("A", 5)).unwrap()));
        assert!(is_now(&log.book(None, &wanted("A", 5)).unwrap()));
        assert!(is_now(&log.book(None, &wanted("A", 5)).unwrap()));
        assert_eq!(log.count("A").unwrap(), Count { effects: 4, keys: 2 });
    }

    #[test]
    fn keys_off_moves_money_every_time() {
        let (_folder, mut log) = open(Keys::Off);
        assert!(is_now(&log.book(Some("k"), &wanted("A", 5)).unwrap()));
        assert!(is_now(&log.book(Some("k"), &wanted("A", 5)).unwrap()));
        assert_eq!(log.count("A").unwrap(), Count { effects: 2, keys: 1 });
        assert_eq!(log.count("B").unwrap(), Count::default());
    }

    #[test]
    fn an_impossible_amount_moves_nothing() {
        let (_folder, mut log) = open(Keys::On);
        assert_eq!(log.book(Some("k"), &wanted("A", 0)).unwrap(), Booked::BadAmount);
        assert_eq!(log.book(Some("k"), &wanted("A", u64::MAX)).unwrap(), Booked::BadAmount);
        assert_eq!(log.count("A").unwrap(), Count::default());
    }

    #[test]
    fn what_was_booked_is_there_when_the_file_is_opened_again() {
        let (folder, mut log) = open(Keys::On);
        assert!(is_now(&log.book(Some("k"), &wanted("A", 5)).unwrap()));
        drop(log);
        let mut log = EffectLog::open(&folder.path().join("provider.db"), Keys::On).unwrap();
        assert!(matches!(log.book(Some("k"), &wanted("A", 5)).unwrap(), Booked::Before(_)));
    }
}
