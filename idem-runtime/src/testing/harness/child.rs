//! The other processes of a case: this test binary, run again for the same test.
//!
//! A child builds the tool as its parent does, on the parent's files. It is told what to do by its environment, and where
//! it is to be killed it says so and stands still.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{
    Answer, Fixture, Scenario, Subject,
    playing::{Part, Playing, Stop},
    stage::{Ground, Set, Stage},
    store::Quirks,
    who::Who,
};
use crate::testing::{
    Checkpoint, Fault,
    folder::Folder,
    process::{self, Child},
};

/// What a child is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Task {
    scenario: String,
    folder: PathBuf,
    /// Of the ledger, where it is on a server.
    address: Option<String>,
    does: Does,
}

/// What a child does.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Does {
    /// One call, which stands still at this checkpoint.
    DiesAt { at: Checkpoint, before: bool },
    /// So many calls at once, each time its parent names a round.
    Races { callers: usize },
}

/// Starts a child on a stage.
pub(super) fn start<S: Part, A>(it: &Playing<'_, S, A>, stage: &Stage<S>, does: Does) -> Result<Child, Stop> {
    let task = Task {
        scenario: it.scenario.name().to_owned(),
        folder: stage.folder.path().to_owned(),
        address: stage.ground.address().map(str::to_owned),
        does,
    };
    let task = serde_json::to_string(&task).map_err(|error| it.broken(error.to_string()))?;
    Child::start(&it.test, &task).map_err(|error| it.broken(format!("start a child process: {error}")))
}

/// What this process is to do, if it is a child.
pub(super) fn task() -> Option<Task> {
    serde_json::from_str(&process::part()?).ok()
}

impl Task {
    /// Whether it is about this scenario: a test that plays several has children in one of them only.
    pub(super) fn is_of(&self, scenario: Scenario) -> bool {
        self.scenario == scenario.name()
    }

    /// Does it, and ends the process.
    pub(super) async fn plays<S: Part, A: Part>(self, subject: &Subject<S, A>, fixture: &Fixture<S, A>) -> ! {
        if let Err(why) = self.tries(subject, fixture).await {
            process::say(&format!("failed: {why}"));
        }
        std::process::exit(0)
    }

    async fn tries<S: Part, A: Part>(&self, subject: &Subject<S, A>, fixture: &Fixture<S, A>) -> Result<(), String> {
        let mut set = Set::default();
        if let Does::DiesAt { before, .. } = self.does {
            set.quirks = Quirks { dies_before: before, ..Quirks::default() };
        }
        let folder = Folder::given(self.folder.clone());
        let stage = Stage::set_up(subject, fixture, (ground(self.address.as_deref()), set, folder)).await?;
        let arguments = fixture.arguments.clone().ok_or("a fixture without arguments")?;
        match self.does {
            Does::DiesAt { at, .. } => {
                stage.line.arm(at, Fault::Kill, 1);
                stage.provider.line().arm(at, Fault::Kill, 1);
                let call = Who::first(fixture).tool_call(&stage.idem, subject.spec, fixture);
                let answer = subject.call(call, stage.states.clone(), arguments).await;
                if at == Checkpoint::Return {
                    stage.line.strikes(at);
                }
                Err(format!("it did not come to {at}, and was told `{}`", answer.outcome))
            }
            Does::Races { callers } => {
                process::say("ready");
                while let Some(round) = process::hear() {
                    let who = Who::first(fixture).occurrence(round);
                    let answers = race(&stage, subject, fixture, (&who, &arguments), callers).await;
                    let answers = serde_json::to_string(&answers).map_err(|error| error.to_string())?;
                    process::say(&answers);
                }
                Ok(())
            }
        }
    }
}

/// The ledger that the parent plays on.
fn ground(address: Option<&str>) -> Ground {
    match address {
        #[cfg(feature = "postgres")]
        Some(address) => Ground::Postgres(address.to_owned()),
        _ => Ground::usual(),
    }
}

/// Equal calls that start together.
async fn race<S: Part, A: Part>(
    stage: &Stage<S>,
    subject: &Subject<S, A>,
    fixture: &Fixture<S, A>,
    (who, arguments): (&Who, &A),
    callers: usize,
) -> Vec<Answer> {
    let calls = (0..callers).map(|_| {
        let call = who.tool_call(&stage.idem, subject.spec, fixture);
        tokio::spawn(subject.call(call, stage.states.clone(), arguments.clone()))
    });
    let calls: Vec<_> = calls.collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap_or_else(|_| Answer::named("panicked")));
    }
    answers
}

/// What a child says next; it has to be this.
pub(super) fn hears<S, A>(it: &Playing<'_, S, A>, child: &mut Child, wanted: &str) -> Result<(), Stop> {
    match child.hear() {
        Ok(said) if said == wanted => Ok(()),
        Ok(said) => Err(it.broken(format!("a child process said: {said}"))),
        Err(why) => Err(it.broken(why)),
    }
}
