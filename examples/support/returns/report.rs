//! What `return_flow.rs` prints: what the agent was told, where each operation has been, what the providers counted.
//!
//! It reads the ledger as an operator does, and must not change it. It counts nothing itself.

use std::{fmt::Write as _, path::Path};

use anyhow::{Context as _, anyhow};
use idem_runtime::{
    Idem, Operator, Tenant,
    ledger::{Detail, Happened, Listing, State},
};
use serde_json::Value;

use super::director::Played;
use crate::table;

/// More operations than any run of the example makes.
const RECORDS_MAX: u32 = 100;

/// What the history calls one step of a recovery chain.
const STEP: &str = "step";

/// What exists at the providers for one return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Refunds at the bank.
    pub refunds: usize,
    /// Tickets at the support desk.
    pub tickets: usize,
    /// Emails at the mail provider.
    pub emails: usize,
}

/// A ledger, read.
#[derive(Debug)]
pub struct Ledger {
    operator: Operator,
}

impl Ledger {
    /// Opens a ledger for reading.
    pub async fn open(path: &Path) -> anyhow::Result<Self> {
        let path = path.to_str().context("the ledger's path is not UTF-8")?;
        // The error names its cause itself.
        let idem = Idem::open(&format!("sqlite://{path}")).await.map_err(|error| anyhow!("failed to {error}"))?;
        Ok(Self { operator: idem.operator(&Tenant::new("acme")?, "the report")? })
    }

    /// The operations of a return, in the order in which they were first reserved.
    pub async fn operations(&self, rma: &str) -> anyhow::Result<Vec<Detail>> {
        let all = Listing { records_max: RECORDS_MAX, ..Listing::default() };
        let mut details = Vec::new();
        for record in self.operator.list(&all).await?.records {
            details.extend(self.operator.show(record.operation).await?);
        }
        details.retain(|detail| detail.scope_value.as_deref().is_some_and(|workflow| workflow.ends_with(rma)));
        Ok(details)
    }
}

/// The first part.
pub fn one_each(played: &[Played], operations: &[Detail], counts: Counts) -> String {
    let mut out = "The return RMA-2048: one refund, one ticket that names it, one email after both.\n\n".to_owned();
    out.push_str(&scenes(played, 0));
    let _ = write!(out, "\n{}\n\nHow the unknown ones were settled:\n", courses(operations));
    for detail in operations {
        for step in detail.history.iter().filter(|happened| &*happened.event == STEP) {
            let _ = writeln!(out, "  {:<11}  {}", detail.record.tool.name, words(step));
        }
    }
    let _ = writeln!(out, "\nThe providers counted: {}.\n", in_words(counts));
    out
}

/// The second part.
pub fn settled_by_hand(
    before: &[Played],
    seen: &Detail,
    after: &[Played],
    operations: &[Detail],
    counts: Counts,
) -> String {
    let mut out = "The return RMA-2049: nobody can find out whether the email was sent.\n\n".to_owned();
    out.push_str(&scenes(before, 0));
    let (operation, tool, state) = (seen.record.operation, &seen.record.tool.name, seen.record.state.name());
    let _ = write!(out, "\nAn operator lists what is in {state}: {tool} ({operation})\n\n{}\n\n", history(seen));
    let settled = operations.iter().flat_map(|detail| &detail.history).filter(|happened| happened.actor.is_some());
    for happened in settled {
        let actor = happened.actor.as_deref().unwrap_or_default();
        let _ = writeln!(out, "{actor} settles it: {}: {}\n", happened.event, words(happened));
    }
    out.push_str(&scenes(after, before.len()));
    let told = after.iter().flat_map(|played| &played.calls).next_back().and_then(|(_, told)| told.as_ref());
    let text = told.and_then(|told| told.get("result")).map(Value::to_string).unwrap_or_default();
    let _ = writeln!(out, "      with the result {text}\n\n{}\n", courses(operations));
    let _ = writeln!(out, "The providers counted: {}.\n", in_words(counts));
    out
}

/// The third.
pub fn contrast(counts: Counts) -> String {
    format!("The first four scenes without the attribute: {}.\n", in_words(counts))
}

fn in_words(Counts { refunds, tickets, emails }: Counts) -> String {
    format!("refunds {refunds}, tickets {tickets}, emails {emails}")
}

/// What the agent was told; `played` scenes went before.
fn scenes(scenes: &[Played], played: usize) -> String {
    let mut out = String::new();
    for (at, scene) in scenes.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {}. {}", played + at + 1, scene.title);
        for (tool, told) in &scene.calls {
            let _ = writeln!(out, "      {tool:<11}  {}", told.as_ref().map_or_else(|| "killed".to_owned(), in_a_line));
        }
    }
    out
}

fn in_a_line(told: &Value) -> String {
    let outcome = told.get("outcome").and_then(Value::as_str).unwrap_or("nothing");
    if told.get("replayed") != Some(&Value::Bool(true)) {
        return outcome.to_owned();
    }
    let reworded = told.get("reworded").and_then(Value::as_array);
    let names: Vec<&str> = reworded.into_iter().flatten().filter_map(Value::as_str).collect();
    let other_words = if names.is_empty() { String::new() } else { format!("; in other words: {}", names.join(", ")) };
    format!("{outcome} (replayed{other_words})")
}

/// Where each operation has been, and who settled it.
fn courses(operations: &[Detail]) -> String {
    let row = |detail: &Detail| {
        let record = &detail.record;
        let reference = record.reference.as_deref().unwrap_or("none").to_owned();
        [record.tool.name.to_string(), record.attempt.to_string(), reference, settled_by(detail), course(detail)]
    };
    let rows: Vec<[String; 5]> = operations.iter().map(row).collect();
    table::aligned(["operation", "attempts", "reference", "settled by", "states"], &rows)
}

/// Who said how it ended: a person, a step of the tool's recovery chain, or the attempt itself.
pub(crate) fn settled_by(detail: &Detail) -> String {
    let last = detail.history.iter().rfind(|happened| happened.state == detail.record.state);
    let step = detail.history.iter().rfind(|happened| &*happened.event == STEP);
    match (last.and_then(|happened| happened.actor.as_deref()), step.and_then(|step| step.detail.as_deref())) {
        (Some(person), _) => person.to_owned(),
        (None, Some(step)) => step.split(':').next().unwrap_or(step).to_owned(),
        (None, None) => "its attempt".to_owned(),
    }
}

/// The states of an operation in order. A first attempt that succeeded leaves no history: the record says it all.
pub(crate) fn course(detail: &Detail) -> String {
    let mut states = vec![State::InProgress];
    states.extend(detail.history.iter().map(|happened| happened.state).chain([detail.record.state]));
    states.dedup();
    states.into_iter().map(State::name).collect::<Vec<_>>().join(" → ")
}

/// What happened to an operation, in order.
fn history(detail: &Detail) -> String {
    let row = |happened: &Happened| [happened.event.to_string(), happened.state.name().to_owned(), words(happened)];
    let rows: Vec<[String; 3]> = detail.history.iter().map(row).collect();
    table::aligned(["event", "state afterwards", "evidence"], &rows)
}

fn words(happened: &Happened) -> String {
    happened.detail.as_deref().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scene_says_what_was_told_and_where_it_was_killed() {
        let told = json!({"outcome": "succeeded", "replayed": true, "reworded": ["body"]});
        let calls = vec![
            ("send_refund".to_owned(), Some(json!({"outcome": "in_progress"}))),
            ("open_ticket".to_owned(), Some(told)),
            ("send_email".to_owned(), None),
        ];
        let expected = "  3. again\n      send_refund  in_progress\n      \
                        open_ticket  succeeded (replayed; in other words: body)\n      send_email   killed\n";
        assert_eq!(scenes(&[Played { title: "again", calls }], 2), expected);
    }
}
