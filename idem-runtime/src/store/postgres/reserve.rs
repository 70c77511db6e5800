//! Reservations: creating, reopening, answering.
//!
//! Must not know the rules by which they are answered: [`decide`] does.

use std::sync::Arc;

use sqlx::Row;

use super::{
    failure::{Stopped, corrupt},
    flush::packed,
    sql,
    work::{Fresh, Held, Key, Name, Work},
};
use crate::ledger::{
    Alias, Answer, Decision, Grant, Identity, Match, NO_GENERATION, Record, Reserve, Reserved,
    course::{self, Change},
    decide,
};

/// Whether something else has succeeded on one of a record's resources that began after it had finished.
pub(super) const REOPENED: &str = "\
    select exists (
        select 1 from idem_operation_resources own
        join idem_resources r on r.tenant = own.tenant and r.digest = own.digest
        where own.tenant = $1 and own.operation = $2 and r.last > $3)";

/// Changes nothing, and has to be replicated with everything before it.
const SAME: &str = "update idem_operations set nonce = nonce where tenant = $1 and id = $2";

impl Work<'_> {
    /// The numbers of tenant and scope.
    pub(super) fn place(&self, reserve: &Reserve) -> Result<(i64, i64), Stopped> {
        let tenant = self.catalogue.tenant(&reserve.tenant);
        let place = tenant.and_then(|tenant| Some((tenant, self.scope(tenant, &reserve.scope.digest)?)));
        Ok(place.ok_or_else(|| corrupt("a scope has no number"))?)
    }

    pub(super) async fn reserve(&mut self, reserve: &Reserve) -> Result<Reserved, Stopped> {
        let (tenant, scope) = self.place(reserve)?;
        let mut matches = Vec::with_capacity(reserve.identities.len());
        for identity in &reserve.identities {
            matches.push(self.match_of(tenant, scope, identity).await?);
        }
        match decide(reserve, &matches, self.now) {
            Decision::Create { operation, generations } => {
                let row = self.fence()?;
                let record = Record::created(reserve, operation, row, self.now);
                let grant = course::granted(&record, generations);
                self.create((tenant, row), scope, reserve, record, &grant)?;
                self.consume(reserve, grant, tenant).await
            }
            Decision::Reopen(answer) => self.reopen(tenant, scope, reserve, &answer),
            Decision::GrantAgain(Answer { record, generations, .. }) => {
                // It is committed, and may not be replicated: who waited for that may have been cut off. This commit waits.
                self.rows += sql(SAME).bind(tenant).bind(record.row).execute(&mut *self.db).await?.rows_affected();
                Ok(Reserved::Granted(course::granted(&record, generations)))
            }
            Decision::EndLease(answer) => match course::end_lease(&answer.record, self.now)? {
                None => Ok(Reserved::Found(answer)),
                Some(change) => self.moved(tenant, answer, change),
            },
            Decision::GiveUp(answer) => {
                let change = course::give_up(&answer.record, self.last_fence(), self.now)?;
                self.moved(tenant, answer, change)
            }
            Decision::Answer(answer) => Ok(Reserved::Found(answer)),
            Decision::Refuse(conflict) => Ok(Reserved::Refused(conflict)),
        }
    }

    /// An answer after the call itself moved the record.
    fn moved(&mut self, tenant: i64, answer: Answer, change: Change) -> Result<Reserved, Stopped> {
        let record = self.save((tenant, answer.record.row), &answer.record, change)?;
        Ok(Reserved::Found(Answer { record, ..answer }))
    }

    async fn match_of(&mut self, tenant: i64, scope: i64, identity: &Identity) -> Result<Option<Match>, Stopped> {
        let generations = self.named(tenant, scope, identity.digest);
        let found = match identity.generation {
            None => generations.last_key_value(),
            Some(wanted) => generations.get_key_value(&wanted),
        };
        let Some((generation, row)) = found.map(|(generation, row)| (*generation, *row)) else {
            return Ok(None);
        };
        // One that was purged since the names were read took them along.
        let Some(record) = self.held((tenant, row)) else {
            return Ok(None);
        };
        let reopened = self.reopened(tenant, &record).await?;
        Ok(Some(Match { generation, record, reopened }))
    }

    async fn reopened(&mut self, tenant: i64, record: &Record) -> Result<bool, Stopped> {
        if !record.has_resources || record.settled_fence == 0 {
            return Ok(false);
        }
        // What this very batch brought about counts.
        self.flush().await?;
        let query = sql(REOPENED).bind(tenant).bind(record.row).bind(record.settled_fence);
        Ok(query.fetch_one(&mut *self.db).await?.try_get(0)?)
    }

    fn create(
        &mut self,
        key: Key,
        scope: i64,
        reserve: &Reserve,
        record: Record,
        grant: &Grant,
    ) -> Result<(), Stopped> {
        let tool = self.catalogue.tool(&reserve.tool).ok_or_else(|| corrupt("a tool has no number"))?;
        let mut names = Vec::with_capacity(reserve.identities.len());
        for (identity, generation) in reserve.identities.iter().zip(&grant.generations) {
            if *generation != NO_GENERATION {
                let alias = Alias { source: identity.source, digest: identity.digest, generation: *generation };
                let name = Name {
                    tenant: key.0,
                    scope,
                    row: key.1,
                    alias,
                    later: false,
                    exact: identity.generation.is_some(),
                };
                if self.take(name) {
                    names.push(alias);
                }
            }
        }
        self.beside.bring(key, reserve, grant);
        let fresh = Some(Fresh { scope, tool, packed: packed(&names) });
        self.records
            .insert(key, Held { version: record.version, record: Arc::new(record), fresh, moved: false, told: false });
        Ok(())
    }

    /// Makes an identity lead to a record; one that leads elsewhere already stays as it is.
    fn take(&mut self, name: Name) -> bool {
        let Name { tenant, scope, row, alias, .. } = name;
        let known = self.named(tenant, scope, alias.digest).get(&alias.generation).copied();
        if known.is_some_and(|known| self.records.contains_key(&(tenant, known))) {
            return false;
        }
        self.named(tenant, scope, alias.digest).insert(alias.generation, row);
        self.taken.push(name);
        true
    }

    /// The next attempt. The first one is told of by the record itself, this one by a row of its own.
    fn reopen(&mut self, tenant: i64, scope: i64, reserve: &Reserve, answer: &Answer) -> Result<Reserved, Stopped> {
        let fence = self.fence()?;
        let (change, grant) = course::reopen(answer, reserve, fence, self.now)?;
        let key = (tenant, grant.row);
        self.save(key, &answer.record, change)?;
        self.beside.attempts.push((key, grant.attempt, fence));
        for alias in &answer.aliases {
            self.take(Name { tenant, scope, row: grant.row, alias: *alias, later: true, exact: false });
        }
        Ok(Reserved::Granted(grant))
    }
}
