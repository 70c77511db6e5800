//! Runs a command beside a PostgreSQL server that is there for it alone: `beside-server COMMAND ARGUMENT…`.
//!
//! The command finds the server's address in `IDEM_TEST_POSTGRES_URL`. Whatever becomes of it, the server is stopped and
//! removed, and the command's end is this program's. It must not know what the command does.

use std::process::{Command, ExitCode};

use anyhow::Context;
use idem_runtime::testing::postgres::Cluster;
use tokio::signal::unix::{SignalKind, signal};

/// Every test that runs at the same time may have several ledgers in several processes, each with a few connections.
const CONNECTIONS_MAX: &str = "500";

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let command = arguments.next().context("say which command runs beside the server")?;
    // A terminal's Ctrl-C reaches the command too, which ends; then the server is removed, and not before.
    let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let _heard = signals.map(signal);
    // Nobody stops it before the end. With `fsync` tests wait most of their time for ledgers that are made.
    let cluster = Cluster::own_with(&[("max_connections", CONNECTIONS_MAX), ("fsync", "off")])?;
    let mut command = Command::new(command);
    command.args(arguments).env("IDEM_TEST_POSTGRES_URL", cluster.address());
    let ended = command.status().context("start the command")?;
    drop(cluster);
    // None of its own: a signal ended it.
    let code = ended.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
