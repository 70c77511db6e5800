//! The figures as a table.

use std::{fmt::Write as _, time::Duration};

use crate::{
    load::Quantile,
    plan::{Arm, Row},
};

/// The names of the columns.
pub fn head() -> String {
    format!(
        "{:>7} {:6} {:>7}  {:22} {:>8} {:>17} {:>9} {:>9} {:>8} {:>6} {:>7} {:>7}",
        "rows", "keys", "callers", "arm", "calls/s", "min..max", "p50", "p99", "calls/", "% of", "x", "foreign"
    ) + "\n"
        + &format!(
            "{:>7} {:6} {:>7}  {:22} {:>8} {:>17} {:>9} {:>9} {:>8} {:>6} {:>7} {:>7}",
            "", "", "", "", "", "", "", "", "commit", "raw", "naive", "CPU"
        )
}

/// One line.
pub fn line(row: &Row) -> String {
    let setting = row.setting;
    let rate = row.rate();
    let [p50, p99] = [Quantile::Half, Quantile::NinetyNine].map(|part| row.quantile(part).map_or(String::new(), time));
    let range = rate.map_or(String::new(), |rate| format!("{:.0}..{:.0}", rate.min, rate.max));
    let mut line =
        format!("{:>7} {:6} {:>7}  {:22} ", setting.rows, setting.keys.to_string(), setting.callers, name(row));
    let _ = write!(line, "{:>8} {range:>17} {p50:>9} {p99:>9} ", figure(rate.map(|rate| rate.median), 0));
    let percent = row.of_raw().map(|part| part.median * 100.0);
    let _ = write!(line, "{:>8} {:>6} ", figure(row.calls_a_commit(), 1), figure(percent, 0));
    let _ = write!(line, "{:>7} {:>7}", figure(row.of_naive().map(|times| times.median), 1), figure(row.foreign(), 2));
    if !row.is_quiet() {
        line.push_str("  disturbed");
    }
    line
}

fn name(row: &Row) -> String {
    match row.arm {
        Arm::Disk => "2 fdatasync".to_owned(),
        Arm::Raw => "raw rusqlite pair".to_owned(),
        Arm::Store => "our store, no callers".to_owned(),
        Arm::Naive => "naive rusqlite pool(8)".to_owned(),
        Arm::Ours => "ours".to_owned(),
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
