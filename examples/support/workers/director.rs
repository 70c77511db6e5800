//! The director of `workers.rs`: starts a server if there is none, starts workers, sends, strikes, asks the bank.
//!
//! It must not trust the tools: what is counted is what stands in the bank's own file.

use std::{
    ffi::OsStr,
    net::SocketAddr,
    path::{Path, PathBuf},
    process,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, anyhow, bail};
use clap::{Parser, Subcommand};
use idem_runtime::testing::postgres::Cluster;
use serde_json::Value;

use super::{
    Refunds, report,
    worker::{self, Errand, Event, Plan},
};
use crate::{
    link::{Fault, Link},
    process::Running,
    returns::{
        api::{Addresses, Providers},
        effects::Effects,
        outside::{Outside, Search},
    },
    session::ToolSet,
    stage::{parent_is_gone, show},
};

/// A worker that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_mins(2);

/// How many returns are sent to both workers.
const RETURNS: u64 = 8;

const LONG_ABOUT: &str = "\
Starts two worker processes that share one PostgreSQL ledger, sends the same eight refunds to both of them, each to both at
the same time, and prints who ran which, what each was told, and what the bank counted. Then a third worker is killed while
the bank's answer is on its way, and one of the two is asked for the same refund.

Without an address it starts a PostgreSQL server of its own for the time of the run (or uses the one that
IDEM_TEST_POSTGRES_URL names). Run it once more with `--unguarded` to see the same without `#[idempotent]`.";

/// What `workers` is asked to do.
#[derive(Debug, Parser)]
#[command(name = "workers", about = "Two workers, one PostgreSQL, one refund each", long_about = LONG_ABOUT)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// The database of the ledger, such as `postgres://user@host/database` [default: a server for this run]
    #[arg(value_name = "URL")]
    url: Option<String>,

    /// Run the tool without `#[idempotent]`: the contrast
    #[arg(long)]
    unguarded: bool,

    /// A part of the example that it runs as a process of its own.
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// The bank; prints its address and serves until the standard input closes.
    #[command(hide = true)]
    Outside {
        /// Its file.
        #[arg(long)]
        effects: PathBuf,
        /// Whether effects can be found.
        #[arg(long)]
        search: Search,
    },
    /// One worker.
    #[command(hide = true)]
    Worker {
        /// The plan as JSON.
        plan: String,
    },
}

/// What came of one return: what each worker was told, and how many refunds there are.
#[derive(Debug)]
pub struct Sent {
    /// The return.
    pub rma: String,
    /// What the workers were told, in the order of their numbers.
    pub told: [Value; 2],
    /// The bank's count.
    pub refunds: usize,
}

/// Where the workers are: one ledger, one bank.
struct Place {
    ledger: String,
    tenant: String,
    tools: ToolSet,
    bank: SocketAddr,
    direct: Providers,
    _outside: Running,
}

/// Acts in the role that this process has.
pub(super) async fn act<Guarded: Refunds, Unguarded: Refunds>(cli: Cli) -> anyhow::Result<()> {
    match cli.role {
        None => direct(&cli).await,
        Some(Role::Outside { effects, search }) => {
            let opened = Effects::open(&effects);
            let effects = opened.with_context(|| format!("failed to open the bank's file {}", effects.display()))?;
            let outside = Outside::bind(effects, search).await?;
            show(&format!("{}\n", outside.address()?))?;
            outside.serve(parent_is_gone()).await
        }
        Some(Role::Worker { plan }) => {
            let plan: Plan = serde_json::from_str(&plan).context("failed to read the plan")?;
            match plan.tools {
                ToolSet::Guarded => worker::work::<Guarded>(&plan).await,
                ToolSet::Unguarded => worker::work::<Unguarded>(&plan).await,
            }
        }
    }
}

async fn direct(cli: &Cli) -> anyhow::Result<()> {
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
    let tools = if cli.unguarded { ToolSet::Unguarded } else { ToolSet::Guarded };
    // Held until the end: a server of one's own stops with it.
    let (ledger, _cluster) = match (&cli.url, tools) {
        (Some(url), _) => (url.clone(), None),
        // Nothing of it asks a ledger.
        (None, ToolSet::Unguarded) => (String::new(), None),
        (None, ToolSet::Guarded) => {
            let (ledger, cluster) = tokio::task::spawn_blocking(server).await??;
            (ledger, Some(cluster))
        }
    };
    let place = Place::set(folder.path(), ledger, tools).await?;
    let (first, second) = tokio::join!(place.worker(place.bank), place.worker(place.bank));
    let mut workers = [first?, second?];
    let mut sent = Vec::new();
    for nth in 1..=RETURNS {
        sent.push(place.send_to_both(&mut workers, nth).await?);
    }
    show(&report::shared(&sent))?;

    let [first, _] = &mut workers;
    let rma = rma(RETURNS + 1);
    let told = place.kill_and_ask(first, &rma).await?;
    let refunds = place.refunds(&rma).await?;
    show(&report::killed(&told, place.operation(&rma).await?.as_ref(), refunds))?;
    let all = sent.iter().map(|sent| sent.refunds).sum::<usize>() + refunds;
    show(&report::counted(all, sent.len() + 1, tools))?;
    for worker in workers {
        worker.end().await?;
    }
    Ok(())
}

/// A server for this run, and an empty ledger on it.
fn server() -> anyhow::Result<(String, Cluster)> {
    let start = || {
        let cluster = Cluster::start()?;
        Ok((cluster.ledger()?, cluster))
    };
    start().map_err(|error: idem_runtime::testing::postgres::NoServer| {
        anyhow!(
            "failed to {error}. Or give the address of a database: \
             `cargo run --example workers --features postgres -- postgres://user@host/database`"
        )
    })
}

fn rma(nth: u64) -> String {
    format!("RMA-{}", 3000 + nth)
}

impl Place {
    async fn set(folder: &Path, ledger: String, tools: ToolSet) -> anyhow::Result<Self> {
        let effects = folder.join("bank.db");
        let arguments: [&OsStr; 4] = ["--effects".as_ref(), effects.as_os_str(), "--search".as_ref(), "up".as_ref()];
        let (outside, bank) = Running::server("outside", arguments).await?;
        let direct = Providers::at(Addresses { bank, desk: bank, mail: bank })?;
        // A ledger that is there already may hold an earlier run's refunds, at a bank that is gone.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let tenant = format!("workers {} {now}", process::id());
        Ok(Self { ledger, tenant, tools, bank, direct, _outside: outside })
    }

    /// Starts a worker that finds the bank at `bank`, and waits until it is ready.
    async fn worker(&self, bank: SocketAddr) -> anyhow::Result<Running> {
        let plan = Plan { ledger: self.ledger.clone(), tenant: self.tenant.clone(), tools: self.tools, bank };
        let mut worker = Running::planned("worker", &plan)?;
        match hear(&mut worker).await? {
            Some(Event::Ready) => Ok(worker),
            Some(event) => bail!("a worker said {event:?} before it was asked"),
            None => {
                worker.end().await?;
                bail!("a worker ended before it was ready")
            }
        }
    }

    /// Sends one refund to both workers at the same time; who hears it first takes turns.
    async fn send_to_both(&self, workers: &mut [Running; 2], nth: u64) -> anyhow::Result<Sent> {
        let rma = rma(nth);
        let [first, second] = workers;
        let told = if nth.is_multiple_of(2) {
            let (second, first) = tokio::join!(ask(second, &rma), ask(first, &rma));
            [first?, second?]
        } else {
            let (first, second) = tokio::join!(ask(first, &rma), ask(second, &rma));
            [first?, second?]
        };
        let refunds = self.refunds(&rma).await?;
        Ok(Sent { rma, told, refunds })
    }

    /// Asks a third worker, kills it while the bank's answer is on its way, and asks `other` for the same.
    async fn kill_and_ask(&self, other: &mut Running, rma: &str) -> anyhow::Result<Value> {
        let wire = Link::to(self.bank, Fault::HoldFirst).await.context("failed to lay the wire")?;
        let mut third = self.worker(wire.address()).await?;
        third.say(&Errand { rma: rma.to_owned(), cents: 4_900 }).await?;
        tokio::time::timeout(PATIENCE, wire.held()).await.context("the bank was not asked")?;
        third.kill().await?;
        ask(other, rma).await
    }

    /// Asks the bank itself.
    async fn refunds(&self, rma: &str) -> anyhow::Result<usize> {
        Ok(self.direct.bank.log(rma).await?.len())
    }

    /// Where the operation of a return stands, if there is a ledger to ask.
    async fn operation(&self, rma: &str) -> anyhow::Result<Option<idem_runtime::ledger::Detail>> {
        match self.tools {
            ToolSet::Unguarded => Ok(None),
            ToolSet::Guarded => report::operation(&self.ledger, &self.tenant, rma).await,
        }
    }
}

async fn ask(worker: &mut Running, rma: &str) -> anyhow::Result<Value> {
    worker.say(&Errand { rma: rma.to_owned(), cents: 4_900 }).await?;
    match hear(worker).await? {
        Some(Event::Told(about, told)) if about == rma => Ok(told),
        other => bail!("a worker was asked about {rma} and said {other:?}"),
    }
}

async fn hear(worker: &mut Running) -> anyhow::Result<Option<Event>> {
    tokio::time::timeout(PATIENCE, worker.event()).await.context("a worker hangs")?
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound_and_shows_no_inner_role() {
        Cli::command().debug_assert();
        let help = Cli::command().render_long_help().to_string();
        assert!(!help.contains("outside ") && !help.contains("One worker"), "{help}");
    }

    #[test]
    fn an_address_is_no_role() {
        let cli = Cli::try_parse_from(["workers", "postgres://localhost/x", "--unguarded"]).unwrap();
        assert!(cli.role.is_none() && cli.unguarded);
        assert_eq!(cli.url.as_deref(), Some("postgres://localhost/x"));
    }
}
