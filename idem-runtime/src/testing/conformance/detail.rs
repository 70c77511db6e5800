//! Everything that is kept about one operation.

use std::sync::Arc;

use super::{
    calls::{LEASE, NANO, RETAIN, TOMBSTONE, by_args, by_id, call, end, named, scope, tenant},
    findings::{applied, decision, says, verdict},
    stand::{again, plain},
    subject::{Checked, Subject, Wrong, holds, same},
};
use crate::{
    Source,
    ledger::{
        Alias, Command, Ending, Finding, Grant, Happened, Identity, Record, Reserve, Resolution, Settle, Settled,
        State, Stored, StoredKind, Tally, Tried,
    },
};

/// The entry that a change leaves which led to this record.
fn entry(record: &Record, event: &str, subject: &Subject) -> Happened {
    Happened {
        version: record.version,
        at: subject.now,
        attempt: record.attempt,
        event: event.into(),
        state: record.state,
        actor: None,
        detail: None,
    }
}

pub(super) async fn history(subject: &mut Subject) -> Checked {
    let asked = call("A", 5, "A");
    let first = subject.granted(asked.clone()).await?;
    let tried =
        |grant: &Grant, subject: &Subject| Tried { number: grant.attempt, fence: grant.fence, started_at: subject.now };
    let mut attempts = vec![tried(&first, subject)];
    let mut should_be = Vec::new();
    same("the first attempt", &subject.detail(first.operation).await?.attempts, &attempts)?;
    holds("that began and no more", subject.detail(first.operation).await?.history.is_empty())?;
    subject.advance(NANO);
    subject.settle(Settle { stored: None, ..plain(&first, Ending::Retryable) }).await?;
    should_be.push(entry(&subject.show(first.operation).await?, "settle_retryable", subject));
    subject.advance(NANO);
    let second = subject.granted(asked.clone()).await?;
    attempts.push(tried(&second, subject));
    should_be.push(entry(&subject.show(first.operation).await?, "reserve", subject));
    // What an older attempt says is told as that attempt's.
    subject.late(Settle { stored: None, ..plain(&first, Ending::Unknown) }).await?;
    should_be.push(Happened { attempt: 1, ..entry(&subject.show(first.operation).await?, "late_unknown", subject) });
    subject.advance(LEASE);
    subject.found(asked.clone()).await?;
    should_be.push(entry(&subject.show(first.operation).await?, "lease_ended", subject));
    let third = subject.granted(again(&asked)).await?;
    attempts.push(tried(&third, subject));
    should_be.push(entry(&subject.show(first.operation).await?, "resend", subject));
    let words = Some("the line went dead".into());
    let stored = Some(Stored { kind: StoredKind::Text, bytes: "the line went dead".as_bytes().into() });
    subject.settle(Settle { stored, ..plain(&third, Ending::Unknown) }).await?;
    let record = subject.show(first.operation).await?;
    should_be.push(Happened { detail: words, ..entry(&record, "settle_unknown", subject) });
    let begun = subject.begun(&record).await?;
    should_be.push(entry(&begun, "begin_reconcile", subject));
    subject.advance(NANO);
    let told = subject.judged(verdict(&begun, Finding::Inconclusive)).await?;
    should_be.push(entry(&told, "verdict_inconclusive", subject));
    let told = subject.resolved(decision(&told, Resolution::Retryable)).await?;
    let (actor, detail) = (Some("ada@example.com".into()), Some("the bank says so".into()));
    should_be.push(Happened { actor, detail, ..entry(&told, "resolve_retryable", subject) });
    let fourth = subject.granted(asked).await?;
    attempts.push(tried(&fourth, subject));
    should_be.push(entry(&subject.show(first.operation).await?, "reserve", subject));
    subject.recorded(&fourth, Ending::Ok).await?;
    should_be.push(entry(&subject.show(first.operation).await?, "settle_ok", subject));
    let detail = subject.detail(first.operation).await?;
    same("the attempts", &detail.attempts, &attempts)?;
    same("the history", &detail.history, &should_be)?;
    let versions: Vec<u64> = detail.history.iter().map(|happened| happened.version).collect();
    same("its versions", &versions, &(2..=detail.record.version).collect())
}

pub(super) async fn first_attempt(subject: &mut Subject) -> Checked {
    // A first attempt that succeeded is told by its record alone.
    let grant = subject.granted(call("A", 5, "A")).await?;
    let at = subject.now;
    subject.advance(NANO);
    subject.recorded(&grant, Ending::Ok).await?;
    let detail = subject.detail(grant.operation).await?;
    holds("it has no history", detail.history.is_empty())?;
    same("its version", &detail.record.version, &2)?;
    same("its attempts", &detail.attempts, &vec![Tried { number: 1, fence: grant.fence, started_at: at }])?;
    // What comes later is told.
    let told = subject.weighed(says(grant.operation, "e1", Finding::NotApplied)).await?;
    let events = subject.history(grant.operation).await?;
    same("its history then", &events, &vec![Arc::from("evidence_not_applied")])?;
    same("its version then", &(told.version, told.review), &(3, true))
}

pub(super) async fn whose(subject: &mut Subject) -> Checked {
    let arguments: Arc<[u8]> = br#"{"order":"A","cents":5}"#.as_slice().into();
    let asked = Reserve { arguments: Some(Arc::clone(&arguments)), ..call("A", 5, "A") };
    let grant = subject.granted(asked).await?;
    let detail = subject.detail(grant.operation).await?;
    same("its arguments", &detail.arguments, &Some(arguments))?;
    let told = (&*detail.scope_kind, detail.scope_value.as_deref(), detail.scope);
    same("its scope", &told, &("conversation", Some("c-1"), scope().digest))?;
    let id = |of: Identity| Alias { source: of.source, digest: of.digest, generation: 1 };
    let mut identities = detail.identities;
    identities.sort_by_key(|alias| alias.source);
    same("its identities", &identities, &vec![id(by_args("A")), id(by_id("A"))])?;
    let late = Alias { source: Source::ToolCallId, digest: by_id("later").digest, generation: 1 };
    let tally =
        Tally { tenant: tenant(), row: grant.row, replays: 1, drifts: 0, parameters: Vec::new(), aliases: vec![late] };
    subject.apply(&[Command::Tally(vec![tally])]).await?;
    let identities = subject.detail(grant.operation).await?.identities;
    holds("an identity that came later is one of them", identities.len() == 3 && identities.contains(&late))?;
    // Another tenant sees none of it, before and after it has operations of its own.
    let other = named("other");
    holds("another tenant sees nothing", subject.reader().detail(&other, grant.operation).await?.is_none())?;
    subject.granted(Reserve { tenant: other.clone(), ..call("B", 5, "B") }).await?;
    holds("another tenant sees nothing", subject.reader().detail(&other, grant.operation).await?.is_none())?;
    let bare = subject.granted(call("C", 5, "C")).await?;
    same("arguments that nobody stored", &subject.detail(bare.operation).await?.arguments, &None)
}

pub(super) async fn until_purged(subject: &mut Subject) -> Checked {
    let asked = || Reserve { arguments: Some(b"{}".as_slice().into()), ..call("A", 5, "A") };
    let first = subject.granted(asked()).await?;
    subject.settle(plain(&first, Ending::Unknown)).await?;
    let record = subject.show(first.operation).await?;
    let begun = subject.begun(&record).await?;
    let told = subject.judged(verdict(&begun, applied(Some("1"), None))).await?;
    subject.weighed(says(told.operation, "e1", applied(Some("1"), None))).await?;
    let before = subject.detail(told.operation).await?;
    subject.advance(RETAIN);
    subject.purge(10, TOMBSTONE).await?;
    // A tombstone says what happened, and keeps no values.
    let tombstone = subject.detail(told.operation).await?;
    same("the result and the arguments", &(tombstone.record.stored, tombstone.arguments), &(None, None))?;
    same("the history", &tombstone.history, &before.history)?;
    same("the evidence", &tombstone.evidence, &before.evidence)?;
    subject.advance(TOMBSTONE);
    same("the records removed", &subject.purge(10, TOMBSTONE).await?.removed, &1)?;
    holds("nothing is left", subject.reader().detail(&tenant(), told.operation).await?.is_none())?;
    // The same call anew begins with nothing.
    let second = subject.granted(call("A", 5, "A")).await?;
    same("its id", &second.operation, &told.operation)?;
    let detail = subject.detail(second.operation).await?;
    same("its attempts", &detail.attempts.len(), &1)?;
    holds("it has no past", detail.history.is_empty() && detail.evidence.is_empty() && detail.arguments.is_none())?;
    let settled = subject.settle(end(&second, Ending::Ok)).await?;
    match settled {
        Settled::Recorded { state: State::Succeeded, .. } => Ok(()),
        other => Err(Wrong::new(format!("the new attempt was answered with {other:?}"))),
    }
}
