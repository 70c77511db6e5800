//! How an unknown outcome of a case ends: by whatever the tool declares, and else by a person.

use std::time::Duration;

use super::{
    case::Case,
    playing::{Part, Stop},
    verdict::FailureKind,
};
use crate::ledger::{Record, Resolution, State};

/// Longer than the longest pause between two reconciliations.
const PAUSE: Duration = Duration::from_mins(6);

/// How many passes of a reconciler are waited for.
const PASSES_MAX: usize = 12;

/// How an operation that was in the dark came to the light.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Light {
    /// It never was.
    Known,
    /// What the tool declares found out.
    Found,
    /// A person decided.
    Decided,
    /// It is in the dark still: only a part of the effects happened.
    Dark,
}

impl<S: Part, A: Part> Case<'_, S, A> {
    /// Past every lease of the tool that began until now.
    pub(super) fn past_the_lease(&self) -> Duration {
        let lease = self.playing.subject.spec.declared_lease().unwrap_or(crate::Config::default().lease);
        lease + Duration::from_secs(1)
    }

    /// The whole record, where the tool is guarded.
    pub(super) async fn record(&self) -> Option<Record> {
        self.stage.idem.show(&self.tenant()?, self.operation()?).await.ok()?
    }

    /// Lets whatever is unknown be found out, in the ways that the tool declares; what stays unknown, a person decides by
    /// what happened at the provider.
    pub(super) async fn settles(&mut self) -> Result<Light, Stop> {
        if !self.playing.subject.guarded {
            return Ok(Light::Known);
        }
        self.stage.clock.advance(self.past_the_lease());
        let Some(record) = self.record().await else { return Ok(Light::Known) };
        if !record.lease_ended(self.now()) && !record.state.is_unsettled() && record.state != State::InProgress {
            return Ok(Light::Known);
        }
        if self.playing.subject.spec.key_window().is_some() {
            // Whoever comes again sends again.
            self.call(&self.who.clone(), &self.playing.arguments.clone()).await?;
        }
        if !self.is_dark().await {
            return Ok(self.came_to(Light::Found));
        }
        if self.reconciles(PASSES_MAX, Duration::ZERO).await? {
            return Ok(self.came_to(Light::Found));
        }
        self.is_decided().await
    }

    pub(super) fn now(&self) -> crate::Timestamp {
        crate::Clock::now(&self.stage.clock)
    }

    /// Whether the operation is neither finished nor free.
    pub(super) async fn is_dark(&self) -> bool {
        let state = self.state().await;
        state.is_some_and(|state| state.is_unsettled() || state == State::InProgress)
    }

    /// Passes of a reconciler, until there is nothing left to ask; says whether it came to know.
    pub(super) async fn reconciles(&mut self, passes: usize, more: Duration) -> Result<bool, Stop> {
        let Some(tool) = self.playing.subject.bound(self.stage.states.clone()) else { return Ok(false) };
        let pause = PAUSE.max(self.playing.subject.spec.declared_settling() + Duration::from_secs(1)).max(more);
        let mut reconciler = self.stage.idem.reconciler([tool]);
        for _ in 0..passes {
            if let Err(error) = reconciler.run_once().await {
                return Err(self.playing.broken(format!("a reconciler: {error}")));
            }
            self.no_duplicates()?;
            match self.state().await {
                Some(State::OperatorReview) => return Ok(false),
                Some(state) if state.is_unsettled() || state == State::InProgress => {}
                _ => return Ok(true),
            }
            self.stage.clock.advance(pause);
        }
        Ok(false)
    }

    /// A person looks at the provider and decides.
    pub(super) async fn is_decided(&mut self) -> Result<Light, Stop> {
        if self.state().await == Some(State::InProgress) {
            // Whoever comes next notices the silence.
            self.call(&self.who.clone(), &self.playing.arguments.clone()).await?;
        }
        let Some(record) = self.record().await else { return Ok(Light::Known) };
        if !record.state.is_unsettled() {
            return Ok(self.came_to(Light::Found));
        }
        let counts = self.counts()?;
        let resolution = if counts.values().all(|count| *count == 0) {
            Resolution::Retryable
        } else if counts.values().all(|count| *count > 0) {
            let reference = self.effects()?.first().map(|effect| effect.reference.clone());
            Resolution::succeeded(self.playing.rehearsed.value.as_ref(), reference.as_deref())
        } else {
            return Ok(self.came_to(Light::Dark));
        };
        let operator = self.tenant().and_then(|tenant| self.stage.idem.operator(&tenant, "the harness").ok());
        let Some(operator) = operator else { return Err(self.playing.broken("no operator")) };
        if let Err(error) = operator.resolve(&record, resolution, "looked at the provider's log", None).await {
            let why = "a person can decide what nobody could find out";
            return Err(self.failed(FailureKind::HungLease, why, error.to_string()));
        }
        Ok(self.came_to(Light::Decided))
    }

    fn came_to(&mut self, light: Light) -> Light {
        let words = match light {
            Light::Known => return light,
            Light::Found => "settled by what the tool declares",
            Light::Decided => "left for a person, who decided by the provider's log",
            Light::Dark => "left unknown: a part of the effects happened",
        };
        if self.kept {
            self.playing.tally(|counts| match light {
                Light::Found => counts.unknown_settled += 1,
                _ => counts.unknown_left += 1,
            });
        }
        self.entry.reconciliation = Some(words.to_owned());
        light
    }

    /// What is left in the dark is not told to be anything else. Then there is nothing more to ask for.
    pub(super) async fn comes_to_light(&mut self) -> Result<bool, Stop> {
        let light = self.settles().await?;
        if light != Light::Dark {
            return Ok(true);
        }
        let told = self.call(&self.who.clone(), &self.playing.arguments.clone()).await?;
        let why = "what nobody knows is told to be unknown";
        self.is_told(&told, &["unknown_requires_reconciliation"], FailureKind::MisleadingAnswer, why)?;
        self.entry.verdict = super::record::Verdict::Passed;
        Ok(false)
    }

    /// Whatever became of the calls before: whoever comes now is given the one result, and comes again to the same.
    pub(super) async fn everybody_is_told(&mut self, who: &super::who::Who) -> Result<(), Stop> {
        let arguments = self.playing.arguments.clone();
        let told = self.call(who, &arguments).await?;
        self.entry.retry_decision = Some(if told.replayed { "given the first result" } else { "run" }.to_owned());
        let why = "once the outcome is known, a call that comes again is given the result";
        if !told.is_success() {
            self.playing.tally(|counts| counts.lost_results += 1);
        }
        self.is_told(&told, &["succeeded"], FailureKind::MisleadingAnswer, why)?;
        let again = self.call(who, &arguments).await?;
        self.is_replay(&again, "a finished operation is told as that, with its first result")
    }
}
