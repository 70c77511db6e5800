//! Asking the server for its time.
//!
//! Must not know what becomes of the answer: [`ServerClock`] does. Asked as text, in one message: what the answer can be off by
//! is half of the time that it took.

use std::time::Duration;

use sqlx::{PgConnection, Row, postgres::PgRow};

use crate::clock::{ServerClock, Timestamp};

/// Asks for the server's clock, in microseconds: the instant itself, not that at which the transaction began.
macro_rules! time {
    ($end:literal) => {
        concat!("select (extract(epoch from clock_timestamp()) * 1000000)::bigint", $end)
    };
}
pub(super) use time;

/// The newest records' instants. A server's clock that was set back is behind them.
const WRITTEN: &str = "\
    select max(greatest(reserved_at, renewed_at, settled_at))
    from (select reserved_at, renewed_at, settled_at from idem_operations order by id desc limit 100) newest";

/// What the server answered to [`time`].
pub(super) fn time_in(row: &PgRow) -> Result<Timestamp, sqlx::Error> {
    let micros: i64 = row.try_get(0)?;
    Ok(Timestamp::from_nanos(micros.saturating_mul(1_000)))
}

/// The server's clock, as it is when a ledger is opened.
pub(super) async fn begin(db: &mut PgConnection) -> Result<ServerClock, sqlx::Error> {
    let written: Option<i64> = sqlx::raw_sql(WRITTEN).fetch_one(&mut *db).await?.try_get(0)?;
    let (asked, told) = ask(db).await?;
    let clock = ServerClock::new(asked, told);
    if let Some(written) = written {
        clock.not_before(Timestamp::from_nanos(written));
    }
    Ok(clock)
}

async fn ask(db: &mut PgConnection) -> Result<(Duration, Timestamp), sqlx::Error> {
    let asked = ServerClock::about_to_ask();
    let row = sqlx::raw_sql(time!("")).fetch_one(db).await?;
    Ok((asked, time_in(&row)?))
}
