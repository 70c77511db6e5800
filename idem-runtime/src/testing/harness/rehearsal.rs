//! The fixture's calls when nothing goes wrong: what they mean, and whether the fixture fits the tool at all.
//!
//! Without it a fixture that counts nothing would let every tool pass.

use std::{collections::BTreeSet, time::Duration};

use super::{
    Answer,
    answer::only_prepared,
    playing::{Part, Playing, Rehearsed, Seen, Stop, unfit},
    stage::{Ground, Set, Stage},
    who::Who,
};
use crate::testing::{folder::Folder, provider::Effect};

/// How long a call may take when nothing goes wrong.
const PATIENCE: Duration = Duration::from_secs(30);

/// Plays the fixture's calls on a ledger in memory.
pub(super) async fn rehearse<S: Part, A: Part>(playing: &Playing<'_, S, A>) -> Result<Rehearsed, Stop> {
    let folder = Folder::new().map_err(|error| playing.broken(format!("a folder: {error}")))?;
    let stage = Stage::set_up(playing.subject, playing.fixture, (Ground::Memory, Set::default(), folder)).await;
    let stage = stage.map_err(|why| playing.broken(why))?;
    clean_up(playing, &stage)?;
    let first = Who::first(playing.fixture);
    fits(playing, &stage, &first).await?;
    let one = call(playing, &stage, &first, &playing.arguments, "arguments").await?;
    let after_one = effects(playing, &stage)?;
    each_once(playing, &stage, &after_one)?;
    let requests = stage.provider.requests().map_err(|error| playing.broken(error.to_string()))?;
    call(playing, &stage, &first.of_another_intent(), &playing.other, "other").await?;
    let mut meant: Vec<Seen> = effects(playing, &stage)?.iter().map(Seen::of).collect();
    meant.sort();
    meant.dedup();
    clean_up(playing, &stage)?;
    Ok(Rehearsed { meant, value: one.value, requests })
}

fn clean_up<S: Part, A>(playing: &Playing<'_, S, A>, stage: &Stage<S>) -> Result<(), Stop> {
    match &stage.sandbox {
        None => Ok(()),
        Some(sandbox) => sandbox.clean_up().map_err(|why| playing.broken(format!("clean up the sandbox: {why}"))),
    }
}

async fn call<S: Part, A: Part>(
    playing: &Playing<'_, S, A>,
    stage: &Stage<S>,
    who: &Who,
    arguments: &A,
    which: &str,
) -> Result<Answer, Stop> {
    let call = who.tool_call(&stage.idem, playing.subject.spec, playing.fixture);
    let call = tokio::spawn(playing.subject.call(call, stage.states.clone(), arguments.clone()));
    let Ok(ended) = tokio::time::timeout(PATIENCE, call).await else {
        return Err(unfit(format!("a call with `.{which}(…)` does not end, although nothing goes wrong")));
    };
    let Ok(answer) = ended else {
        return Err(unfit(format!("a call with `.{which}(…)` panics, although nothing goes wrong")));
    };
    if answer.is_success() {
        return Ok(answer);
    }
    let (outcome, words) = (&answer.outcome, &answer.words);
    Err(unfit(format!("a call with `.{which}(…)` is told `{outcome}`, although nothing goes wrong: {words}")))
}

fn effects<S: Part, A: Part>(playing: &Playing<'_, S, A>, stage: &Stage<S>) -> Result<Vec<Effect>, Stop> {
    let all = match &stage.sandbox {
        Some(sandbox) => sandbox.effects(),
        None => stage.provider.effects().map_err(|error| error.to_string()),
    };
    let all = all.map_err(|why| playing.broken(format!("count effects: {why}")))?;
    Ok(all.into_iter().filter(|effect| playing.fixture.effects.contains(&effect.request.effect)).collect())
}

/// One call has one effect of each name.
fn each_once<S: Part, A>(playing: &Playing<'_, S, A>, stage: &Stage<S>, effects: &[Effect]) -> Result<(), Stop> {
    for name in &playing.fixture.effects {
        let count = effects.iter().filter(|effect| effect.request.effect == *name).count();
        if count == 1 {
            continue;
        }
        let all = stage.provider.effects().unwrap_or_default();
        let names: BTreeSet<String> = all.into_iter().map(|effect| effect.request.effect).collect();
        let names: Vec<String> = names.into_iter().collect();
        return Err(unfit(format!(
            "one call has {count} effects `{name}`, and has to have one; the provider has seen `{}`. Is the name the one \
             that the tool gives `Request::of`, and does the tool use the provider that the fixture hands it?",
            names.join("`, `")
        )));
    }
    Ok(())
}

/// The fixture's arguments are as different as it says.
async fn fits<S: Part, A: Part>(playing: &Playing<'_, S, A>, stage: &Stage<S>, who: &Who) -> Result<(), Stop> {
    if !playing.subject.guarded {
        return Ok(());
    }
    let fingerprint = async |arguments: &A| {
        let call = who.tool_call(&stage.idem, playing.subject.spec, playing.fixture);
        let answer = only_prepared(playing.subject.call(call, stage.states.clone(), arguments.clone())).await;
        match answer.record {
            Some(record) => Ok(serde_json::to_value(&record).unwrap_or_default()["fingerprint"].clone()),
            None => {
                Err(unfit(format!("a call is refused as `{}` before it is made: {}", answer.outcome, answer.words)))
            }
        }
    };
    let first = fingerprint(&playing.arguments).await?;
    if fingerprint(&playing.other).await? == first {
        return Err(unfit("`.other(…)` means the same as `.arguments(…)`: give another valid operation"));
    }
    for (name, changed) in &playing.fixture.drifts {
        if fingerprint(changed).await? == first {
            return Err(unfit(format!(
                "`.drift({name:?}, …)` changes nothing that counts: either its value is that of `.arguments(…)`, or the tool \
                 marks the argument as content, volatile or secret"
            )));
        }
    }
    Ok(())
}
