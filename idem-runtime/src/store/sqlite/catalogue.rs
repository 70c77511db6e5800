//! Names that were interned to numbers: tenants, scopes, tools.
//!
//! Only what is committed may stay here: a number given in a transaction that was rolled back names nothing.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Result};
use rustc_hash::FxHashMap;

use super::failure::misread;
use crate::{id::Tenant, identity::Digest, ledger::Scope, ledger::Tool};

/// How many scopes are remembered; then all are forgotten and asked for again.
const SCOPES_MAX: usize = 100_000;

/// What is known of the interned names.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    tenants: FxHashMap<Tenant, i64>,
    tenant_names: FxHashMap<i64, Tenant>,
    scopes: FxHashMap<(i64, Digest), i64>,
    tools: FxHashMap<Arc<Tool>, i64>,
    by_number: FxHashMap<i64, Arc<Tool>>,
    /// Something was added since the last commit.
    fresh: bool,
}

impl Catalogue {
    /// What was added is durable.
    pub(super) fn committed(&mut self) {
        self.fresh = false;
        if self.scopes.len() > SCOPES_MAX {
            self.scopes.clear();
        }
    }

    /// What was added is not there; forgetting everything is simple and rare.
    pub(super) fn rolled_back(&mut self) {
        if self.fresh {
            *self = Self::default();
        }
    }

    /// The tenant's number, if it has one.
    pub(super) fn tenant(&mut self, db: &Connection, tenant: &Tenant) -> Result<Option<i64>> {
        if let Some(number) = self.tenants.get(tenant) {
            return Ok(Some(*number));
        }
        let number = db
            .prepare_cached("select tenant from idem_tenants where name = ?1")?
            .query_row([tenant.as_str()], |row| row.get(0))
            .optional()?;
        if let Some(number) = number {
            self.tenants.insert(tenant.clone(), number);
        }
        Ok(number)
    }

    /// The tenant's number, a new one if need be.
    pub(super) fn intern_tenant(&mut self, db: &Connection, tenant: &Tenant) -> Result<i64> {
        if let Some(number) = self.tenant(db, tenant)? {
            return Ok(number);
        }
        self.fresh = true;
        db.prepare_cached("insert into idem_tenants (name) values (?1)")?.execute([tenant.as_str()])?;
        let number = db.last_insert_rowid();
        self.tenants.insert(tenant.clone(), number);
        Ok(number)
    }

    /// The tenant with this number.
    pub(super) fn tenant_named(&mut self, db: &Connection, number: i64) -> Result<Tenant> {
        if let Some(tenant) = self.tenant_names.get(&number) {
            return Ok(tenant.clone());
        }
        let name: String = db
            .prepare_cached("select name from idem_tenants where tenant = ?1")?
            .query_row([number], |row| row.get(0))?;
        let tenant = Tenant::new(name).map_err(|_| misread(0, "a tenant's name is blank"))?;
        self.tenant_names.insert(number, tenant.clone());
        Ok(tenant)
    }

    /// The numbers of tenant and scope, if they have any.
    pub(super) fn scope(&mut self, db: &Connection, tenant: &Tenant, digest: &Digest) -> Result<Option<(i64, i64)>> {
        let Some(tenant) = self.tenant(db, tenant)? else {
            return Ok(None);
        };
        if let Some(scope) = self.scopes.get(&(tenant, *digest)) {
            return Ok(Some((tenant, *scope)));
        }
        let scope = db
            .prepare_cached("select scope from idem_scopes where tenant = ?1 and digest = ?2")?
            .query_row((tenant, digest), |row| row.get(0))
            .optional()?;
        if let Some(scope) = scope {
            self.scopes.insert((tenant, *digest), scope);
        }
        Ok(scope.map(|scope| (tenant, scope)))
    }

    /// The numbers of tenant and scope, new ones if need be.
    pub(super) fn intern_scope(&mut self, db: &Connection, tenant: &Tenant, scope: &Scope) -> Result<(i64, i64)> {
        if let Some(known) = self.scope(db, tenant, &scope.digest)? {
            return Ok(known);
        }
        self.fresh = true;
        let tenant_number = self.intern_tenant(db, tenant)?;
        db.prepare_cached("insert into idem_scopes (tenant, digest, kind, value) values (?1, ?2, ?3, ?4)")?
            .execute((tenant_number, &scope.digest, scope.kind.as_ref(), scope.value.as_deref()))?;
        let number = db.last_insert_rowid();
        self.scopes.insert((tenant_number, scope.digest), number);
        Ok((tenant_number, number))
    }

    /// The tool's number, a new one if need be.
    pub(super) fn intern_tool(&mut self, db: &Connection, tool: &Arc<Tool>) -> Result<i64> {
        if let Some(number) = self.tools.get(tool) {
            return Ok(*number);
        }
        self.fresh = true;
        let named = (&*tool.name, tool.version, &*tool.params);
        let known = db
            .prepare_cached("select tool from idem_tools where name = ?1 and version = ?2 and params = ?3")?
            .query_row(named, |row| row.get(0))
            .optional()?;
        let number = if let Some(number) = known {
            number
        } else {
            db.prepare_cached("insert into idem_tools (name, version, params) values (?1, ?2, ?3)")?.execute(named)?;
            db.last_insert_rowid()
        };
        self.tools.insert(Arc::clone(tool), number);
        self.by_number.insert(number, Arc::clone(tool));
        Ok(number)
    }

    /// The tool with this number.
    pub(super) fn tool(&mut self, db: &Connection, number: i64) -> Result<Arc<Tool>> {
        if let Some(tool) = self.by_number.get(&number) {
            return Ok(Arc::clone(tool));
        }
        let read = |row: &rusqlite::Row<'_>| {
            let (name, params): (String, String) = (row.get(0)?, row.get(2)?);
            Ok(Arc::new(Tool { name: name.into(), version: row.get(1)?, params: params.into() }))
        };
        let tool = db
            .prepare_cached("select name, version, params from idem_tools where tool = ?1")?
            .query_row([number], read)?;
        self.by_number.insert(number, Arc::clone(&tool));
        Ok(tool)
    }
}
