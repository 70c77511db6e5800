//! How a reservation is answered, given what its identities led to.
//!
//! Must not know a store: each one fetches the matches inside its transaction, asks here, and carries the
//! decision out. Readers outside a transaction ask the same function, so a replay served from memory and one
//! served by the ledger cannot differ.

use std::{collections::HashSet, sync::Arc, time::Duration};

use super::{
    command::{Alias, Answer, Conflict, ConflictKind, Reserve},
    record::{Record, State},
};
use crate::{
    clock::Timestamp,
    id::OperationId,
    identity::{Identity, PART_BYTES, Source, Tool, operation_id},
    tool::AfterRetention,
};

/// What one identity of a call led to.
#[derive(Debug, Clone)]
pub struct Match {
    /// The generation in which it did.
    pub generation: u32,
    /// The operation.
    pub record: Arc<Record>,
    /// Another operation, first reserved after this one had finished, has succeeded on one of its resources since.
    pub reopened: bool,
}

/// What a store has to do.
#[derive(Debug, Clone)]
pub enum Decision {
    /// There is no such operation: create it, and grant its first attempt.
    Create {
        /// The new operation's id.
        operation: OperationId,
        /// The generation of each identity.
        generations: Vec<u32>,
    },
    /// It is proved that nothing happened, or the provider's key window is open: grant the next attempt.
    Reopen(Answer),
    /// The call holds the last attempt already, and did not hear of it: grant it again.
    GrantAgain(Answer),
    /// Its owner has been silent too long: move it to `outcome_unknown`, then answer.
    EndLease(Answer),
    /// Its retry budget is used up: move it to `failed_final`, then answer.
    GiveUp(Answer),
    /// Answer.
    Answer(Answer),
    /// Refuse.
    Refuse(Conflict),
}

/// Decides a reservation. `matches` has one entry for each identity, in order.
pub fn decide(reserve: &Reserve, matches: &[Option<Match>], now: Timestamp) -> Decision {
    let mut counting: Vec<Option<&Match>> =
        matches.iter().enumerate().map(|(at, found)| counts(reserve, matches, at, found.as_ref(), now)).collect();
    let Some((at, found)) = foremost(reserve, &mut counting) else {
        return create(reserve, matches);
    };
    let by = reserve.identities[at].source;
    let record = &found.record;
    let conflict = |kind| {
        let Record { row, operation, state, .. } = **record;
        Decision::Refuse(Conflict { kind, row, operation, by, state })
    };
    if record.principal != reserve.principal {
        return conflict(ConflictKind::OtherPrincipal);
    }
    if let Some(other) = counting.iter().flatten().find(|other| other.record.row != record.row) {
        return conflict(ConflictKind::Split { other: other.record.operation });
    }
    if record.fingerprint != reserve.fingerprint {
        return conflict(how_it_differs(record, reserve));
    }
    let answer = answer(reserve, matches, &counting, found, by, now);
    match record.state {
        State::FailedRetryable if reserve.budget.is_some_and(|budget| budget.is_over(record, now)) => {
            Decision::GiveUp(answer)
        }
        State::FailedRetryable if !reserve.paused && record.pauses_until(now).is_some() => Decision::Answer(answer),
        State::FailedRetryable => Decision::Reopen(answer),
        State::OutcomeUnknown if may_resend(reserve, record, now) => Decision::Reopen(answer),
        State::InProgress | State::Reconciling if record.lease_ended(now) => Decision::EndLease(answer),
        State::InProgress if record.nonce == reserve.nonce && record.nonce != 0 => Decision::GrantAgain(answer),
        State::InProgress
        | State::Succeeded
        | State::FailedFinal
        | State::OutcomeUnknown
        | State::Reconciling
        | State::OperatorReview => Decision::Answer(answer),
    }
}

/// Whether the call may send again what may have been sent before.
fn may_resend(reserve: &Reserve, record: &Record, now: Timestamp) -> bool {
    reserve.resend.is_some_and(|window| record.may_resend(window, reserve.lease, now))
}

impl Record {
    /// Whether the provider, which remembers keys for a `window` from the first reservation on, still knows the key under
    /// which something may have been sent: a whole lease before the end, and a margin besides, so that what starts now
    /// arrives in time.
    pub(crate) fn may_resend(&self, window: Duration, lease: Duration, now: Timestamp) -> bool {
        now.after(lease) < self.reserved_at.after(usable(window))
    }
}

/// How much of a provider's key window may be used: clocks differ, and nobody knows when exactly it began there.
pub(crate) fn usable(window: Duration) -> Duration {
    window.saturating_sub(window / WINDOW_MARGIN)
}

/// One part in so many of a provider's key window is left unused: half an hour of a day.
const WINDOW_MARGIN: u32 = 48;

/// The match that decides: the most stable one. Equal arguments give way to an identity that names the call itself and
/// whose operation has the same arguments: what the arguments lead to by now is a later occurrence.
fn foremost<'a>(reserve: &Reserve, counting: &mut [Option<&'a Match>]) -> Option<(usize, &'a Match)> {
    let itself = |(identity, found): (&Identity, Option<&'a Match>)| {
        let found = found?;
        (identity.source != Source::Args && found.record.fingerprint == reserve.fingerprint).then_some(found.record.row)
    };
    if let Some(row) = reserve.identities.iter().zip(counting.iter().copied()).find_map(itself) {
        for (identity, found) in reserve.identities.iter().zip(counting.iter_mut()) {
            if identity.source == Source::Args && found.is_some_and(|found| found.record.row != row) {
                *found = None;
            }
        }
    }
    counting.iter().enumerate().find_map(|(at, found)| Some((at, (*found)?)))
}

/// The match of identity `at` if it still means the same intent.
fn counts<'a>(
    reserve: &Reserve,
    matches: &[Option<Match>],
    at: usize,
    found: Option<&'a Match>,
    now: Timestamp,
) -> Option<&'a Match> {
    let found = found?;
    let record = &found.record;
    if !record.state.is_finished() {
        return Some(found);
    }
    let ended = record.retention_ended(now);
    // A carried record names this one operation and no later one: it is told, it never runs under an id that is used up.
    if ended && reserve.after_retention == AfterRetention::Run && reserve.resumed.is_none() {
        return None;
    }
    let same_call = reserve.resumed.is_some() || named_otherwise(reserve, matches, at, record.row);
    if same_call || reserve.identities[at].source != Source::Args {
        return Some(found);
    }
    // Equal arguments under a new id: the same intent only for a while after it finished.
    let outside = |window| record.settled_at.is_some_and(|settled| now >= settled.after(window));
    if ended || found.reopened || reserve.window.is_some_and(outside) { None } else { Some(found) }
}

/// Whether an identity other than equal arguments leads to the same record.
fn named_otherwise(reserve: &Reserve, matches: &[Option<Match>], at: usize, row: i64) -> bool {
    reserve.identities.iter().zip(matches).enumerate().any(|(other, (identity, found))| {
        other != at && identity.source != Source::Args && found.as_ref().is_some_and(|found| found.record.row == row)
    })
}

fn create(reserve: &Reserve, matches: &[Option<Match>]) -> Decision {
    let next = |(identity, found): (&Identity, &Option<Match>)| {
        identity.generation.unwrap_or_else(|| found.as_ref().map_or(1, |found| found.generation.saturating_add(1)))
    };
    let generations: Vec<u32> = reserve.identities.iter().zip(matches).map(next).collect();
    let first = reserve.identities.first().zip(generations.first());
    let derived =
        first.map(|(identity, generation)| operation_id(&reserve.scope.digest, &identity.digest, *generation));
    let operation = reserve.resumed.or(derived).unwrap_or(OperationId::from_bytes([0; 20]));
    Decision::Create { operation, generations }
}

/// The generation of an identity that leads to no operation; real ones count from 1.
pub(crate) const NO_GENERATION: u32 = 0;

fn answer(
    reserve: &Reserve,
    matches: &[Option<Match>],
    counting: &[Option<&Match>],
    found: &Match,
    by: Source,
    now: Timestamp,
) -> Answer {
    let mut aliases = Vec::new();
    let mut generations = Vec::with_capacity(reserve.identities.len());
    for ((identity, seen), counts) in reserve.identities.iter().zip(matches).zip(counting) {
        let generation = match (counts, seen) {
            (Some(counts), _) => counts.generation,
            (None, None) => identity.generation.unwrap_or(1),
            // It leads to another occurrence by now: it is none of this operation's.
            (None, Some(_)) => NO_GENERATION,
        };
        generations.push(generation);
        if counts.is_none() && seen.is_none() {
            aliases.push(Alias { source: identity.source, digest: identity.digest, generation });
        }
    }
    let retention_ended = found.record.retention_ended(now);
    Answer { record: Arc::clone(&found.record), by, generations, aliases, retention_ended }
}

/// Drift, or a contract that changed since: told apart by the shape of the tool's arguments.
fn how_it_differs(record: &Record, reserve: &Reserve) -> ConflictKind {
    if *record.tool != *reserve.tool {
        return ConflictKind::ContractChanged { recorded: record.tool.version, current: reserve.tool.version };
    }
    ConflictKind::Drift { parameters: differing(&reserve.tool, &record.parts, &reserve.parts) }
}

fn differing(tool: &Tool, recorded: &[u8], called: &[u8]) -> Vec<String> {
    let pairs = recorded.chunks(PART_BYTES).zip(called.chunks(PART_BYTES));
    let differing = tool.effect_names().zip(pairs).filter(|(_, (recorded, called))| recorded != called);
    differing.map(|(name, _)| name.to_owned()).collect()
}

/// The content parameters of `tool` that the call words differently from the attempt that ran.
pub(crate) fn reworded(record: &Record, called: &[u8]) -> Vec<String> {
    let pairs = record.content.chunks(PART_BYTES).zip(called.chunks(PART_BYTES));
    let named = record.tool.content_names().zip(pairs);
    let reworded: HashSet<&str> = named.filter(|(_, (was, is))| was != is).map(|(name, _)| name).collect();
    let mut reworded: Vec<String> = reworded.into_iter().map(str::to_owned).collect();
    reworded.sort_unstable();
    reworded
}
