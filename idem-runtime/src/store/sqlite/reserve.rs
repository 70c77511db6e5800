//! Reservations: creating, reopening, answering.
//!
//! Must not know the rules by which they are answered: [`decide`] does. A fresh call takes its identities without looking
//! first, and writes its record in one statement.

use std::sync::Arc;

use rusqlite::params;

use super::{
    failure::{illegal, nothing},
    purge, read,
    write::{Batch, hot},
};
use crate::{
    id::Principal,
    ledger::{
        Alias, Answer, Decision, Grant, Match, NO_GENERATION, Reserve, Reserved, StoreError,
        course::{self, Change},
        decide, first_call,
    },
};

const NAME: &str = "\
    insert into idem_identities (scope, digest, generation, operation, source)
    values (?1, ?2, 1, ?3, ?4) on conflict do nothing";

const CREATE: &str = "\
    insert into idem_operations
        (id, tenant, scope, operation, tool, principal, approval, state, attempt, fence, nonce, lease_until,
         fingerprint, parts, content, identities, reserved_at, has_resources, retain, needs_reference,
         first_call)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'in_progress', ?8, ?1, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";

impl Batch<'_> {
    pub(super) fn reserve(&mut self, reserve: &Reserve) -> Result<Reserved, StoreError> {
        let numbers = self.catalogue.scope(self.db, &reserve.tenant, &reserve.scope.digest).map_err(nothing)?;
        let nothing_known = || vec![None; reserve.identities.len()];
        let Some(numbers) = numbers else {
            return self.decided(reserve, &nothing_known(), None);
        };
        if reserve.resumed.is_none()
            && let Some(row) = self.take_names(reserve, numbers).map_err(nothing)?
        {
            return self.decided(reserve, &nothing_known(), Some(row));
        }
        let matches = read::matches(self.db, self.catalogue, numbers, &reserve.identities)?;
        self.decided(reserve, &matches, None)
    }

    /// Carries a decision out. `row` already has the call's identities, if they were free.
    fn decided(
        &mut self,
        reserve: &Reserve,
        matches: &[Option<Match>],
        row: Option<i64>,
    ) -> Result<Reserved, StoreError> {
        match decide(reserve, matches, self.now) {
            Decision::Create { operation, generations } => {
                let named = row.is_some();
                let fence = row.map_or_else(|| self.fence(), Ok).map_err(nothing)?;
                let (attempt, reserved_at, in_doubt) = (1, self.now, false);
                let lease_until = self.now.after(reserve.lease);
                let grant =
                    Grant { row: fence, operation, attempt, fence, reserved_at, lease_until, generations, in_doubt };
                let tenant = self.create(reserve, &grant, named).map_err(nothing)?;
                self.consume(reserve, grant, tenant)
            }
            Decision::Reopen(answer) => self.reopen(reserve, &answer),
            Decision::GrantAgain(Answer { record, generations, .. }) => {
                Ok(Reserved::Granted(course::granted(&record, generations)))
            }
            Decision::EndLease(answer) => match course::end_lease(&answer.record, self.now).map_err(illegal)? {
                None => Ok(Reserved::Found(answer)),
                Some(change) => self.moved(reserve, answer, change),
            },
            Decision::GiveUp(answer) => {
                let last_fence = self.order(&answer.record, &[])?;
                let change = course::give_up(&answer.record, last_fence, self.now).map_err(illegal)?;
                self.moved(reserve, answer, change)
            }
            Decision::Answer(answer) => Ok(Reserved::Found(answer)),
            Decision::Refuse(conflict) => Ok(Reserved::Refused(conflict)),
        }
    }

    /// An answer after the call itself moved the record.
    fn moved(&mut self, reserve: &Reserve, answer: Answer, change: Change) -> Result<Reserved, StoreError> {
        let tenant = self.catalogue.intern_tenant(self.db, &reserve.tenant).map_err(nothing)?;
        let record = Arc::new(self.save(tenant, &answer.record, change)?);
        Ok(Reserved::Found(Answer { record, ..answer }))
    }

    /// Creates if absent, without looking first: takes all identities of a call in their first generation, for the handle
    /// that is returned. Takes none if one of them was ever taken: whatever has a later generation has a first one.
    fn take_names(&mut self, reserve: &Reserve, (_, scope): (i64, i64)) -> rusqlite::Result<Option<i64>> {
        let row = self.fence()?;
        for (at, identity) in reserve.identities.iter().enumerate() {
            let taken = hot(&mut self.hot.name, self.db, NAME)?.execute((
                scope,
                &identity.digest,
                row,
                identity.source.code(),
            ))?;
            if taken == 1 {
                continue;
            }
            for taken in &reserve.identities[..at] {
                self.db
                    .prepare_cached(
                        "delete from idem_identities
                         where scope = ?1 and digest = ?2 and generation = 1 and operation = ?3",
                    )?
                    .execute((scope, &taken.digest, row))?;
            }
            self.give_back(row);
            return Ok(None);
        }
        Ok(Some(row))
    }

    /// The record's handle is its first fencing token: ascending, and never given again after a purge.
    fn create(&mut self, reserve: &Reserve, grant: &Grant, named: bool) -> rusqlite::Result<i64> {
        let (tenant, scope) = self.catalogue.intern_scope(self.db, &reserve.tenant, &reserve.scope)?;
        let tool = self.catalogue.intern_tool(self.db, &reserve.tool)?;
        let names = reserve.identities.iter().zip(&grant.generations);
        let names = names.filter(|(_, generation)| **generation != NO_GENERATION);
        let names: Vec<Alias> = names
            .map(|(identity, generation)| Alias {
                source: identity.source,
                digest: identity.digest,
                generation: *generation,
            })
            .collect();
        hot(&mut self.hot.create, self.db, CREATE)?.execute(params![
            grant.row,
            tenant,
            scope,
            grant.operation.as_bytes(),
            tool,
            reserve.principal.as_ref().map(Principal::as_str),
            reserve.approval.as_deref(),
            grant.attempt,
            reserve.nonce.cast_signed(),
            grant.lease_until.as_nanos(),
            &reserve.fingerprint,
            &*reserve.parts,
            &*reserve.content,
            packed(&names),
            self.now.as_nanos(),
            !reserve.resources.is_empty(),
            nanos(reserve.retain),
            reserve.needs_reference,
            first_call(&reserve.identities).cast_signed(),
        ])?;
        if !named {
            for name in &names {
                self.name(scope, grant.row, name)?;
            }
        }
        self.rows += 3;
        self.beside(reserve, grant, tenant)?;
        Ok(tenant)
    }

    /// What few calls bring along.
    fn beside(&mut self, reserve: &Reserve, grant: &Grant, tenant: i64) -> rusqlite::Result<()> {
        self.touches(grant.row, &reserve.resources)?;
        if let Some(link) = reserve.link {
            let insert =
                "insert or ignore into idem_links (tenant, operation, kind, other, id) values (?1, ?2, ?3, ?4, ?5)";
            self.db.prepare_cached(insert)?.execute((
                tenant,
                grant.operation.as_bytes(),
                link.kind.name(),
                link.to.as_bytes(),
                grant.row,
            ))?;
        }
        if let Some(arguments) = &reserve.arguments {
            let insert = "insert into idem_arguments (operation, bytes) values (?1, ?2)";
            self.db.prepare_cached(insert)?.execute((grant.row, &**arguments))?;
        }
        Ok(())
    }

    /// An identity of a new record. What a purged record left under it is replaced; what has a later generation keeps a
    /// first one, so that the next call finds it taken.
    fn name(&mut self, scope: i64, row: i64, name: &Alias) -> rusqlite::Result<()> {
        if name.generation > 1 {
            self.db
                .prepare_cached(
                    "insert into idem_identities (scope, digest, generation, operation, source)
                     values (?1, ?2, 1, 0, ?3) on conflict do nothing",
                )?
                .execute((scope, &name.digest, name.source.code()))?;
        }
        self.db
            .prepare_cached(
                "insert or replace into idem_identities (scope, digest, generation, operation, source)
                 values (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute((scope, &name.digest, name.generation, row, name.source.code()))?;
        Ok(())
    }

    /// The next attempt. The first one is told of by the record itself, this one by a row of its own.
    fn reopen(&mut self, reserve: &Reserve, answer: &Answer) -> Result<Reserved, StoreError> {
        let fence = self.fence().map_err(nothing)?;
        let (change, grant) = course::reopen(answer, reserve, fence, self.now).map_err(illegal)?;
        let tenant = self.catalogue.intern_tenant(self.db, &reserve.tenant).map_err(nothing)?;
        self.save(tenant, &answer.record, change)?;
        self.remember(fence).map_err(nothing)?;
        self.db
            .prepare_cached("insert into idem_attempts (operation, attempt, fence, started_at) values (?1, ?2, ?3, ?4)")
            .and_then(|mut insert| insert.execute((grant.row, grant.attempt, grant.fence, self.now.as_nanos())))
            .map_err(nothing)?;
        self.aliases(&reserve.tenant, grant.row, &answer.aliases).map_err(nothing)?;
        Ok(Reserved::Granted(grant))
    }
}

/// A span of time as a column holds it.
pub(super) fn nanos(span: std::time::Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// Digest and generation of each identity, so that a purge finds them without an index.
pub(super) fn packed(aliases: &[Alias]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(aliases.len() * purge::PACKED);
    for alias in aliases {
        packed.extend_from_slice(&alias.digest);
        packed.extend_from_slice(&alias.generation.to_le_bytes());
    }
    packed
}
