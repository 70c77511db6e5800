//! The end of a case: what happened is what was meant, under one key, and the ledger is at rest.
//!
//! Must not know what was played.

use std::collections::BTreeMap;

use super::{
    case::Case,
    playing::{Part, Seen, Stop},
    record::Verdict,
    verdict::FailureKind,
};
use crate::ledger::State;

impl<S: Part, A: Part> Case<'_, S, A> {
    /// The end of a case: so many effects of each name, those that are meant, and an operation that is at rest.
    pub(super) async fn ends(mut self, effects: usize) -> Result<(), Stop> {
        self.entry.expected.effects = Some(effects);
        let now = self.no_duplicates()?;
        if let Some((effect, count)) = now.iter().find(|(_, count)| **count != effects) {
            let kind = match (self.told_success, *count < effects) {
                (_, false) => FailureKind::NoDeduplication,
                (true, true) => FailureKind::SuccessWithoutEffect,
                (false, true) => FailureKind::MisleadingAnswer,
            };
            let seen = format!("{count} effects `{effect}`; callers were told {:?}", self.entry.actual.answers);
            return Err(self.failed(kind, &format!("{effects} effects of each name"), seen));
        }
        self.are_those_that_are_meant()?;
        self.bear_one_key()?;
        self.writes_down().await;
        if self.entry.actual.transitions.last().is_some_and(|state| ["in_progress", "reconciling"].contains(&&**state))
        {
            return self.hangs("the operation is left as if somebody were at it");
        }
        self.entry.verdict = Verdict::Passed;
        Ok(())
    }

    /// Objects and recipients of what happened, by what happens when nothing goes wrong.
    fn are_those_that_are_meant(&mut self) -> Result<(), Stop> {
        let mut seen: Vec<Seen> = self.effects()?.iter().map(Seen::of).collect();
        seen.sort();
        self.entry.actual.objects = seen.iter().map(|seen| seen.object.clone()).collect();
        self.entry.actual.recipients = seen.iter().map(|seen| seen.recipient.clone()).collect();
        seen.dedup();
        let strange = seen.iter().find(|seen| !self.playing.is_meant(seen));
        let Some(strange) = strange else { return Ok(()) };
        let seen = format!("an effect `{}` of {:?} for {:?}", strange.effect, strange.object, strange.recipient);
        Err(self.failed(FailureKind::NoDeduplication, "only what the calls mean happens, for whom they mean it", seen))
    }

    /// The requests of one operation bear one key.
    fn bear_one_key(&mut self) -> Result<(), Stop> {
        let all = self.stage.provider.requests().map_err(|error| self.playing.broken(error.to_string()))?;
        let counted = |effect: &String| self.playing.fixture.effects.contains(effect);
        let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for request in all.iter().filter(|request| counted(&request.effect)) {
            let (of, key) = (keys.entry(request.effect.clone()).or_default(), request.key.clone());
            of.extend(key.filter(|key| !of.contains(key)));
        }
        self.entry.actual.requests = self.requests()?;
        let intended = self.intended;
        let Some((effect, keys)) = keys.iter().find(|(_, keys)| keys.len() > intended) else { return Ok(()) };
        let seen = format!("requests for `{effect}` came with the keys {keys:?}");
        Err(self.failed(FailureKind::NoDeduplication, "all attempts of an operation bear one key", seen))
    }

    /// What the ledger has of the operation, into the record.
    async fn writes_down(&mut self) {
        let Some(detail) = self.detail().await else { return };
        let mut states = vec![State::InProgress.name()];
        states.extend(detail.history.iter().map(|happened| happened.state.name()));
        states.push(detail.record.state.name());
        states.dedup();
        self.entry.actual.transitions = states.into_iter().map(str::to_owned).collect();
        self.entry.actual.attempts = detail.attempts.len();
        if let Some(reference) = &detail.record.reference {
            self.entry.actual.reference = Some(reference.to_string());
        }
    }
}
