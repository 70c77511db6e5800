//! Writing what a transaction made of its records: one statement for all that are new, one for all that moved.
//!
//! Must not know which command it was: every field that can change is written, where the version is the one that was read.

use sqlx::{Postgres, postgres::PgArguments, query::Query};

use super::{
    failure::{Stopped, corrupt, overtaken},
    nanos, sql,
    text::text,
    work::{Held, Key, Work, only},
};
use crate::{
    clock::Timestamp,
    id::Principal,
    ledger::{Alias, Record},
};

/// Sorted, so that two batches take what both want in the same order.
const TAKE: &str = "\
    with taken as (
        insert into idem_identities (tenant, scope, digest, generation, operation, source)
        select * from unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[], $6::smallint[])
        order by 1, 2, 3, 4
        on conflict do nothing
        returning tenant, operation, digest, generation
    ), later as (
        insert into idem_aliases (tenant, operation, digest, generation)
        select taken.* from taken
        join unnest($1::bigint[], $3::bytea[], $4::bigint[], $7::boolean[]) as asked (tenant, digest, generation, later)
            on (asked.tenant, asked.digest, asked.generation) = (taken.tenant, taken.digest, taken.generation)
        where asked.later
        on conflict do nothing
    )
    select count(*) from taken";

/// The fields that change: the first 23 parameters, in this order.
const CREATE: &str = "\
    insert into idem_operations
        (tenant, id, version, state, in_doubt, disproved, attempt, fence, nonce, reconcile_fence, passes, answered,
         lease_until, settled_at, unknown_at, next_at, settled_fence, has_resources, retain, retain_until, reference, review,
         content, scope, operation, tool, principal, first_call, approval, fingerprint, parts, identities, reserved_at,
         needs_reference)
    select * from unnest(
        $1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::boolean[], $6::boolean[], $7::bigint[], $8::bigint[],
        $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[],
        $16::bigint[], $17::bigint[], $18::boolean[], $19::bigint[], $20::bigint[], $21::text[], $22::boolean[],
        $23::bytea[], $24::bigint[], $25::bytea[], $26::bigint[], $27::text[], $28::bigint[], $29::text[], $30::bytea[],
        $31::bytea[], $32::bytea[], $33::bigint[], $34::boolean[])";

/// Where the version is the one that was read; the rows are held, so it is.
const MOVE: &str = "\
    update idem_operations o
    set version = n.version, state = n.state, in_doubt = n.in_doubt, disproved = n.disproved, attempt = n.attempt,
        fence = n.fence, nonce = n.nonce, reconcile_fence = n.reconcile_fence, passes = n.passes, answered = n.answered,
        lease_until = n.lease_until, settled_at = n.settled_at, unknown_at = n.unknown_at, next_at = n.next_at,
        settled_fence = n.settled_fence, has_resources = n.has_resources, retain = n.retain,
        retain_until = n.retain_until, reference = n.reference, review = n.review, content = n.content
    from unnest(
        $1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::boolean[], $6::boolean[], $7::bigint[], $8::bigint[],
        $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[],
        $16::bigint[], $17::bigint[], $18::boolean[], $19::bigint[], $20::bigint[], $21::text[], $22::boolean[],
        $23::bytea[], $24::bigint[])
        as n (tenant, id, version, state, in_doubt, disproved, attempt, fence, nonce, reconcile_fence, passes, answered,
              lease_until, settled_at, unknown_at, next_at, settled_fence, has_resources, retain, retain_until, reference,
              review, content, before)
    where o.tenant = n.tenant and o.id = n.id and o.version = n.before
        and ($25::bigint is null or o.tenant = $25)";

const RESULT: &str = "\
    insert into idem_results (tenant, operation, kind, bytes)
    select * from unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bytea[])
    on conflict (tenant, operation) do update set kind = excluded.kind, bytes = excluded.bytes";

type Asked<'q> = Query<'q, Postgres, PgArguments>;

impl Work<'_> {
    /// Writes whatever is not written yet.
    pub(super) async fn flush(&mut self) -> Result<(), Stopped> {
        self.take_names().await?;
        let (mut fresh, mut moved, mut told) = (Vec::new(), Vec::new(), Vec::new());
        for ((tenant, _), held) in &self.records {
            if held.fresh.is_some() {
                fresh.push((*tenant, held));
            } else if held.moved {
                moved.push((*tenant, held));
            }
            if held.told {
                told.push((*tenant, held));
            }
        }
        for list in [&mut fresh, &mut moved, &mut told] {
            list.sort_unstable_by_key(|(_, held)| held.record.row);
        }
        if !fresh.is_empty() {
            let created = created(changing(sql(CREATE), &fresh), &fresh).execute(&mut *self.db).await?;
            self.rows += created.rows_affected();
        }
        if !moved.is_empty() {
            let before: Vec<i64> = moved.iter().map(|(_, held)| held.version.cast_signed()).collect();
            let only = only(&moved.iter().map(|(tenant, _)| *tenant).collect::<Vec<_>>());
            let done =
                changing(sql(MOVE), &moved).bind(before).bind(only).execute(&mut *self.db).await?.rows_affected();
            if done != moved.len() as u64 {
                return Err(corrupt("an operation changed inside the transaction that holds it").into());
            }
            self.rows += done;
        }
        if !told.is_empty() {
            self.rows += results(&told).execute(&mut *self.db).await?.rows_affected();
        }
        for held in self.records.values_mut() {
            (held.fresh, held.moved, held.told, held.version) = (None, false, false, held.record.version);
        }
        self.rows += self.beside.write(&mut *self.db, self.now).await?;
        Ok(())
    }

    /// Creates if absent: the unique key says whether somebody else was first.
    async fn take_names(&mut self) -> Result<(), Stopped> {
        if self.taken.is_empty() {
            return Ok(());
        }
        let taken = std::mem::take(&mut self.taken);
        let many = i64::try_from(taken.len()).unwrap_or(i64::MAX);
        let query = sql(TAKE)
            .bind(list(&taken, |name| name.tenant))
            .bind(list(&taken, |name| name.scope))
            .bind(list(&taken, |name| name.alias.digest.as_slice()))
            .bind(list(&taken, |name| i64::from(name.alias.generation)))
            .bind(list(&taken, |name| name.row))
            .bind(list(&taken, |name| i16::from(name.alias.source.code())))
            .bind(list(&taken, |name| name.later));
        let done: i64 = sqlx::Row::try_get(&query.fetch_one(&mut *self.db).await?, 0)?;
        if done != many {
            return Err(overtaken());
        }
        self.rows += done.unsigned_abs();
        Ok(())
    }
}

fn list<'a, T, C>(all: &'a [T], column: impl Fn(&'a T) -> C) -> Vec<C> {
    all.iter().map(column).collect()
}

/// The parameters that [`CREATE`] and [`MOVE`] share.
fn changing<'q>(query: Asked<'q>, all: &[(i64, &'q Held)]) -> Asked<'q> {
    let column = |column: fn(&Record) -> i64| all.iter().map(|(_, held)| column(&held.record)).collect::<Vec<_>>();
    let flag = |flag: fn(&Record) -> bool| all.iter().map(|(_, held)| flag(&held.record)).collect::<Vec<_>>();
    let instant = |instant: fn(&Record) -> Option<Timestamp>| {
        all.iter().map(|(_, held)| instant(&held.record).map(Timestamp::as_nanos)).collect::<Vec<_>>()
    };
    query
        .bind(all.iter().map(|(tenant, _)| *tenant).collect::<Vec<_>>())
        .bind(column(|record| record.row))
        .bind(column(|record| record.version.cast_signed()))
        .bind(all.iter().map(|(_, held)| held.record.state.name()).collect::<Vec<_>>())
        .bind(flag(|record| record.in_doubt))
        .bind(flag(|record| record.disproved))
        .bind(column(|record| record.attempt.into()))
        .bind(column(|record| record.fence))
        .bind(column(|record| record.nonce.cast_signed()))
        .bind(column(|record| record.reconcile_fence))
        .bind(column(|record| record.passes.into()))
        .bind(column(|record| record.answered.into()))
        .bind(instant(|record| record.lease_until))
        .bind(instant(|record| record.settled_at))
        .bind(instant(|record| record.unknown_at))
        .bind(instant(|record| record.next_at))
        .bind(column(|record| record.settled_fence))
        .bind(flag(|record| record.has_resources))
        .bind(column(|record| nanos(record.retain)))
        .bind(instant(|record| record.retain_until))
        .bind(words(all, |record| record.reference.as_deref()))
        .bind(flag(|record| record.review))
        .bind(all.iter().map(|(_, held)| &*held.record.content).collect::<Vec<&[u8]>>())
}

/// What a record has from its creation on.
fn created<'q>(query: Asked<'q>, all: &[(i64, &'q Held)]) -> Asked<'q> {
    let records = || all.iter().map(|(_, held)| &*held.record);
    let fresh = || all.iter().filter_map(|(_, held)| held.fresh.as_ref());
    query
        .bind(fresh().map(|fresh| fresh.scope).collect::<Vec<_>>())
        .bind(records().map(|record| record.operation.as_bytes().as_slice()).collect::<Vec<_>>())
        .bind(fresh().map(|fresh| fresh.tool).collect::<Vec<_>>())
        .bind(words(all, |record| record.principal.as_ref().map(Principal::as_str)))
        .bind(records().map(|record| record.first_call.cast_signed()).collect::<Vec<_>>())
        .bind(words(all, |record| record.approval.as_deref()))
        .bind(records().map(|record| record.fingerprint.as_slice()).collect::<Vec<_>>())
        .bind(records().map(|record| &*record.parts).collect::<Vec<&[u8]>>())
        .bind(fresh().map(|fresh| packed(&fresh.names)).collect::<Vec<_>>())
        .bind(records().map(|record| record.reserved_at.as_nanos()).collect::<Vec<_>>())
        .bind(records().map(|record| record.needs_reference).collect::<Vec<_>>())
}

fn words(all: &[(i64, &Held)], words: fn(&Record) -> Option<&str>) -> Vec<Option<String>> {
    all.iter().map(|(_, held)| words(&held.record).map(|words| text(words).into_owned())).collect()
}

fn results<'q>(told: &[(i64, &'q Held)]) -> Asked<'q> {
    let told = || told.iter().filter_map(|(tenant, held)| Some((*tenant, &held.record, held.record.stored.as_ref()?)));
    sql(RESULT)
        .bind(told().map(|(tenant, ..)| tenant).collect::<Vec<_>>())
        .bind(told().map(|(_, record, _)| record.row).collect::<Vec<_>>())
        .bind(told().map(|(.., stored)| i16::from(stored.kind.code())).collect::<Vec<_>>())
        .bind(told().map(|(.., stored)| &*stored.bytes).collect::<Vec<&[u8]>>())
}

/// A digest and its generation, as the record keeps them.
const PACKED: usize = 36;

/// Digest and generation of each identity, so that a purge finds them without an index.
fn packed(aliases: &[Alias]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(aliases.len() * PACKED);
    for alias in aliases {
        packed.extend_from_slice(&alias.digest);
        packed.extend_from_slice(&alias.generation.to_le_bytes());
    }
    packed
}

/// Each digest with its generation, as columns hold them.
pub(super) fn unpacked(packed: &[u8]) -> impl Iterator<Item = (&[u8], i64)> {
    packed.chunks_exact(PACKED).filter_map(|one| {
        let (digest, generation) = one.split_at_checked(32)?;
        Some((digest, u32::from_le_bytes(generation.try_into().ok()?).into()))
    })
}

/// Tenants and handles, as two columns.
pub(super) fn columns(keys: &[Key]) -> (Vec<i64>, Vec<i64>) {
    keys.iter().copied().unzip()
}
