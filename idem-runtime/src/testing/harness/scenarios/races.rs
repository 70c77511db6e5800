//! Callers that come at the same time, from one process and from several.

use super::{
    super::{
        Answer,
        case::Case,
        child::{self, Does},
        playing::{Part, Played, Playing, Stop, not_applicable},
        stage::{Ground, Set},
        verdict::FailureKind,
    },
    on_every_ground,
};

/// How often a race is run. Each round is another operation.
const ROUNDS: usize = 16;

/// Callers of one process.
const CALLERS: usize = 8;

/// Processes, and callers of each.
const PROCESSES: usize = 3;
const CALLERS_OF_EACH: usize = 3;
const ROUNDS_OF_PROCESSES: usize = 8;

pub(super) async fn of_tasks<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    on_every_ground(it, async |ground| tasks(it, ground).await).await
}

pub(super) async fn of_processes<S: Part, A: Part>(it: &Playing<'_, S, A>) -> Played {
    if Ground::usual() == Ground::Memory {
        return Err(not_applicable("no ledger is shared between processes: the feature `sqlite` is off"));
    }
    on_every_ground(it, async |ground| processes(it, ground).await).await
}

async fn tasks<S: Part, A: Part>(it: &Playing<'_, S, A>, ground: Ground) -> Played {
    let mut case = Case::new(it, "tasks at a barrier", (ground, Set::default())).await?;
    case.expects("in_progress → succeeded, each round", "the one result of the round");
    case.callers(&format!("{CALLERS} at once, {ROUNDS} rounds"));
    for round in 1..=ROUNDS {
        case.intended = round;
        let who = case.who.occurrence(format!("round {round}"));
        let answers = case.at_once(&vec![who.clone(); CALLERS]).await?;
        one_result(&mut case, round, &answers)?;
        let after = case.call(&who, &it.arguments).await?;
        case.is_replay(&after, "whoever comes after the race is given its result")?;
    }
    case.entry.actual.answers = vec![format!("{ROUNDS} rounds, one result each")];
    case.ends(ROUNDS).await
}

async fn processes<S: Part, A: Part>(it: &Playing<'_, S, A>, ground: Ground) -> Played {
    let mut case = Case::new(it, "processes at a barrier", (ground, Set::default())).await?;
    case.expects("in_progress → succeeded, each round", "the one result of the round");
    case.callers(&format!("{PROCESSES} processes with {CALLERS_OF_EACH} callers each, {ROUNDS_OF_PROCESSES} rounds"));
    let mut children = Vec::new();
    for _ in 0..PROCESSES {
        children.push(child::start(it, &case.stage, Does::Races { callers: CALLERS_OF_EACH })?);
    }
    for child in &mut children {
        child::hears(it, child, "ready")?;
    }
    for round in 1..=ROUNDS_OF_PROCESSES {
        case.intended = round;
        for child in &mut children {
            child.say(&format!("round {round}")).map_err(|error| it.broken(error.to_string()))?;
        }
        let mut answers: Vec<Answer> = Vec::new();
        for child in &mut children {
            let said = child.hear().map_err(|why| it.broken(why))?;
            let told: Vec<Answer> = serde_json::from_str(&said).map_err(|_| it.broken(format!("a child: {said}")))?;
            answers.extend(told);
        }
        let now = case.counts()?;
        for answer in &answers {
            case.heard(answer.clone(), &now)?;
        }
        one_result(&mut case, round, &answers)?;
    }
    case.entry.actual.answers = vec![format!("{ROUNDS_OF_PROCESSES} rounds, one result each")];
    case.ends(ROUNDS_OF_PROCESSES).await
}

/// One effect more than the round before, and all that were given a result were given the same.
fn one_result<S: Part, A: Part>(case: &mut Case<'_, S, A>, round: usize, answers: &[Answer]) -> Result<(), Stop> {
    let winners = answers.iter().filter(|answer| answer.is_success() && !answer.replayed).count();
    for answer in answers {
        let why = "whoever comes at the same time is given the one result, or told that it is on its way";
        case.is_told(answer, &["succeeded", "in_progress"], FailureKind::MisleadingAnswer, why)?;
    }
    if case.playing.subject.guarded && winners != 1 {
        let seen = format!("{winners} callers of round {round} were told that they had the effect");
        return Err(case.failed(FailureKind::NoDeduplication, "one of them has the effect", seen));
    }
    let counts = case.counts()?;
    match counts.iter().find(|(_, count)| **count != round) {
        None => Ok(()),
        Some((effect, count)) => {
            let seen = format!("{count} effects `{effect}` after {round} rounds");
            Err(case.failed(FailureKind::SuccessWithoutEffect, "one effect a round", seen))
        }
    }
}
