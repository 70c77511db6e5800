//! The seven stories and their director: lay the wires, start the agent, strike, count at the provider.
//!
//! It must not trust the tools: effects and keys are the provider's own count, attempts are counted where calls arrive.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::{
    bank::{Bank, Count},
    link::{Fault, Link},
    process::Running,
    session::{Event, Plan, ToolSet},
    tool_server::Answer,
    transcript::{Format, Transcript},
};

/// A session that takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(2);

/// A story, before it is played.
#[derive(Debug)]
struct Story {
    title: &'static str,
    /// The transcripts that are played one after the other in one conversation, each by a process of its own.
    sessions: &'static [&'static str],
    /// On the wire between the agent and its tools.
    agent_fault: Fault,
    /// On the wire between the tool and the provider. Held back means: killed while it waits.
    bank_fault: Fault,
    resends: u32,
}

const STORIES: [Story; 7] = [
    Story {
        title: "lost response and retry",
        sessions: &["lost-response.json"],
        agent_fault: Fault::LoseFirst,
        bank_fault: Fault::None,
        resends: 1,
    },
    Story {
        title: "the same call twice in one message",
        sessions: &["same-call-twice.json"],
        agent_fault: Fault::None,
        bank_fault: Fault::None,
        resends: 0,
    },
    Story {
        title: "re-planned call with a new id",
        sessions: &["re-planned.json"],
        agent_fault: Fault::LoseFirst,
        bank_fault: Fault::None,
        resends: 0,
    },
    Story {
        title: "two different refunds",
        sessions: &["two-refunds.json"],
        agent_fault: Fault::None,
        bank_fault: Fault::None,
        resends: 0,
    },
    Story {
        title: "amount changed under the same id",
        sessions: &["amount-changed.1.json", "amount-changed.2-resumed.json"],
        agent_fault: Fault::None,
        bank_fault: Fault::None,
        resends: 0,
    },
    Story {
        title: "killed after the provider committed",
        sessions: &["killed.json", "killed.json"],
        agent_fault: Fault::None,
        bank_fault: Fault::HoldFirst,
        resends: 0,
    },
    Story {
        title: "the provider's answer lost",
        sessions: &["provider-answer-lost.json"],
        agent_fault: Fault::None,
        bank_fault: Fault::LoseFirst,
        resends: 0,
    },
];

/// Where the stories are played.
#[derive(Debug)]
pub struct Scene {
    /// The folder of the transcripts.
    pub transcripts: PathBuf,
    /// The ledger's file.
    pub ledger: PathBuf,
    /// Which tools run.
    pub tools: ToolSet,
    /// Where the provider listens.
    pub provider: SocketAddr,
}

/// A story, after it was played.
#[derive(Debug)]
pub struct Played {
    /// Its title.
    pub title: &'static str,
    /// Whose format the model spoke.
    pub format: Format,
    /// Calls that arrived at the tool.
    pub attempts: u64,
    /// What the provider counted.
    pub count: Count,
    /// What the model was told, in order: one list a message, and one for a session that was killed.
    pub told: Vec<Told>,
    /// The conversation as it stood at the end.
    pub conversation: Vec<Value>,
}

/// One step of what the model was told.
#[derive(Debug)]
pub enum Told {
    /// The results of one message's calls.
    Results(Vec<Answer>),
    /// Nothing: the process was killed.
    Killed,
}

/// Reads every transcript. A wrong path or broken JSON is found here, before anything has happened.
pub fn read_all(folder: &Path) -> anyhow::Result<()> {
    let names = STORIES.iter().flat_map(|story| story.sessions);
    names.map(|name| Transcript::read(&folder.join(name))).try_for_each(|read| read.map(drop))
}

/// Plays all stories, one after the other.
pub async fn play_all(scene: &Scene) -> anyhow::Result<Vec<Played>> {
    let mut played = Vec::with_capacity(STORIES.len());
    for story in &STORIES {
        let done = play(scene, story).await.with_context(|| format!("in the story \"{}\"", story.title))?;
        played.push(done);
    }
    Ok(played)
}

async fn play(scene: &Scene, story: &Story) -> anyhow::Result<Played> {
    let wire = Link::to(scene.provider, story.bank_fault).await.context("failed to lay the wire")?;
    let (mut attempts, mut told, mut conversation) = (0, Vec::new(), Vec::new());
    for transcript in story.sessions {
        let plan = Plan {
            ledger: scene.ledger.clone(),
            tools: scene.tools,
            transcript: scene.transcripts.join(transcript),
            conversation: format!("c-{}", story.title.replace(' ', "-")),
            bank: wire.address(),
            fault: story.agent_fault,
            resends: story.resends,
        };
        let session = tokio::time::timeout(PATIENCE, run(&plan, &wire)).await;
        for event in session.context("a session hangs")?? {
            match event {
                Heard::Event(Event::Attempt) => attempts += 1,
                Heard::Event(Event::Told(answers)) => told.push(Told::Results(in_order(answers))),
                Heard::Event(Event::Conversation(whole)) => conversation = whole,
                Heard::Killed => told.push(Told::Killed),
            }
        }
    }
    let (format, orders) = cast(&scene.transcripts, story)?;
    let count = count(scene.provider, &orders).await?;
    Ok(Played { title: story.title, format, attempts, count, told, conversation })
}

enum Heard {
    Event(Event),
    Killed,
}

/// Runs one session to its end, or to the moment in which an answer of the provider is held back.
async fn run(plan: &Plan, wire: &Link) -> anyhow::Result<Vec<Heard>> {
    let mut session = Running::session(plan)?;
    let mut heard = Vec::new();
    let killed = loop {
        tokio::select! {
            event = session.event() => match event? {
                Some(event) => heard.push(Heard::Event(event)),
                None => break false,
            },
            () = wire.held() => break true,
        }
    };
    if !killed {
        session.end().await?;
        return Ok(heard);
    }
    session.kill().await?;
    while let Some(event) = session.event().await? {
        heard.push(Heard::Event(event));
    }
    heard.push(Heard::Killed);
    Ok(heard)
}

/// Which of two equal calls made at once came first is chance; what they were told together is not.
fn in_order(mut answers: Vec<Answer>) -> Vec<Answer> {
    answers.sort_by_key(|answer| answer.replayed);
    answers
}

/// Whose format a story is in, and which orders it is about.
fn cast(folder: &Path, story: &Story) -> anyhow::Result<(Format, BTreeSet<String>)> {
    let mut orders = BTreeSet::new();
    let mut format = None;
    for name in story.sessions {
        let transcript = Transcript::read(&folder.join(name))?;
        format = Some(transcript.format);
        let calls = transcript.messages.iter().flat_map(|message| &message.calls);
        let named = calls.filter_map(|call| call.arguments.get("order_id")?.as_str());
        orders.extend(named.map(str::to_owned));
    }
    match format {
        Some(format) => Ok((format, orders)),
        None => bail!("a story without a transcript"),
    }
}

/// Asks the provider itself, past every wire that a story disturbs.
async fn count(provider: SocketAddr, orders: &BTreeSet<String>) -> anyhow::Result<Count> {
    let bank = Bank::at(provider)?;
    let mut sum = Count::default();
    for order in orders {
        let of_order = bank.count(order).await?;
        sum.effects += of_order.effects;
        sum.keys += of_order.keys;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts")
    }

    /// The id and the arguments of every call, a list a message, over all sessions of a story.
    fn calls(story: &Story) -> Vec<Vec<(String, Value)>> {
        let read = |name: &&str| Transcript::read(&folder().join(name)).unwrap().messages;
        let messages = story.sessions.iter().flat_map(read);
        let asked = messages.map(|message| message.calls).filter(|calls| !calls.is_empty());
        asked.map(|calls| calls.into_iter().map(|call| (call.id, call.arguments)).collect()).collect()
    }

    #[test]
    fn both_formats_are_played_and_no_order_is_in_two_stories() {
        let (mut formats, mut seen) = (Vec::new(), BTreeSet::new());
        for story in &STORIES {
            let (format, orders) = cast(&folder(), story).unwrap();
            formats.push(format);
            assert_eq!(orders.len(), 1, "{}", story.title);
            assert!(orders.into_iter().all(|order| seen.insert(order)), "{}", story.title);
        }
        assert!(formats.contains(&Format::OpenAi) && formats.contains(&Format::Anthropic));
    }

    #[test]
    fn the_transcripts_are_what_their_titles_say() {
        let [lost, twice, planned, two, changed, killed, provider] = STORIES.each_ref().map(calls);
        assert_eq!(lost.iter().map(Vec::len).collect::<Vec<_>>(), [1]);
        assert_eq!(killed[0], killed[1], "a restart plays the same message");
        let [first, second] = twice[0].as_slice() else { panic!("two calls in one message") };
        assert!(first.0 != second.0 && first.1 == second.1, "new id, same arguments");
        for story in [planned, provider] {
            assert!(story[0][0].0 != story[1][0].0 && story[0][0].1 == story[1][0].1);
        }
        assert!(two[0][0].1 != two[0][1].1, "two intents");
        assert!(changed[0][0].0 == changed[1][0].0 && changed[0][0].1 != changed[1][0].1);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = format!("{:#}", read_all(Path::new("/no/such/folder")).unwrap_err());
        assert!(error.contains("/no/such/folder/lost-response.json"), "{error}");
    }
}
