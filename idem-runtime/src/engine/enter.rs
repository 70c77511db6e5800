//! How a call enters: it runs, is answered from a record, waits, or is refused.

use std::{sync::Arc, time::Duration};

use super::asked::Asked;
use crate::{
    call::{AttemptRecord, RepeatToken},
    identity::{About, Source},
    ledger::{
        Answer, Busy, Conflict, ConflictKind, Decision, Find, Grant, Holding, LedgerError, Match, Pause, Record,
        Reserve, Settled, State, Stored, StoredKind, Taken, Tally, decide, first_call, reworded,
    },
    outcome::{Held, Refusal, RefusalKind, Replay, Told},
    tool::OnBusy,
};

/// How a call goes on.
#[derive(Debug)]
pub(crate) enum Entered {
    /// It owns the next attempt.
    Run(Box<Holding>),
    /// A finished operation's stored outcome.
    Replay(Box<Answer>),
    /// Nobody knows how the operation ended, and nobody is finding out.
    Unknown(Box<Answer>),
    /// There is nothing to run and nothing to give.
    Refused(Refusal),
}

/// What is known of a call before the ledger is asked for an attempt.
#[derive(Debug)]
pub(crate) enum Looked {
    /// The answer.
    Known(Entered),
    /// An attempt is running, or its owner has fallen silent.
    Taken,
    /// Nothing stands in the way of an attempt.
    Free,
}

/// Whether the ledger is asked before anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    /// Always.
    Always,
    /// When repeats are frequent enough.
    IfItPays,
}

/// Whether an answer came from memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Already,
    NotYet,
}

/// How long a call whose deadline has come waits to be told for what it waited in vain.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// What a duplicate is told to wait at least, and at most.
const RETRY_AFTER_MIN: Duration = Duration::from_secs(1);
const RETRY_AFTER_MAX: Duration = Duration::from_mins(1);

impl Asked {
    /// What is already known, from memory or from the store, without a change of the ledger. A tool that checks its
    /// arguments itself has the ledger asked `first`; for others reading is a matter of speed.
    pub(crate) async fn look(&self, first: First) -> Looked {
        if let Some(answer) = &self.known {
            return Looked::Known(self.answered(answer, Kept::Already));
        }
        if first == First::IfItPays && self.reserve.resumed.is_none() && !self.engine.reading.pays() {
            return Looked::Free;
        }
        let matches = match self.read().await {
            Ok(matches) => matches,
            Err(error) => return Looked::Known(Entered::Refused(unavailable(error))),
        };
        if matches.iter().any(Option::is_some) {
            self.engine.reading.found();
        } else {
            self.engine.reading.missed();
        }
        self.judged(&matches)
    }

    async fn read(&self) -> Result<Vec<Option<Match>>, LedgerError> {
        Ok(self.engine.ledger.reader().find(Find::of(&self.reserve)).await?)
    }

    fn judged(&self, matches: &[Option<Match>]) -> Looked {
        match decide(&self.reserve, matches, self.engine.clock.now()) {
            Decision::Answer(answer) if self.waits_for(&answer.record) => Looked::Taken,
            Decision::EndLease(_) | Decision::GiveUp(_) | Decision::GrantAgain(_) => Looked::Taken,
            Decision::Answer(answer) => Looked::Known(self.answered(&answer, Kept::NotYet)),
            Decision::Refuse(conflict) => Looked::Known(Entered::Refused(self.refused(conflict))),
            Decision::Create { .. } | Decision::Reopen(_) => Looked::Free,
        }
    }

    /// The generations that a first dispatch would have, for a record made in advance.
    pub(crate) async fn prepared(&self) -> Result<AttemptRecord, Refusal> {
        let matches = self.read().await.map_err(unavailable)?;
        let (operation, generations) = match decide(&self.reserve, &matches, self.engine.clock.now()) {
            Decision::Create { operation, generations } => (operation, generations),
            Decision::Reopen(answer)
            | Decision::EndLease(answer)
            | Decision::GrantAgain(answer)
            | Decision::GiveUp(answer)
            | Decision::Answer(answer) => (answer.record.operation, answer.generations),
            Decision::Refuse(conflict) => return Err(self.refused(conflict)),
        };
        Ok(self.record(operation, &generations))
    }

    /// Asks the ledger for an attempt, and waits for another one as long as the call may.
    pub(crate) async fn enter(&self) -> Entered {
        let busy = match self.spec.when_busy() {
            OnBusy::Wait => Busy::Park,
            OnBusy::Tell => Busy::Tell,
        };
        let (mut pause, mut reserve) = (Pause::FIRST, Arc::clone(&self.reserve));
        loop {
            let left = self.deadline.since(self.engine.clock.now());
            let reserved = self.engine.ledger.reserve(Arc::clone(&reserve), busy);
            let taken = match tokio::time::timeout(left, reserved).await {
                Ok(Ok(taken)) => taken,
                Ok(Err(error)) => return Entered::Refused(unavailable(error)),
                Err(_) => return self.out_of_time().await,
            };
            match taken {
                Taken::Holding(holding) => return Entered::Run(holding),
                Taken::Refused(conflict) => return Entered::Refused(self.refused(conflict)),
                Taken::Found(answer) if is_under_way(answer.record.state) => {
                    // Another process's attempt, or somebody finds out: look again, ever less often.
                    let left = self.deadline.since(self.engine.clock.now());
                    if busy == Busy::Tell || left <= pause.at_most() {
                        return self.answered(&answer, Kept::NotYet);
                    }
                    if let Some(entered) = self.watch(&mut pause).await {
                        return entered;
                    }
                }
                // The next attempt is not due yet: whoever comes meanwhile waits as the tool declares.
                Taken::Found(answer) if self.waits_for(&answer.record) => {
                    let now = self.engine.clock.now();
                    let wait = answer.record.pauses_until(now).map_or(Duration::ZERO, |until| until.since(now));
                    if busy == Busy::Tell || self.deadline.since(now) <= wait {
                        return self.answered(&answer, Kept::NotYet);
                    }
                    tokio::time::sleep(wait).await;
                    Arc::make_mut(&mut reserve).paused = true;
                }
                // Its last owner's silence has just been recorded, and the way is free: the next reservation is granted.
                Taken::Found(answer) if self.is_free(&answer.record) => {}
                Taken::Found(answer) => {
                    self.engine.reading.found();
                    return self.answered(&answer, Kept::NotYet);
                }
            }
        }
    }

    /// Whether somebody is at it whose end is worth waiting for, or the next attempt has to wait.
    fn waits_for(&self, record: &Record) -> bool {
        is_under_way(record.state) || record.pauses_until(self.engine.clock.now()).is_some() && !self.reserve.paused
    }

    fn is_free(&self, record: &Record) -> bool {
        let Reserve { resend, lease, .. } = &*self.reserve;
        let resends = resend.is_some_and(|window| record.may_resend(window, *lease, self.engine.clock.now()));
        record.state == State::FailedRetryable || record.state == State::OutcomeUnknown && resends
    }

    /// Waits for another process's attempt by reading, together with whoever else waits so; `None` when the ledger has to be
    /// asked again.
    async fn watch(&self, pause: &mut Pause) -> Option<Entered> {
        loop {
            let now = self.engine.clock.now();
            let left = self.deadline.since(now);
            if left <= pause.at_most() {
                return Some(self.out_of_time().await);
            }
            let later = self.engine.ledger.find_later(&self.reserve, *pause);
            *pause = pause.longer();
            let matches = match tokio::time::timeout(left, later).await {
                Ok(Ok(matches)) => matches,
                Ok(Err(error)) => return Some(Entered::Refused(unavailable(error))),
                Err(_) => return Some(self.out_of_time().await),
            };
            let now = self.engine.clock.now();
            match decide(&self.reserve, &matches, now) {
                Decision::Answer(answer) if is_under_way(answer.record.state) => {}
                Decision::Answer(answer) if self.waits_for(&answer.record) => return None,
                Decision::Answer(answer) => return Some(self.answered(&answer, Kept::NotYet)),
                Decision::Refuse(conflict) => {
                    return Some(Entered::Refused(self.refused(conflict)));
                }
                Decision::Create { .. }
                | Decision::Reopen(_)
                | Decision::EndLease(_)
                | Decision::GrantAgain(_)
                | Decision::GiveUp(_) => return None,
            }
        }
    }

    /// The deadline came while the call waited: says for what.
    async fn out_of_time(&self) -> Entered {
        let now = self.engine.clock.now();
        let read = tokio::time::timeout(LAST_LOOK, self.read()).await;
        match read.map(|read| read.map(|matches| decide(&self.reserve, &matches, now))) {
            Ok(Ok(Decision::Answer(answer) | Decision::EndLease(answer)))
                if answer.record.state == State::InProgress =>
            {
                Entered::Refused(self.in_progress(&answer.record))
            }
            Ok(Ok(Decision::Answer(answer))) => self.answered(&answer, Kept::NotYet),
            _ => {
                let why = "the ledger did not answer before the call's deadline";
                Entered::Refused(Refusal::new(RefusalKind::LedgerUnavailable).because(why))
            }
        }
    }

    fn in_progress(&self, record: &Record) -> Refusal {
        // The longer it has been running, the longer it is likely to.
        let running = self.engine.clock.now().since(record.reserved_at);
        let retry_after = running.clamp(RETRY_AFTER_MIN, RETRY_AFTER_MAX);
        Refusal::new(RefusalKind::InProgress { retry_after }).of(record.operation).first_at(record.reserved_at)
    }

    fn answered(&self, answer: &Answer, kept: Kept) -> Entered {
        let record = &answer.record;
        let refusal = |kind| Refusal::new(kind).of(record.operation).first_at(record.reserved_at);
        self.tally(record.row, answer);
        match record.state {
            State::Succeeded | State::FailedFinal if answer.retention_ended => {
                Entered::Refused(refusal(RefusalKind::RetentionEnded))
            }
            State::Succeeded | State::FailedFinal => {
                if kept == Kept::NotYet {
                    self.engine.cache.insert(&self.reserve.identities, &answer.generations, record);
                }
                Entered::Replay(Box::new(answer.clone()))
            }
            State::InProgress => Entered::Refused(self.in_progress(record)),
            State::OutcomeUnknown => Entered::Unknown(Box::new(answer.clone())),
            State::Reconciling => {
                let why = "it is being found out right now";
                Entered::Refused(refusal(RefusalKind::Unknown).because(why))
            }
            State::OperatorReview => {
                let why = "nobody could find out, and a person has to decide";
                Entered::Refused(refusal(RefusalKind::Unknown).because(why))
            }
            State::FailedRetryable => Entered::Refused(refusal(RefusalKind::FailedRetryable)),
        }
    }

    /// The circumstances of a replay.
    pub(crate) fn told(
        &self,
        record: &Record,
        by: &'static str,
        repeat: Option<RepeatToken>,
        carried: Arc<AttemptRecord>,
    ) -> Told {
        Told {
            operation: record.operation,
            first_at: record.reserved_at,
            attempt: record.attempt,
            replay: Some(Replay { by, reworded: reworded(record, &self.reserve.content), repeat }),
            reference: record.reference.clone(),
            held: Held::Result,
            record: carried,
        }
    }

    /// Equal arguments under a new id: what it takes to mean a second effect.
    pub(crate) fn repeat_token(&self, record: &Record) -> Option<RepeatToken> {
        let Reserve { tenant, tool, fingerprint, identities, .. } = &*self.reserve;
        let id = identities.iter().find(|identity| identity.source == Source::ToolCallId)?;
        if self.reserve.resumed.is_some() || first_call(identities) == record.first_call {
            // The first call itself once more, or an attempt of this very operation.
            return None;
        }
        let about = About { tenant, tool: &tool.name, fingerprint, key: self.engine.identity_key.as_ref() };
        Some(about.token(record.operation, &id.digest))
    }

    fn refused(&self, conflict: Conflict) -> Refusal {
        let Conflict { kind, row, operation, by, .. } = conflict;
        let parameters = match &kind {
            ConflictKind::Drift { parameters } => parameters.clone(),
            _ => Vec::new(),
        };
        self.engine.ledger.tally(Tally {
            tenant: self.reserve.tenant.clone(),
            row,
            replays: 0,
            drifts: 1,
            parameters,
            aliases: Vec::new(),
        });
        tracing::warn!(%operation, by = by.name(), ?kind, "a call does not fit the operation that it names");
        let kind = match kind {
            ConflictKind::Drift { parameters } => {
                RefusalKind::Drift { parameters, suspect_id: by == Source::ToolCallId && self.bare_id }
            }
            ConflictKind::ContractChanged { recorded, current } => RefusalKind::ContractChanged { recorded, current },
            ConflictKind::Split { other } => RefusalKind::Split { other },
            ConflictKind::OtherPrincipal => RefusalKind::OtherPrincipal,
        };
        Refusal::new(kind).of(operation)
    }

    fn tally(&self, row: i64, answer: &Answer) {
        let tenant = self.reserve.tenant.clone();
        if answer.aliases.is_empty() {
            self.engine.ledger.replayed(tenant, row);
            return;
        }
        self.engine.ledger.tally(Tally {
            tenant,
            row,
            replays: 1,
            drifts: 0,
            parameters: Vec::new(),
            aliases: answer.aliases.clone(),
        });
    }

    /// The record of an attempt that this call ran and settled, as the ledger now has it.
    pub(crate) fn settled(
        &self,
        grant: &Grant,
        settled: &Settled,
        stored: Option<Stored>,
        reference: Option<Arc<str>>,
    ) {
        let Settled::Recorded { state, settled_at, retain_until } = settled else {
            return;
        };
        if !state.is_finished() {
            return;
        }
        let created = Record::created(&self.reserve, grant.operation, grant.row, grant.reserved_at);
        let record = Arc::new(Record {
            state: *state,
            attempt: grant.attempt,
            fence: grant.fence,
            lease_until: None,
            settled_at: Some(*settled_at),
            retain_until: *retain_until,
            reference,
            stored,
            ..created
        });
        self.engine.cache.insert(&self.reserve.identities, &grant.generations, &record);
    }
}

/// Whether somebody is at it whose end is worth waiting for.
const fn is_under_way(state: State) -> bool {
    matches!(state, State::InProgress | State::Reconciling)
}

/// The ledger did not answer: nothing was run for this call.
pub(super) fn unavailable(error: LedgerError) -> Refusal {
    Refusal::new(RefusalKind::LedgerUnavailable).because(error)
}

/// What a caller is told about an operation whose outcome nobody knows.
pub(super) fn unknown(record: &Record) -> Refusal {
    let refusal = Refusal::new(RefusalKind::Unknown).of(record.operation).first_at(record.reserved_at);
    match &record.stored {
        Some(stored) if stored.kind == StoredKind::Text => refusal.because(words(Some(stored))),
        _ => refusal,
    }
}

/// What a stored failure says, in words.
pub(super) fn words(stored: Option<&Stored>) -> String {
    match stored {
        Some(stored) => String::from_utf8_lossy(&stored.bytes).into_owned(),
        None => "its words were not recorded".to_owned(),
    }
}
