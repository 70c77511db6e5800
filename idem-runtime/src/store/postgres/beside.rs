//! What is written beside a record: history, later attempts, links, arguments, resources.
//!
//! Must not know how a record moves.

use std::sync::Arc;

use sqlx::PgConnection;

use super::{flush::columns, sql, text::text, work::Key};
use crate::{
    clock::Timestamp,
    id::OperationId,
    identity::Digest,
    ledger::{Grant, Link, Reserve, course::Entry},
};

/// What waits to be written.
#[derive(Debug, Default)]
pub(super) struct Beside {
    pub(super) history: Vec<(Key, Entry)>,
    /// Number and token.
    pub(super) attempts: Vec<(Key, u32, i64)>,
    /// Records that came to succeed, and change resources.
    pub(super) succeeded: Vec<Key>,
    touched: Vec<(Key, Digest)>,
    links: Vec<(Key, OperationId, Link)>,
    arguments: Vec<(Key, Arc<[u8]>)>,
}

const HISTORY: &str = "\
    insert into idem_history (tenant, operation, version, at, attempt, event, state, actor, detail)
    select tenant, operation, version, $9, attempt, event, state, actor, detail
    from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[])
        as n (tenant, operation, version, attempt, event, state, actor, detail)";

const ATTEMPTS: &str = "\
    insert into idem_attempts (tenant, operation, attempt, fence, started_at)
    select n.*, $5 from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) as n";

const TOUCHED: &str = "\
    insert into idem_operation_resources (tenant, operation, digest)
    select * from unnest($1::bigint[], $2::bigint[], $3::bytea[]) on conflict do nothing";

const LINK: &str = "\
    insert into idem_links (tenant, operation, kind, other, id) values ($1, $2, $3, $4, $5) on conflict do nothing";

const ARGUMENTS: &str = "\
    insert into idem_arguments (tenant, operation, bytes)
    select * from unnest($1::bigint[], $2::bigint[], $3::bytea[]) on conflict do nothing";

const SUCCEEDED: &str = "\
    insert into idem_resources (tenant, digest, last)
    select own.tenant, own.digest, max(own.operation)
    from unnest($1::bigint[], $2::bigint[]) as n (tenant, operation)
    join idem_operation_resources own on own.tenant = n.tenant and own.operation = n.operation
    group by own.tenant, own.digest order by 1, 2
    on conflict (tenant, digest) do update set last = greatest(idem_resources.last, excluded.last)";

impl Beside {
    /// What few calls bring along.
    pub(super) fn bring(&mut self, key: Key, reserve: &Reserve, grant: &Grant) {
        self.touch(key, &reserve.resources);
        self.links.extend(reserve.link.map(|link| (key, grant.operation, link)));
        self.arguments.extend(reserve.arguments.clone().map(|arguments| (key, arguments)));
    }

    /// Whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        let Self { history, attempts, succeeded, touched, links, arguments } = self;
        history.is_empty()
            && attempts.is_empty()
            && succeeded.is_empty()
            && touched.is_empty()
            && links.is_empty()
            && arguments.is_empty()
    }

    /// An operation changes these resources.
    pub(super) fn touch(&mut self, key: Key, resources: &[Digest]) {
        self.touched.extend(resources.iter().map(|digest| (key, *digest)));
    }

    /// Writes all of it; says how many rows changed.
    pub(super) async fn write(&mut self, db: &mut PgConnection, now: Timestamp) -> Result<u64, sqlx::Error> {
        let mut rows = self.write_history(db, now).await?;
        if !self.attempts.is_empty() {
            let attempts = std::mem::take(&mut self.attempts);
            let (tenants, operations) = columns(&attempts.iter().map(|(key, ..)| *key).collect::<Vec<_>>());
            let query = sql(ATTEMPTS)
                .bind(tenants)
                .bind(operations)
                .bind(attempts.iter().map(|(_, number, _)| i64::from(*number)).collect::<Vec<_>>())
                .bind(attempts.iter().map(|(.., fence)| *fence).collect::<Vec<_>>())
                .bind(now.as_nanos());
            rows += query.execute(&mut *db).await?.rows_affected();
        }
        if !self.touched.is_empty() {
            let touched = std::mem::take(&mut self.touched);
            let (tenants, operations) = columns(&touched.iter().map(|(key, _)| *key).collect::<Vec<_>>());
            let digests: Vec<&[u8]> = touched.iter().map(|(_, digest)| digest.as_slice()).collect();
            let query = sql(TOUCHED).bind(tenants).bind(operations).bind(digests);
            rows += query.execute(&mut *db).await?.rows_affected();
        }
        for ((tenant, row), operation, link) in std::mem::take(&mut self.links) {
            let (from, to) = (operation.as_bytes().as_slice(), link.to.as_bytes().as_slice());
            let query = sql(LINK).bind(tenant).bind(from).bind(link.kind.name()).bind(to).bind(row);
            rows += query.execute(&mut *db).await?.rows_affected();
        }
        if !self.arguments.is_empty() {
            let arguments = std::mem::take(&mut self.arguments);
            let (tenants, operations) = columns(&arguments.iter().map(|(key, _)| *key).collect::<Vec<_>>());
            let bytes: Vec<&[u8]> = arguments.iter().map(|(_, bytes)| &**bytes).collect();
            rows += sql(ARGUMENTS).bind(tenants).bind(operations).bind(bytes).execute(&mut *db).await?.rows_affected();
        }
        if !self.succeeded.is_empty() {
            let (tenants, operations) = columns(&std::mem::take(&mut self.succeeded));
            rows += sql(SUCCEEDED).bind(tenants).bind(operations).execute(&mut *db).await?.rows_affected();
        }
        Ok(rows)
    }

    async fn write_history(&mut self, db: &mut PgConnection, now: Timestamp) -> Result<u64, sqlx::Error> {
        if self.history.is_empty() {
            return Ok(0);
        }
        let history = std::mem::take(&mut self.history);
        let (tenants, operations) = columns(&history.iter().map(|(key, _)| *key).collect::<Vec<_>>());
        let words = |words: fn(&Entry) -> Option<&Arc<str>>| {
            let words = history.iter().map(|(_, entry)| words(entry).map(|words| text(words).into_owned()));
            words.collect::<Vec<_>>()
        };
        let query = sql(HISTORY)
            .bind(tenants)
            .bind(operations)
            .bind(history.iter().map(|(_, entry)| entry.version.cast_signed()).collect::<Vec<_>>())
            .bind(history.iter().map(|(_, entry)| i64::from(entry.attempt)).collect::<Vec<_>>())
            .bind(history.iter().map(|(_, entry)| entry.event).collect::<Vec<_>>())
            .bind(history.iter().map(|(_, entry)| entry.state.name()).collect::<Vec<_>>())
            .bind(words(|entry| entry.actor.as_ref()))
            .bind(words(|entry| entry.detail.as_ref()))
            .bind(now.as_nanos());
        Ok(query.execute(db).await?.rows_affected())
    }
}
