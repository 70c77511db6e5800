//! The director of `return_flow.rs`: lays the wires, starts the agent, strikes, asks the providers what there is.
//!
//! It must not trust the tools: what is counted is what stands in the providers' own file, and where an operation stands
//! is read from the ledger, as an operator would.

use std::{
    ffi::OsStr,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use clap::{Parser, Subcommand, ValueEnum as _};
use serde_json::Value;

use super::{
    ByHand, Returns,
    agent::Errand,
    api::{Addresses, Providers},
    effects::Effects,
    outside::{Outside, Search},
    report::{self, Counts, Ledger},
    session::{self, Event, Plan},
};
use crate::{
    link::{Fault, Link},
    process::Running,
    session::ToolSet,
    stage::{parent_is_gone, show},
};

/// A session that takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(2);

const LONG_ABOUT: &str = "\
Handles the return RMA-2048: one refund, one ticket that names it, one email after both. The bank's answer to the refund is
lost, the process is killed before the email and again while the email's answer is on its way, and every new process plans
everything from the start. Prints where each operation has been, and what the providers counted.

Then the return RMA-2049, where nobody can find out whether the email was sent, and a person settles it.";

/// What `return_flow` is asked to do. It has no switches.
#[derive(Debug, Parser)]
#[command(name = "return_flow", about = "One refund, one ticket, one email", long_about = LONG_ABOUT)]
pub struct Cli {
    /// A part of the example that it runs as a process of its own.
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// The providers; print their address and serve until the standard input closes.
    #[command(hide = true)]
    Outside {
        /// Their file.
        #[arg(long)]
        effects: PathBuf,
        /// Whether an email can be found by its tag.
        #[arg(long)]
        search: Search,
    },
    /// One run of the agent and its tools.
    #[command(hide = true)]
    Session {
        /// The plan as JSON.
        plan: String,
    },
}

/// One run of the agent, before it is played.
struct Scene {
    title: &'static str,
    /// How the model words the email this time.
    words: &'static str,
    stand_before: Option<&'static str>,
}

/// RMA-2048. The bank's first answer is lost, and the mail provider's first answer is held back until the kill.
const ONE_EACH: [Scene; 4] = [
    Scene { title: "the bank refunds, and its answer is lost", words: "Your money is back.", stand_before: None },
    Scene {
        title: "a new process sees to what the old one left, and is killed before the email",
        words: "Your money is back.",
        stand_before: Some("send_email"),
    },
    Scene {
        title: "a fresh agent plans everything again; killed while the mail provider's answer is on its way",
        words: "We have refunded you 49.00.",
        stand_before: None,
    },
    Scene {
        title: "another one plans everything again, the email in other words",
        words: "Good news: 49.00 are on their way to you.",
        stand_before: None,
    },
];

/// RMA-2049, up to the person. The mail provider's first answer is lost, and its search is down.
const NOBODY_KNOWS: [Scene; 2] = [
    Scene { title: "the mail provider's answer is lost", words: "Your money is back.", stand_before: None },
    Scene {
        title: "a new process asks, then the agent's own call: both times the search is down",
        words: "We have refunded you 49.00.",
        stand_before: None,
    },
];

/// RMA-2049, after the person.
const SETTLED: [Scene; 1] = [Scene { title: "the agent calls once more", words: "It is done.", stand_before: None }];

/// What is wrong outside.
#[derive(Debug, Clone, Copy)]
struct Wrong {
    /// What happens to the bank's first answer.
    bank: Fault,
    /// What happens to the mail provider's.
    mail: Fault,
    /// Whether an email can be found by its tag.
    search: Search,
}

const FOR_A_WHILE: Wrong = Wrong { bank: Fault::LoseFirst, mail: Fault::HoldFirst, search: Search::Up };
const FOR_LONG: Wrong = Wrong { bank: Fault::None, mail: Fault::LoseFirst, search: Search::Down };

/// What the agent was told in one run.
#[derive(Debug)]
pub struct Played {
    /// The scene's title.
    pub title: &'static str,
    /// The calls in order, and what came of each; nothing where the process was killed.
    pub calls: Vec<(String, Option<Value>)>,
}

/// Where scenes are played: one return, one ledger, one set of providers.
struct Place {
    rma: &'static str,
    ledger: PathBuf,
    tools: ToolSet,
    /// Past all wires.
    direct: Providers,
    bank: Link,
    desk: Link,
    mail: Link,
    _outside: Running,
}

/// Acts in the role that this process has.
pub(super) async fn act<Guarded: ByHand, Unguarded: Returns>(cli: Cli) -> anyhow::Result<()> {
    match cli.role {
        None => direct::<Guarded>().await,
        Some(Role::Outside { effects, search }) => {
            let opened = Effects::open(&effects);
            let effects =
                opened.with_context(|| format!("failed to open the providers' file {}", effects.display()))?;
            let outside = Outside::bind(effects, search).await?;
            show(&format!("{}\n", outside.address()?))?;
            outside.serve(parent_is_gone()).await
        }
        Some(Role::Session { plan }) => {
            let plan: Plan = serde_json::from_str(&plan).context("failed to read the plan")?;
            match plan.tools {
                ToolSet::Guarded => session::play::<Guarded>(&plan).await,
                ToolSet::Unguarded => session::play::<Unguarded>(&plan).await,
            }
        }
    }
}

async fn direct<Guarded: ByHand>() -> anyhow::Result<()> {
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;

    let place = Place::set(folder.path(), "RMA-2048", ToolSet::Guarded, FOR_A_WHILE).await?;
    let played = place.play(&ONE_EACH, 0).await?;
    let ledger = Ledger::open(&place.ledger).await?;
    let operations = ledger.operations(place.rma).await?;
    show(&report::one_each(&played, &operations, place.count().await?))?;

    let place = Place::set(folder.path(), "RMA-2049", ToolSet::Guarded, FOR_LONG).await?;
    let before = place.play(&NOBODY_KNOWS, 0).await?;
    let application = Guarded::open(&place.ledger, place.direct.clone()).await?;
    let seen = application.settle_by_hand(&place.direct.mail.log(place.rma).await?).await?;
    let after = place.play(&SETTLED, before.len()).await?;
    let operations = ledger.operations(place.rma).await?;
    show(&report::settled_by_hand(&before, &seen, &after, &operations, place.count().await?))?;

    // The scenes of RMA-2048 once more.
    let place = Place::set(folder.path(), "RMA-2050", ToolSet::Unguarded, FOR_A_WHILE).await?;
    place.play(&ONE_EACH, 0).await?;
    show(&report::contrast(place.count().await?))
}

impl Place {
    /// Starts the providers and lays a wire to each; `wrong` says what is wrong there.
    async fn set(folder: &Path, rma: &'static str, tools: ToolSet, wrong: Wrong) -> anyhow::Result<Self> {
        let Wrong { bank, mail, search } = wrong;
        let search = search.to_possible_value().context("a switch without a name")?;
        let effects = folder.join(format!("{rma}.outside.db"));
        let arguments: [&OsStr; 4] =
            ["--effects".as_ref(), effects.as_os_str(), "--search".as_ref(), search.get_name().as_ref()];
        let (outside, address) = Running::server("outside", arguments).await?;
        Ok(Self {
            rma,
            ledger: folder.join("idem.db"),
            tools,
            direct: Providers::at(Addresses { bank: address, desk: address, mail: address })?,
            bank: wire(address, bank).await?,
            desk: wire(address, Fault::None).await?,
            mail: wire(address, mail).await?,
            _outside: outside,
        })
    }

    /// Plays scenes one after the other, each in a process of its own. `played` scenes went before.
    async fn play(&self, scenes: &[Scene], played: usize) -> anyhow::Result<Vec<Played>> {
        let mut done = Vec::with_capacity(scenes.len());
        for (at, scene) in scenes.iter().enumerate() {
            let run = tokio::time::timeout(PATIENCE, self.run(scene)).await;
            let number = played + at + 1;
            let calls = run.context("a session hangs").flatten();
            let calls = calls.with_context(|| format!("in scene {number} of {}: {}", self.rma, scene.title))?;
            done.push(Played { title: scene.title, calls });
        }
        Ok(done)
    }

    /// Runs one session: to its end, to where it stands still, or to the moment in which an answer is held back.
    async fn run(&self, scene: &Scene) -> anyhow::Result<Vec<(String, Option<Value>)>> {
        let mut session = Running::session(&Plan {
            ledger: self.ledger.clone(),
            tools: self.tools,
            providers: Addresses { bank: self.bank.address(), desk: self.desk.address(), mail: self.mail.address() },
            errand: Errand { rma: self.rma.to_owned(), words: scene.words.to_owned() },
            stand_before: scene.stand_before.map(str::to_owned),
        })?;
        let mut calls: Vec<(String, Option<Value>)> = Vec::new();
        let mut hear = |event| match event {
            Event::Calls(tool) => calls.push((tool, None)),
            Event::Told(told) => {
                if let Some((_, answer)) = calls.last_mut() {
                    *answer = Some(told);
                }
            }
            Event::Stands => {}
        };
        let killed = loop {
            tokio::select! {
                event = session.event() => match event? {
                    Some(Event::Stands) => break true,
                    Some(event) => hear(event),
                    None => break false,
                },
                () = self.mail.held() => break true,
            }
        };
        if !killed {
            session.end().await?;
            return Ok(calls);
        }
        session.kill().await?;
        while let Some(event) = session.event().await? {
            hear(event);
        }
        Ok(calls)
    }

    /// Asks the providers themselves.
    async fn count(&self) -> anyhow::Result<Counts> {
        let Providers { bank, desk, mail } = &self.direct;
        Ok(Counts {
            refunds: bank.log(self.rma).await?.len(),
            tickets: desk.log(self.rma).await?.len(),
            emails: mail.log(self.rma).await?.len(),
        })
    }
}

async fn wire(address: SocketAddr, fault: Fault) -> anyhow::Result<Link> {
    Link::to(address, fault).await.context("failed to lay the wire")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound_and_shows_no_inner_role() {
        Cli::command().debug_assert();
        let help = Cli::command().render_long_help().to_string();
        assert!(!help.contains("outside ") && !help.contains("session "), "{help}");
    }
}
