//! A cell of the matrix: one fault at one checkpoint, what it left, and what everybody is told afterwards.

use std::{future::Future, sync::Arc, time::Duration};

use super::{
    Answer,
    case::Case,
    child::{self, Does},
    matrix,
    playing::{Part, Played, Playing, Stop},
    scenarios::on_every_ground,
    stage::{Ground, Set},
    verdict::FailureKind,
    who::Who,
};
use crate::{
    ledger::State,
    testing::{Checkpoint, Fault, gate::until, process::HERE},
};

/// How long a caller waits for a disk that hangs.
const IMPATIENT: Duration = Duration::from_millis(20);

/// How long what a ledger could not write waits to be written again.
const TRIED_AGAIN: Duration = Duration::from_secs(2);

/// Every fault at a checkpoint.
pub(super) async fn all_at<S: Part, A: Part>(it: &Playing<'_, S, A>, at: Checkpoint) -> Played {
    for fault in Fault::ALL {
        let name = format!("{at} × {fault}");
        let left = match means(it, at, fault) {
            Err(reason) => {
                it.means_nothing(name, reason);
                continue;
            }
            Ok(left) => left,
        };
        it.tally(|counts| counts.cells_of += 1);
        if fault == Fault::Kill {
            // Beside a commit it is killed before it and after it, each on a ledger of its own.
            let commits = matches!(at, Checkpoint::Reserve | Checkpoint::PersistResult);
            for when in if commits { &[Dies::Before, Dies::After][..] } else { &[Dies::There] } {
                on_every_ground(it, async |ground| dies(it, at, *when, ground).await).await?;
            }
        } else {
            let mut case = Case::new(it, &name, (Ground::usual(), Set::default())).await?;
            case.struck_by(at, fault);
            if !strike(&mut case, at, fault).await? {
                let why = "the fault cannot be made to happen from outside: the tool does not come by there";
                it.tally(|counts| counts.cells_of -= 1);
                it.means_nothing(name, why);
                case.entry.verdict = super::record::Verdict::NotApplicable;
                continue;
            }
            is_left(&mut case, left).await?;
            followed(case, at, fault).await?;
        }
        it.tally(|counts| counts.cells += 1);
    }
    Ok(())
}

/// What has to be left, or why this tool's cell means nothing.
fn means<S, A>(it: &Playing<'_, S, A>, at: Checkpoint, fault: Fault) -> Result<matrix::Left, &'static str> {
    let left = matrix::left(at, fault)?;
    let at_the_provider = matches!(at, Checkpoint::Dispatch | Checkpoint::ProviderCommit);
    if fault == Fault::DuplicateDelivery && at_the_provider && it.subject.spec.key_window().is_none() {
        return Err(matrix::DOUBLED);
    }
    if (at, fault) == (Checkpoint::Validate, Fault::Error) && it.fixture.invalid.is_none() {
        return Err("the fixture gives no `.invalid(…)`: arguments that the tool's check refuses");
    }
    if fault == Fault::Kill && Ground::usual() == Ground::Memory {
        return Err("no ledger outlives its process: the feature `sqlite` is off");
    }
    Ok(left)
}

/// When a process is killed, by its checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dies {
    Before,
    There,
    After,
}

/// A process that is killed there, and everything after it.
async fn dies<S: Part, A: Part>(it: &Playing<'_, S, A>, at: Checkpoint, when: Dies, ground: Ground) -> Played {
    let words = match when {
        Dies::Before => ", before the commit",
        Dies::There => "",
        Dies::After => ", after the commit",
    };
    let mut case = Case::new(it, &format!("{at} × kill{words}"), (ground, Set::default())).await?;
    case.struck_by(at, Fault::Kill);
    case.callers("one, killed (kill -9); a process that begins anew");
    kill(&mut case, at, when == Dies::Before).await?;
    let left = matrix::left(at, Fault::Kill).map_err(|why| it.broken(why))?;
    let state = name_of(case.state().await);
    has_left(&mut case, left, state)?;
    followed(case, at, Fault::Kill).await
}

/// Lets a child make the first call and be killed at the checkpoint.
pub(super) async fn kill<S: Part, A: Part>(case: &mut Case<'_, S, A>, at: Checkpoint, before: bool) -> Played {
    let it = case.playing;
    let mut victim = child::start(it, &case.stage, Does::DiesAt { at, before })?;
    child::hears(it, &mut victim, HERE)?;
    victim.kill();
    it.tally(|counts| counts.kills += 1);
    case.entry.actual.calls += 1;
    case.entry.actual.answers.push("(killed)".to_owned());
    // What the dead process held is somebody else's from here on.
    let clock = case.stage.clock.clone();
    case.stage.idem = case.stage.opened_again(&clock).await.map_err(|why| it.broken(why))?;
    case.no_duplicates()?;
    Ok(())
}

/// The first call, with the fault in it. Says whether the fault happened.
async fn strike<S: Part, A: Part>(case: &mut Case<'_, S, A>, at: Checkpoint, fault: Fault) -> Result<bool, Stop> {
    let it = case.playing;
    let mut who = case.who.clone();
    match (at, fault) {
        (Checkpoint::Validate, Fault::Error) => {
            let Some(invalid) = &it.fixture.invalid else { return Ok(false) };
            let told = case.call(&who, invalid).await?;
            let why = "what the tool's own check refuses is denied";
            case.is_told(&told, &["denied"], FailureKind::MisleadingAnswer, why)?;
            return Ok(true);
        }
        (Checkpoint::Validate, Fault::DuplicateDelivery) => {
            case.at_once(&[who.clone(), who]).await?;
            return Ok(true);
        }
        (Checkpoint::Return, Fault::DuplicateDelivery) => {
            case.call(&who, &it.arguments).await?;
            case.at_once(&[who.clone(), who]).await?;
            return Ok(true);
        }
        // Nobody reads the answer: whoever called knows nothing.
        (Checkpoint::Return, _) => {
            case.call(&who, &it.arguments).await?;
            return Ok(true);
        }
        _ => {}
    }
    let line = match at {
        Checkpoint::Validate | Checkpoint::Reserve | Checkpoint::PersistResult => Arc::clone(&case.stage.line),
        _ => Arc::clone(case.stage.provider.line()),
    };
    let hangs = (at, fault) == (Checkpoint::Reserve, Fault::Timeout);
    if hangs {
        who.deadline = Some(IMPATIENT);
    }
    // A disk that is full stays so for a while: the ledger itself asks once more.
    line.arm(at, fault, if (at, fault) == (Checkpoint::Reserve, Fault::Error) { usize::MAX } else { 1 });
    if fault == Fault::Cancel {
        let arrived = goes_away(case, &who, &line).await?;
        line.calm();
        line.gate.open();
        case.stage.clock.advance(TRIED_AGAIN);
        return Ok(arrived);
    }
    case.call(&who, &it.arguments).await?;
    line.calm();
    if hangs {
        line.gate.open();
    }
    // What the ledger could not write it writes while its process lives.
    case.stage.clock.advance(TRIED_AGAIN);
    Ok(line.struck() > 0)
}

/// A caller that is dropped where it waits.
async fn goes_away<S: Part, A: Part>(
    case: &mut Case<'_, S, A>,
    who: &Who,
    line: &Arc<crate::testing::faults::Line>,
) -> Result<bool, Stop> {
    let it = case.playing;
    let mut call = case.future(&case.stage.idem.clone(), who, &it.arguments);
    let ended = {
        let arrived = until(async || line.gate.seen().then_some(()));
        tokio::select! {
            biased;
            ended = by_polling(&mut call) => Some(ended),
            _ = arrived => None,
        }
    };
    drop(call);
    case.entry.actual.calls += 1;
    match ended {
        None => {
            case.entry.actual.answers.push("(gone)".to_owned());
            Ok(true)
        }
        Some(answer) => {
            let now = case.counts()?;
            case.heard(answer, &now)?;
            Ok(false)
        }
    }
}

async fn by_polling(call: &mut (impl Future<Output = Answer> + Unpin)) -> Answer {
    call.await
}

/// The fault left what the matrix says, once everybody of this process is at rest.
async fn is_left<S: Part, A: Part>(case: &mut Case<'_, S, A>, left: matrix::Left) -> Played {
    if !case.playing.subject.guarded {
        return has_left(case, left, "none");
    }
    let this = &*case;
    let rests = until(async || {
        let state = name_of(this.state().await);
        // What is under way in the ledger ends; whatever else it is, it stays.
        let stays = !["none", "in_progress", "reconciling"].contains(&state);
        (stays || left.states.contains(&state)).then_some(state)
    });
    let state = rests.await;
    let state = state.unwrap_or(name_of(case.state().await));
    has_left(case, left, state)
}

fn name_of(state: Option<State>) -> &'static str {
    state.map_or("none", State::name)
}

/// What the fault left is what the matrix says.
fn has_left<S: Part, A: Part>(case: &mut Case<'_, S, A>, left: matrix::Left, state: &str) -> Played {
    let counts = case.no_duplicates()?;
    // Where a tool has several effects the fault strikes at the first of them.
    let count = counts.values().copied().max().unwrap_or_default();
    if left.effects.is_some_and(|effects| effects != count) {
        let seen = format!("{counts:?} after the fault; callers were told {:?}", case.entry.actual.answers);
        let kind = if count == 0 { FailureKind::SuccessWithoutEffect } else { FailureKind::MisleadingAnswer };
        return Err(case.failed(kind, &format!("{:?} effects after the fault", left.effects), seen));
    }
    if !case.playing.subject.guarded || left.states.contains(&state) {
        return Ok(());
    }
    let kind = if state == "in_progress" { FailureKind::HungLease } else { FailureKind::MisleadingAnswer };
    let why = format!("after the fault the operation is one of `{}`", left.states.join("`, `"));
    Err(case.failed(kind, &why, format!("it is `{state}`; callers were told {:?}", case.entry.actual.answers)))
}

/// After the fault come mutated arguments, the same ones, whatever finds out, and the same ones again.
async fn followed<S: Part, A: Part>(mut case: Case<'_, S, A>, at: Checkpoint, fault: Fault) -> Played {
    let it = case.playing;
    let who = case.who.clone();
    if fault == Fault::Kill {
        case.stage.clock.advance(case.past_the_lease());
    }
    let is_there = case.record().await.is_some();
    if let Some((name, changed)) = it.fixture.drifts.first()
        && is_there
    {
        let record = case.prepared(&who, &it.arguments).await;
        let told = case.call(&who.carrying(record), changed).await?;
        let why = format!("another value of `{name}` after the fault is a conflict");
        case.is_told(&told, &["rejected_key_conflict"], FailureKind::MisleadingAnswer, &why)?;
    }
    let denied = (at, fault) == (Checkpoint::Validate, Fault::Error);
    if !denied {
        case.call(&who, &it.arguments).await?;
    }
    if case.comes_to_light().await? {
        case.everybody_is_told(&who).await?;
        case.ends(1).await?;
    }
    Ok(())
}

impl<S: Part, A: Part> Case<'_, S, A> {
    fn struck_by(&mut self, at: Checkpoint, fault: Fault) {
        self.entry.checkpoint = Some(at.name().to_owned());
        self.entry.fault = Some(fault.name().to_owned());
        self.expects("see the matrix; never from `succeeded` to anything else", "the truth, whenever they come");
    }
}
