//! How somebody finds out what happened: a reconciliation, a person, a witness from outside.
//!
//! Must not know who they are, nor how they know.

use std::sync::Arc;

use super::{Change, Course};
use crate::{
    clock::Timestamp,
    ledger::{
        record::{Record, State, Stored, StoredKind},
        transition::{Event, Illegal},
        unsettled::{
            BeginReconcile, Begun, Evidence, Finding, Judge, Judged, Resolution, Resolve, Resolved, Witnessed,
        },
    },
};

/// The name of a history's entry for a person's decision that came too late.
const REFUSED: &str = "resolve_refused";

/// The name of a history's entry for one step of a recovery chain.
const STEP: &str = "step";

/// Somebody wants to find out, and would do so under `fence`.
///
/// # Errors
/// [`Illegal`], when the ledger itself is wrong.
pub fn begin(
    record: &Record,
    begin: &BeginReconcile,
    fence: i64,
    now: Timestamp,
) -> Result<(Option<Change>, Begun), Illegal> {
    let may = match record.state {
        State::OutcomeUnknown => true,
        State::OperatorReview => begin.by_hand,
        _ => false,
    };
    if record.version != begin.version || !may {
        return Ok((None, Begun::NotNow { record: Arc::new(record.clone()) }));
    }
    let mut course = Course::of(record, now);
    course.on(Event::Begin, None)?;
    let record = &mut course.record;
    record.reconcile_fence = fence;
    record.passes = record.passes.saturating_add(1);
    record.lease_until = Some(now.after(begin.lease));
    let change = course.change();
    let record = Arc::new(change.record.clone());
    Ok((Some(change), Begun::Yours { fence, record }))
}

/// What was found out.
///
/// # Errors
/// [`Illegal`], when the ledger itself is wrong.
pub fn judge(record: &Record, judge: &Judge, last_fence: i64, now: Timestamp) -> Result<(Change, Judged), Illegal> {
    let mut course = Course::of(record, now);
    course.record.has_resources |= !judge.resources.is_empty();
    for step in &judge.steps {
        course.enter(STEP, Some(format!("{}: {}: {}", step.name, step.said, step.evidence).into()));
    }
    let holds = record.state == State::Reconciling && record.reconcile_fence == judge.fence;
    let said = judge.steps.last().map(|step| Arc::clone(&step.evidence));
    let unproved = match &judge.finding {
        Finding::Applied { reference, .. } => course.lacks_reference(reference.as_ref()),
        Finding::NotApplied | Finding::Inconclusive => false,
    };
    match (&judge.finding, holds) {
        (Finding::Applied { stored, reference }, _) if !unproved => {
            let event = if holds { Event::Applied } else { Event::EvidenceOk };
            if course.on(event, said)? {
                course.succeeded(stored.clone(), reference.clone());
                course.finished(last_fence);
            }
        }
        (Finding::NotApplied, true) => {
            course.on(Event::NotApplied, said)?;
            course.give_up_if_over(judge.budget)?;
            course.finished(last_fence);
        }
        (Finding::NotApplied, false) => {
            course.on(Event::EvidenceAgainst, said)?;
        }
        (Finding::Applied { .. } | Finding::Inconclusive, true) => inconclusive(&mut course, judge, said)?,
        (Finding::Applied { .. } | Finding::Inconclusive, false) => {
            course.on(Event::EvidenceUnclear, said)?;
        }
    }
    let change = course.change();
    let record = Arc::new(change.record.clone());
    Ok((change, if holds { Judged::Recorded { record } } else { Judged::Late { record } }))
}

fn inconclusive(course: &mut Course, judge: &Judge, said: Option<Arc<str>>) -> Result<(), Illegal> {
    let (passes, bound) = (course.record.passes, judge.bound);
    course.record.answered += u32::from(judge.counted);
    let exhausted = course.record.answered >= bound.answered_max || passes >= bound.passes_max;
    let disproved = course.record.disproved && !course.record.in_doubt;
    if exhausted && !judge.spare_operators && !disproved {
        course.on(Event::Exhausted, said)?;
        return Ok(());
    }
    course.on(Event::Inconclusive, said)?;
    course.record.next_at = Some(course.now.after(judge.again_in));
    course.consume()
}

/// What a person decided on what they saw.
///
/// # Errors
/// [`Illegal`], when the ledger itself is wrong.
pub fn resolve(
    record: &Record,
    resolve: &Resolve,
    last_fence: i64,
    now: Timestamp,
) -> Result<(Option<Change>, Resolved), Illegal> {
    let as_it_stands = || Arc::new(record.clone());
    let may = matches!(record.state, State::OutcomeUnknown | State::OperatorReview);
    let mut course = Course::of(record, now);
    course.actor = Some(Arc::clone(&resolve.actor));
    if record.version != resolve.version || !may {
        // Who decided too late decided all the same: the history has both.
        let wanted = match resolve.resolution {
            Resolution::Succeeded { .. } => State::Succeeded,
            Resolution::Retryable => State::FailedRetryable,
            Resolution::Final => State::FailedFinal,
        };
        course.enter(REFUSED, Some(format!("{}: {}", wanted.name(), resolve.reason).into()));
        let change = course.change();
        let record = Arc::new(change.record.clone());
        return Ok((Some(change), Resolved::Changed { record }));
    }
    let why = match &resolve.evidence {
        None => Arc::clone(&resolve.reason),
        Some(evidence) => format!("{} (evidence: {evidence})", resolve.reason).into(),
    };
    match &resolve.resolution {
        Resolution::Succeeded { reference, .. } if course.lacks_reference(reference.as_ref()) => {
            return Ok((None, Resolved::NoReference { record: as_it_stands() }));
        }
        Resolution::Succeeded { stored, reference } => {
            course.on(Event::ResolveOk, Some(why))?;
            course.succeeded(stored.clone(), reference.clone());
        }
        Resolution::Retryable => {
            course.on(Event::ResolveRetryable, Some(why))?;
        }
        Resolution::Final => {
            course.on(Event::ResolveFinal, Some(Arc::clone(&why)))?;
            course.record.stored = Some(Stored { kind: StoredKind::Text, bytes: why.as_bytes().into() });
        }
    }
    course.finished(last_fence);
    let change = course.change();
    let record = Arc::new(change.record.clone());
    Ok((Some(change), Resolved::Recorded { record }))
}

/// What somebody outside says, about a record that is there.
///
/// # Errors
/// [`Illegal`], when the ledger itself is wrong.
pub fn witness(
    record: &Record,
    evidence: &Evidence,
    last_fence: i64,
    now: Timestamp,
) -> Result<(Change, Witnessed), Illegal> {
    let mut course = Course::of(record, now);
    course.actor.clone_from(&evidence.actor);
    let source = &evidence.source;
    let said: Arc<str> = match &evidence.words {
        None => Arc::clone(source),
        Some(words) => format!("{source}: {words}").into(),
    };
    match &evidence.finding {
        Finding::Applied { reference, .. } if course.lacks_reference(reference.as_ref()) => {
            course
                .on(Event::EvidenceUnclear, Some(format!("{said}: without the reference that is required").into()))?;
        }
        Finding::Applied { stored, reference } => {
            if course.on(Event::EvidenceOk, Some(said))? {
                course.succeeded(stored.clone(), reference.clone());
                course.finished(last_fence);
            }
        }
        Finding::NotApplied => {
            course.on(Event::EvidenceAgainst, Some(said))?;
        }
        Finding::Inconclusive => {
            course.on(Event::EvidenceUnclear, Some(said))?;
        }
    }
    let change = course.change();
    let record = Arc::new(change.record.clone());
    Ok((change, Witnessed::Weighed { record }))
}
