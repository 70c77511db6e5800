//! What a person decides, on the version that they saw.

use std::sync::Arc;

use super::{
    calls::{NANO, RETAIN, call, named},
    findings::{begin, decision, succeeded, value, verdict},
    stand::{again, bring, brought, plain, repeat},
    subject::{Checked, Subject, Wrong, holds, same},
};
use crate::ledger::{
    Command, Ending, Finding, Record, Reply, Reserve, Resolution, Resolve, Resolved, Standing, State, Stored,
    StoredKind,
};

const UNKNOWN: Standing = Standing::sure(State::OutcomeUnknown);
/// Where a person may decide.
const OPEN: [State; 2] = [State::OutcomeUnknown, State::OperatorReview];

fn decisions() -> [(Resolution, State); 3] {
    [
        (succeeded(Some("\"rf_1\""), Some("rf_1")), State::Succeeded),
        (Resolution::Retryable, State::FailedRetryable),
        (Resolution::Final, State::FailedFinal),
    ]
}

pub(super) async fn decides(subject: &mut Subject) -> Checked {
    for state in OPEN {
        for (resolution, to) in decisions() {
            let brought = bring(subject, &format!("{state:?} {to:?}"), Standing::sure(state)).await?;
            let before = brought.record.clone();
            subject.advance(NANO);
            let told = subject.resolved(decision(&before, resolution)).await?;
            let success = to == State::Succeeded;
            let words = Stored { kind: StoredKind::Text, bytes: "the bank says so".as_bytes().into() };
            let should_be = Record {
                version: before.version + 1,
                state: to,
                passes: 0,
                answered: 0,
                settled_at: Some(subject.now),
                unknown_at: None,
                next_at: None,
                retain_until: to.is_finished().then(|| subject.now.after(RETAIN)),
                reference: success.then(|| "rf_1".into()).or(before.reference.clone()),
                stored: match to {
                    State::Succeeded => Some(value("\"rf_1\"")),
                    State::FailedFinal => Some(words),
                    _ => before.stored.clone(),
                },
                ..before
            };
            same("the record", &told, &should_be)?;
            if to == State::FailedRetryable {
                same("the next attempt", &subject.granted(brought.asked).await?.attempt, &3)?;
            } else {
                same("what a repeat finds", &*repeat(subject, &brought).await?, &should_be)?;
            }
        }
    }
    Ok(())
}

pub(super) async fn decides_only_there(subject: &mut Subject) -> Checked {
    for from in Standing::all().filter(|from| !OPEN.contains(&from.state)) {
        for (resolution, to) in decisions() {
            let record = bring(subject, &format!("{from:?} {to:?}"), from).await?.record;
            // That somebody decided goes to the history, and nowhere else.
            let should_be = Record { version: record.version + 1, ..record.clone() };
            same("the record told", &subject.outrun(decision(&record, resolution)).await?, &should_be)?;
            same("the record", &subject.show(record.operation).await?, &should_be)?;
        }
    }
    Ok(())
}

pub(super) async fn one_of_two(subject: &mut Subject) -> Checked {
    for (at, (first, to)) in decisions().into_iter().enumerate() {
        for (second, _) in decisions() {
            let order = format!("{at} {second:?}");
            let record = bring(subject, &order, UNKNOWN).await?.record;
            let decide = |resolution| Command::Resolve(Box::new(decision(&record, resolution)));
            let replies = subject.apply(&[decide(first.clone()), decide(second)]).await?;
            let Ok(
                [
                    Reply::Resolved(Resolved::Recorded { record: won }),
                    Reply::Resolved(Resolved::Changed { record: told }),
                ],
            ) = <[Reply; 2]>::try_from(replies)
            else {
                return Err(Wrong::new("of two decisions on one version the first one stands"));
            };
            same("the state", &won.state, &to)?;
            let should_be = Record { version: won.version + 1, ..Record::clone(&won) };
            same("what the loser is told", &*told, &should_be)?;
            same("the record", &subject.show(record.operation).await?, &should_be)?;
        }
    }
    Ok(())
}

pub(super) async fn on_what_was_seen(subject: &mut Subject) -> Checked {
    // The state is the same one again, and the question is another.
    let brought = bring(subject, "A", UNKNOWN).await?;
    let seen = brought.record.clone();
    let begun = subject.begun(&seen).await?;
    let asked_about = subject.judged(verdict(&begun, Finding::Inconclusive)).await?;
    let sent = subject.granted(again(&brought.asked)).await?;
    subject.settle(plain(&sent, Ending::Unknown)).await?;
    let mut now = subject.show(seen.operation).await?;
    same("the state", &now.state, &seen.state)?;
    for older in [&seen, &begun, &asked_about] {
        for (resolution, _) in decisions() {
            now.version += 1;
            same("the record told", &subject.outrun(decision(older, resolution)).await?, &now)?;
        }
    }
    let ahead = Resolve { version: now.version + 1, ..decision(&now, Resolution::Final) };
    now.version += 1;
    same("what is told to who sees ahead", &subject.outrun(ahead).await?, &now)?;
    same("the record", &subject.show(now.operation).await?, &now)?;
    same("a decision on it", &subject.resolved(decision(&now, Resolution::Final)).await?.state, &State::FailedFinal)?;
    // A reconciler as well loses against a person.
    let record = bring(subject, "B", UNKNOWN).await?.record;
    let resolved = subject.resolved(decision(&record, Resolution::Retryable)).await?;
    same("what a reconciler is told", &subject.not_begun(begin(&record)).await?, &resolved)
}

pub(super) async fn needs_a_reference(subject: &mut Subject) -> Checked {
    for state in OPEN {
        let order = format!("{state:?}");
        let strict = Reserve { needs_reference: true, ..call(&order, 5, &order) };
        let record = brought(subject, strict, Standing::sure(state)).await?.record;
        let told = subject.resolve(decision(&record, succeeded(Some("1"), None))).await?;
        let Resolved::NoReference { record: told } = told else {
            return Err(Wrong::new(format!("a success without a reference was answered with {told:?}")));
        };
        same("the record told", &*told, &record)?;
        same("the record", &subject.show(record.operation).await?, &record)?;
        let told = subject.resolved(decision(&record, succeeded(None, Some("rf_1")))).await?;
        same("with a reference", &(told.state, told.reference), &(State::Succeeded, Some("rf_1".into())))?;
    }
    Ok(())
}

pub(super) async fn other_tenants(subject: &mut Subject) -> Checked {
    let record = bring(subject, "A", UNKNOWN).await?.record;
    for (resolution, _) in decisions() {
        let theirs = Resolve { tenant: named("other"), ..decision(&record, resolution.clone()) };
        let nobodys = Resolve { row: 9_000_000, ..decision(&record, resolution) };
        for resolve in [theirs, nobodys] {
            holds("what is not there is gone", matches!(subject.resolve(resolve).await?, Resolved::Gone))?;
        }
    }
    same("the record", &subject.show(record.operation).await?, &record)
}

pub(super) async fn is_named(subject: &mut Subject) -> Checked {
    for (resolution, to) in decisions() {
        let record = bring(subject, &format!("{to:?}"), UNKNOWN).await?.record;
        subject.advance(NANO);
        let resolve = Resolve { evidence: Some("statement of May".into()), ..decision(&record, resolution) };
        subject.resolved(resolve).await?;
        let history = subject.detail(record.operation).await?.history;
        let last = history.last().ok_or_else(|| Wrong::new("there is no history"))?;
        let event = match to {
            State::Succeeded => "resolve_succeeded",
            State::FailedRetryable => "resolve_retryable",
            _ => "resolve_final",
        };
        same("what happened", &(&*last.event, last.state, last.at), &(event, to, subject.now))?;
        same("who did it", &last.actor, &Some(Arc::from("ada@example.com")))?;
        let words = last.detail.as_deref().unwrap_or_default();
        holds("the reason is kept", words.contains("the bank says so"))?;
        holds("what it rests on is kept", words.contains("statement of May"))?;
        let others = history.iter().rev().skip(1).all(|happened| happened.actor.is_none());
        holds("nobody else is named", others)?;
    }
    // Who came too late stands there too.
    let record = bring(subject, "late", UNKNOWN).await?.record;
    subject.resolved(decision(&record, Resolution::Retryable)).await?;
    let late =
        Resolve { actor: "eve@example.com".into(), reason: "I saw it".into(), ..decision(&record, Resolution::Final) };
    let told = subject.outrun(late).await?;
    let history = subject.detail(record.operation).await?.history;
    let last = history.last().ok_or_else(|| Wrong::new("there is no history"))?;
    let named = (&*last.event, last.version, last.state, last.actor.as_deref(), last.detail.as_deref());
    let (who, why) = (Some("eve@example.com"), Some("failed_final: I saw it"));
    let should_be = ("resolve_refused", told.version, State::FailedRetryable, who, why);
    same("what happened last", &named, &should_be)
}
