//! The targets, and whether they were met.

use std::time::Duration;

use crate::{
    arm::Keys,
    cli::Kind,
    load::Quantile,
    row::{Arm, Ratios, Row, Setting},
    table,
};

/// What was measured for a target.
#[derive(Debug, Clone, Copy)]
pub enum Figure {
    /// This many times as much.
    Times(f64),
    /// This part of it.
    Part(f64),
    /// This long.
    Took(Duration),
}

/// How a figure is judged.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// It must be at least so many times as much.
    AtLeastTimes(f64),
    /// It must be at least this part.
    AtLeastPart(f64),
    /// It must take at most so long.
    AtMost(Duration),
}

/// A target with its figure.
#[derive(Debug, Clone)]
pub struct Target {
    /// What is measured.
    pub what: String,
    /// What was wanted.
    pub limit: Limit,
    /// What was measured; `None` when it was not.
    pub figure: Option<Figure>,
    /// Nobody disturbed the runs it comes from.
    pub quiet: bool,
}

/// What can be said of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It was met.
    Met,
    /// It was missed.
    Missed,
    /// It was measured on a machine that was not quiet: nothing can be said.
    Disturbed,
    /// It was not measured.
    NotMeasured,
}

impl Target {
    /// What can be said of it, whether or not the machine was quiet.
    pub fn held(&self) -> Option<bool> {
        Some(match (self.figure?, self.limit) {
            (Figure::Times(figure), Limit::AtLeastTimes(least)) | (Figure::Part(figure), Limit::AtLeastPart(least)) => {
                figure >= least
            }
            (Figure::Took(took), Limit::AtMost(most)) => took <= most,
            (Figure::Times(_) | Figure::Part(_) | Figure::Took(_), _) => false,
        })
    }

    /// What can be said of it.
    pub fn verdict(&self) -> Verdict {
        match self.held() {
            None => Verdict::NotMeasured,
            Some(_) if !self.quiet => Verdict::Disturbed,
            Some(true) => Verdict::Met,
            Some(false) => Verdict::Missed,
        }
    }

    /// One line of the table.
    pub fn line(&self) -> String {
        let figure = self.figure.map_or("-".to_owned(), |figure| match figure {
            Figure::Times(times) => format!("{times:.1}x"),
            Figure::Part(part) => format!("{:.0} %", part * 100.0),
            Figure::Took(took) => table::time(took),
        });
        let limit = match self.limit {
            Limit::AtLeastTimes(least) => format!(">= {least}x"),
            Limit::AtLeastPart(least) => format!(">= {:.0} %", least * 100.0),
            Limit::AtMost(most) => format!("<= {}", table::time(most)),
        };
        let verdict = match self.verdict() {
            Verdict::Met => "met",
            Verdict::Missed => "MISSED",
            Verdict::Disturbed => "no verdict: the machine was not quiet",
            Verdict::NotMeasured => "not measured",
        };
        format!("{:62} {limit:>12} {figure:>10}  {verdict}", self.what)
    }
}

/// The targets that the table of runs answers for a file.
pub fn of_sqlite(rows: &[Row], prefilled: u64) -> Vec<Target> {
    let fresh = |callers| find(rows, Arm::Ours, at(Kind::Sqlite, 0, callers));
    let [one, sixty_four, many] = [1, 64, 256].map(fresh);
    vec![
        part_of_raw("new, 1 caller / raw two-commit loop", 0.7, one),
        times_naive("new, 64 callers / naive pool", 20.0, sixty_four),
        times_naive("new, 256 callers / naive pool", 30.0, many),
        part_of_raw("new, 64 callers / raw, equal rows a commit", 0.8, sixty_four),
        part_of_raw("new, 256 callers / raw, equal rows a commit", 0.8, many),
        locality(rows, prefilled),
        p99("new, 256 callers, p99", Duration::from_millis(15), many),
    ]
}

/// The targets that the table of runs answers for a PostgreSQL database.
pub fn of_postgres(rows: &[Row], prefilled: u64) -> Vec<Target> {
    let find = |arm, rows_before, callers| find(rows, arm, at(Kind::Postgres, rows_before, callers));
    let [sixty_four, many] = [64, 256].map(|callers| find(Arm::Ours, 0, callers));
    let replays = find(Arm::Replay, 0, 64);
    let mut targets = vec![
        times_naive("postgres: new, 64 callers / naive pool", 9.0, sixty_four),
        times_naive("postgres: new, 256 callers / naive pool", 18.0, many),
        times_naive("postgres: replays from the database / reads, 64 callers", 3.0, replays),
        p99("postgres: new, 256 callers, p99", Duration::from_millis(10), many),
    ];
    if prefilled > 0 {
        let grown = |what: &str, arm, callers| {
            let part = find(arm, prefilled, callers).and_then(Row::of_empty);
            part_of(&format!("postgres: {what}, {callers} callers, {prefilled} rows / empty"), 0.8, part)
        };
        targets.extend([
            grown("new", Arm::Ours, 1),
            grown("new", Arm::Ours, 64),
            grown("new", Arm::Ours, 256),
            grown("replays", Arm::Replay, 64),
        ]);
    }
    targets
}

/// What `--ci` asserts: only what holds on a busy machine, so it asks for no quiet one.
pub fn of_ci(rows: &[Row], store: Kind) -> Vec<Target> {
    let fresh = |callers| find(rows, Arm::Ours, at(store, 0, callers));
    let [one, sixty_four] = [1, 64].map(fresh);
    let targets = match store {
        Kind::Memory => Vec::new(),
        Kind::Sqlite => vec![
            times_naive("new, 64 callers / naive pool", 5.0, sixty_four),
            part_of_raw("new, 1 caller / raw two-commit loop", 0.5, one),
            part_of_raw("new, 64 callers / raw, equal rows a commit", 0.5, sixty_four),
        ],
        Kind::Postgres => vec![times_naive("postgres: new, 64 callers / naive pool", 3.0, sixty_four)],
    };
    targets.into_iter().map(|target| Target { quiet: true, ..target }).collect()
}

const fn at(store: Kind, rows: u64, callers: u64) -> Setting {
    Setting { store, rows, keys: Keys::Scoped, callers }
}

fn p99(what: &str, most: Duration, row: Option<&Row>) -> Target {
    Target {
        what: what.to_owned(),
        limit: Limit::AtMost(most),
        figure: row.and_then(|row| row.quantile(Quantile::NinetyNine)).map(Figure::Took),
        quiet: row.is_some_and(Row::is_quiet),
    }
}

fn part_of_raw(what: &str, least: f64, row: Option<&Row>) -> Target {
    part_of(what, least, row.and_then(Row::of_raw))
}

fn part_of(what: &str, least: f64, part: Option<Ratios>) -> Target {
    Target {
        what: what.to_owned(),
        limit: Limit::AtLeastPart(least),
        figure: part.map(|part| Figure::Part(part.median)),
        quiet: part.is_some_and(|part| part.quiet),
    }
}

fn times_naive(what: &str, least: f64, row: Option<&Row>) -> Target {
    let times = row.and_then(Row::of_naive);
    Target {
        what: what.to_owned(),
        limit: Limit::AtLeastTimes(least),
        figure: times.map(|times| Figure::Times(times.median)),
        quiet: times.is_some_and(|times| times.quiet),
    }
}

/// What an ascending scope in front of every key is worth, once the file is large.
fn locality(rows: &[Row], prefilled: u64) -> Target {
    let of = |keys| find(rows, Arm::Ours, Setting { keys, ..at(Kind::Sqlite, prefilled, 256) });
    let (scoped, random) = (of(Keys::Scoped), of(Keys::Random));
    let rate = |row: Option<&Row>| row.and_then(Row::rate).map(|rate| rate.median);
    Target {
        what: format!("{prefilled} rows, 256 callers, scoped / random keys"),
        limit: Limit::AtLeastTimes(3.0),
        figure: rate(scoped).zip(rate(random)).map(|(scoped, random)| Figure::Times(scoped / random)),
        quiet: [scoped, random].into_iter().flatten().all(Row::is_quiet),
    }
}

fn find(rows: &[Row], arm: Arm, setting: Setting) -> Option<&Row> {
    rows.iter().find(|row| row.arm == arm && row.setting == setting)
}
