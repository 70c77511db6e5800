//! A tenant's records, a page at a time.
//!
//! Must not know what somebody looks for in them. What is open has an index of its own; anything else is found by walking
//! the records.

use rusqlite::{Connection, params};

use super::{
    catalogue::Catalogue,
    read::{record_in, records},
};
use crate::{
    clock::Timestamp,
    ledger::{Listing, Record, State},
};

pub(super) const UNSETTLED: &str = records!(
    "indexed by idem_operations_unsettled left join idem_results r on r.operation = o.id
     where o.unknown_at is not null and o.tenant = ?1 and o.id > ?2
       and o.state in (select value from json_each(?3)) and o.review >= ?4 and coalesce(o.settled_at, o.reserved_at) < ?5
     order by o.id limit ?6"
);

pub(super) const IN_REVIEW: &str = records!(
    "indexed by idem_operations_review left join idem_results r on r.operation = o.id
     where o.review = 1 and o.tenant = ?1 and o.id > ?2
       and o.state in (select value from json_each(?3)) and o.review >= ?4 and coalesce(o.settled_at, o.reserved_at) < ?5
     order by o.id limit ?6"
);

pub(super) const ANY: &str = records!(
    "left join idem_results r on r.operation = o.id
     where o.tenant = ?1 and o.id > ?2
       and o.state in (select value from json_each(?3)) and o.review >= ?4 and coalesce(o.settled_at, o.reserved_at) < ?5
     order by o.id limit ?6"
);

/// The query that serves a listing best.
fn query(listing: &Listing) -> &'static str {
    if listing.in_review {
        IN_REVIEW
    } else if !listing.states.is_empty() && listing.states.iter().all(|state| state.is_unsettled()) {
        UNSETTLED
    } else {
        ANY
    }
}

pub(super) fn list(
    db: &Connection,
    catalogue: &mut Catalogue,
    tenant: i64,
    listing: &Listing,
) -> rusqlite::Result<Vec<Record>> {
    let states = if listing.states.is_empty() { &State::ALL[..] } else { &listing.states };
    let states: Vec<&str> = states.iter().map(|state| state.name()).collect();
    let mut select = db.prepare_cached(query(listing))?;
    let mut rows = select.query(params![
        tenant,
        listing.after,
        serde_json::to_string(&states).unwrap_or_default(),
        listing.in_review,
        listing.before.map_or(i64::MAX, Timestamp::as_nanos),
        listing.records_max,
    ])?;
    let mut page = Vec::new();
    while let Some(row) = rows.next()? {
        page.push(record_in(db, catalogue, row)?);
    }
    Ok(page)
}
