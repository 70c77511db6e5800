//! Reading: on a thread of its own, with connections of its own.
//!
//! Must not know that there is a writer. A caller that vanishes interrupts no query, and its runtime may block or end: what
//! reads is not part of it. What calls look for goes through [`finds`], together; the rest is answered one by one, each from
//! one statement, or read again when the record moved in between.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use sqlx::{PgConnection, Row, postgres::PgConnectOptions};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, oneshot},
};

use super::{
    detail,
    failure::{is_of_data, nothing, unavailable},
    finds::{self, Asked, Group, Next},
    listing, open,
    read::{self, get, whole_record_in, whole_records},
    sql, sweep,
    text::{said, text},
};
use crate::{
    clock::Timestamp,
    id::{OperationId, Tenant},
    identity::where_to_look,
    ledger::{BoxFuture, Detail, Drifted, Find, Found, Listing, Reader, Record, StoreError, Sweep, Swept},
};

/// How many connections read at once, and stay open for the next ones.
const CONNECTIONS_MAX: usize = 3;

/// Statements go in two halves: without a transaction around them a pooler would give each to another connection. A standby,
/// which may not know what was committed, does not begin one that writes.
const BEGIN: &str = "begin isolation level read committed read write";

/// How long the server may take to answer a question: as long as a transaction of the writer's.
const READ: Duration = Duration::from_secs(30);

/// Reads for whoever asks.
#[derive(Debug)]
pub(super) struct Readers {
    pool: Arc<Pool>,
    asked: Arc<Asked>,
    runtime: Handle,
    /// Dropped with the readers: then the thread ends.
    _open: oneshot::Sender<()>,
}

/// Connections that read.
#[derive(Debug)]
pub(super) struct Pool {
    options: PgConnectOptions,
    idle: Mutex<Vec<PgConnection>>,
    free: Semaphore,
}

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
        Ok(Self { pool: Arc::new(pool), asked: Arc::default(), runtime: handle, _open: open })
    }

    fn read<T, R>(&self, read: R) -> BoxFuture<'static, Result<T, StoreError>>
    where
        T: Send + 'static,
        R: for<'c> Fn(&'c mut PgConnection) -> BoxFuture<'c, Result<T, sqlx::Error>> + Send + Sync + 'static,
    {
        let pool = Arc::clone(&self.pool);
        let reading = self.runtime.spawn(async move { pool.read(read).await.map_err(Unread::into_error) });
        Box::pin(async move { reading.await.unwrap_or_else(|_| Err(closed())) })
    }

    /// Puts these questions to the server together, with whatever others wait.
    fn ask(&self, finds: &[Find<'_>]) -> oneshot::Receiver<Vec<Found>> {
        let (group, answers) = Group::new(finds);
        if self.asked.push(group) == Next::Answer {
            self.runtime.spawn(finds::answer(Arc::clone(&self.asked), Arc::clone(&self.pool)));
        }
        answers
    }
}

impl Pool {
    /// Reads in a transaction.
    async fn read<T, R>(&self, read: R) -> Result<T, Unread>
    where
        R: for<'c> Fn(&'c mut PgConnection) -> BoxFuture<'c, Result<T, sqlx::Error>> + Send + Sync + 'static,
        T: Send,
    {
        let read = Arc::new(read);
        let in_transaction = self.with(|db| {
            let read = Arc::clone(&read);
            Box::pin(async move {
                sqlx::raw_sql(BEGIN).execute(&mut *db).await?;
                let answer = read(&mut *db).await?;
                sqlx::raw_sql("rollback").execute(db).await?;
                Ok(answer)
            })
        });
        in_transaction.await
    }

    /// Reads, and once more where the connection was an old one.
    pub(super) async fn with<T>(
        &self,
        read: impl for<'c> Fn(&'c mut PgConnection) -> BoxFuture<'c, Result<T, sqlx::Error>>,
    ) -> Result<T, Unread> {
        // Nobody closes it.
        let _free = self.free.acquire().await;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let reused = idle.is_some();
        let mut db = match idle {
            Some(db) => db,
            None => open::connect(&self.options).await.map_err(Unread::Unconnected)?,
        };
        let mut answer = in_time(read(&mut db)).await?;
        if reused && answer.as_ref().is_err_and(|error| !is_of_data(error)) {
            // The server may have been started anew since.
            drop(db);
            db = open::connect(&self.options).await.map_err(Unread::Unconnected)?;
            answer = in_time(read(&mut db)).await?;
        }
        let answer = answer.map_err(Unread::Failed)?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
        Ok(answer)
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Unread {
    /// There is no connection, or it did not answer in time.
    Unconnected(StoreError),
    /// The statement failed, or what it gave was not understood.
    Failed(sqlx::Error),
}

impl Unread {
    pub(super) fn into_error(self) -> StoreError {
        match self {
            Self::Unconnected(error) => error,
            Self::Failed(error) => nothing(error),
        }
    }
}

/// A server that is gone without a word would be waited for until its connection is given up, which takes a quarter of an
/// hour.
async fn in_time<T>(reading: impl Future<Output = T>) -> Result<T, Unread> {
    let late = |_| Unread::Unconnected(unavailable("the server did not answer in time"));
    tokio::time::timeout(READ, reading).await.map_err(late)
}

fn closed() -> StoreError {
    unavailable("the ledger is closed")
}

impl Reader for Readers {
    fn find<'a>(&'a self, find: Find<'a>) -> BoxFuture<'a, Found> {
        let answers = self.ask(&[find]);
        Box::pin(async move { answers.await.ok().and_then(|mut all| all.pop()).unwrap_or_else(|| Err(closed())) })
    }

    fn find_all<'a>(&'a self, finds: &'a [Find<'a>]) -> BoxFuture<'a, Vec<Found>> {
        let answers = self.ask(finds);
        Box::pin(async move { answers.await.unwrap_or_else(|_| finds.iter().map(|_| Err(closed())).collect()) })
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
                    let parameters = said(row, "parameters")?;
                    Ok(Drifted {
                        operation: read::operation(row, "operation")?,
                        tool: said(row, "name")?.as_ref().to_owned(),
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
    let row = sql(TENANT).bind(text(tenant.as_str())).fetch_optional(db).await?;
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
