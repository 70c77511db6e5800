//! Prints how fast guarded calls are, beside what the machine allows.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use idem_benches::{cli::Cli, profile, report};

#[expect(clippy::print_stdout, reason = "this is the program's output")]
fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    let folder = match &cli.folder {
        None => tempfile::tempdir()?,
        Some(folder) => tempfile::tempdir_in(folder)?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match cli.profile {
        None => report::print(&runtime, &cli, folder.path()),
        Some(profile) => {
            println!("{}", profile::run(&runtime, &cli, profile, folder.path())?);
            Ok(ExitCode::SUCCESS)
        }
    }
}
