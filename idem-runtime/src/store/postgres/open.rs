//! Reaching the server: what a connection has to be, and the schema.
//!
//! Nothing here outlives a transaction on the server's side, so a pooler that lends connections by the transaction is none
//! the wiser: no named statements, no session settings.

use std::{str::FromStr, time::Duration};

use sqlx::{ConnectOptions, Connection, PgConnection, Row, postgres::PgConnectOptions};

use super::{
    clock,
    failure::{is_one_of, nothing, unavailable},
    sql,
};
use crate::{clock::ServerClock, ledger::StoreError};

/// The schema, one step a version; a step is never changed once released.
const MIGRATIONS: &[&str] =
    &[concat!(include_str!("schema.sql"), include_str!("functions.sql"), include_str!("straight.sql"))];

/// What the statements need: partitioned tables as targets of `on conflict` and of row locks came with 11, stored generated
/// columns with 12, and 13 is the oldest version that anybody asked for. Tests run on the version that is installed.
const SERVER_MIN: i64 = 130_000;

/// How long a server may take to answer whoever connects.
const CONNECT: Duration = Duration::from_secs(10);

/// How often processes that create the same ledger at once get in each other's way, at most.
const TRIES: u32 = 20;

/// What PostgreSQL says where two create the same table at once.
const ALSO_CREATED: [&str; 5] = ["23505", "42P07", "42710", "40001", "40P01"];

/// Into how many partitions a new ledger is divided where the address names no count.
const PARTITIONS: u32 = 4;

/// More cost more to plan than they spare.
const PARTITIONS_MAX: u32 = 64;

/// The part of an address that names another count.
const OF_PARTITIONS: &str = "idem_partitions=";

/// Where the ledger is, and how many partitions it is to have.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) options: PgConnectOptions,
    partitions: Option<u32>,
}

/// What an address says.
pub(super) fn place(address: &str) -> Result<Place, StoreError> {
    let (server, parameters) = address.split_once('?').unwrap_or((address, ""));
    let (ours, theirs): (Vec<&str>, Vec<&str>) =
        parameters.split('&').filter(|one| !one.is_empty()).partition(|one| one.starts_with(OF_PARTITIONS));
    let partitions = match ours.last().and_then(|one| one.strip_prefix(OF_PARTITIONS)) {
        None => None,
        Some(count) => match count.parse() {
            Ok(count @ 1..=PARTITIONS_MAX) => Some(count),
            _ => return Err(unavailable(format!("`{OF_PARTITIONS}` takes a number from 1 to {PARTITIONS_MAX}"))),
        },
    };
    let options = PgConnectOptions::from_str(&format!("{server}?{}", theirs.join("&")));
    let options = options.map_err(|_| unavailable("the address is not one of PostgreSQL"))?;
    // Statements are debug output of the driver's; the ledger's own spans say what they are for.
    // A pooler refuses whoever asks for a setting that it does not know; there are no floats in a ledger.
    let options = options.statement_cache_capacity(0).application_name("idem").extra_float_digits(None);
    Ok(Place { options: options.disable_statement_logging(), partitions })
}

/// A connection that can write.
pub(super) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    let connecting = tokio::time::timeout(CONNECT, PgConnection::connect_with(options));
    match connecting.await {
        Ok(connected) => connected.map_err(nothing),
        Err(_) => Err(unavailable("the server did not answer in time")),
    }
}

/// Brings the schema up to date, after a look at what kind of server it is. Safe from several processes at once. Gives the
/// server's clock.
pub(super) async fn prepare(place: &Place) -> Result<ServerClock, StoreError> {
    let mut tries = 0;
    loop {
        let mut db = connect(&place.options).await?;
        judge(&mut db).await?;
        match migrate(&mut db, place.partitions.unwrap_or(PARTITIONS)).await {
            Ok(version) if version > MIGRATIONS.len() => {
                let known = MIGRATIONS.len();
                return Err(unavailable(format!("its schema has version {version}, this crate knows up to {known}")));
            }
            Ok(_) => {
                compare(&mut db, place.partitions).await?;
                let clock = clock::begin(&mut db).await.map_err(nothing)?;
                // Whatever becomes of the farewell, the schema is committed.
                let _ = db.close().await;
                return Ok(clock);
            }
            Err(error) if is_one_of(&error, &ALSO_CREATED) && tries < TRIES => tries += 1,
            Err(error) => return Err(nothing(error)),
        }
    }
}

/// Refuses what cannot keep a promise.
async fn judge(db: &mut PgConnection) -> Result<(), StoreError> {
    // Without parameters, so in one message: a pooler would give each half of another statement to another connection.
    let query = sqlx::raw_sql(
        "select current_setting('server_version_num')::bigint as version, pg_is_in_recovery() as standby,
                current_setting('default_transaction_read_only') as read_only, current_setting('fsync') as fsync,
                current_setting('server_encoding') as encoding",
    );
    let Ok(row) = tokio::time::timeout(CONNECT, query.fetch_one(db)).await else {
        return Err(unavailable("the server did not answer in time"));
    };
    let row = row.map_err(nothing)?;
    let (version, standby): (i64, bool) = (get(&row, "version")?, get(&row, "standby")?);
    if version < SERVER_MIN {
        return Err(unavailable(format!("its version is {version}, PostgreSQL 13 is needed")));
    }
    if standby {
        return Err(unavailable("it is a standby: a ledger needs the server that writes"));
    }
    if get::<String>(&row, "read_only")? == "on" {
        return Err(unavailable("it is read-only (`default_transaction_read_only`): a ledger has to write"));
    }
    let encoding: String = get(&row, "encoding")?;
    if encoding != "UTF8" {
        return Err(unavailable(format!(
            "its database is written in {encoding}, which has no place for every name: make one in UTF8"
        )));
    }
    if get::<String>(&row, "fsync")? != "on" {
        tracing::warn!("the ledger's server runs with `fsync = off`: a power loss takes back what it has confirmed");
    }
    Ok(())
}

fn get<'r, T: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>>(
    row: &'r sqlx::postgres::PgRow,
    name: &str,
) -> Result<T, StoreError> {
    row.try_get(name).map_err(nothing)
}

/// Refuses an address that asks for another division than the ledger has.
async fn compare(db: &mut PgConnection, wanted: Option<u32>) -> Result<(), StoreError> {
    let Some(wanted) = wanted else { return Ok(()) };
    let query = sqlx::raw_sql("select count(*) from pg_inherits where inhparent = to_regclass('idem_operations')");
    let there: i64 = query.fetch_one(db).await.and_then(|row| row.try_get(0)).map_err(nothing)?;
    if there == i64::from(wanted) {
        return Ok(());
    }
    Err(unavailable(format!(
        "it is divided into {there} partitions, and the address asks for {wanted}: the count is chosen when a ledger is made"
    )))
}

/// Whatever the server's own defaults are: a step takes as long as it takes, and waits for the disk. Others that migrate wait.
const BEGIN: &str = "\
    begin isolation level read committed read write;
    set local synchronous_commit = on;
    set local statement_timeout = 0;
    set local lock_timeout = '60s';
    lock table idem_migrations in exclusive mode";

/// Carries out the steps that are missing; says which version the schema has.
async fn migrate(db: &mut PgConnection, partitions: u32) -> Result<usize, sqlx::Error> {
    // Whoever may only use the tables need not be allowed to create them.
    let there = "select to_regclass('idem_migrations') is not null";
    let there: bool = sqlx::raw_sql(there).fetch_one(&mut *db).await?.try_get(0)?;
    if there && version(db).await? >= MIGRATIONS.len() {
        return version(db).await;
    }
    let create = "create table if not exists idem_migrations (version bigint primary key, name text not null)";
    sqlx::raw_sql(create).execute(&mut *db).await?;
    sqlx::raw_sql(BEGIN).execute(&mut *db).await?;
    sql("select set_config('idem.partitions', $1, true)").bind(partitions.to_string()).execute(&mut *db).await?;
    let done = version(db).await?;
    for (at, step) in MIGRATIONS.iter().enumerate().skip(done) {
        sqlx::raw_sql(*step).execute(&mut *db).await?;
        let number = i64::try_from(at + 1).unwrap_or(i64::MAX);
        sql("insert into idem_migrations (version, name) values ($1, 'schema')").bind(number).execute(&mut *db).await?;
    }
    // The first statement fails where the transaction was aborted: `commit` alone would call that a success.
    sqlx::raw_sql("select 1; commit").execute(&mut *db).await?;
    Ok(done.max(MIGRATIONS.len()))
}

async fn version(db: &mut PgConnection) -> Result<usize, sqlx::Error> {
    let row = sqlx::raw_sql("select coalesce(max(version), 0) from idem_migrations").fetch_one(db).await?;
    let version: i64 = row.try_get(0)?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_name_a_count_of_partitions_among_others() {
        let partitions = |address: &str| place(address).map(|place| place.partitions);
        let of = "postgres://me@localhost/db";
        for (parameters, count) in [
            ("", None),
            ("?host=/run&idem_partitions=16", Some(16)),
            ("?idem_partitions=1&options=-csearch_path%3Dx", Some(1)),
            ("?idem_partitions=2&idem_partitions=64", Some(64)),
        ] {
            assert_eq!(partitions(&format!("{of}{parameters}")).expect("an address"), count);
        }
        let place = place(&format!("{of}?idem_partitions=8&host=/run/elsewhere")).expect("an address");
        assert!(format!("{:?}", place.options).contains("/run/elsewhere"), "the others are the driver's");
        for refused in ["0", "65", "-1", "many", ""] {
            partitions(&format!("{of}?idem_partitions={refused}")).expect_err("a count out of its range");
        }
    }
}
