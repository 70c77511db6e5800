//! The other processes of the example: this same binary, run again in another role.
//!
//! Readiness and progress are lines on a child's standard output, never a guess in time. A child ends with its parent:
//! the provider when its standard input closes, a session when it is dropped. It must not know what the roles do.

use std::{env, net::SocketAddr, path::Path, process::Stdio};

use anyhow::{Context as _, bail};
use clap::ValueEnum as _;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::{
    effect_log::Keys,
    session::{Event, Plan},
};

/// A running child.
#[derive(Debug)]
pub struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// Starts the provider and waits until it listens.
    pub async fn provider(log: &Path, keys: Keys) -> anyhow::Result<(Self, SocketAddr)> {
        let keys = keys.to_possible_value().context("a switch without a name")?;
        let mut command = itself("provider")?;
        command.arg("--log").arg(log).arg("--keys").arg(keys.get_name());
        let mut provider = Self::start(command)?;
        let Some(line) = provider.line().await? else {
            provider.end().await?;
            bail!("the provider ended before it listened");
        };
        let address = line.parse().with_context(|| format!("the provider said `{line}`, no address"))?;
        Ok((provider, address))
    }

    /// Starts a session of the agent.
    pub fn session(plan: &Plan) -> anyhow::Result<Self> {
        let mut command = itself("session")?;
        command.arg(serde_json::to_string(plan).context("failed to write the plan")?);
        Self::start(command)
    }

    /// The next event that a session reports; none when it has ended.
    pub async fn event(&mut self) -> anyhow::Result<Option<Event>> {
        let Some(line) = self.line().await? else {
            return Ok(None);
        };
        let event = serde_json::from_str(&line).with_context(|| format!("a session said `{line}`"))?;
        Ok(Some(event))
    }

    /// `kill -9`, and waits until the process is gone. What it had reported can still be read.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill().await.context("failed to kill a child process")
    }

    /// Waits for the end of a child that was not killed; its own last words are the error.
    pub async fn end(mut self) -> anyhow::Result<()> {
        let mut words = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            stderr.read_to_string(&mut words).await.context("failed to read from a child process")?;
        }
        let status = self.child.wait().await.context("failed to wait for a child process")?;
        if !status.success() {
            bail!("{}", words.trim().trim_start_matches("refund: "));
        }
        Ok(())
    }

    fn start(mut command: Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("failed to start a child process")?;
        let stdout = child.stdout.take().context("a child process without output")?;
        Ok(Self { child, lines: BufReader::new(stdout).lines() })
    }

    async fn line(&mut self) -> anyhow::Result<Option<String>> {
        self.lines.next_line().await.context("failed to read from a child process")
    }
}

fn itself(role: &str) -> anyhow::Result<Command> {
    let mut command = Command::new(env::current_exe().context("failed to find this binary")?);
    command.arg(role);
    Ok(command)
}
