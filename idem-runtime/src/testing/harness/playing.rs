//! One scenario while it is played with one tool: what its cases share, and how it can stop.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::{
    Fixture, Scenario, Subject,
    case::Case,
    record::{CaseRecord, Counts},
    stage::{Ground, Set},
    verdict::FailureKind,
};
use crate::testing::provider::{Effect, Request};

/// Why a scenario does not go on.
#[derive(Debug)]
pub(super) enum Stop {
    /// Something is wrong.
    Failed(Box<Failed>),
    /// The tool, or its fixture, has nothing to play it with.
    NotApplicable(String),
}

/// What is wrong.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) kind: FailureKind,
    pub(super) expected: String,
    pub(super) seen: Vec<String>,
}

/// What tools' states and arguments are.
pub(super) trait Part: Clone + Send + 'static {}

impl<T: Clone + Send + 'static> Part for T {}

/// How a scenario ends.
pub(super) type Played = Result<(), Stop>;

/// One effect as it is compared: what, of what, for whom.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seen {
    pub(super) effect: String,
    pub(super) object: String,
    pub(super) recipient: String,
}

impl Seen {
    pub(super) fn of(effect: &Effect) -> Self {
        let request = &effect.request;
        let (object, recipient) = (request.object.clone(), request.recipient.clone());
        Self { effect: request.effect.clone(), object, recipient }
    }
}

/// What happens when nothing goes wrong.
#[derive(Debug, Clone, Default)]
pub(super) struct Rehearsed {
    /// What the calls of the fixture mean.
    pub(super) meant: Vec<Seen>,
    /// What the first call gives.
    pub(super) value: Option<serde_json::Value>,
    /// What the first call asks of our own provider.
    pub(super) requests: Vec<Request>,
}

/// A scenario while it is played.
pub(super) struct Playing<'a, S, A> {
    pub(super) subject: &'a Subject<S, A>,
    pub(super) fixture: &'a Fixture<S, A>,
    pub(super) scenario: Scenario,
    /// The path of the test within its crate: by it the binary runs itself again.
    pub(super) test: String,
    pub(super) arguments: A,
    pub(super) other: A,
    pub(super) rehearsed: Rehearsed,
    cases: Mutex<Vec<CaseRecord>>,
    counts: Mutex<Counts>,
    notes: Mutex<BTreeMap<String, String>>,
}

impl<'a, S, A> Playing<'a, S, A>
where
    A: Clone,
{
    pub(super) fn new(
        (subject, fixture): (&'a Subject<S, A>, &'a Fixture<S, A>),
        scenario: Scenario,
        test: &str,
    ) -> Result<Self, Stop> {
        let missing = |what: &str| unfit(format!("the fixture says no `.{what}`"));
        let arguments = fixture.arguments.clone().ok_or_else(|| missing("arguments(…)"))?;
        let other = fixture.other.clone().ok_or_else(|| missing("other(…)"))?;
        if fixture.effects.is_empty() {
            return Err(missing("effect(\"…\")"));
        }
        Ok(Self {
            subject,
            fixture,
            scenario,
            test: test.to_owned(),
            arguments,
            other,
            rehearsed: Rehearsed::default(),
            cases: Mutex::default(),
            counts: Mutex::default(),
            notes: Mutex::default(),
        })
    }
}

impl<S, A> Playing<'_, S, A> {
    /// A case of it on the usual ledger.
    pub(super) async fn case(&self, name: &str) -> Result<Case<'_, S, A>, Stop>
    where
        S: Part,
        A: Part,
    {
        Case::new(self, name, (Ground::usual(), Set::default())).await
    }

    /// Whether this is what one of the fixture's calls means.
    pub(super) fn is_meant(&self, seen: &Seen) -> bool {
        self.rehearsed.meant.is_empty() || self.rehearsed.meant.contains(seen)
    }

    /// The harness cannot go on.
    pub(super) fn broken(&self, why: impl Into<String>) -> Stop {
        let expected = format!("the stage for `{}` can be set up and looked at", self.scenario);
        Stop::Failed(Box::new(Failed { kind: FailureKind::Stage, expected, seen: vec![why.into()] }))
    }

    pub(super) fn tally(&self, add: impl FnOnce(&mut Counts)) {
        add(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn keeps(&self, case: CaseRecord) {
        self.tally(|counts| {
            counts.cases += 1;
            counts.calls += case.actual.calls;
            counts.effects += case.actual.effects.values().sum::<usize>();
        });
        self.cases.lock().unwrap_or_else(PoisonError::into_inner).push(case);
    }

    /// A cell that means nothing.
    pub(super) fn means_nothing(&self, cell: String, reason: &str) {
        self.tally(|counts| counts.meaningless += 1);
        self.note(cell, reason);
    }

    /// Something that whoever reads the record should know.
    pub(super) fn note(&self, what: String, why: &str) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).insert(what, why.to_owned());
    }

    /// A sandbox was not cleaned up.
    pub(super) fn left_behind(&self, why: &str) {
        self.note("left behind at the sandbox".to_owned(), why);
    }

    /// What it came to.
    pub(super) fn came_to(self) -> (Vec<CaseRecord>, Counts, BTreeMap<String, String>) {
        (
            self.cases.into_inner().unwrap_or_else(PoisonError::into_inner),
            self.counts.into_inner().unwrap_or_else(PoisonError::into_inner),
            self.notes.into_inner().unwrap_or_else(PoisonError::into_inner),
        )
    }
}

/// The fixture does not fit the tool.
pub(super) fn unfit(why: impl Into<String>) -> Stop {
    let expected = "a fixture that says what the tool is called with and what is counted".to_owned();
    Stop::Failed(Box::new(Failed { kind: FailureKind::Fixture, expected, seen: vec![why.into()] }))
}

/// There is nothing to play it with.
pub(super) fn not_applicable(why: impl Into<String>) -> Stop {
    Stop::NotApplicable(why.into())
}
