//! What all scenarios of all tools came to, in one page: counts, boundaries, and what was left out.
//!
//! It is written anew after each scenario, from a row of each, so that test runners with a process for each test add up.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs::{self, File},
    io,
    path::Path,
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use super::{
    Scenario,
    record::{Counts, Record, Verdict, file_name, put},
    verdict::FailureKind,
};

/// What the page needs of one record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Row {
    verdict: Verdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<FailureKind>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    notes: BTreeMap<String, String>,
    counts: Counts,
    seed: u64,
}

/// The rows of one tool, by scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Rows {
    tool: String,
    rows: BTreeMap<String, Row>,
}

/// The tools whose suites this process has played, and how many scenarios of each.
static PLAYED: Mutex<BTreeMap<String, BTreeSet<&'static str>>> = Mutex::new(BTreeMap::new());

/// Adds a record's row, and writes the page anew. When this process has played a tool's whole suite, gives its part of the
/// page for the terminal.
pub(super) fn add(records: &Path, record: &Record, scenario: Scenario) -> io::Result<Option<String>> {
    // One at a time: whoever writes the page last has seen all rows.
    let guard = File::create(records.join(".summary"))?;
    guard.lock()?;
    let own = records.join(file_name(&record.tool)).join("rows.json");
    let mut rows = read(&own).unwrap_or_default();
    rows.tool.clone_from(&record.tool);
    rows.rows.retain(|name, _| Scenario::ALL.iter().any(|scenario| scenario.name() == name));
    rows.rows.insert(scenario.name().to_owned(), Row::of(record));
    put(&own, &serde_json::to_string(&rows)?)?;
    let mut all = Vec::new();
    for entry in fs::read_dir(records)?.flatten() {
        all.extend(read(&entry.path().join("rows.json")));
    }
    all.sort_by(|one, other| one.tool.cmp(&other.tool));
    put(&records.join("summary.md"), &page(&all))?;
    drop(guard);
    let mut played = PLAYED.lock().unwrap_or_else(PoisonError::into_inner);
    let of_tool = played.entry(record.tool.clone()).or_default();
    of_tool.insert(scenario.name());
    Ok((of_tool.len() == Scenario::ALL.len()).then(|| page(std::slice::from_ref(&rows))))
}

fn read(path: &Path) -> Option<Rows> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

impl Row {
    fn of(record: &Record) -> Self {
        let Record { verdict, reason, failure, notes, counts, seed, .. } = record.clone();
        Self { verdict, reason, failure, notes, counts, seed }
    }
}

impl Rows {
    fn with(&self, verdict: Verdict) -> impl Iterator<Item = (&String, &Row)> {
        self.rows.iter().filter(move |(_, row)| row.verdict == verdict)
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for row in self.rows.values() {
            counts.add(&row.counts);
        }
        counts
    }
}

fn page(all: &[Rows]) -> String {
    let mut text = String::from("# What the harness saw\n\n");
    table(&mut text, all);
    let mut counts = Counts::default();
    for rows in all {
        counts.add(&rows.counts());
    }
    boundaries(&mut text, all, &counts);
    for rows in all {
        left_out(&mut text, rows);
    }
    text
}

/// Writing to a text cannot fail.
macro_rules! line {
    ($text:expr, $($words:tt)*) => { let _ = writeln!($text, $($words)*); };
}

fn table(text: &mut String, all: &[Rows]) {
    line!(
        text,
        "| tool | passed | failed | not applicable | skipped | cells | kills | duplicates | lost results | stuck | unknown: \
         settled / left |"
    );
    line!(text, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for rows in all {
        let of = |verdict| rows.with(verdict).count();
        let Counts { cells, cells_of, kills, duplicates, lost_results, stuck, unknown_settled, unknown_left, .. } =
            rows.counts();
        line!(
            text,
            "| {} | {} of {} | {} | {} | {} | {cells} of {cells_of} | {kills} | {duplicates} | {lost_results} | {stuck} | \
             {unknown_settled} / {unknown_left} |",
            rows.tool,
            of(Verdict::Passed),
            Scenario::ALL.len(),
            of(Verdict::Failed),
            of(Verdict::NotApplicable),
            of(Verdict::Skipped)
        );
    }
}

fn boundaries(text: &mut String, all: &[Rows], counts: &Counts) {
    let Counts { cases, calls, effects, kills, duplicates, lost_results, stuck, .. } = counts;
    line!(text, "\n{} tools, {cases} cases, {calls} calls, {effects} effects counted at the provider.", all.len());
    for (what, seen) in [("duplicates", duplicates), ("lost results", lost_results), ("stuck operations", stuck)] {
        if *seen == 0 && *cases > 0 {
            line!(
                text,
                "No {what} in {cases} cases: were cases like these drawn at random, the rate would be below 3/{cases} ({}) \
                 with 95 % confidence.",
                percent(3, *cases)
            );
        } else {
            line!(text, "{seen} {what} in {cases} cases.");
        }
    }
    if *kills > 0 {
        line!(text, "{kills} processes were killed (kill -9). A loss of power is not among the faults.");
    }
    let seeds: BTreeSet<u64> = all.iter().flat_map(|rows| rows.rows.values().map(|row| row.seed)).collect();
    line!(text, "Seeds: {}.", seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
    line!(text, "What was not played proves nothing: see below, tool by tool.");
}

/// A share, with one decimal.
fn percent(part: usize, of: usize) -> String {
    let tenths = (part * 1_000).div_ceil(of.max(1));
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn left_out(text: &mut String, rows: &Rows) {
    line!(text, "\n## {}\n", rows.tool);
    let reason = |row: &Row| row.reason.clone().unwrap_or_else(|| "no reason given".to_owned());
    for (name, row) in rows.with(Verdict::Failed) {
        let kind = row.failure.map_or("failed", FailureKind::name);
        line!(text, "- FAILED {name}: {kind}. {}", reason(row));
    }
    for (name, row) in rows.with(Verdict::Skipped) {
        let critical = Scenario::ALL.iter().any(|scenario| scenario.name() == name && scenario.is_critical());
        line!(text, "- {} {name}: {}", if critical { "SKIPPED CRITICAL" } else { "skipped" }, reason(row));
    }
    for (name, row) in rows.with(Verdict::NotApplicable) {
        line!(text, "- not applicable {name}: {}", reason(row));
    }
    for scenario in Scenario::ALL {
        if !rows.rows.contains_key(scenario.name()) {
            line!(text, "- not played yet: {scenario}");
        }
    }
    for note in rows.rows.values().flat_map(|row| &row.notes) {
        line!(text, "- {}: {}", note.0, note.1);
    }
}
