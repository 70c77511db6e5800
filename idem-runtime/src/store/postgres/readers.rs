//! Reading: on a thread of its own, with connections of its own.
//!
//! Must not know that there is a writer. A caller that vanishes interrupts no query, and its runtime may block or end: what
//! reads is not part of it. Each question is answered from one statement, or asked again when the record moved in between.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use sqlx::{PgConnection, Row, postgres::PgConnectOptions};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, oneshot},
};

use super::{
    detail,
    failure::{nothing, unavailable},
    listing, open,
    read::{self, get, whole_record_in, whole_records},
    sql, sweep,
};
use crate::{
    clock::Timestamp,
    id::{OperationId, Tenant},
    identity::where_to_look,
    ledger::{BoxFuture, Detail, Drifted, Find, Listing, Match, Reader, Record, StoreError, Sweep, Swept},
};

/// How many connections read at once, and stay open for the next ones.
const CONNECTIONS_MAX: usize = 4;

/// Statements go in two halves: without a transaction around them a pooler would give each to another connection. A standby,
/// which may not know what was committed, does not begin one that writes.
const BEGIN: &str = "begin isolation level read committed read write";

/// Reads for whoever asks.
#[derive(Debug)]
pub(super) struct Readers {
    pool: Arc<Pool>,
    runtime: Handle,
    /// Dropped with the readers: then the thread ends.
    _open: oneshot::Sender<()>,
}

#[derive(Debug)]
struct Pool {
    options: PgConnectOptions,
    idle: Mutex<Vec<PgConnection>>,
    free: Semaphore,
}

const FIND: &str = whole_records!(
    ", asked.nth, i.generation,
      o.has_resources and o.settled_fence > 0 and exists (
          select 1 from idem_operation_resources own
          join idem_resources l on l.tenant = own.tenant and l.digest = own.digest
          where own.tenant = o.tenant and own.operation = o.id and l.last > o.settled_fence) as reopened",
    "join idem_scopes s on s.tenant = o.tenant and s.scope = o.scope
     join unnest($3::bytea[], $4::bigint[]) with ordinality as asked (digest, generation, nth) on true
     join idem_identities i on i.tenant = o.tenant and i.scope = o.scope and i.digest = asked.digest and i.operation = o.id
     where s.tenant = (select tenant from idem_tenants where name = $1) and s.digest = $2
       and i.generation = coalesce(asked.generation, (
           select max(newest.generation) from idem_identities newest
           where newest.tenant = s.tenant and newest.scope = s.scope and newest.digest = asked.digest))"
);

/// Operation ids have no index: the beginnings of the two digests in them lead there.
const ROW_OF: &str = "\
    select o.id
    from idem_scopes s
    join idem_identities i on i.tenant = s.tenant and i.scope = s.scope and i.digest between $4 and $5
    join idem_operations o on o.tenant = s.tenant and o.id = i.operation
    where s.tenant = $1 and s.digest between $2 and $3 and o.operation = $6
    limit 1";

const RECORD: &str = whole_records!("", "where o.tenant = $1 and o.id = $2");

const TENANT: &str = "select tenant from idem_tenants where name = $1";

const DRIFTED: &str = "\
    select o.operation, t.name, d.parameters, d.drifts, d.last_at
    from idem_tallies d
    join idem_operations o on o.tenant = d.tenant and o.id = d.operation
    join idem_tools t on t.tool = o.tool
    where d.tenant = $1 and d.drifts > 0
    order by d.last_at desc limit $2";

impl Readers {
    /// Starts the thread.
    pub(super) fn start(options: PgConnectOptions) -> Result<Self, StoreError> {
        let failed = |error: std::io::Error| unavailable(error.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (open, closed) = oneshot::channel::<()>();
        let until_closed = move || drop(runtime.block_on(closed));
        thread::Builder::new().name("idem-reader".to_owned()).spawn(until_closed).map_err(failed)?;
        let pool = Pool { options, idle: Mutex::default(), free: Semaphore::new(CONNECTIONS_MAX) };
        Ok(Self { pool: Arc::new(pool), runtime: handle, _open: open })
    }

    fn read<T, R>(&self, read: R) -> BoxFuture<'static, Result<T, StoreError>>
    where
        T: Send + 'static,
        R: for<'c> Fn(&'c mut PgConnection) -> BoxFuture<'c, Result<T, sqlx::Error>> + Send + Sync + 'static,
    {
        let pool = Arc::clone(&self.pool);
        let reading = self.runtime.spawn(async move {
            // Nobody closes it.
            let _free = pool.free.acquire().await;
            let idle = pool.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let reused = idle.is_some();
            let mut db = match idle {
                Some(db) => db,
                None => open::connect(&pool.options).await?,
            };
            let mut answer = in_transaction(&mut db, &read).await;
            if reused && answer.is_err() {
                // The server may have been started anew since.
                drop(db);
                db = open::connect(&pool.options).await?;
                answer = in_transaction(&mut db, &read).await;
            }
            if answer.is_ok() {
                pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
            }
            answer.map_err(nothing)
        });
        Box::pin(async move { reading.await.unwrap_or_else(|_| Err(unavailable("the ledger is closed"))) })
    }
}

async fn in_transaction<T, R>(db: &mut PgConnection, read: &R) -> Result<T, sqlx::Error>
where
    R: for<'c> Fn(&'c mut PgConnection) -> BoxFuture<'c, Result<T, sqlx::Error>>,
{
    sqlx::raw_sql(BEGIN).execute(&mut *db).await?;
    let answer = read(db).await?;
    sqlx::raw_sql("rollback").execute(db).await?;
    Ok(answer)
}

impl Reader for Readers {
    fn find<'a>(&'a self, find: Find<'a>) -> BoxFuture<'a, Result<Vec<Option<Match>>, StoreError>> {
        let (tenant, scope) = (find.tenant.clone(), *find.scope);
        let digests: Vec<Vec<u8>> = find.identities.iter().map(|identity| identity.digest.to_vec()).collect();
        let generations: Vec<Option<i64>> =
            find.identities.iter().map(|identity| identity.generation.map(i64::from)).collect();
        self.read(move |db| {
            let (tenant, digests, generations) = (tenant.clone(), digests.clone(), generations.clone());
            Box::pin(async move {
                let mut found = vec![None; digests.len()];
                let query = sql(FIND).bind(tenant.as_str()).bind(scope.as_slice()).bind(digests).bind(generations);
                for row in query.fetch_all(db).await? {
                    let nth = usize::try_from(get::<i64>(&row, "nth")?).unwrap_or(usize::MAX);
                    let record = Arc::new(whole_record_in(&row)?);
                    let (generation, reopened) = (read::count(&row, "generation")?, get(&row, "reopened")?);
                    if let Some(place) = found.get_mut(nth.wrapping_sub(1)) {
                        *place = Some(Match { generation, record, reopened });
                    }
                }
                Ok(found)
            })
        })
    }

    fn show<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let tenant = tenant.clone();
        self.read(move |db| {
            let tenant = tenant.clone();
            Box::pin(async move {
                let Some(tenant) = tenant_of(db, &tenant).await? else { return Ok(None) };
                let Some(row) = row_of(db, tenant, operation).await? else { return Ok(None) };
                record(db, tenant, row).await
            })
        })
    }

    fn drifted<'a>(&'a self, tenant: &'a Tenant, records_max: u32) -> BoxFuture<'a, Result<Vec<Drifted>, StoreError>> {
        let tenant = tenant.clone();
        self.read(move |db| {
            let tenant = tenant.clone();
            Box::pin(async move {
                let Some(tenant) = tenant_of(db, &tenant).await? else { return Ok(Vec::new()) };
                let rows = sql(DRIFTED).bind(tenant).bind(i64::from(records_max)).fetch_all(db).await?;
                let drifted = rows.iter().map(|row| {
                    let parameters: &str = get(row, "parameters")?;
                    Ok(Drifted {
                        operation: read::operation(row, "operation")?,
                        tool: get(row, "name")?,
                        parameters: parameters.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
                        count: get::<i64>(row, "drifts")?.unsigned_abs(),
                        last_at: Timestamp::from_nanos(get(row, "last_at")?),
                    })
                });
                drifted.collect()
            })
        })
    }

    fn detail<'a>(
        &'a self,
        tenant: &'a Tenant,
        operation: OperationId,
    ) -> BoxFuture<'a, Result<Option<Detail>, StoreError>> {
        let tenant = tenant.clone();
        self.read(move |db| {
            let tenant = tenant.clone();
            Box::pin(async move {
                let Some(tenant) = tenant_of(db, &tenant).await? else { return Ok(None) };
                detail::detail(db, tenant, operation).await
            })
        })
    }

    fn list<'a>(&'a self, tenant: &'a Tenant, listing: &'a Listing) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        let (tenant, listing) = (tenant.clone(), listing.clone());
        self.read(move |db| {
            let (tenant, listing) = (tenant.clone(), listing.clone());
            Box::pin(async move {
                let Some(tenant) = tenant_of(db, &tenant).await? else { return Ok(Vec::new()) };
                listing::list(db, tenant, &listing).await
            })
        })
    }

    fn sweep<'a>(&'a self, sweep: &'a Sweep, now: Timestamp) -> BoxFuture<'a, Result<Swept, StoreError>> {
        let sweep = sweep.clone();
        self.read(move |db| {
            let sweep = sweep.clone();
            Box::pin(async move { sweep::sweep(db, sweep, now).await })
        })
    }
}

async fn tenant_of(db: &mut PgConnection, tenant: &Tenant) -> Result<Option<i64>, sqlx::Error> {
    let row = sql(TENANT).bind(tenant.as_str()).fetch_optional(db).await?;
    row.map(|row| row.try_get(0)).transpose()
}

/// The handle of the tenant's operation with this id.
pub(super) async fn row_of(
    db: &mut PgConnection,
    tenant: i64,
    operation: OperationId,
) -> Result<Option<i64>, sqlx::Error> {
    let [scopes, identities] = where_to_look(operation);
    let query = sql(ROW_OF)
        .bind(tenant)
        .bind(scopes.0.as_slice())
        .bind(scopes.1.as_slice())
        .bind(identities.0.as_slice())
        .bind(identities.1.as_slice())
        .bind(operation.as_bytes().as_slice());
    query.fetch_optional(db).await?.map(|row| row.try_get(0)).transpose()
}

/// The tenant's record with this handle.
pub(super) async fn record(db: &mut PgConnection, tenant: i64, row: i64) -> Result<Option<Record>, sqlx::Error> {
    let row = sql(RECORD).bind(tenant).bind(row).fetch_optional(db).await?;
    row.as_ref().map(whole_record_in).transpose()
}
