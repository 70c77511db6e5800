//! The other processes of the example: this same binary, run again in another role.
//!
//! Readiness and progress are lines on a child's standard output, never a guess in time. A child ends with its parent:
//! one that serves or listens when its standard input closes, any when it is dropped. It must not know what the roles do.

use std::{env, ffi::OsStr, net::SocketAddr, path::Path, process::Stdio};

use anyhow::{Context as _, bail};
use clap::ValueEnum as _;
use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::effect_log::Keys;

/// A running child.
#[derive(Debug)]
pub struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// Starts the payment provider and waits until it listens.
    pub async fn provider(log: &Path, keys: Keys) -> anyhow::Result<(Self, SocketAddr)> {
        let keys = keys.to_possible_value().context("a switch without a name")?;
        Self::server("provider", ["--log".as_ref(), log.as_os_str(), "--keys".as_ref(), keys.get_name().as_ref()]).await
    }

    /// Starts a server and waits until it listens: it prints its address.
    pub async fn server(role: &str, arguments: [&OsStr; 4]) -> anyhow::Result<(Self, SocketAddr)> {
        let mut command = itself(role)?;
        command.args(arguments);
        let mut server = Self::start(command)?;
        let Some(line) = server.line().await? else {
            server.end().await?;
            bail!("the {role} ended before it listened");
        };
        let address = line.parse().with_context(|| format!("the {role} said `{line}`, no address"))?;
        Ok((server, address))
    }

    /// Starts a session of the agent.
    pub fn session(plan: &impl Serialize) -> anyhow::Result<Self> {
        Self::planned("session", plan)
    }

    /// Starts a role that is handed its plan as JSON.
    pub fn planned(role: &str, plan: &impl Serialize) -> anyhow::Result<Self> {
        let mut command = itself(role)?;
        command.arg(serde_json::to_string(plan).context("failed to write the plan")?);
        Self::start(command)
    }

    /// Says one thing to the child, as a line of JSON.
    pub async fn say(&mut self, words: &impl Serialize) -> anyhow::Result<()> {
        let line = format!("{}\n", serde_json::to_string(words).context("failed to write to a child process")?);
        let input = self.child.stdin.as_mut().context("a child process without input")?;
        input.write_all(line.as_bytes()).await.context("failed to write to a child process")
    }

    /// The next event that a session reports; none when it has ended.
    pub async fn event<E: DeserializeOwned>(&mut self) -> anyhow::Result<Option<E>> {
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
        // A child that listens has heard everything.
        drop(self.child.stdin.take());
        let mut words = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            stderr.read_to_string(&mut words).await.context("failed to read from a child process")?;
        }
        let status = self.child.wait().await.context("failed to wait for a child process")?;
        if !status.success() {
            // The child names itself first, as its parent will.
            let words = words.trim();
            bail!("{}", words.split_once(": ").filter(|(name, _)| is_named(name)).map_or(words, |(_, rest)| rest));
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

/// Whether this is the name of the running binary.
fn is_named(name: &str) -> bool {
    env::current_exe().is_ok_and(|path| path.file_stem().is_some_and(|stem| stem == name))
}

fn itself(role: &str) -> anyhow::Result<Command> {
    let mut command = Command::new(env::current_exe().context("failed to find this binary")?);
    command.arg(role);
    Ok(command)
}
