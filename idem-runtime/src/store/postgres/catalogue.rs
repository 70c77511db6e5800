//! Names that were interned to numbers: tenants, scopes, tools.
//!
//! Tenants and tools are interned before a batch begins, in a transaction of their own: they are few, a name that no record
//! uses harms nobody, and a batch that waits for another one's names would hold up everybody behind it. Scopes are many, so a
//! batch interns all of its own together, in its transaction; they are known once that is committed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rustc_hash::FxHashMap;
use sqlx::{PgConnection, Row};

use super::{failure::misread, sql, text::text};
use crate::{
    id::Tenant,
    identity::Digest,
    ledger::{Command, Tool},
};

/// How many scopes are remembered; then all are forgotten and asked for again.
const SCOPES_MAX: usize = 100_000;

/// Statements with parameters go in two halves: without a transaction around them a pooler would give each to another
/// connection.
const BEGIN: &str = "begin isolation level read committed read write";

/// When this server was started: no other one was at the same microsecond.
const SERVER: &str = "select (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint";

/// Numbers of scopes, by tenant and digest.
pub(super) type Scopes = FxHashMap<(i64, Digest), i64>;

/// What is known of the interned names.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    /// Of which server this is known.
    server: Option<i64>,
    tenants: FxHashMap<Tenant, i64>,
    scopes: Scopes,
    tools: FxHashMap<Arc<Tool>, i64>,
}

impl Catalogue {
    /// Forgets everything: another server may have taken over, in which these numbers lead nowhere, or elsewhere.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// When the server was started that gave these numbers, in microseconds.
    pub(super) const fn server(&self) -> Option<i64> {
        self.server
    }

    /// Whether what is known is known of the server that was started at that time.
    pub(super) fn is_of(&self, server: i64) -> bool {
        self.server == Some(server)
    }

    /// Interns whatever `commands` may need a number for.
    pub(super) async fn learn(&mut self, db: &mut PgConnection, commands: &[Command]) -> Result<(), sqlx::Error> {
        if self.scopes.len() > SCOPES_MAX {
            self.forget();
        }
        if self.server.is_some() && commands.iter().all(|command| self.knows(command)) {
            return Ok(());
        }
        let learned = self.learn_anew(db, commands).await;
        if learned.is_err() {
            // What was interned may have been rolled back.
            self.forget();
        }
        learned
    }

    async fn learn_anew(&mut self, db: &mut PgConnection, commands: &[Command]) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(BEGIN).execute(&mut *db).await?;
        if self.server.is_none() {
            self.server = Some(sqlx::raw_sql(SERVER).fetch_one(&mut *db).await?.try_get(0)?);
        }
        self.intern(db, commands).await?;
        // The first statement fails where the transaction was aborted.
        sqlx::raw_sql("select 1; commit").execute(db).await.map(drop)
    }

    /// Whether there is a number for every name in it, but its scope.
    fn knows(&self, command: &Command) -> bool {
        let knows = |tenant: &Tenant| self.tenants.contains_key(tenant);
        match command {
            Command::Reserve(reserve) => knows(&reserve.tenant) && self.tool(&reserve.tool).is_some(),
            Command::Evidence(evidence) => knows(&evidence.tenant),
            Command::Settle(settle) => knows(&settle.tenant),
            Command::BeginReconcile(begin) => knows(&begin.tenant),
            Command::Verdict(judge) => knows(&judge.tenant),
            Command::Resolve(resolve) => knows(&resolve.tenant),
            Command::Tally(tallies) => tallies.iter().all(|tally| knows(&tally.tenant)),
            Command::EndLeases(all) => all.iter().all(|silent| knows(&silent.tenant)),
            Command::Renew(_) | Command::Purge { .. } => true,
        }
    }

    /// In an order in which all processes intern: so two of them do not wait for each other.
    async fn intern(&mut self, db: &mut PgConnection, commands: &[Command]) -> Result<(), sqlx::Error> {
        let mut tenants = BTreeSet::new();
        for command in commands {
            match command {
                Command::Reserve(reserve) => drop(tenants.insert(reserve.tenant.as_str())),
                Command::Evidence(evidence) => drop(tenants.insert(evidence.tenant.as_str())),
                Command::Settle(settle) => self.look_up(db, &settle.tenant).await?,
                Command::BeginReconcile(begin) => self.look_up(db, &begin.tenant).await?,
                Command::Verdict(judge) => self.look_up(db, &judge.tenant).await?,
                Command::Resolve(resolve) => self.look_up(db, &resolve.tenant).await?,
                Command::Tally(tallies) => {
                    for tally in tallies {
                        self.look_up(db, &tally.tenant).await?;
                    }
                }
                Command::EndLeases(all) => {
                    for silent in all {
                        self.look_up(db, &silent.tenant).await?;
                    }
                }
                Command::Renew(_) | Command::Purge { .. } => {}
            }
        }
        for name in tenants {
            let tenant = Tenant::new(name).map_err(|_| misread("a tenant's name is blank"))?;
            self.intern_tenant(db, &tenant).await?;
        }
        let mut tools = BTreeMap::new();
        for command in commands {
            if let Command::Reserve(reserve) = command {
                tools.insert((&reserve.tool.name, reserve.tool.version, &reserve.tool.params), &reserve.tool);
            }
        }
        for tool in tools.into_values() {
            self.intern_tool(db, tool).await?;
        }
        Ok(())
    }

    /// The tenant's number, if it has one.
    pub(super) fn tenant(&self, tenant: &Tenant) -> Option<i64> {
        self.tenants.get(tenant).copied()
    }

    /// The scope's number, if it has one.
    pub(super) fn scope(&self, tenant: i64, digest: &Digest) -> Option<i64> {
        self.scopes.get(&(tenant, *digest)).copied()
    }

    /// The tool's number, if it has one.
    pub(super) fn tool(&self, tool: &Tool) -> Option<i64> {
        self.tools.get(tool).copied()
    }

    /// Remembers scopes that were interned by a transaction, once it is committed.
    pub(super) fn remember(&mut self, scopes: Scopes) {
        self.scopes.extend(scopes);
    }

    async fn look_up(&mut self, db: &mut PgConnection, tenant: &Tenant) -> Result<(), sqlx::Error> {
        if !self.tenants.contains_key(tenant) {
            let query = sql("select tenant from idem_tenants where name = $1").bind(text(tenant.as_str()));
            if let Some(row) = query.fetch_optional(db).await? {
                self.tenants.insert(tenant.clone(), row.try_get(0)?);
            }
        }
        Ok(())
    }

    async fn intern_tenant(&mut self, db: &mut PgConnection, tenant: &Tenant) -> Result<i64, sqlx::Error> {
        self.look_up(db, tenant).await?;
        if !self.tenants.contains_key(tenant) {
            let insert = "insert into idem_tenants (name) values ($1) on conflict do nothing";
            sql(insert).bind(text(tenant.as_str())).execute(&mut *db).await?;
            self.look_up(db, tenant).await?;
        }
        self.tenant(tenant).ok_or(sqlx::Error::RowNotFound)
    }

    async fn intern_tool(&mut self, db: &mut PgConnection, tool: &Arc<Tool>) -> Result<(), sqlx::Error> {
        if self.tools.contains_key(tool) {
            return Ok(());
        }
        for statement in [
            "insert into idem_tools (name, version, params) values ($1, $2, $3) on conflict do nothing returning tool",
            "select tool from idem_tools where name = $1 and version = $2 and params = $3",
        ] {
            let query = sql(statement).bind(text(&tool.name)).bind(i64::from(tool.version)).bind(text(&tool.params));
            if let Some(row) = query.fetch_optional(&mut *db).await? {
                self.tools.insert(Arc::clone(tool), row.try_get(0)?);
                return Ok(());
            }
        }
        Err(sqlx::Error::RowNotFound)
    }
}
