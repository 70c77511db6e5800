//! One small table in PostgreSQL: what an application writes first, its reads, and the limit that groups of rows allow.
//!
//! The naive way is sqlx's pool of ten as its defaults have it: an autocommitted statement for the reservation and one for
//! the result. The limit is one connection that writes groups of rows, a transaction for all of their reservations and one
//! for all of their results.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sha2::{Digest, Sha256};
use sqlx::{PgConnection, PgPool, Row, postgres::PgPoolOptions};

use super::{Keys, RESULT_BYTES};
use crate::{
    load::{Sample, as_f64, closed_loop},
    random::Random,
    server,
    tool::CALLS_A_CONVERSATION,
};

const CONNECTIONS: u32 = 10;

const SCHEMA: &str = "
    create table if not exists calls (
        id bigint generated always as identity primary key, scope bigint not null, key bytea not null,
        state smallint not null, result bytea, unique (scope, key)
    )";

/// The key of prefilled row `n` is the digest of its number.
const PREFILL: &str = "
    insert into calls (scope, key, state, result)
    select case when $2 then n / $3 else 0 end, sha256(int8send(n)), 1, convert_to(repeat('r', $4), 'UTF8')
    from generate_series(1, $1) n";

const INSERT: &str = "insert into calls (scope, key, state) values ($1, $2, 0) on conflict do nothing returning id";
const UPDATE: &str = "update calls set state = 1, result = $2 where id = $1 and state = 0";
const READ: &str = "select state, result from calls where scope = $1 and key = $2";

const INSERT_GROUP: &str = "
    insert into calls (scope, key, state) select scope, key, 0 from unnest($1::bigint[], $2::bytea[]) n (scope, key)
    on conflict do nothing returning id";
const UPDATE_GROUP: &str = "
    update calls set state = 1, result = n.result from unnest($1::bigint[], $2::bytea[]) n (id, result)
    where calls.id = n.id and state = 0";

/// The table, with `rows` finished calls in it.
///
/// # Errors
/// When the server refuses.
pub async fn prefill(address: &str, keys: Keys, rows: u64) -> Result<()> {
    let mut db = server::connect(address).await?;
    sqlx::raw_sql(SCHEMA).execute(&mut db).await?;
    let query = sqlx::query(PREFILL).bind(i64::try_from(rows)?).bind(keys == Keys::Scoped);
    query.bind(i64::try_from(CALLS_A_CONVERSATION)?).bind(i32::try_from(RESULT_BYTES)?).execute(&mut db).await?;
    sqlx::raw_sql("vacuum analyze calls").execute(&mut db).await?;
    Ok(())
}

/// Lets `callers` call for `span`.
///
/// # Errors
/// When the server refuses, or does not hold what was written.
pub async fn naive(address: String, keys: Keys, callers: u64, span: Duration) -> Result<Sample> {
    let pool = pool(&address).await?;
    let last = last(&mut *pool.acquire().await?).await?;
    let base = u64::try_from(last)?;
    let of_run = pool.clone();
    let mut sample = closed_loop(callers, span, move |caller, number| {
        let pool = of_run.clone();
        async move {
            let scope = match keys {
                Keys::Scoped => base + (number / CALLS_A_CONVERSATION) * callers + caller,
                Keys::Random => 0,
            };
            let mut random = Random::new(base << 40 ^ caller << 32 ^ number);
            let insert = sqlx::query(INSERT).bind(i64::try_from(scope)?).bind(random.digest().to_vec());
            let id: i64 = insert.fetch_one(&pool).await?.try_get(0)?;
            let update = sqlx::query(UPDATE).bind(id).bind([b'r'; RESULT_BYTES].as_slice()).execute(&pool).await?;
            ensure!(update.rows_affected() == 1, "a row was not as it was left");
            Ok(())
        }
    })
    .await?;
    verify(&mut *pool.acquire().await?, last, sample.calls).await?;
    pool.close().await;
    sample.calls_a_commit = Some(0.5);
    Ok(sample)
}

/// Lets `callers` read prefilled rows, chosen at random, for `span`: a statement each, as the pool has it.
///
/// # Errors
/// When the server refuses, or a row is not there.
pub async fn reads(address: String, keys: Keys, rows: u64, callers: u64, span: Duration) -> Result<Sample> {
    let pool = pool(&address).await?;
    let of_run = pool.clone();
    let sample = closed_loop(callers, span, move |caller, number| {
        let pool = of_run.clone();
        async move {
            let n = Random::new(caller << 32 ^ number).below(rows) + 1;
            let scope = match keys {
                Keys::Scoped => n / CALLS_A_CONVERSATION,
                Keys::Random => 0,
            };
            let key = Sha256::digest(n.to_be_bytes());
            let row = sqlx::query(READ).bind(i64::try_from(scope)?).bind(key.as_slice()).fetch_one(&pool).await?;
            let (state, result): (i16, Vec<u8>) = (row.try_get(0)?, row.try_get(1)?);
            ensure!((state, result.len()) == (1, RESULT_BYTES), "a row was not as it was left");
            Ok(())
        }
    })
    .await?;
    pool.close().await;
    Ok(sample)
}

/// Writes groups of `group` calls for `span`, on one connection.
///
/// # Errors
/// When the server refuses, or does not hold what was written.
pub async fn raw(address: String, keys: Keys, group: u64, span: Duration) -> Result<Sample> {
    let mut db = server::connect(&address).await?;
    sqlx::raw_sql(SCHEMA).execute(&mut db).await?;
    // What the planner would think of a table that was empty when it planned.
    sqlx::raw_sql("set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off")
        .execute(&mut db)
        .await?;
    let last = last(&mut db).await?;
    let mut number = u64::try_from(last)?;
    let mut random = Random::new(number ^ 0x5EED);
    let results = vec![vec![b'r'; RESULT_BYTES]; usize::try_from(group)?];
    let begun = Instant::now();
    let mut latencies = Vec::new();
    while begun.elapsed() < span {
        let of_group = Instant::now();
        let (mut scopes, mut digests) = (Vec::new(), Vec::new());
        for _ in 0..group {
            number += 1;
            scopes.push(if keys == Keys::Scoped { i64::try_from(number / CALLS_A_CONVERSATION)? } else { 0 });
            digests.push(random.digest().to_vec());
        }
        let inserted = sqlx::query(INSERT_GROUP).bind(scopes).bind(digests).fetch_all(&mut db).await?;
        let ids = inserted.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
        ensure!(ids.len() as u64 == group, "a key was there already");
        let updated = sqlx::query(UPDATE_GROUP).bind(ids).bind(&results).execute(&mut db).await?;
        ensure!(updated.rows_affected() == group, "a row was not as it was left");
        let took = of_group.elapsed();
        latencies.extend((0..group).map(|_| took));
    }
    let mut sample = Sample::new(begun.elapsed(), latencies);
    verify(&mut db, last, sample.calls).await?;
    sample.calls_a_commit = Some(as_f64(group) / 2.0);
    Ok(sample)
}

/// The pool, with all its connections open.
async fn pool(address: &str) -> Result<PgPool> {
    let pool = PgPoolOptions::new().max_connections(CONNECTIONS).min_connections(CONNECTIONS);
    let pool = pool.connect_with(server::options(address)?).await?;
    sqlx::raw_sql(SCHEMA).execute(&pool).await?;
    Ok(pool)
}

async fn last(db: &mut PgConnection) -> Result<i64> {
    Ok(sqlx::query("select coalesce(max(id), 0) from calls").fetch_one(db).await?.try_get(0)?)
}

/// Every call after row `last` is there, and finished.
async fn verify(db: &mut PgConnection, last: i64, calls: u64) -> Result<()> {
    let counts = "select count(*), count(*) filter (where state = 1 and result is not null) from calls where id > $1";
    let row = sqlx::query(counts).bind(last).fetch_one(db).await?;
    let counted: (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let calls = i64::try_from(calls)?;
    ensure!(counted == (calls, calls), "{calls} calls were made, the table holds {counted:?}");
    Ok(())
}
