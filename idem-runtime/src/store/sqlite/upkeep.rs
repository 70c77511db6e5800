//! What is written besides the course of an operation: renewed leases, counts, further identities.

use rusqlite::params;

use super::{reserve::packed, write::Batch};
use crate::{
    id::Tenant,
    ledger::{Alias, Hold, Tally},
};

impl Batch<'_> {
    /// All leases in one statement.
    pub(super) fn renew(&mut self, holds: &[Hold]) -> rusqlite::Result<Vec<i64>> {
        let until = |hold: &Hold| self.now.after(hold.lease).as_nanos();
        let rows: Vec<[i64; 3]> = holds.iter().map(|hold| [hold.row, hold.fence, until(hold)]).collect();
        let json = serde_json::to_string(&rows).unwrap_or_default();
        let mut renew = self.db.prepare_cached(
            "update idem_operations
             set lease_until = held.until, renewed_at = ?1, renewals = renewals + 1
             from (select value ->> 0 as row, value ->> 1 as fence, value ->> 2 as until from json_each(?2)) as held
             where id = held.row and idem_operations.fence = held.fence and state = 'in_progress'
             returning id",
        )?;
        let renewed: Vec<i64> =
            renew.query_map((self.now.as_nanos(), json), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        self.rows += renewed.len();
        Ok(holds.iter().map(|hold| hold.row).filter(|row| !renewed.contains(row)).collect())
    }

    pub(super) fn tally(&mut self, tally: &Tally) -> rusqlite::Result<()> {
        let Some(tenant) = self.catalogue.tenant(self.db, &tally.tenant)? else {
            return Ok(());
        };
        self.rows += 1;
        self.db
            .prepare_cached(
                "insert into idem_tallies (operation, tenant, replays, drifts, parameters, last_at)
                 select id, tenant, ?3, ?4, ?5, ?6 from idem_operations where id = ?1 and tenant = ?2
                 on conflict (operation) do update set
                     replays = replays + excluded.replays,
                     drifts = drifts + excluded.drifts,
                     parameters = case when excluded.drifts > 0 then excluded.parameters else parameters end,
                     last_at = case when excluded.drifts > 0 then excluded.last_at else last_at end",
            )?
            .execute(params![
                tally.row,
                tenant,
                i64::try_from(tally.replays).unwrap_or(i64::MAX),
                i64::try_from(tally.drifts).unwrap_or(i64::MAX),
                tally.parameters.join(","),
                self.now.as_nanos(),
            ])?;
        self.aliases(&tally.tenant, tally.row, &tally.aliases)
    }

    /// New identities of an operation that is there. One that leads elsewhere already stays as it is.
    pub(super) fn aliases(&mut self, tenant: &Tenant, row: i64, aliases: &[Alias]) -> rusqlite::Result<()> {
        let Some(tenant) = self.catalogue.tenant(self.db, tenant)? else {
            return Ok(());
        };
        for alias in aliases {
            let added = self
                .db
                .prepare_cached(
                    "insert or ignore into idem_identities (scope, digest, generation, operation, source)
                     select scope, ?2, ?3, id, ?4 from idem_operations where id = ?1 and tenant = ?5",
                )?
                .execute((row, &alias.digest, alias.generation, alias.source.code(), tenant))?;
            if added == 1 {
                self.rows += 1;
                // `||` makes text of two blobs.
                self.db
                    .prepare_cached(
                        "update idem_operations set identities = cast(identities || ?2 as blob)
                         where id = ?1 and tenant = ?3",
                    )?
                    .execute((row, packed(&[*alias]), tenant))?;
            }
        }
        Ok(())
    }
}
