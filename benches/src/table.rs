//! The figures as a table.

use std::{fmt::Write as _, time::Duration};

use crate::{
    cli::Kind,
    load::Quantile,
    row::{Arm, Row},
};

/// The names of the columns.
pub fn head() -> String {
    format!(
        "{:8} {:>7} {:6} {:>7}  {:23} {:>8} {:>17} {:>9} {:>9} {:>8} {:>6} {:>7} {:>9} {:>11} {:>7}",
        "store",
        "rows",
        "keys",
        "callers",
        "arm",
        "calls/s",
        "min..max",
        "p50",
        "p99",
        "calls/",
        "% of",
        "x",
        "x empty",
        "us/call,",
        "foreign"
    ) + "\n"
        + &format!(
            "{:8} {:>7} {:6} {:>7}  {:23} {:>8} {:>17} {:>9} {:>9} {:>8} {:>6} {:>7} {:>9} {:>11} {:>7}",
            "", "", "", "", "", "", "", "", "", "commit", "raw", "naive", "ledger", "own+server", "CPU"
        )
}

/// One line.
pub fn line(row: &Row) -> String {
    let setting = row.setting;
    let rate = row.rate();
    let [p50, p99] = [Quantile::Half, Quantile::NinetyNine].map(|part| row.quantile(part).map_or(String::new(), time));
    let range = rate.map_or(String::new(), |rate| format!("{:.0}..{:.0}", rate.min, rate.max));
    let store = if row.arm == Arm::Disk { String::new() } else { setting.store.to_string() };
    let mut line = format!(
        "{store:8} {:>7} {:6} {:>7}  {:23} ",
        setting.rows,
        setting.keys.to_string(),
        setting.callers,
        name(row)
    );
    let _ = write!(line, "{:>8} {range:>17} {p50:>9} {p99:>9} ", figure(rate.map(|rate| rate.median), 0));
    let percent = row.of_raw().map(|part| part.median * 100.0);
    let _ = write!(line, "{:>8} {:>6} ", figure(row.calls_a_commit(), 1), figure(percent, 0));
    let _ = write!(line, "{:>7} ", figure(row.of_naive().map(|times| times.median), 1));
    let _ = write!(line, "{:>9} ", figure(row.of_empty().map(|part| part.median), 2));
    let processor = row.processor().map_or("-".to_owned(), |(own, server)| format!("{own:.0}+{server:.0}"));
    let _ = write!(line, "{processor:>11} {:>7}", figure(row.foreign(), 2));
    if !row.is_quiet() {
        line.push_str("  disturbed");
    }
    line
}

fn name(row: &Row) -> String {
    match (row.arm, row.setting.store) {
        (Arm::Disk, _) => "2 fdatasync".to_owned(),
        (Arm::Raw, Kind::Postgres) => "raw sqlx unnest pair".to_owned(),
        (Arm::Raw, _) => "raw rusqlite pair".to_owned(),
        (Arm::Store, _) => "our store, no callers".to_owned(),
        (Arm::Naive, Kind::Postgres) => "naive sqlx pool(10)".to_owned(),
        (Arm::Naive, _) => "naive rusqlite pool(8)".to_owned(),
        (Arm::Ours, _) => "ours".to_owned(),
        (Arm::Replay, _) => "ours, replays, no cache".to_owned(),
        (Arm::Reads, _) => "sqlx pool(10) reads".to_owned(),
    }
}

fn figure(figure: Option<f64>, digits: usize) -> String {
    figure.map_or("-".to_owned(), |figure| format!("{figure:.digits$}"))
}

/// A time with three digits or so.
pub fn time(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        ..1.0 => format!("{:.0} ns", micros * 1e3),
        ..100.0 => format!("{micros:.2} us"),
        ..1_000.0 => format!("{micros:.0} us"),
        _ => format!("{:.2} ms", micros / 1e3),
    }
}
