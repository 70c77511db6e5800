//! The example's entrance: which role this process has, and what is printed at the end.
//!
//! It must not know how the tools work: the lesson hands them in as types.

use std::{
    ffi::OsString,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, ensure};
use clap::Parser as _;
use tokio::io::{AsyncReadExt as _, stdin};

use crate::{
    cli::{Cli, Role},
    effect_log::{EffectLog, Keys},
    process::Running,
    provider::Provider,
    session::{self, ToolSet},
    stories::{self, Scene},
    summary,
    tool_server::Tools,
};

/// Reads the command line and does what it says, with tools that carry the attribute and tools that do not.
pub async fn run<Guarded: Tools, Unguarded: Tools>() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.role {
        Some(Role::Provider { ref log, keys }) => provide(log.clone(), keys).await,
        Some(Role::Session { ref plan }) => match plan.tools {
            ToolSet::Guarded => session::play::<Guarded>(plan).await,
            ToolSet::Unguarded => session::play::<Unguarded>(plan).await,
        },
        None => direct(&cli).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("refund: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn provide(log: PathBuf, keys: Keys) -> anyhow::Result<()> {
    let opened = EffectLog::open(&log, keys);
    let log = opened.with_context(|| format!("failed to open the provider's log {}", log.display()))?;
    let provider = Provider::bind(log).await?;
    show(&format!("{}\n", provider.address()?))?;
    provider.serve(parent_is_gone()).await
}

/// The parent holds the other end of the standard input, and the system closes it however the parent ends.
pub(crate) async fn parent_is_gone() {
    let mut rest = [0; 64];
    while stdin().read(&mut rest).await.is_ok_and(|read| read > 0) {}
}

async fn direct(cli: &Cli) -> anyhow::Result<()> {
    stories::read_all(&cli.transcripts)?;
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
    let ledger = cli.ledger.clone().unwrap_or_else(|| folder.path().join("idem.db"));
    usable(&ledger)?;
    let (_provider, provider) = Running::provider(&beside(&ledger), cli.provider_keys).await?;
    let tools = if cli.unguarded { ToolSet::Unguarded } else { ToolSet::Guarded };
    let scene = Scene { transcripts: cli.transcripts.clone(), ledger, tools, provider };
    let played = stories::play_all(&scene).await?;
    show(&summary::text(&played, tools))?;
    if cli.conversations {
        show(&summary::conversations(&played))?;
    }
    Ok(())
}

/// Finds a wrong path before anything has happened, and names it.
fn usable(ledger: &Path) -> anyhow::Result<()> {
    ensure!(!ledger.is_dir(), "failed to open the ledger {}: it is a folder", ledger.display());
    let folder = ledger.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        ensure!(folder.is_dir(), "failed to open the ledger {}: there is no such folder", ledger.display());
    }
    Ok(())
}

/// The provider's file stands beside the ledger's: a kept ledger without the refunds it tells of would be a lie.
fn beside(ledger: &Path) -> PathBuf {
    let mut name = OsString::from(ledger);
    name.push(".provider.db");
    PathBuf::from(name)
}

/// Writes to the standard output; a reader that has seen enough, such as `head`, is not an error.
pub(crate) fn show(text: &str) -> anyhow::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("failed to write to the standard output")
        }
        _ => Ok(()),
    }
}
