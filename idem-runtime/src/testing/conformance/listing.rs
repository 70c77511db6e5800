//! A tenant's records, a page at a time.

use super::{
    calls::{NANO, call, end, named},
    findings::says,
    stand::bring,
    subject::{Checked, Subject, holds, same},
};
use crate::ledger::{Ending, Finding, Listing, Reserve, Standing, State};

fn all() -> Listing {
    Listing { records_max: 1_000, ..Listing::default() }
}

pub(super) async fn by_state(subject: &mut Subject) -> Checked {
    let mut records = Vec::new();
    for standing in Standing::all() {
        records.push(bring(subject, &format!("{standing:?}"), standing).await?.record);
    }
    let rows_in = |states: &[State]| -> Vec<i64> {
        records.iter().filter(|record| states.contains(&record.state)).map(|record| record.row).collect()
    };
    same("all of them", &subject.listed(&all()).await?, &rows_in(&State::ALL))?;
    for state in State::ALL {
        let listed = subject.listed(&Listing { states: vec![state], ..all() }).await?;
        same(state.name(), &listed, &rows_in(&[state]))?;
    }
    let two = vec![State::OperatorReview, State::FailedRetryable];
    same("two states", &subject.listed(&Listing { states: two.clone(), ..all() }).await?, &rows_in(&two))?;
    let theirs = subject.reader().list(&named("other"), &all()).await?;
    holds("another tenant has none", theirs.is_empty())?;
    let own = subject.granted(Reserve { tenant: named("other"), ..call("A", 5, "A") }).await?;
    let theirs = subject.reader().list(&named("other"), &all()).await?;
    same("another tenant's", &theirs.iter().map(|record| record.row).collect::<Vec<_>>(), &vec![own.row])?;
    same("all of them, still", &subject.listed(&all()).await?, &rows_in(&State::ALL))
}

pub(super) async fn in_review(subject: &mut Subject) -> Checked {
    let mut rows = Vec::new();
    for (order, from) in [("A", State::Succeeded), ("B", State::FailedFinal), ("C", State::OutcomeUnknown)] {
        let brought = bring(subject, order, Standing::sure(from)).await?;
        match from {
            State::Succeeded => drop(subject.weighed(says(brought.last.operation, "e1", Finding::NotApplied)).await?),
            _ => drop(subject.late(end(&brought.older, Ending::Ok)).await?),
        }
        rows.push(brought.record.row);
    }
    let review = Listing { in_review: true, ..all() };
    same("those to look at", &subject.listed(&review).await?, &rows[..2].to_vec())?;
    let none = Listing { states: vec![State::FailedFinal], ..review };
    same("those to look at in another state", &subject.listed(&none).await?, &Vec::new())
}

pub(super) async fn before(subject: &mut Subject) -> Checked {
    let running = subject.granted(call("A", 5, "A")).await?;
    subject.advance(NANO);
    let ended = subject.granted(call("B", 5, "B")).await?;
    let reserved_at = subject.now;
    subject.advance(NANO);
    subject.recorded(&ended, Ending::Unknown).await?;
    let settled_at = subject.now;
    let rows = [
        (reserved_at.before(NANO), vec![]),
        (reserved_at, vec![running.row]),
        // Since when it is where it is counts, not since when it is there.
        (settled_at, vec![running.row]),
        (settled_at.after(NANO), vec![running.row, ended.row]),
    ];
    for (before, rows) in rows {
        let listed = subject.listed(&Listing { before: Some(before), ..all() }).await?;
        same(&format!("before {before}"), &listed, &rows)?;
    }
    let unknown = Listing { states: vec![State::OutcomeUnknown], before: Some(settled_at), ..all() };
    same("unknown before it was", &subject.listed(&unknown).await?, &Vec::new())
}

pub(super) async fn pages(subject: &mut Subject) -> Checked {
    let mut rows = Vec::new();
    for at in 0..7 {
        let order = format!("A {at}");
        let grant = subject.granted(call(&order, 5, &order)).await?;
        let ending = if at % 3 == 2 { Ending::Final } else { Ending::Unknown };
        subject.recorded(&grant, ending).await?;
        rows.push((grant.row, ending));
    }
    let unknown: Vec<i64> = rows.iter().filter(|(_, ending)| *ending == Ending::Unknown).map(|(row, _)| *row).collect();
    let rows: Vec<i64> = rows.into_iter().map(|(row, _)| row).collect();
    for (states, should_be) in [(vec![], &rows), (vec![State::OutcomeUnknown], &unknown)] {
        for records_max in 1..=8 {
            let mut listing = Listing { states: states.clone(), records_max, ..Listing::default() };
            let mut listed = Vec::new();
            loop {
                let page = subject.listed(&listing).await?;
                let Some(last) = page.last() else { break };
                holds("a page is no longer than was asked", page.len() <= usize::try_from(records_max).unwrap_or(0))?;
                listing.after = *last;
                listed.extend(page);
                // A walk ends, whatever a store does.
                holds("there is no more than there is", listed.len() <= rows.len())?;
            }
            same(&format!("pages of {records_max}"), &listed, should_be)?;
        }
    }
    // What comes between two pages comes behind them.
    let new = subject.granted(call("new", 5, "new")).await?;
    let behind = Listing { after: rows[5], ..all() };
    same("the last page", &subject.listed(&behind).await?, &vec![rows[6], new.row])
}
