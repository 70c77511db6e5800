//! One case while it is played: calls, what they are told, and what has to be true after each of them.
//!
//! Must not know which scenario it belongs to.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::sync::Barrier;

use super::{
    Answer,
    answer::only_prepared,
    playing::{Failed, Part, Playing, Stop},
    record::{Actual, CaseRecord, Expected, Verdict},
    stage::{Ground, Set, Stage},
    verdict::FailureKind,
    who::Who,
};
use crate::{
    Idem, OperationId, Tenant,
    ledger::{BoxFuture, Detail, State},
    testing::{folder::Folder, gate::until, provider::Effect},
};

/// How long a call may take before somebody is held to hang.
const PATIENCE: Duration = Duration::from_secs(45);

/// How often each effect was counted.
pub(super) type Counts = BTreeMap<String, usize>;

/// A case.
pub(super) struct Case<'a, S: Clone, A> {
    pub(super) playing: &'a Playing<'a, S, A>,
    pub(super) stage: Stage<S>,
    pub(super) who: Who,
    pub(super) entry: CaseRecord,
    /// How many effects of each name are meant to happen, at most.
    pub(super) intended: usize,
    /// The first result of each operation.
    values: BTreeMap<String, serde_json::Value>,
    pub(super) told_success: bool,
    /// It is one of many that are written down as one.
    pub(super) kept: bool,
    pub(super) tenant: String,
}

impl<'a, S, A> Case<'a, S, A>
where
    S: Part,
    A: Part,
{
    pub(super) async fn new(
        playing: &'a Playing<'a, S, A>,
        name: &str,
        (ground, set): (Ground, Set),
    ) -> Result<Self, Stop> {
        let folder = Folder::new().map_err(|error| playing.broken(format!("a folder: {error}")))?;
        let ledger = ground.name().to_owned();
        let stage = Stage::set_up(playing.subject, playing.fixture, (ground, set, folder)).await;
        let stage = stage.map_err(|why| playing.broken(why))?;
        if let Some(sandbox) = &stage.sandbox {
            sandbox.clean_up().map_err(|why| playing.broken(format!("the sandbox: {why}")))?;
        }
        let who = Who::first(playing.fixture);
        let entry = CaseRecord {
            case: name.to_owned(),
            ledger,
            occurrence: who.in_words(playing.subject.spec),
            operation: None,
            key: Vec::new(),
            fingerprint: None,
            initial_state: "none".to_owned(),
            checkpoint: None,
            fault: None,
            callers: "one".to_owned(),
            expected: Expected::default(),
            actual: Actual::default(),
            retry_decision: None,
            reconciliation: None,
            verdict: Verdict::Failed,
        };
        let (tenant, values) = (playing.fixture.tenants.0.clone(), BTreeMap::new());
        let mut case =
            Self { playing, stage, who, entry, intended: 1, values, told_success: false, kept: true, tenant };
        case.prepares().await;
        Ok(case)
    }

    /// Writes down which operation it is about, where that can be known before anything happens.
    async fn prepares(&mut self) {
        let Some(record) = self.prepared(&self.who.clone(), &self.playing.arguments.clone()).await else { return };
        self.entry.operation = Some(record.operation().to_string());
        self.entry.key = record.key();
        let fields = serde_json::to_value(&record).unwrap_or_default();
        self.entry.fingerprint = fields["fingerprint"].as_str().map(str::to_owned);
    }

    /// The record that the call's retries would carry; nothing is reserved.
    pub(super) async fn prepared(&self, who: &Who, arguments: &A) -> Option<crate::AttemptRecord> {
        if !self.playing.subject.guarded {
            return None;
        }
        only_prepared(self.future(&self.stage.idem, who, arguments)).await.record
    }

    /// What the record says of the case beside what is seen.
    pub(super) fn expects(&mut self, transitions: &str, answers: &str) {
        transitions.clone_into(&mut self.entry.expected.transitions);
        answers.clone_into(&mut self.entry.expected.answers);
    }

    /// Who calls, in words.
    pub(super) fn callers(&mut self, callers: &str) {
        callers.clone_into(&mut self.entry.callers);
    }

    /// A call, not yet made.
    pub(super) fn future(&self, idem: &Idem, who: &Who, arguments: &A) -> BoxFuture<'static, Answer> {
        let subject = &self.playing.subject;
        let call = who.tool_call(idem, subject.spec, self.playing.fixture);
        subject.call(call, self.stage.states.clone(), arguments.clone())
    }

    /// A call on the case's ledger; what it is told has to be true.
    pub(super) async fn call(&mut self, who: &Who, arguments: &A) -> Result<Answer, Stop> {
        let idem = self.stage.idem.clone();
        self.call_on(&idem, who, arguments).await
    }

    /// The same through another opening of the ledger.
    pub(super) async fn call_on(&mut self, idem: &Idem, who: &Who, arguments: &A) -> Result<Answer, Stop> {
        let before = self.counts()?;
        // A panic goes to whoever called, and is an answer too.
        let call = tokio::spawn(self.future(idem, who, arguments));
        let Ok(ended) = tokio::time::timeout(PATIENCE, call).await else {
            return self.hangs("a call is not answered");
        };
        self.heard(ended.unwrap_or_else(|_| Answer::named("panicked")), &before)
    }

    /// Calls that start together, at a barrier; what each of them is told, in their order.
    pub(super) async fn at_once(&mut self, callers: &[Who]) -> Result<Vec<Answer>, Stop> {
        let barrier = Arc::new(Barrier::new(callers.len()));
        let calls: Vec<_> = callers
            .iter()
            .map(|who| {
                let call = self.future(&self.stage.idem, who, &self.playing.arguments);
                let barrier = Arc::clone(&barrier);
                tokio::spawn(async move {
                    barrier.wait().await;
                    call.await
                })
            })
            .collect();
        let mut answers = Vec::new();
        for call in calls {
            let Ok(ended) = tokio::time::timeout(PATIENCE, call).await else {
                return self.hangs("one of the callers that came at once is not answered");
            };
            answers.push(ended.unwrap_or_else(|_| Answer::named("panicked")));
        }
        let now = self.counts()?;
        for answer in &answers {
            self.heard(answer.clone(), &now)?;
        }
        Ok(answers)
    }

    /// Somebody hangs.
    pub(super) fn hangs<T>(&mut self, what: &str) -> Result<T, Stop> {
        self.playing.tally(|counts| counts.stuck += 1);
        Err(self.failed(FailureKind::HungLease, "every call is answered, whatever became of the ones before", what))
    }

    /// Writes down what a caller was told, and lays it beside what happened.
    pub(super) fn heard(&mut self, answer: Answer, before: &Counts) -> Result<Answer, Stop> {
        let of_replay = if answer.replayed { " (replayed)" } else { "" };
        self.entry.actual.answers.push(format!("{}{of_replay}", answer.outcome));
        self.entry.actual.calls += 1;
        if self.entry.actual.reference.is_none() {
            self.entry.actual.reference.clone_from(&answer.reference);
        }
        let now = self.no_duplicates()?;
        let happened = now.values().any(|count| *count > 0);
        let name = answer.outcome.as_str();
        match name {
            "succeeded" => {
                self.told_success = true;
                if let Some((effect, _)) = now.iter().find(|(_, count)| **count == 0) {
                    let why = "whoever is told of a success, there is the effect of it at the provider";
                    let seen = format!("a caller was told `succeeded`, and there is no effect `{effect}`");
                    return Err(self.failed(FailureKind::SuccessWithoutEffect, why, seen));
                }
                self.same_value(&answer)?;
            }
            "failed_final" | "failed_retryable" if happened && self.intended == 1 => {
                let why = "a caller is told that nothing happened only where nothing happened";
                let seen = format!("a caller was told `{name}`: nothing happened; there is {now:?}");
                return Err(self.failed(FailureKind::MisleadingAnswer, why, seen));
            }
            "denied" | "invalid_call" | "rejected_key_conflict" | "retention_ended" if now != *before => {
                let why = "a call that is refused has no effect";
                let seen = format!("a caller was told `{name}`: nothing was done; there is {now:?}, it was {before:?}");
                return Err(self.failed(FailureKind::MisleadingAnswer, why, seen));
            }
            _ => {}
        }
        Ok(answer)
    }

    /// All successes of one operation have one result.
    fn same_value(&mut self, answer: &Answer) -> Result<(), Stop> {
        let (Some(operation), Some(value)) = (&answer.operation, &answer.value) else { return Ok(()) };
        let first = self.values.entry(operation.clone()).or_insert_with(|| value.clone());
        if first == value {
            return Ok(());
        }
        let seen = format!("operation {operation} was told as {first}, and as {value}");
        self.playing.tally(|counts| counts.lost_results += 1);
        Err(self.failed(FailureKind::MisleadingAnswer, "every caller of one operation is given one result", seen))
    }

    /// An answer has to be one of these.
    pub(super) fn is_told(
        &mut self,
        answer: &Answer,
        wanted: &[&str],
        kind: FailureKind,
        why: &str,
    ) -> Result<(), Stop> {
        if wanted.contains(&answer.outcome.as_str()) {
            return Ok(());
        }
        let told = format!("a caller was told `{}`{}", answer.outcome, in_brackets(&answer.words));
        Err(self.failed(kind, &format!("{why}: `{}`", wanted.join("` or `")), told))
    }

    /// An answer has to be a success that ran nothing.
    pub(super) fn is_replay(&mut self, answer: &Answer, why: &str) -> Result<(), Stop> {
        let kind = FailureKind::MisleadingAnswer;
        if !answer.is_success() {
            self.playing.tally(|counts| counts.lost_results += 1);
        }
        self.is_told(answer, &["succeeded"], kind, why)?;
        if answer.replayed || !self.playing.subject.guarded {
            return Ok(());
        }
        Err(self.failed(kind, why, "the success was not told as that of an earlier call"))
    }

    /// What happened at the provider, of what is counted.
    pub(super) fn effects(&self) -> Result<Vec<Effect>, Stop> {
        let all = match &self.stage.sandbox {
            Some(sandbox) => sandbox.effects(),
            None => self.stage.provider.effects().map_err(|error| error.to_string()),
        };
        let all = all.map_err(|why| self.playing.broken(format!("count effects: {why}")))?;
        let counted = |effect: &Effect| self.playing.fixture.effects.contains(&effect.request.effect);
        Ok(all.into_iter().filter(counted).collect())
    }

    pub(super) fn counts(&self) -> Result<Counts, Stop> {
        let mut counts: Counts = self.playing.fixture.effects.iter().map(|name| (name.clone(), 0)).collect();
        for effect in self.effects()? {
            *counts.entry(effect.request.effect).or_default() += 1;
        }
        Ok(counts)
    }

    /// Whether anything happened.
    pub(super) fn happened(&self) -> Result<bool, Stop> {
        Ok(!self.effects()?.is_empty())
    }

    /// Nothing happened more often than it was meant.
    pub(super) fn no_duplicates(&mut self) -> Result<Counts, Stop> {
        let (now, intended) = (self.counts()?, self.intended);
        self.entry.actual.effects.clone_from(&now);
        let Some((effect, count)) = now.iter().find(|(_, count)| **count > intended) else { return Ok(now) };
        let seen = format!(
            "{count} effects `{effect}` at the provider after {} calls, which were told {:?}",
            self.entry.actual.calls, self.entry.actual.answers
        );
        let more = count - intended;
        self.playing.tally(|counts| counts.duplicates += more);
        Err(self.failed(FailureKind::NoDeduplication, &format!("{intended} effects of each name at most"), seen))
    }

    /// Requests that arrived at our own provider for what is counted.
    pub(super) fn requests(&self) -> Result<usize, Stop> {
        let all = self.stage.provider.requests().map_err(|error| self.playing.broken(error.to_string()))?;
        Ok(all.iter().filter(|request| self.playing.fixture.effects.contains(&request.effect)).count())
    }

    /// The operation's record and all that stands beside it; `None` where there is none, or it cannot be known.
    pub(super) async fn detail(&self) -> Option<Detail> {
        let (tenant, operation) = (self.tenant()?, self.operation()?);
        let operator = self.stage.idem.operator(&tenant, "the harness").ok()?;
        operator.show(operation).await.ok()?
    }

    pub(super) fn tenant(&self) -> Option<Tenant> {
        Tenant::new(self.tenant.as_str()).ok()
    }

    pub(super) fn operation(&self) -> Option<OperationId> {
        self.entry.operation.as_ref()?.parse().ok()
    }

    pub(super) async fn state(&self) -> Option<State> {
        self.stage.idem.show(&self.tenant()?, self.operation()?).await.ok()?.map(|record| record.state)
    }

    /// Waits until nobody of this process is at the operation.
    pub(super) async fn comes_to_rest(&mut self) -> Result<Option<State>, Stop> {
        if !self.playing.subject.guarded {
            return Ok(None);
        }
        let this = &*self;
        let rests = until(async || {
            let state = this.state().await;
            (state != Some(State::InProgress)).then_some(state)
        });
        match rests.await {
            Some(state) => Ok(state),
            None => self.hangs("an attempt that nobody makes any more stays `in_progress`"),
        }
    }

    /// Something is wrong.
    pub(super) fn failed(&self, kind: FailureKind, expected: &str, seen: impl Into<String>) -> Stop {
        let mut lines = vec![seen.into()];
        lines.push(format!("case `{}` on {}; {}", self.entry.case, self.entry.ledger, self.entry.occurrence));
        Stop::Failed(Box::new(Failed { kind, expected: expected.to_owned(), seen: lines }))
    }
}

impl<S: Clone, A> Drop for Case<'_, S, A> {
    fn drop(&mut self) {
        if self.kept {
            self.playing.keeps(self.entry.clone());
        }
        if let Some(sandbox) = &self.stage.sandbox
            && let Err(why) = sandbox.clean_up()
        {
            self.playing.left_behind(&why);
        }
    }
}

fn in_brackets(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(" ({words})") }
}
