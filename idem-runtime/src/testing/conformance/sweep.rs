//! What needs a reconciler: found by walks over the whole ledger, each going on where the last one stopped.

use std::sync::Arc;

use super::{
    calls::{LEASE, NANO, call, just_under, named, tenant},
    findings::{AGAIN, silent, verdict},
    stand::{Brought, again, bring, plain},
    subject::{Checked, Subject, holds, same},
};
use crate::{
    Tenant,
    ledger::{Ending, Finding, Hold, Reserve, Standing, State, Sweep, Tool},
};

fn of(tools: &[&str]) -> Sweep {
    let tools = tools.iter().map(|&tool| tool.into()).collect();
    Sweep { tools, records_max: 1_000, ..Sweep::default() }
}

fn anew() -> Sweep {
    of(&["bank::send"])
}

/// What a walk finds, and where the next one goes on. What it finds is as it stands.
async fn walk(subject: &mut Subject, sweep: &Sweep) -> Checked<(Vec<i64>, Sweep)> {
    let swept = subject.sweep(sweep).await?;
    let mut rows = Vec::new();
    for (owner, record) in &swept.due {
        let shown = subject.reader().show(owner, record.operation).await?;
        same("what is found", &Some(record), &shown.as_ref())?;
        rows.push(record.row);
    }
    same("the tools of the next walk", &swept.next.tools, &sweep.tools)?;
    rows.sort_unstable();
    Ok((rows, swept.next))
}

pub(super) async fn from_the_start(subject: &mut Subject) -> Checked {
    same("an empty ledger", &walk(subject, &anew()).await?.0, &vec![])?;
    let first = subject.granted(call("first", 5, "first")).await?;
    let mut due = vec![first.row];
    for standing in Standing::all() {
        let record = bring(subject, &format!("{standing:?}"), standing).await?.record;
        if matches!(standing.state, State::InProgress | State::OutcomeUnknown | State::Reconciling) {
            due.push(record.row);
        }
    }
    let last = subject.granted(call("last", 5, "last")).await?;
    // While they may be silent, only what is unknown is due; at the end of their leases they are, first attempts and
    // others, and reconciliations.
    subject.advance(just_under(LEASE));
    for (_, record) in subject.sweep(&anew()).await?.due {
        same("what is due so early", &record.state, &State::OutcomeUnknown)?;
    }
    due.push(last.row);
    subject.advance(NANO);
    let (found, _) = walk(subject, &anew()).await?;
    same("what is due", &found, &due)
}

pub(super) async fn unknown_when_due(subject: &mut Subject) -> Checked {
    let record = bring(subject, "A", Standing::sure(State::OutcomeUnknown)).await?.record;
    let (found, next) = walk(subject, &anew()).await?;
    same("at once", &found, &vec![record.row])?;
    // Until somebody sees to it, it is found by each walk.
    same("by the next walk", &walk(subject, &next).await?.0, &found)?;
    let begun = subject.begun(&record).await?;
    same("while somebody finds out", &walk(subject, &next).await?.0, &vec![])?;
    subject.judged(verdict(&begun, Finding::Inconclusive)).await?;
    subject.advance(just_under(AGAIN));
    same("before it is due again", &walk(subject, &next).await?.0, &vec![])?;
    subject.advance(NANO);
    for sweep in [anew(), next] {
        same("once it is due again", &walk(subject, &sweep).await?.0, &found)?;
    }
    Ok(())
}

pub(super) async fn only_named_tools(subject: &mut Subject) -> Checked {
    let tool = |name: &str| Arc::new(Tool { name: name.into(), version: 1, params: "order,cents;note".into() });
    let mut rows = Vec::new();
    for name in ["mail::send", "bank::refund"] {
        let first = subject.granted(Reserve { tool: tool(name), ..call(name, 5, name) }).await?;
        let order = format!("{name} again");
        let second = subject.granted(Reserve { tool: tool(name), ..call(&order, 5, &order) }).await?;
        subject.settle(plain(&second, Ending::Unknown)).await?;
        rows.push(vec![first.row, second.row]);
    }
    subject.advance(LEASE);
    same("no tool's", &walk(subject, &of(&[])).await?.0, &vec![])?;
    same("another tool's", &walk(subject, &anew()).await?.0, &vec![])?;
    same("the first tool's", &walk(subject, &of(&["mail::send"])).await?.0, &rows[0])?;
    same("the second tool's", &walk(subject, &of(&["bank::refund", "bank::send"])).await?.0, &rows[1])?;
    let both = walk(subject, &of(&["bank::refund", "mail::send"])).await?.0;
    same("both tools'", &both, &rows.concat())
}

pub(super) async fn all_tenants(subject: &mut Subject) -> Checked {
    let other = named("other");
    let own = subject.granted(call("A", 5, "A")).await?;
    let theirs = subject.granted(Reserve { tenant: other.clone(), ..call("A", 5, "A") }).await?;
    subject.advance(LEASE);
    let swept = subject.sweep(&anew()).await?;
    let mut found: Vec<(Tenant, i64)> = swept.due.into_iter().map(|(owner, record)| (owner, record.row)).collect();
    found.sort_by_key(|(_, row)| *row);
    same("what is due", &found, &vec![(tenant(), own.row), (other, theirs.row)])
}

pub(super) async fn later_walks(subject: &mut Subject) -> Checked {
    let early = subject.granted(call("early", 5, "early")).await?;
    let quick = subject.granted(call("quick", 5, "quick")).await?;
    subject.advance(NANO);
    let (found, next) = walk(subject, &anew()).await?;
    same("while both run", &found, &vec![])?;
    // One ends by itself; a new one begins, and one is reopened.
    subject.recorded(&quick, Ending::Ok).await?;
    let new = subject.granted(call("new", 5, "new")).await?;
    let Brought { last: reopened, .. } = bring(subject, "reopened", Standing::sure(State::InProgress)).await?;
    let (found, next) = walk(subject, &next).await?;
    same("while they run", &found, &vec![])?;
    subject.advance(just_under(LEASE));
    // The early one began a nanosecond earlier.
    let (found, next) = walk(subject, &next).await?;
    same("what has ended", &found, &vec![early.row])?;
    subject.advance(NANO);
    let due = vec![early.row, new.row, reopened.row];
    let (found, next) = walk(subject, &next).await?;
    same("what has ended then", &found, &due)?;
    same("by a walk that starts anew", &walk(subject, &anew()).await?.0, &due)?;
    // What was seen to is not found again, until it is due.
    for row in [&early, &new] {
        let record = subject.show(row.operation).await?;
        same("the leases ended", &subject.end_leases(&[silent(&record)]).await?, &1)?;
        let unknown = subject.show(row.operation).await?;
        let begun = subject.begun(&unknown).await?;
        subject.judged(verdict(&begun, Finding::Inconclusive)).await?;
    }
    let (found, next) = walk(subject, &next).await?;
    same("what was not seen to", &found, &vec![reopened.row])?;
    subject.advance(AGAIN);
    same("once they are due again", &walk(subject, &next).await?.0, &due)
}

pub(super) async fn sent_again(subject: &mut Subject) -> Checked {
    // The first walk saw a first attempt; it became another one in between.
    let asked = call("A", 5, "A");
    let first = subject.granted(asked.clone()).await?;
    let (_, next) = walk(subject, &anew()).await?;
    subject.settle(plain(&first, Ending::Unknown)).await?;
    let second = subject.granted(again(&asked)).await?;
    let (found, next) = walk(subject, &next).await?;
    same("while it runs", &found, &vec![])?;
    subject.advance(just_under(LEASE));
    let held = Hold { row: second.row, fence: second.fence, lease: LEASE };
    same("the lost leases", &subject.renew(&[held]).await?, &vec![])?;
    subject.advance(just_under(LEASE));
    let (found, next) = walk(subject, &next).await?;
    same("while its renewed lease runs", &found, &vec![])?;
    subject.advance(NANO);
    same("once it fell silent", &walk(subject, &next).await?.0, &vec![first.row])?;
    same("by a walk that starts anew", &walk(subject, &anew()).await?.0, &vec![first.row])
}

pub(super) async fn in_small_walks(subject: &mut Subject) -> Checked {
    let mut waiting = Vec::new();
    for at in 0..7 {
        let order = format!("A {at}");
        let grant = subject.granted(call(&order, 5, &order)).await?;
        if at % 2 == 1 {
            subject.settle(plain(&grant, Ending::Unknown)).await?;
        }
        waiting.push(grant.row);
    }
    subject.advance(LEASE);
    let mut sweep = Sweep { records_max: 2, ..anew() };
    // Whoever sees to what each walk finds comes to the end.
    for _ in 0..40 {
        let swept = subject.sweep(&sweep).await?;
        holds("a walk finds no more than was asked", swept.due.len() <= 2)?;
        for (_, record) in &swept.due {
            holds("each is found until it is seen to", waiting.contains(&record.row))?;
            let mut record = record.clone();
            if record.state == State::InProgress {
                subject.end_leases(&[silent(&record)]).await?;
                record = subject.show(record.operation).await?;
            }
            let begun = subject.begun(&record).await?;
            subject.judged(verdict(&begun, Finding::Inconclusive)).await?;
            waiting.retain(|row| *row != record.row);
        }
        sweep = swept.next;
    }
    same("what was never found", &waiting, &vec![])
}
