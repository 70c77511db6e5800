//! Everything that is kept about one operation.
//!
//! Must not know how any of it came about.

use std::sync::Arc;

use sqlx::{PgConnection, Row};

use super::{
    evidence,
    failure::misread,
    flush::unpacked,
    read::{self, get},
    readers::{record, row_of},
    sql,
    text::{maybe_said, said},
};
use crate::{
    clock::Timestamp,
    id::OperationId,
    identity::Source,
    ledger::{Alias, Detail, Happened, Link, LinkKind, Record, Tried},
};

/// How often a detail is read anew because its record moved meanwhile.
const TRIES: u32 = 10;

const SCOPE: &str = "\
    select o.scope, o.identities, s.kind, s.value, s.digest
    from idem_operations o join idem_scopes s on s.tenant = o.tenant and s.scope = o.scope
    where o.tenant = $1 and o.id = $2";

const IDENTITIES: &str = "\
    select i.source, i.digest, i.generation
    from (
        select * from unnest($3::bytea[], $4::bigint[]) with ordinality as own (digest, generation, nth)
        union all
        select digest, generation, 1000000 from idem_aliases where tenant = $1 and operation = $5
    ) as n
    join idem_identities i
        on i.tenant = $1 and i.scope = $2 and i.digest = n.digest and i.generation = n.generation and i.operation = $5
    order by n.nth";

const ATTEMPTS: &str = "\
    select attempt, fence, started_at from idem_attempts where tenant = $1 and operation = $2 order by attempt";

const HISTORY: &str = "\
    select version, at, attempt, event, state, actor, detail from idem_history
    where tenant = $1 and operation = $2 order by version";

const LINKS: &str = "select kind, other from idem_links where tenant = $1 and operation = $2 order by id";

const LINKED_FROM: &str =
    "select kind, operation as other from idem_links where tenant = $1 and other = $2 order by id";

/// The detail of the tenant's operation with this id: read until its record stood still meanwhile.
pub(super) async fn detail(
    db: &mut PgConnection,
    tenant: i64,
    operation: OperationId,
) -> Result<Option<Detail>, sqlx::Error> {
    let Some(row) = row_of(db, tenant, operation).await? else { return Ok(None) };
    let mut tries = 0;
    loop {
        tries += 1;
        let Some(before) = record(db, tenant, row).await? else { return Ok(None) };
        let version = before.version;
        let Some(detail) = beside(db, tenant, before).await? else { return Ok(None) };
        let Some(after) = record(db, tenant, row).await? else { return Ok(None) };
        if after.version == version || tries == TRIES {
            return Ok(Some(detail));
        }
    }
}

async fn beside(db: &mut PgConnection, tenant: i64, record: Record) -> Result<Option<Detail>, sqlx::Error> {
    let Some(of) = sql(SCOPE).bind(tenant).bind(record.row).fetch_optional(&mut *db).await? else {
        return Ok(None);
    };
    let operation = record.operation;
    Ok(Some(Detail {
        scope_kind: said(&of, "kind")?,
        scope_value: maybe_said(&of, "value")?,
        scope: read::digest(&of, "digest")?,
        identities: identities(db, tenant, get(&of, "scope")?, record.row, get(&of, "identities")?).await?,
        attempts: attempts(db, tenant, &record).await?,
        history: history(db, tenant, record.row).await?,
        evidence: evidence::said(db, tenant, operation).await?,
        links: links(db, LINKS, tenant, operation).await?,
        linked_from: links(db, LINKED_FROM, tenant, operation).await?,
        arguments: arguments(db, tenant, record.row).await?,
        record,
    }))
}

async fn identities(
    db: &mut PgConnection,
    tenant: i64,
    scope: i64,
    operation: i64,
    packed: &[u8],
) -> Result<Vec<Alias>, sqlx::Error> {
    let (digests, generations): (Vec<&[u8]>, Vec<i64>) = unpacked(packed).unzip();
    let query = sql(IDENTITIES).bind(tenant).bind(scope).bind(digests).bind(generations).bind(operation);
    let mut identities = Vec::new();
    for row in query.fetch_all(db).await? {
        let source = u8::try_from(get::<i16>(&row, "source")?).ok().and_then(Source::from_code);
        let source = source.ok_or_else(|| misread("an identity has an unknown source"))?;
        let (digest, generation) = (read::digest(&row, "digest")?, read::count(&row, "generation")?);
        identities.push(Alias { source, digest, generation });
    }
    Ok(identities)
}

/// The first attempt is told of by the record itself, unless evidence was there before it.
async fn attempts(db: &mut PgConnection, tenant: i64, record: &Record) -> Result<Vec<Tried>, sqlx::Error> {
    let first = Tried { number: 1, fence: record.row, started_at: record.reserved_at };
    let mut attempts: Vec<Tried> = (record.attempt > 0).then_some(first).into_iter().collect();
    for row in sql(ATTEMPTS).bind(tenant).bind(record.row).fetch_all(db).await? {
        attempts.push(Tried {
            number: read::count(&row, "attempt")?,
            fence: get(&row, "fence")?,
            started_at: Timestamp::from_nanos(get(&row, "started_at")?),
        });
    }
    Ok(attempts)
}

async fn history(db: &mut PgConnection, tenant: i64, operation: i64) -> Result<Vec<Happened>, sqlx::Error> {
    let rows = sql(HISTORY).bind(tenant).bind(operation).fetch_all(db).await?;
    let happened = rows.iter().map(|row| {
        Ok(Happened {
            version: get::<i64>(row, "version")?.cast_unsigned(),
            at: Timestamp::from_nanos(get(row, "at")?),
            attempt: read::count(row, "attempt")?,
            event: said(row, "event")?,
            state: read::state(row, "state")?,
            actor: maybe_said(row, "actor")?,
            detail: maybe_said(row, "detail")?,
        })
    });
    happened.collect()
}

async fn links(
    db: &mut PgConnection,
    select: &'static str,
    tenant: i64,
    operation: OperationId,
) -> Result<Vec<Link>, sqlx::Error> {
    let rows = sql(select).bind(tenant).bind(operation.as_bytes().as_slice()).fetch_all(db).await?;
    let links = rows.iter().map(|row| {
        let kind = LinkKind::from_name(get(row, "kind")?).ok_or_else(|| misread("a link has an unknown kind"))?;
        Ok(Link { kind, to: read::operation(row, "other")? })
    });
    links.collect()
}

async fn arguments(db: &mut PgConnection, tenant: i64, operation: i64) -> Result<Option<Arc<[u8]>>, sqlx::Error> {
    let query = sql("select bytes from idem_arguments where tenant = $1 and operation = $2");
    let row = query.bind(tenant).bind(operation).fetch_optional(db).await?;
    row.map(|row| row.try_get::<Vec<u8>, _>(0).map(Into::into)).transpose()
}
