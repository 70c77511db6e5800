//! Removing what retention no longer covers.
//!
//! Walks the records in the order of their handles, a bounded number a call; only finished records are ever touched, and only
//! once this transaction holds them.

use std::time::Duration;

use sqlx::postgres::PgRow;

use super::{
    failure::Stopped,
    flush::{columns, unpacked},
    read::get,
    sql,
    work::{Key, Work},
};
use crate::ledger::PurgeReport;

const WALK: &str = "select id from idem_operations where id > $1 order by id limit $2";

const ENDED: &str = "\
    select tenant, id, scope, operation, identities, retain_until <= $3 as gone from idem_operations
    where id = any($1) and state in ('succeeded', 'failed_final') and retain_until <= $2
    order by id for update";

/// What goes with a record, by tenant and handle.
const WITH_RESULT: [&str; 2] = [
    "delete from idem_results using unnest($1::bigint[], $2::bigint[]) as n (tenant, id)
     where idem_results.tenant = n.tenant and operation = id",
    "delete from idem_arguments using unnest($1::bigint[], $2::bigint[]) as n (tenant, id)
     where idem_arguments.tenant = n.tenant and operation = id",
];

/// The rest of it; resources only where no other record names them.
const WITH_RECORD: [&str; 7] = [
    "delete from idem_aliases using unnest($1::bigint[], $2::bigint[]) as n (tenant, id)
     where idem_aliases.tenant = n.tenant and operation = id",
    "delete from idem_resources r using unnest($1::bigint[], $2::bigint[]) as n (tenant, id)
     join idem_operation_resources own on own.tenant = n.tenant and own.operation = n.id
     where r.tenant = own.tenant and r.digest = own.digest and not exists (
         select 1 from idem_operation_resources other
         where other.tenant = own.tenant and other.digest = own.digest and other.operation <> all ($2))",
    "delete from idem_operation_resources using unnest($1::bigint[], $2::bigint[]) as n (tenant, id)
     where idem_operation_resources.tenant = n.tenant and operation = id",
    "delete from idem_history using unnest($1::bigint[], $2::bigint[]) as n (tenant, id)
     where idem_history.tenant = n.tenant and operation = id",
    "delete from idem_attempts using unnest($1::bigint[], $2::bigint[]) as n (tenant, id)
     where idem_attempts.tenant = n.tenant and operation = id",
    "delete from idem_tallies using unnest($1::bigint[], $2::bigint[]) as n (tenant, id)
     where idem_tallies.tenant = n.tenant and operation = id",
    "delete from idem_operations o using unnest($1::bigint[], $2::bigint[]) as n (tenant, id)
     where o.tenant = n.tenant and o.id = n.id",
];

/// By tenant and the operation's id.
const OF_OPERATION: [&str; 2] = [
    "delete from idem_evidence using unnest($1::bigint[], $2::bytea[]) as n (tenant, id)
     where idem_evidence.tenant = n.tenant and operation = id",
    "delete from idem_links using unnest($1::bigint[], $2::bytea[]) as n (tenant, id)
     where idem_links.tenant = n.tenant and operation = n.id",
];

/// Identities that came after the creation of their records; the record keeps the others.
const LATER: &str = "\
    select a.tenant, o.scope, a.digest, a.generation, a.operation
    from unnest($1::bigint[], $2::bigint[]) as n (tenant, id)
    join idem_operations o on o.tenant = n.tenant and o.id = n.id
    join idem_aliases a on a.tenant = n.tenant and a.operation = n.id";

/// Frees identities of removed records. Whatever has a later generation keeps a first one, which then leads nowhere: so whoever
/// takes a first one need not look for others. Once there is no later one, what leads nowhere goes too.
const UNNAME: [&str; 3] = [
    "delete from idem_identities i
     using unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[])
         as n (tenant, scope, digest, generation, id)
     where i.tenant = n.tenant and i.scope = n.scope and i.digest = n.digest and i.generation = n.generation
       and i.operation = n.id and n.generation > 1",
    "update idem_identities i set operation = 0
     from unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[])
         as n (tenant, scope, digest, generation, id)
     where i.tenant = n.tenant and i.scope = n.scope and i.digest = n.digest and i.generation = n.generation
       and i.operation = n.id and n.generation = 1",
    "delete from idem_identities i
     using unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[])
         as n (tenant, scope, digest, generation, id)
     where i.tenant = n.tenant and i.scope = n.scope and i.digest = n.digest and i.generation = 1 and i.operation = 0
       and not exists (
           select 1 from idem_identities l
           where l.tenant = n.tenant and l.scope = n.scope and l.digest = n.digest and l.generation > 1)",
];

impl Work<'_> {
    /// Looks at `records_max` records behind `from`; says what was removed, and where to go on.
    pub(super) async fn purge(
        &mut self,
        from: i64,
        records_max: u32,
        tombstone: Duration,
    ) -> Result<(PurgeReport, i64), Stopped> {
        let mut rows: Vec<i64> = Vec::new();
        for row in sql(WALK).bind(from).bind(i64::from(records_max)).fetch_all(&mut *self.db).await? {
            rows.push(get(&row, "id")?);
        }
        // At the end the walk begins anew.
        let walked_all = rows.len() < usize::try_from(records_max).unwrap_or(usize::MAX);
        let to = if walked_all { 0 } else { rows.last().copied().unwrap_or(0) };
        let mut report = PurgeReport { looked_at: rows.len() as u64, ..PurgeReport::default() };
        let before = self.now.before(tombstone).as_nanos();
        let query = sql(ENDED).bind(rows).bind(self.now.as_nanos()).bind(before);
        let (mut gone, mut ended) = (Vec::new(), Vec::new());
        for row in query.fetch_all(&mut *self.db).await? {
            let key: Key = (get(&row, "tenant")?, get(&row, "id")?);
            if get(&row, "gone")? { gone.push((key, row)) } else { ended.push(key) }
        }
        report.removed = gone.len() as u64;
        report.tombstones = self.forget_results(&ended).await?;
        self.forget(&gone).await?;
        if walked_all {
            // Evidence about operations that never came.
            let forget = sql("delete from idem_evidence where not weighed and at <= $1").bind(before);
            self.rows += forget.execute(&mut *self.db).await?.rows_affected();
        }
        Ok((report, to))
    }

    /// Says how many had one.
    async fn forget_results(&mut self, keys: &[Key]) -> Result<u64, Stopped> {
        if keys.is_empty() {
            return Ok(0);
        }
        let [results, arguments] = WITH_RESULT;
        let held = self.delete(results, keys).await?;
        self.delete(arguments, keys).await?;
        Ok(held)
    }

    async fn delete(&mut self, statement: &'static str, keys: &[Key]) -> Result<u64, Stopped> {
        let (tenants, rows) = columns(keys);
        let deleted = sql(statement).bind(tenants).bind(rows).execute(&mut *self.db).await?.rows_affected();
        self.rows += deleted;
        Ok(deleted)
    }

    async fn forget(&mut self, gone: &[(Key, PgRow)]) -> Result<(), Stopped> {
        if gone.is_empty() {
            return Ok(());
        }
        let keys: Vec<Key> = gone.iter().map(|(key, _)| *key).collect();
        let (mut tenants, mut scopes, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let (mut digests, mut generations, mut operations) = (Vec::new(), Vec::new(), Vec::new());
        for ((tenant, row), of) in gone {
            operations.push(get::<&[u8]>(of, "operation")?);
            let scope: i64 = get(of, "scope")?;
            for (digest, generation) in unpacked(get::<&[u8]>(of, "identities")?) {
                tenants.push(*tenant);
                scopes.push(scope);
                digests.push(digest);
                generations.push(generation);
                rows.push(*row);
            }
        }
        let (of_tenants, of_rows) = columns(&keys);
        let later = sql(LATER).bind(of_tenants).bind(of_rows).fetch_all(&mut *self.db).await?;
        for of in &later {
            tenants.push(get(of, "tenant")?);
            scopes.push(get(of, "scope")?);
            digests.push(get::<&[u8]>(of, "digest")?);
            generations.push(get(of, "generation")?);
            rows.push(get(of, "operation")?);
        }
        for statement in UNNAME {
            let named = sql(statement).bind(&tenants).bind(&scopes).bind(&digests).bind(&generations).bind(&rows);
            named.execute(&mut *self.db).await?;
        }
        for statement in OF_OPERATION {
            let (tenants, _) = columns(&keys);
            sql(statement).bind(tenants).bind(operations.clone()).execute(&mut *self.db).await?;
        }
        for statement in WITH_RESULT.into_iter().chain(WITH_RECORD) {
            self.delete(statement, &keys).await?;
        }
        Ok(())
    }
}
