//! The crates that are compared, each doing the same work: a payment with no work in it, once for each key, whose result of
//! 200 bytes is there for whoever asks again.
//!
//! Each arm counts the bodies that ran and looks into its store for what they left. Must not know what figures are compared.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agent_effects::{EffectKind, EffectOutcome, Runtime};
use agent_effects_postgres::PostgresStore;
use agent_effects_sqlite::SqliteStore;
use anyhow::{Context, Result, ensure};
use dbos::{Config, DBOS, EngineOnly, RunOptions};
use idem_benches::{
    arm::{
        Keys,
        ours::{self, Place},
    },
    load::{Sample, closed_loop},
    server::{self, Server},
    tool::Receipt,
};
use serde::{Deserialize, Serialize};
use sqlx::Row;

/// One crate over one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    OursPostgres,
    OursSqlite,
    Dbos,
    AgentEffectsPostgres,
    AgentEffectsSqlite,
}

impl Arm {
    pub const ALL: [Self; 5] =
        [Self::OursPostgres, Self::Dbos, Self::AgentEffectsPostgres, Self::OursSqlite, Self::AgentEffectsSqlite];

    /// The crate with its version, and its store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OursPostgres => "idem-runtime, PostgreSQL",
            Self::OursSqlite => "idem-runtime, SQLite",
            Self::Dbos => "dbos 0.5.0, PostgreSQL",
            Self::AgentEffectsPostgres => "agent-effects 0.2.0, PostgreSQL",
            Self::AgentEffectsSqlite => "agent-effects 0.2.0, SQLite",
        }
    }

    /// Ours over the same kind of store.
    pub const fn ours(self) -> Self {
        match self {
            Self::OursPostgres | Self::Dbos | Self::AgentEffectsPostgres => Self::OursPostgres,
            Self::OursSqlite | Self::AgentEffectsSqlite => Self::OursSqlite,
        }
    }
}

/// What a payment is made of.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Payment {
    order_id: String,
    amount_cents: u64,
    currency: String,
}

impl Payment {
    fn of(caller: u64, number: u64) -> Self {
        Self { order_id: format!("A-{caller}-{number}"), amount_cents: 4_900 + number, currency: "EUR".to_owned() }
    }

    fn pay(&self, runs: &AtomicU64) -> Receipt {
        const MEMO: usize = 128;
        runs.fetch_add(1, Ordering::Relaxed);
        Receipt { id: format!("pay_{}", self.order_id), amount_cents: self.amount_cents, memo: "m".repeat(MEMO) }
    }
}

/// Lets `callers` call for `span`, on tables of their own.
pub async fn run(arm: Arm, server: Arc<Server>, folder: Arc<Path>, callers: u64, span: Duration) -> Result<Sample> {
    let runs = Arc::new(AtomicU64::new(0));
    match arm {
        Arm::OursSqlite => {
            let folder = tempfile::tempdir_in(&folder)?;
            ours::run(Place::Sqlite(folder.path().join("ours.db")), Keys::Scoped, callers, span).await
        }
        Arm::OursPostgres => {
            let space = server.space().await?;
            let sample = ours::run(Place::Postgres(space.address.clone()), Keys::Scoped, callers, span).await;
            server.remove(&space).await?;
            sample
        }
        Arm::Dbos => run_dbos(&server, callers, span, runs).await,
        Arm::AgentEffectsPostgres => {
            let space = server.space().await?;
            let store = PostgresStore::connect(&space.address).await.context("agent-effects on PostgreSQL")?;
            let sample = run_agent_effects(store, callers, span, &runs).await?;
            let counted = count(&space.address, "select count(*) from effects where status = 'committed'").await;
            server.remove(&space).await?;
            verified(sample, &runs, counted?)
        }
        Arm::AgentEffectsSqlite => {
            let folder = tempfile::tempdir_in(&folder)?;
            let path = folder.path().join("effects.db");
            let sample = run_agent_effects(SqliteStore::open(&path).await?, callers, span, &runs).await?;
            let db = rusqlite::Connection::open(&path)?;
            let query = "select count(*) from effects where status = 'committed'";
            let counted: i64 = db.query_row(query, [], |row| row.get(0))?;
            verified(sample, &runs, counted)
        }
    }
}

/// A workflow without steps, its id the key: two writes a call, as ours.
async fn run_dbos(server: &Server, callers: u64, span: Duration, runs: Arc<AtomicU64>) -> Result<Sample> {
    let space = server.space().await?;
    let schema = space.name.clone();
    let config =
        Config { app_version: Some("1".to_owned()), schema: schema.clone(), ..Config::new("peers", server.address()) };
    let dbos = DBOS::new(config);
    let counted = Arc::clone(&runs);
    let pay = dbos.register_workflow("pay", move |payment: Payment| {
        let runs = Arc::clone(&counted);
        async move { Ok::<_, dbos::Error<EngineOnly>>(payment.pay(&runs)) }
    })?;
    dbos.launch().await.context("launch dbos")?;
    let sample = closed_loop(callers, span, move |caller, number| {
        let pay = pay.clone();
        async move {
            let id = format!("call_{caller}_{number}");
            let options = RunOptions { workflow_id: Some(&id), ..RunOptions::default() };
            pay.run_with(Payment::of(caller, number), options).await?;
            Ok(())
        }
    })
    .await?;
    dbos.shutdown().await;
    let query =
        format!("select count(*) from {schema}.workflow_status where status = 'SUCCESS' and output is not null");
    let counted = count(server.address(), &query).await?;
    server.remove(&space).await?;
    verified(sample, &runs, counted)
}

async fn run_agent_effects<S>(store: S, callers: u64, span: Duration, runs: &Arc<AtomicU64>) -> Result<Sample>
where
    S: agent_effects::EffectStore + 'static,
{
    let runtime = Arc::new(Runtime::new(store));
    let runs = Arc::clone(runs);
    closed_loop(callers, span, move |caller, number| {
        let (runtime, runs) = (Arc::clone(&runtime), Arc::clone(&runs));
        async move {
            let payment = Payment::of(caller, number);
            let key = format!("call_{caller}_{number}");
            let effect = runtime.effect("pay", &key).kind(EffectKind::IrreversibleWrite).input(&payment);
            let effect = effect.remote_idempotency(true);
            let outcome = effect.run(move |_| std::future::ready(Ok(payment.pay(&runs)))).await?;
            ensure!(matches!(outcome, EffectOutcome::Committed(Receipt { .. })), "not committed");
            Ok(())
        }
    })
    .await
}

async fn count(address: &str, query: &str) -> Result<i64> {
    let mut db = server::connect(address).await?;
    Ok(sqlx::query(sqlx::AssertSqlSafe(query)).fetch_one(&mut db).await?.try_get(0)?)
}

fn verified(sample: Sample, runs: &AtomicU64, counted: i64) -> Result<Sample> {
    let (calls, ran) = (sample.calls, runs.load(Ordering::Relaxed));
    ensure!(
        ran == calls && counted == i64::try_from(calls)?,
        "{calls} calls, {ran} bodies ran, {counted} in the store"
    );
    Ok(sample)
}
