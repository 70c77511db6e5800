//! What `workers.rs` prints: who ran what, who was told what, what the bank counted.
//!
//! It reads the ledger as an operator does, and must not change it. It counts nothing itself.

use anyhow::anyhow;
use idem_runtime::{
    Idem, Tenant,
    ledger::{Detail, Listing, State},
};
use serde_json::Value;

use super::director::Sent;
use crate::{
    returns::report::{course, settled_by},
    session::ToolSet,
    table,
};

/// The first part: refunds that both workers were asked for.
pub fn shared(sent: &[Sent]) -> String {
    let rows: Vec<[String; 5]> = sent.iter().map(row).collect();
    let head = ["return", "ran in", "was told there", "the other was told", "refunds"];
    let text = "Eight refunds, each sent to two workers at the same time (refunds: what the bank counted)";
    format!("{text}\n\n{}\n", table::aligned(head, &rows))
}

fn row(sent: &Sent) -> [String; 5] {
    let names = ["worker 1", "worker 2"];
    let ran = |told: &Value| told.get("replayed") == Some(&Value::Bool(false));
    let who = |wanted: bool| {
        let told = names.iter().zip(&sent.told).filter(move |(_, told)| ran(told) == wanted);
        told.map(|(name, told)| (*name, in_a_word(told))).unzip::<_, _, Vec<_>, Vec<_>>()
    };
    let ((ran_in, told), (_, others)) = (who(true), who(false));
    [sent.rma.clone(), ran_in.join(", "), told.join(", "), others.join(", "), sent.refunds.to_string()]
}

/// The second part: a worker was killed, and another one asked.
pub fn killed(told: &Value, operation: Option<&Detail>, refunds: usize) -> String {
    let mut lines = vec![
        "\nRMA-3009: worker 3 is killed while the bank's answer is on its way; then worker 1 is asked for the same"
            .to_owned(),
        String::new(),
        "  worker 3 was told  nothing (killed)".to_owned(),
        format!("  worker 1 was told  {}", in_a_word(told)),
    ];
    if let Some(detail) = operation {
        lines.push(format!("  in the ledger      {} (settled by: {})", course(detail), settled_by(detail)));
    }
    lines.push(format!("  the bank counted   {refunds}\n"));
    lines.join("\n")
}

/// The last line.
pub fn counted(refunds: usize, returns: usize, tools: ToolSet) -> String {
    let more = match tools {
        ToolSet::Guarded => "\nThe same without the attribute: add --unguarded.\n",
        ToolSet::Unguarded => "",
    };
    format!("\nThe bank counted {refunds} refunds for {returns} returns.\n{more}")
}

/// The operation of a return.
pub async fn operation(ledger: &str, tenant: &str, rma: &str) -> anyhow::Result<Option<Detail>> {
    // The error names its cause itself.
    let idem = Idem::open(ledger).await.map_err(|error| anyhow!("failed to {error}"))?;
    let operator = idem.operator(&Tenant::new(tenant)?, "the report")?;
    let all = Listing { states: vec![State::Succeeded], records_max: 100, ..Listing::default() };
    let (mut found, named) = (None, Value::from(rma));
    for record in operator.list(&all).await?.records {
        let result = record.stored.as_ref().and_then(|stored| serde_json::from_slice::<Value>(&stored.bytes).ok());
        if result.is_some_and(|result| result.get("rma") == Some(&named)) {
            found = operator.show(record.operation).await?;
        }
    }
    Ok(found)
}

/// The refund's id, or the outcome's name.
fn in_a_word(told: &Value) -> String {
    let id = told.get("result").and_then(|result| result.get("id"));
    let word = id.or_else(|| told.get("outcome")).and_then(Value::as_str).unwrap_or("nothing");
    if told.get("replayed") == Some(&Value::Bool(true)) { format!("{word} (replayed)") } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_says_who_ran_it_and_who_did_not() {
        let told = |replayed: bool| json!({"outcome": "succeeded", "replayed": replayed, "result": {"id": "rf_1"}});
        let sent = Sent { rma: "R".to_owned(), told: [told(true), told(false)], refunds: 1 };
        assert_eq!(row(&sent), ["R", "worker 2", "rf_1", "rf_1 (replayed)", "1"]);
        let sent = Sent { rma: "R".to_owned(), told: [told(false), told(false)], refunds: 2 };
        assert_eq!(row(&sent), ["R", "worker 1, worker 2", "rf_1, rf_1", "", "2"]);
    }
}
