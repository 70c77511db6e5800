//! A tenant's records, a page at a time.
//!
//! Must not know what somebody looks for in them. What is open has an index of its own; anything else is found by walking
//! the records.

use sqlx::PgConnection;

use super::{
    read::{whole_record_in, whole_records},
    sql,
};
use crate::{
    clock::Timestamp,
    ledger::{Listing, Record, State},
};

const UNSETTLED: &str = whole_records!(
    "",
    "where o.unknown_at is not null and o.tenant = $1 and o.id > $2 and o.state = any($3) and (o.review or not $4)
       and coalesce(o.settled_at, o.reserved_at) < $5
     order by o.id limit $6"
);

const IN_REVIEW: &str = whole_records!(
    "",
    "where o.review and o.tenant = $1 and o.id > $2 and o.state = any($3) and (o.review or not $4)
       and coalesce(o.settled_at, o.reserved_at) < $5
     order by o.id limit $6"
);

const ANY: &str = whole_records!(
    "",
    "where o.tenant = $1 and o.id > $2 and o.state = any($3) and (o.review or not $4)
       and coalesce(o.settled_at, o.reserved_at) < $5
     order by o.id limit $6"
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

pub(super) async fn list(db: &mut PgConnection, tenant: i64, listing: &Listing) -> Result<Vec<Record>, sqlx::Error> {
    let states = if listing.states.is_empty() { &State::ALL[..] } else { &listing.states };
    let states: Vec<&str> = states.iter().map(|state| state.name()).collect();
    let query = sql(query(listing))
        .bind(tenant)
        .bind(listing.after)
        .bind(states)
        .bind(listing.in_review)
        .bind(listing.before.map_or(i64::MAX, Timestamp::as_nanos))
        .bind(i64::from(listing.records_max));
    query.fetch_all(db).await?.iter().map(whole_record_in).collect()
}
