//! Finding out: a reconciliation under a token of its own, its verdict, and its end in silence.

use super::{
    calls::{LEASE, NANO, RETAIN, TOMBSTONE, call, end, just_under, named},
    findings::{AGAIN, BOUND, applied, begin, decision, silent, value, verdict},
    stand::{again, bring, plain, repeat},
    subject::{Checked, Subject, Wrong, grant, holds, same},
};
use crate::ledger::{
    BeginReconcile, Begun, Bound, Command, Ending, Finding, Judge, Judged, Record, Reply, Resolution, Silent, Standing,
    State, Step, StoredKind,
};

const UNKNOWN: Standing = Standing::sure(State::OutcomeUnknown);
const RECONCILING: Standing = Standing::sure(State::Reconciling);

pub(super) async fn begins(subject: &mut Subject) -> Checked {
    let brought = bring(subject, "A", UNKNOWN).await?;
    let before = brought.record.clone();
    subject.advance(NANO);
    let after = subject.begun(&before).await?;
    holds("its token is the newest", after.reconcile_fence > before.fence)?;
    let should_be = Record {
        version: before.version + 1,
        state: State::Reconciling,
        reconcile_fence: after.reconcile_fence,
        passes: 1,
        lease_until: Some(subject.now.after(LEASE)),
        settled_at: Some(subject.now),
        ..before.clone()
    };
    same("the record", &after, &should_be)?;
    // Whoever saw it in the same version comes second, and so does whoever sees it now; no caller runs meanwhile.
    for seen in [&before, &after] {
        for by_hand in [false, true] {
            let told = subject.not_begun(BeginReconcile { by_hand, ..begin(seen) }).await?;
            same("the record that the second one is told", &told, &after)?;
        }
    }
    same("what a repeat finds", &*repeat(subject, &brought).await?, &after)?;
    same("what one finds that may send again", &subject.found(again(&brought.asked)).await?.record.row, &after.row)?;
    same("the record", &subject.show(after.operation).await?, &after)?;
    // Within one batch too the first one wins.
    let other = bring(subject, "B", UNKNOWN).await?.record;
    let commands = [Command::BeginReconcile(begin(&other)), Command::BeginReconcile(begin(&other))];
    let replies = subject.apply(&commands).await?;
    let one = matches!(&replies[..], [Reply::Begun(Begun::Yours { .. }), Reply::Begun(Begun::NotNow { .. })]);
    holds("one of two begins", one)
}

pub(super) async fn begins_only_there(subject: &mut Subject) -> Checked {
    for standing in Standing::all().filter(|standing| standing.state != State::OutcomeUnknown) {
        let record = bring(subject, &format!("{standing:?}"), standing).await?.record;
        same("the record told", &subject.not_begun(begin(&record)).await?, &record)?;
        same("the record", &subject.show(record.operation).await?, &record)?;
        let by_hand = BeginReconcile { by_hand: true, ..begin(&record) };
        if standing.state == State::OperatorReview {
            let stale = BeginReconcile { version: record.version - 1, ..by_hand.clone() };
            same("the record told to who is late", &subject.not_begun(stale).await?, &record)?;
            let Begun::Yours { record: after, .. } = subject.begin(by_hand).await? else {
                return Err(Wrong::new("a person may have it asked about again"));
            };
            let should_be = Standing { state: State::Reconciling, in_doubt: standing.in_doubt };
            same("where it stands then", &after.standing(), &should_be)?;
        } else {
            same("the record told by hand", &subject.not_begun(by_hand).await?, &record)?;
        }
    }
    let record = bring(subject, "last", UNKNOWN).await?.record;
    let theirs = BeginReconcile { tenant: named("other"), ..begin(&record) };
    let nobodys = BeginReconcile { row: 9_000_000, ..begin(&record) };
    for begin in [theirs, nobodys] {
        holds("what is not there is gone", matches!(subject.begin(begin).await?, Begun::Gone))?;
    }
    same("the record", &subject.show(record.operation).await?, &record)
}

pub(super) async fn found_applied(subject: &mut Subject) -> Checked {
    for in_doubt in [false, true] {
        let standing = Standing { in_doubt, ..RECONCILING };
        let brought = bring(subject, &format!("A {in_doubt}"), standing).await?;
        subject.advance(NANO);
        let told = subject.judged(verdict(&brought.record, applied(Some("\"rf_1\""), Some("rf_1")))).await?;
        let should_be = Record {
            version: brought.record.version + 1,
            state: State::Succeeded,
            in_doubt: false,
            passes: 0,
            lease_until: None,
            settled_at: Some(subject.now),
            unknown_at: None,
            next_at: None,
            retain_until: Some(subject.now.after(RETAIN)),
            reference: Some("rf_1".into()),
            stored: Some(value("\"rf_1\"")),
            ..brought.record.clone()
        };
        same("the record", &told, &should_be)?;
        same("what a repeat finds", &*repeat(subject, &brought).await?, &should_be)?;
    }
    // It happened, and nobody can say what came of it: that is said, and no words of a failure stand for a result.
    let record = bring(subject, "B", RECONCILING).await?.record;
    let told = subject.judged(verdict(&record, applied(None, None))).await?;
    same("the state", &told.state, &State::Succeeded)?;
    same("what is held", &told.stored.map(|stored| stored.kind), &Some(StoredKind::NotHeld))
}

pub(super) async fn found_not_applied(subject: &mut Subject) -> Checked {
    let brought = bring(subject, "A", RECONCILING).await?;
    subject.advance(NANO);
    let told = subject.judged(verdict(&brought.record, Finding::NotApplied)).await?;
    let should_be = Record {
        version: brought.record.version + 1,
        state: State::FailedRetryable,
        passes: 0,
        lease_until: None,
        settled_at: Some(subject.now),
        unknown_at: None,
        next_at: None,
        ..brought.record.clone()
    };
    same("the record", &told, &should_be)?;
    let next = subject.granted(brought.asked.clone()).await?;
    same("the next attempt", &(next.attempt, next.in_doubt), &(3, false))?;
    holds("its token is the newest", next.fence > told.reconcile_fence)
}

pub(super) async fn found_nothing(subject: &mut Subject) -> Checked {
    let unknown = bring(subject, "A", UNKNOWN).await?.record;
    let heard = subject.now;
    let (mut record, mut answered) = (unknown, 0);
    // Passes in which the provider did not answer count less.
    for (pass, counted) in [(1, false), (2, true), (3, false), (4, true)] {
        subject.advance(AGAIN);
        let begun = subject.begun(&record).await?;
        same("the passes", &begun.passes, &pass)?;
        subject.advance(NANO);
        answered += u32::from(counted);
        record = subject.judged(Judge { counted, ..verdict(&begun, Finding::Inconclusive) }).await?;
        let should_be = Record {
            version: begun.version + 1,
            state: State::OutcomeUnknown,
            answered,
            lease_until: None,
            settled_at: Some(subject.now),
            // What was asked in between was no word of the attempt.
            unknown_at: Some(heard),
            next_at: Some(subject.now.after(AGAIN)),
            ..begun
        };
        same("the record", &record, &should_be)?;
    }
    Ok(())
}

/// Asks `passes` times without an answer that tells; gives the record at last.
async fn ask(subject: &mut Subject, order: &str, passes: u32, change: impl Fn(Judge) -> Judge) -> Checked<Record> {
    let mut record = bring(subject, order, UNKNOWN).await?.record;
    for _ in 0..passes {
        same(&format!("{order}, before"), &record.state, &State::OutcomeUnknown)?;
        record = subject.begun(&record).await?;
        record = subject.judged(change(verdict(&record, Finding::Inconclusive))).await?;
    }
    Ok(record)
}

pub(super) async fn exhausted(subject: &mut Subject) -> Checked {
    let Bound { answered_max, passes_max } = BOUND;
    let unanswered = |judge| Judge { counted: false, ..judge };
    let spared = |judge| Judge { spare_operators: true, ..judge };
    let before = ask(subject, "answered, before", answered_max - 1, |judge| judge).await?;
    same("one answer before the bound", &before.state, &State::OutcomeUnknown)?;
    let before = ask(subject, "unanswered, before", passes_max - 1, unanswered).await?;
    same("one pass before the bound", &before.state, &State::OutcomeUnknown)?;
    let answered = ask(subject, "answered", answered_max, |judge| judge).await?;
    let silent = ask(subject, "unanswered", passes_max, unanswered).await?;
    for record in [answered, silent] {
        same("at the bound", &record.state, &State::OperatorReview)?;
        same("its lease", &record.lease_until, &None)?;
        // Nobody asks any more by itself.
        same("what a reconciler is told", &subject.not_begun(begin(&record)).await?, &record)?;
    }
    // While callers can use the provider's key, no person is asked.
    let spared = ask(subject, "spared", passes_max + 2, spared).await?;
    same("beyond the bound", &spared.state, &State::OutcomeUnknown)?;
    same("when to ask again", &spared.next_at, &Some(subject.now.after(AGAIN)))?;
    let record = subject.begun(&spared).await?;
    same(
        "once they cannot",
        &subject.judged(verdict(&record, Finding::Inconclusive)).await?.state,
        &State::OperatorReview,
    )
}

pub(super) async fn falls_silent(subject: &mut Subject) -> Checked {
    // Noticed by a caller, and by whoever looks for what has fallen silent.
    for by_caller in [true, false] {
        let brought = bring(subject, &format!("A {by_caller}"), RECONCILING).await?;
        let record = brought.record.clone();
        subject.advance(just_under(LEASE));
        same("leases ended too early", &subject.end_leases(&[silent(&record)]).await?, &0)?;
        same("what a repeat finds before", &*repeat(subject, &brought).await?, &record)?;
        subject.advance(NANO);
        let stale = Silent { version: record.version - 1, ..silent(&record) };
        let theirs = Silent { tenant: named("other"), ..silent(&record) };
        same("leases that somebody else ended", &subject.end_leases(&[stale, theirs]).await?, &0)?;
        if by_caller {
            repeat(subject, &brought).await?;
        } else {
            same("the leases ended", &subject.end_leases(&[silent(&record), silent(&record)]).await?, &1)?;
        }
        let should_be = Record {
            version: record.version + 1,
            state: State::OutcomeUnknown,
            lease_until: None,
            settled_at: Some(subject.now),
            next_at: Some(subject.now),
            ..record.clone()
        };
        same("the record", &subject.show(record.operation).await?, &should_be)?;
        // The pass counts, and what it finds out after all is evidence.
        same("the passes", &should_be.passes, &1)?;
        let told = subject.judged_late(verdict(&record, applied(Some("1"), None))).await?;
        same("the state after its late success", &told.state, &State::Succeeded)?;
    }
    // Each pass that fell silent brings the bound nearer.
    let mut record = bring(subject, "B", UNKNOWN).await?.record;
    for _ in 1..BOUND.passes_max {
        record = subject.begun(&record).await?;
        subject.advance(LEASE);
        same("the leases ended", &subject.end_leases(&[silent(&record)]).await?, &1)?;
        record = subject.show(record.operation).await?;
    }
    record = subject.begun(&record).await?;
    let last = subject.judged(Judge { counted: false, ..verdict(&record, Finding::Inconclusive) }).await?;
    same("after silent passes", &last.state, &State::OperatorReview)
}

pub(super) async fn stale_verdicts(subject: &mut Subject) -> Checked {
    let older = bring(subject, "A", RECONCILING).await?.record;
    subject.advance(LEASE);
    subject.end_leases(&[silent(&older)]).await?;
    let unknown = subject.show(older.operation).await?;
    let newer = subject.begun(&unknown).await?;
    let mut before = newer.clone();
    // The older one's answers move nothing, and count for nothing.
    for finding in [Finding::NotApplied, Finding::Inconclusive] {
        let told = subject.judged_late(verdict(&older, finding)).await?;
        before.version += 1;
        same("the record", &told, &before)?;
    }
    let told = subject.judged(verdict(&newer, Finding::Inconclusive)).await?;
    same("the newer one's answer", &(told.state, told.answered), &(State::OutcomeUnknown, 1))?;
    // Nor does a token count that is an attempt's, or nobody's.
    for fence in [told.fence, told.reconcile_fence + 1_000, 0] {
        let told = subject.judged_late(Judge { fence, ..verdict(&newer, Finding::NotApplied) }).await?;
        same("the state after a foreign token", &told.state, &State::OutcomeUnknown)?;
    }
    let after_a_person = bring(subject, "B", UNKNOWN).await?.record;
    let begun = subject.begun(&after_a_person).await?;
    subject.judged(verdict(&begun, Finding::Inconclusive)).await?;
    let now = subject.show(begun.operation).await?;
    subject.resolved(decision(&now, Resolution::Final)).await?;
    let told = subject.judged_late(verdict(&begun, Finding::NotApplied)).await?;
    same("what agrees with a person", &(told.state, told.review), &(State::FailedFinal, false))?;
    let told = subject.judged_late(verdict(&begun, applied(Some("1"), None))).await?;
    same("what contradicts one", &(told.state, told.review), &(State::Succeeded, true))?;
    let told = subject.judged_late(verdict(&begun, Finding::NotApplied)).await?;
    same("success stays", &(told.state, told.review), &(State::Succeeded, true))?;
    for judge in [
        Judge { tenant: named("other"), ..verdict(&begun, applied(Some("2"), None)) },
        Judge { row: 9_000_000, ..verdict(&begun, Finding::NotApplied) },
    ] {
        holds("what is not there is gone", matches!(subject.judge(judge).await?, Judged::Gone))?;
    }
    same("the record", &subject.show(told.operation).await?, &told)
}

pub(super) async fn late_words(subject: &mut Subject) -> Checked {
    // While somebody finds out, the attempt itself is heard of.
    let brought = bring(subject, "A", RECONCILING).await?;
    let told = subject.late(end(&brought.last, Ending::Ok)).await?;
    same("its success", &(told.state, &told.stored), &(State::Succeeded, &end(&brought.last, Ending::Ok).stored))?;
    let told = subject.judged_late(verdict(&brought.record, Finding::Inconclusive)).await?;
    same("what is found out then", &told.state, &State::Succeeded)?;
    let brought = bring(subject, "B", RECONCILING).await?;
    let told = subject.late(plain(&brought.last, Ending::Unknown)).await?;
    same("its ignorance", &told.standing(), &RECONCILING)?;
    let told = subject.late(plain(&brought.older, Ending::Retryable)).await?;
    same("an older attempt's proof", &(told.standing(), told.disproved), &(RECONCILING, false))
}

pub(super) async fn steps(subject: &mut Subject) -> Checked {
    let record = bring(subject, "A", RECONCILING).await?.record;
    let step = |name, said, evidence: &str| Step { name, said, evidence: evidence.into() };
    let steps = vec![step("lookup", "inconclusive", "HTTP 503"), step("search", "applied", "one refund of 5")];
    let told = subject.judged(Judge { steps, ..verdict(&record, applied(Some("1"), None)) }).await?;
    same("the version", &told.version, &(record.version + 3))?;
    let history = subject.detail(told.operation).await?.history;
    let last: Vec<_> = history.iter().rev().take(3).rev().collect();
    let events: Vec<_> = last.iter().map(|happened| &*happened.event).collect();
    same("the last entries", &events, &vec!["step", "step", "verdict_applied"])?;
    let versions: Vec<_> = last.iter().map(|happened| happened.version).collect();
    same("their versions", &versions, &vec![record.version + 1, record.version + 2, record.version + 3])?;
    for (happened, (name, evidence)) in last.iter().zip([("lookup", "HTTP 503"), ("search", "one refund of 5")]) {
        let words = happened.detail.as_deref().unwrap_or_default();
        holds("a step keeps its name and its evidence", words.contains(name) && words.contains(evidence))?;
    }
    Ok(())
}

pub(super) async fn tokens(subject: &mut Subject) -> Checked {
    let mut last = 0;
    for round in 0..3 {
        for order in ["A", "B"] {
            let unknown = bring(subject, order, UNKNOWN).await?;
            let first = subject.begun(&unknown.record).await?;
            let unknown_again = subject.judged(verdict(&first, Finding::Inconclusive)).await?;
            let second = subject.begun(&unknown_again).await?;
            let freed = subject.judged(verdict(&second, Finding::NotApplied)).await?;
            let next = grant(subject.reserve(call(order, 5, order)).await?)?;
            let tokens =
                [unknown.older.fence, unknown.last.fence, first.reconcile_fence, second.reconcile_fence, next.fence];
            for token in tokens {
                holds(&format!("in round {round} {token} is larger than {last}"), token > last)?;
                last = token;
            }
            same("the record is the same one", &freed.row, &unknown.record.row)?;
            subject.recorded(&next, Ending::Ok).await?;
        }
        // The newest token of all is a reconciliation's, and its record goes too.
        let unknown = bring(subject, "C", UNKNOWN).await?;
        let begun = subject.begun(&unknown.record).await?;
        holds("a reconciliation's token is the newest", begun.reconcile_fence > last)?;
        last = begun.reconcile_fence;
        subject.judged(verdict(&begun, applied(Some("1"), None))).await?;
        subject.advance(RETAIN + TOMBSTONE);
        let report = subject.purge(100, TOMBSTONE).await?;
        same("the records removed", &report.removed, &3)?;
    }
    Ok(())
}
