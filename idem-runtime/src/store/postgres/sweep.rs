//! What needs a reconciler, of all tenants.
//!
//! Must not know who finds out. What is unsettled and what was started again have indexes of their own. A first attempt is
//! in none, so that no fresh call pays for one: those are found by walking the records that are new since the last time,
//! and the ones that were running then are looked at again.

use std::{collections::BTreeSet, time::Duration};

use sqlx::{PgConnection, Row};

use super::{
    failure::misread,
    read::{get, whole_record_in, whole_records},
    sql,
    text::{said, text},
};
use crate::{
    clock::Timestamp,
    id::Tenant,
    ledger::{Sweep, Swept},
};

/// Handles are drawn before they are committed, so a smaller one may appear behind a greater. No transaction of ours takes as
/// long as this: what is older stands still, and a walk begins behind it.
const STILL: Duration = Duration::from_mins(10);

const UNSETTLED: &str = "\
    select o.id from idem_operations o join idem_tools t on t.tool = o.tool
    where o.unknown_at is not null
      and ((o.state = 'outcome_unknown' and (o.next_at is null or o.next_at <= $1))
           or (o.state = 'reconciling' and o.lease_until <= $1))
      and t.name = any($2)
    order by o.id limit $3";

const REOPENED: &str = "\
    select o.id from idem_operations o join idem_tools t on t.tool = o.tool
    where o.again_until <= $1 and o.again_until is not null and t.name = any($2)
    order by o.id limit $3";

/// First attempts that are running, and whether each one is due.
const STARTED: &str = "\
    select o.id, o.lease_until <= $1 and t.name = any($2) as due
    from idem_operations o join idem_tools t on t.tool = o.tool
    where (o.id > $3 or o.id = any($4)) and o.state = 'in_progress' and o.attempt = 1
    order by o.id";

const SEEN_TO: &str = "\
    select id from idem_operations where id > $1 and reserved_at <= $2 order by id desc limit 1";

const DUE: &str = whole_records!(
    ", (select name from idem_tenants n where n.tenant = o.tenant) as tenant_name",
    "where o.id = any($1) order by o.id"
);

pub(super) async fn sweep(db: &mut PgConnection, sweep: Sweep, now: Timestamp) -> Result<Swept, sqlx::Error> {
    let (at, still) = (now.as_nanos(), now.before(STILL).as_nanos());
    let tools: Vec<String> = sweep.tools.iter().map(|tool| text(tool).into_owned()).collect();
    let mut due = BTreeSet::new();
    for query in [UNSETTLED, REOPENED] {
        let query = sql(query).bind(at).bind(tools.clone()).bind(i64::from(sweep.records_max));
        for row in query.fetch_all(&mut *db).await? {
            due.insert(row.try_get::<i64, _>(0)?);
        }
    }
    // First: what appears from here on is behind it, or young.
    let seen_to = sql(SEEN_TO).bind(sweep.seen_to).bind(still).fetch_optional(&mut *db).await?;
    let seen_to = seen_to.map(|row| row.try_get(0)).transpose()?.unwrap_or(sweep.seen_to);
    // Of every tool: one whose operations are wanted later needs no walk from the beginning.
    let query = sql(STARTED).bind(at).bind(tools).bind(sweep.seen_to).bind(sweep.running.clone());
    let mut running = Vec::new();
    for row in query.fetch_all(&mut *db).await? {
        let id: i64 = get(&row, "id")?;
        if id <= seen_to {
            running.push(id);
        }
        if get(&row, "due")? {
            due.insert(id);
        }
    }
    let many = usize::try_from(sweep.records_max).unwrap_or(usize::MAX);
    let due: Vec<i64> = due.into_iter().take(many).collect();
    let mut records = Vec::with_capacity(due.len());
    for row in sql(DUE).bind(due).fetch_all(db).await? {
        let tenant = Tenant::new(said(&row, "tenant_name")?).map_err(|_| misread("a tenant's name is blank"))?;
        records.push((tenant, whole_record_in(&row)?));
    }
    Ok(Swept { due: records, next: Sweep { seen_to, running, ..sweep } })
}
