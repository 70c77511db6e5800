//! What tests run in a fresh process: nothing of an earlier one is in its memory.
//!
//! `fresh keys SEED` prints a key · `fresh refund LEDGER EFFECTS ORDER CENTS ID` prints what the call was told, as JSON
//! · `fresh turn LEDGER EFFECTS ROUND guarded|bare` prints the turn's checkpoint, and hangs in its last effect.

use std::io::Write;

use anyhow::{Context, bail};
use idem_runtime::{Idem, prepare};
use idem_tests::{
    timing::until,
    tools::{EffectFile, checkpoint, count_up, refund_outcome, turn, unordered},
};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let told = match arguments[..] {
        ["keys", seed] => {
            let idem = Idem::open("memory:").await?;
            let call = idem.call().tenant("acme").conversation("c-1");
            let (counts, tags) = unordered(seed.parse()?);
            json!(prepare(count_up(&call, counts, tags)).await?.key())
        }
        ["refund", ledger, effects, order, cents, id] => {
            let idem = Idem::open(ledger).await?;
            let call = idem.call().tenant("acme").conversation("c-1").turn(1).tool_call_id(id);
            let cents = cents.parse().context("cents are a number")?;
            refund_outcome(&call, order.into(), cents, EffectFile::new(effects)).await.to_json()
        }
        ["turn", ledger, effects, round, arm] => {
            hang_in_turn(ledger, &EffectFile::new(effects), round.parse()?, arm == "guarded").await?;
            json!("never")
        }
        _ => bail!("see the head of fresh.rs for what can be asked"),
    };
    writeln!(std::io::stdout(), "{told}")?;
    Ok(())
}

/// Runs a turn whose last tool gets no answer; says so when that tool's effect has happened.
async fn hang_in_turn(ledger: &str, bank: &EffectFile, round: usize, guarded: bool) -> anyhow::Result<()> {
    let last = format!("notify {round}");
    let before = bank.count(&last);
    if guarded {
        let idem = Idem::open(ledger).await?;
        let records: Vec<Value> = checkpoint(&idem, bank, round).await?.iter().map(|record| json!(record)).collect();
        for record in &records {
            writeln!(std::io::stdout(), "{record}")?;
        }
        let of_turn = bank.clone();
        tokio::spawn(async move { turn(&idem, &of_turn, round, &records).await });
    } else {
        for effect in ["charge", "mark", "notify"] {
            bank.effect(&format!("{effect} {round}"));
        }
    }
    until("the last effect", async || (bank.count(&last) > before).then_some(())).await;
    writeln!(std::io::stdout(), "\"hanging\"")?;
    std::future::pending().await
}
