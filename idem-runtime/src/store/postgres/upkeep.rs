//! What is written besides the course of an operation: renewed leases, counts, further identities.

use rustc_hash::FxHashSet;
use sqlx::Row;

use super::{failure::Stopped, number, sql, text::text, work::Work};
use crate::ledger::{Hold, Tally};

/// All leases in one statement. Whoever runs an attempt knows no tenant's name; handles are unique over all of them.
const RENEW: &str = "\
    with held as (
        select o.tenant, o.id, asked.until
        from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as asked (id, fence, until)
        join idem_operations o on o.id = asked.id and o.fence = asked.fence and o.state = 'in_progress'
        order by o.id for update of o
    )
    update idem_operations o
    set lease_until = held.until, renewed_at = $4, renewals = renewals + 1,
        again_until = case when attempt > 1 then held.until end
    from held where o.tenant = held.tenant and o.id = held.id
    returning o.id";

const TALLY: &str = "\
    insert into idem_tallies (tenant, operation, replays, drifts, parameters, last_at)
    select o.tenant, o.id, n.replays, n.drifts, n.parameters, $6
    from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])
        as n (tenant, id, replays, drifts, parameters)
    join idem_operations o on o.tenant = n.tenant and o.id = n.id
    order by o.tenant, o.id
    on conflict (tenant, operation) do update set
        replays = idem_tallies.replays + excluded.replays,
        drifts = idem_tallies.drifts + excluded.drifts,
        parameters = case when excluded.drifts > 0 then excluded.parameters else idem_tallies.parameters end,
        last_at = case when excluded.drifts > 0 then excluded.last_at else idem_tallies.last_at end";

/// One that leads elsewhere already stays as it is. What has a later generation has a first one.
const ALIASES: &str = "\
    with taken as (
        insert into idem_identities (tenant, scope, digest, generation, operation, source)
        select o.tenant, o.scope, n.digest, g.generation,
               case when g.generation = n.generation then o.id else 0 end, n.source
        from unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::smallint[])
            as n (tenant, id, digest, generation, source)
        join idem_operations o on o.tenant = n.tenant and o.id = n.id
        cross join lateral (select n.generation union select 1) as g (generation)
        order by n.digest, g.generation, o.tenant, o.scope, 5 desc
        on conflict do nothing
        returning tenant, operation, digest, generation
    )
    insert into idem_aliases (tenant, operation, digest, generation)
    select * from taken where operation > 0 on conflict do nothing";

impl Work<'_> {
    /// Says which leases were lost.
    pub(super) async fn renew(&mut self, holds: &[Hold]) -> Result<Vec<i64>, Stopped> {
        if holds.is_empty() {
            return Ok(Vec::new());
        }
        let query = sql(RENEW)
            .bind(holds.iter().map(|hold| hold.row).collect::<Vec<_>>())
            .bind(holds.iter().map(|hold| hold.fence).collect::<Vec<_>>())
            .bind(holds.iter().map(|hold| self.now.after(hold.lease).as_nanos()).collect::<Vec<_>>())
            .bind(self.now.as_nanos());
        let mut renewed: FxHashSet<i64> = FxHashSet::default();
        for row in query.fetch_all(&mut *self.db).await? {
            renewed.insert(row.try_get(0)?);
        }
        self.rows += renewed.len() as u64;
        Ok(holds.iter().map(|hold| hold.row).filter(|row| !renewed.contains(row)).collect())
    }

    pub(super) async fn tally(&mut self, tallies: &[Tally]) -> Result<(), Stopped> {
        let known = |tally: &Tally| self.catalogue.tenant(&tally.tenant);
        let tallies: Vec<(i64, &Tally)> = tallies.iter().filter_map(|tally| Some((known(tally)?, tally))).collect();
        let parameters = |tally: &Tally| text(&tally.parameters.join(",")).into_owned();
        // One statement writes a row once: what names a record again waits for the next one.
        let mut left = tallies.clone();
        while !left.is_empty() {
            let mut seen = FxHashSet::default();
            let (now, later) = left.into_iter().partition::<Vec<_>, _>(|(_, tally)| seen.insert(tally.row));
            left = later;
            let tenants: Vec<i64> = now.iter().map(|(tenant, _)| *tenant).collect();
            let query = sql(TALLY)
                .bind(tenants)
                .bind(now.iter().map(|(_, tally)| tally.row).collect::<Vec<_>>())
                .bind(now.iter().map(|(_, tally)| number(tally.replays)).collect::<Vec<_>>())
                .bind(now.iter().map(|(_, tally)| number(tally.drifts)).collect::<Vec<_>>())
                .bind(now.iter().map(|(_, tally)| parameters(tally)).collect::<Vec<_>>())
                .bind(self.now.as_nanos());
            self.rows += query.execute(&mut *self.db).await?.rows_affected();
        }
        let named =
            || tallies.iter().flat_map(|(tenant, tally)| tally.aliases.iter().map(|it| (*tenant, tally.row, it)));
        if named().next().is_some() {
            let query = sql(ALIASES)
                .bind(named().map(|(tenant, ..)| tenant).collect::<Vec<_>>())
                .bind(named().map(|(_, row, _)| row).collect::<Vec<_>>())
                .bind(named().map(|(.., alias)| alias.digest.as_slice()).collect::<Vec<_>>())
                .bind(named().map(|(.., alias)| i64::from(alias.generation)).collect::<Vec<_>>())
                .bind(named().map(|(.., alias)| i16::from(alias.source.code())).collect::<Vec<_>>());
            self.rows += query.execute(&mut *self.db).await?.rows_affected();
        }
        Ok(())
    }
}
