//! Names that were interned to numbers: tenants, scopes, tools.
//!
//! They are interned before a batch begins, each by itself: a name that no record uses harms nobody, and a batch that waits
//! for another one's names would hold up everybody behind it.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sqlx::{PgConnection, Row};

use super::{sql, text};
use crate::{
    id::Tenant,
    identity::Digest,
    ledger::{Command, Scope, Tool},
};

/// How many scopes are remembered; then all are forgotten and asked for again.
const SCOPES_MAX: usize = 100_000;

/// What is known of the interned names.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    tenants: FxHashMap<Tenant, i64>,
    scopes: FxHashMap<(i64, Digest), i64>,
    tools: FxHashMap<Arc<Tool>, i64>,
}

impl Catalogue {
    /// Interns whatever `commands` may need a number for.
    pub(super) async fn learn(&mut self, db: &mut PgConnection, commands: &[Command]) -> Result<(), sqlx::Error> {
        if self.scopes.len() > SCOPES_MAX {
            self.scopes.clear();
        }
        for command in commands {
            match command {
                Command::Reserve(reserve) => {
                    let tenant = self.intern_tenant(db, &reserve.tenant).await?;
                    self.intern_scope(db, tenant, &reserve.scope).await?;
                    self.intern_tool(db, &reserve.tool).await?;
                }
                Command::Evidence(evidence) => drop(self.intern_tenant(db, &evidence.tenant).await?),
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

    async fn look_up(&mut self, db: &mut PgConnection, tenant: &Tenant) -> Result<(), sqlx::Error> {
        if !self.tenants.contains_key(tenant) {
            let query = sql("select tenant from idem_tenants where name = $1").bind(tenant.as_str());
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
            sql(insert).bind(tenant.as_str()).execute(&mut *db).await?;
            self.look_up(db, tenant).await?;
        }
        self.tenant(tenant).ok_or(sqlx::Error::RowNotFound)
    }

    async fn intern_scope(&mut self, db: &mut PgConnection, tenant: i64, scope: &Scope) -> Result<(), sqlx::Error> {
        if self.scopes.contains_key(&(tenant, scope.digest)) {
            return Ok(());
        }
        let insert =
            sql("insert into idem_scopes (tenant, digest, kind, value) values ($1, $2, $3, $4) on conflict do nothing");
        let value = scope.value.as_deref().map(text);
        insert
            .bind(tenant)
            .bind(scope.digest.as_slice())
            .bind(scope.kind.as_ref())
            .bind(value.as_deref())
            .execute(&mut *db)
            .await?;
        let query = sql("select scope from idem_scopes where tenant = $1 and digest = $2");
        let row = query.bind(tenant).bind(scope.digest.as_slice()).fetch_one(db).await?;
        self.scopes.insert((tenant, scope.digest), row.try_get(0)?);
        Ok(())
    }

    async fn intern_tool(&mut self, db: &mut PgConnection, tool: &Arc<Tool>) -> Result<(), sqlx::Error> {
        if self.tools.contains_key(tool) {
            return Ok(());
        }
        for statement in [
            "insert into idem_tools (name, version, params) values ($1, $2, $3) on conflict do nothing returning tool",
            "select tool from idem_tools where name = $1 and version = $2 and params = $3",
        ] {
            let query = sql(statement).bind(&*tool.name).bind(i64::from(tool.version)).bind(&*tool.params);
            if let Some(row) = query.fetch_optional(&mut *db).await? {
                self.tools.insert(Arc::clone(tool), row.try_get(0)?);
                return Ok(());
            }
        }
        Err(sqlx::Error::RowNotFound)
    }
}
