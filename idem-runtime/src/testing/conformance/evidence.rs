//! What somebody outside says: before there is a record, more than once, and against what was recorded.

use std::sync::Arc;

use super::{
    calls::{LEASE, NANO, RETAIN, TOMBSTONE, call, end, just_under, named, operation_of, tenant},
    findings::{applied, decision, last_verdict, says, silent, value, verdict},
    stand::{bring, brought, plain, repeat},
    subject::{Checked, Subject, Wrong, answer, grant, holds, same},
};
use crate::ledger::{
    Command, Ending, Evidence, Finding, Record, Reply, Reserve, Resolution, Said, Settle, Settled, Standing, State,
    Witnessed,
};

const RECONCILING: Standing = Standing::sure(State::Reconciling);

pub(super) async fn before_the_record(subject: &mut Subject) -> Checked {
    let asked = call("A", 5, "A");
    let operation = operation_of(&asked, subject.now)?;
    let says_so = says(operation, "e1", applied(Some("\"rf_1\""), Some("rf_1")));
    holds("it is kept", matches!(subject.witness(says_so.clone()).await?, Witnessed::Kept))?;
    let again = subject.witness(says_so).await?;
    holds("and known from then on", matches!(again, Witnessed::Known { record: None }))?;
    holds("nothing is shown", subject.reader().show(&tenant(), operation).await?.is_none())?;
    subject.advance(LEASE);
    // The reservation is a replay: nothing runs.
    let answer = subject.found(asked.clone()).await?;
    let record = &answer.record;
    same("the operation", &record.operation, &operation)?;
    same("its state", &(record.state, record.review), &(State::Succeeded, false))?;
    same("its result", &record.stored, &Some(value("\"rf_1\"")))?;
    same("its reference", &record.reference, &Some("rf_1".into()))?;
    same("its retention", &record.retain_until, &Some(subject.now.after(RETAIN)))?;
    same("its attempts", &record.attempt, &0)?;
    holds("its retention has not ended", !answer.retention_ended)?;
    same("the record", &subject.show(operation).await?, &**record)?;
    let detail = subject.detail(operation).await?;
    holds("there was no attempt", detail.attempts.is_empty())?;
    same("what happened", &subject.history(operation).await?, &vec![Arc::from("evidence_applied")])?;
    same("the evidence", &detail.evidence.len(), &1)?;
    same("what the next call finds", &*subject.found(asked).await?.record, &**record)?;
    // Each of its identities leads to it.
    let new_id = subject.found(call("A", 5, "another id")).await?;
    same("what equal arguments find", &new_id.record.row, &record.row)?;
    subject.refused(call("A", 6, "A")).await.map(drop)
}

pub(super) async fn before_and_not_proof(subject: &mut Subject) -> Checked {
    for (at, finding) in [Finding::NotApplied, Finding::Inconclusive].into_iter().enumerate() {
        let order = format!("A {at}");
        let asked = call(&order, 5, &order);
        let operation = operation_of(&asked, subject.now)?;
        subject.witness(says(operation, "e1", finding)).await?;
        let grant = subject.granted(asked).await?;
        same("the attempt", &(grant.operation, grant.attempt), &(operation, 1))?;
        let record = subject.show(operation).await?;
        same("the state", &record.state, &State::InProgress)?;
        same("the history", &subject.history(operation).await?.len(), &1)?;
        // The reservation did not wait for its effect to be reported: it ends as it ends.
        subject.recorded(&grant, Ending::Ok).await?;
    }
    // Nothing of another tenant's counts.
    let asked = call("B", 5, "B");
    let operation = operation_of(&asked, subject.now)?;
    let theirs = Evidence { tenant: named("other"), ..says(operation, "e1", applied(Some("1"), None)) };
    holds("it is kept", matches!(subject.witness(theirs).await?, Witnessed::Kept))?;
    subject.granted(asked).await.map(drop)
}

pub(super) async fn in_the_same_batch(subject: &mut Subject) -> Checked {
    let asked = call("A", 5, "A");
    let operation = operation_of(&asked, subject.now)?;
    let evidence = |event| Command::Evidence(Box::new(says(operation, event, applied(Some("1"), None))));
    let reserve = Command::Reserve(Arc::new(asked));
    let replies = subject.apply(&[evidence("e1"), reserve.clone(), evidence("e1"), evidence("e2"), reserve]).await?;
    let Ok(
        [
            Reply::Witnessed(Witnessed::Kept),
            Reply::Reserved(first),
            Reply::Witnessed(Witnessed::Known { record: Some(known) }),
            Reply::Witnessed(Witnessed::Weighed { record: weighed }),
            Reply::Reserved(second),
        ],
    ) = <[Reply; 5]>::try_from(replies)
    else {
        return Err(Wrong::new("a reply does not fit its command"));
    };
    let first = answer(first)?.record;
    same("the record that is known", &known, &first)?;
    same("the record after more evidence", &weighed.version, &(first.version + 1))?;
    same("the record found then", &answer(second)?.record, &weighed)
}

pub(super) async fn once(subject: &mut Subject) -> Checked {
    let record = bring(subject, "A", Standing::sure(State::OutcomeUnknown)).await?.record;
    let first = Evidence {
        actor: Some("ada@example.com".into()),
        words: Some("seen on the statement".into()),
        ..says(record.operation, "e1", Finding::Inconclusive)
    };
    let at = subject.now;
    let weighed = subject.weighed(first.clone()).await?;
    subject.advance(NANO);
    // The event is known, whatever it says by now.
    for again in [first.clone(), says(record.operation, "e1", applied(Some("1"), None))] {
        let Witnessed::Known { record: Some(known) } = subject.witness(again).await? else {
            return Err(Wrong::new("an event was taken for a new one"));
        };
        same("the record", &*known, &weighed)?;
    }
    same("the record", &subject.show(record.operation).await?, &weighed)?;
    let other = bring(subject, "B", Standing::sure(State::OutcomeUnknown)).await?.record;
    subject.weighed(says(other.operation, "e1", Finding::Inconclusive)).await?;
    subject.weighed(says(record.operation, "e2", Finding::NotApplied)).await?;
    subject.weighed(Evidence { source: "ledger".into(), ..says(record.operation, "e1", Finding::NotApplied) }).await?;
    let said = subject.detail(record.operation).await?.evidence;
    let told: Vec<_> = said.iter().map(|said| (&*said.source, &*said.event, &*said.finding)).collect();
    let should_be = [("bank", "e1", "inconclusive"), ("bank", "e2", "not_applied"), ("ledger", "e1", "not_applied")];
    same("the evidence", &told, &should_be.to_vec())?;
    let should_be = Said {
        source: "bank".into(),
        event: "e1".into(),
        finding: "inconclusive".into(),
        reference: None,
        actor: first.actor,
        words: first.words,
        at,
    };
    same("the first piece", &said.first(), &Some(&should_be))?;
    // Another tenant's is about nothing of this one's.
    let theirs = Evidence { tenant: named("other"), ..says(record.operation, "e9", applied(Some("1"), None)) };
    let before = subject.show(record.operation).await?;
    holds("it is kept", matches!(subject.witness(theirs).await?, Witnessed::Kept))?;
    same("the record", &subject.show(record.operation).await?, &before)
}

pub(super) async fn success(subject: &mut Subject) -> Checked {
    for from in Standing::all() {
        let brought = bring(subject, &format!("{from:?}"), from).await?;
        subject.advance(NANO);
        let evidence = says(brought.last.operation, "e1", applied(Some("\"rf_9\""), Some("rf_9")));
        let told = subject.weighed(evidence).await?;
        if from.state == State::Succeeded {
            let should_be = Record { version: told.version, ..brought.record };
            same("success that was known", &told, &should_be)?;
            continue;
        }
        let failed = matches!(from.state, State::FailedRetryable | State::FailedFinal);
        same("the state", &told.standing(), &Standing::sure(State::Succeeded))?;
        same("the review", &told.review, &failed)?;
        same("the result", &told.stored, &Some(value("\"rf_9\"")))?;
        same("the reference", &told.reference, &Some("rf_9".into()))?;
        same("the lease", &told.lease_until, &None)?;
        same("the retention", &told.retain_until, &Some(subject.now.after(RETAIN)))?;
        same("what a repeat finds", &*repeat(subject, &brought).await?, &told)?;
        // Whoever was running is told, and takes nothing back.
        let Settled::Late { record } = subject.settle(plain(&brought.last, Ending::Unknown)).await? else {
            return Err(Wrong::new("an attempt that lost its lease to evidence still held it"));
        };
        same("the state at last", &record.state, &State::Succeeded)?;
    }
    Ok(())
}

pub(super) async fn contradiction(subject: &mut Subject) -> Checked {
    for from in Standing::all() {
        let record = bring(subject, &format!("{from:?}"), from).await?.record;
        let told = subject.weighed(says(record.operation, "e1", Finding::NotApplied)).await?;
        let review = from.state == State::Succeeded;
        let should_be = Record { version: record.version + 1, review, ..record };
        same("the record", &told, &should_be)?;
        let told = subject.weighed(says(told.operation, "e2", Finding::Inconclusive)).await?;
        let should_be = Record { version: should_be.version + 1, ..should_be };
        same("the record after what says nothing", &told, &should_be)?;
    }
    Ok(())
}

pub(super) async fn without_a_reference(subject: &mut Subject) -> Checked {
    let strict = |order: &str| Reserve { needs_reference: true, ..call(order, 5, order) };
    for from in Standing::all() {
        let order = format!("{from:?}");
        let record = brought(subject, strict(&order), from).await?.record;
        let told = subject.weighed(says(record.operation, "e1", applied(Some("1"), None))).await?;
        let should_be = Record { version: record.version + 1, ..record };
        same("the record", &told, &should_be)?;
    }
    // Before the record as well.
    let operation = operation_of(&strict("early"), subject.now)?;
    subject.witness(says(operation, "e1", applied(Some("1"), None))).await?;
    let early = subject.granted(strict("early")).await?;
    let told = subject.weighed(says(operation, "e2", applied(None, Some("rf_1")))).await?;
    same("with a reference", &(told.state, told.reference), &(State::Succeeded, Some("rf_1".into())))?;
    let settle = Settle { reference: None, ..end(&early, Ending::Ok) };
    let told = subject.late(settle).await?;
    same("the attempt's own result", &told.state, &State::Succeeded)
}

pub(super) async fn kept_proof(subject: &mut Subject) -> Checked {
    // The attempt proves that it did nothing, while somebody finds out: it counts once nobody does.
    let endings = [
        ("inconclusive", State::FailedRetryable),
        ("exhausted", State::FailedRetryable),
        ("silent", State::FailedRetryable),
        ("noticed", State::FailedRetryable),
        ("applied", State::Succeeded),
        ("heard", State::OutcomeUnknown),
    ];
    for (how, state) in endings {
        let brought = bring(subject, how, RECONCILING).await?;
        // Proof of an older attempt is none of the last one.
        let proves = if how == "heard" { &brought.older } else { &brought.last };
        let kept = subject.late(plain(proves, Ending::Retryable)).await?;
        same("where it stands", &kept.standing(), &RECONCILING)?;
        same("what was proved", &kept.disproved, &(how != "heard"))?;
        match how {
            "silent" | "noticed" => {
                subject.advance(LEASE);
                if how == "silent" {
                    subject.end_leases(&[silent(&kept)]).await?;
                } else {
                    subject.found(brought.asked.clone()).await?;
                }
            }
            "exhausted" => drop(subject.judged(last_verdict(&kept)).await?),
            "applied" => drop(subject.judged(verdict(&kept, applied(Some("1"), None))).await?),
            _ => drop(subject.judged(verdict(&kept, Finding::Inconclusive)).await?),
        }
        let record = subject.show(kept.operation).await?;
        same(&format!("{how}: the state"), &record.state, &state)?;
        if state == State::FailedRetryable {
            same("what was proved is used up", &record.disproved, &false)?;
            let next = grant(subject.reserve(brought.asked.clone()).await?)?;
            same("the next attempt", &(next.attempt, next.in_doubt), &(3, false))?;
        }
    }
    Ok(())
}

pub(super) async fn forgotten(subject: &mut Subject) -> Checked {
    // Evidence goes with its record; the next operation of the same identity begins without it.
    let asked = call("A", 5, "A");
    let first = subject.granted(asked.clone()).await?;
    subject.weighed(says(first.operation, "e1", applied(Some("1"), None))).await?;
    subject.advance(RETAIN + TOMBSTONE);
    same("the records removed", &subject.purge(10, TOMBSTONE).await?.removed, &1)?;
    let second = subject.granted(asked).await?;
    holds("it is another record", second.row != first.row)?;
    holds("nothing was said of it", subject.detail(second.operation).await?.evidence.is_empty())?;
    let told = subject.weighed(says(second.operation, "e1", Finding::Inconclusive)).await?;
    let unknown = subject.settle(plain(&second, Ending::Unknown)).await?;
    holds("the attempt ends", matches!(unknown, Settled::Recorded { .. }))?;
    let record = subject.show(told.operation).await?;
    subject.resolved(decision(&record, Resolution::Retryable)).await?;
    // What nobody came for is kept as long as a tombstone.
    let never = says(operation_of(&call("B", 5, "B"), subject.now)?, "e1", applied(Some("1"), None));
    holds("it is kept", matches!(subject.witness(never.clone()).await?, Witnessed::Kept))?;
    for (wait, known) in [(just_under(TOMBSTONE), true), (NANO, false)] {
        subject.advance(wait);
        subject.purge(10, TOMBSTONE).await?;
        let again = subject.witness(never.clone()).await?;
        same("whether it is known", &matches!(again, Witnessed::Known { record: None }), &known)?;
    }
    Ok(())
}
