//! `cargo xtask`: the project's own commands, so that a newcomer and CI run the same ones.
//!
//! It must not know what the library does: it starts cargo, times it and says what failed.
#![expect(clippy::print_stdout, reason = "a command-line program speaks on stdout")]

mod examples;
mod needs;
mod planted;
mod step;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use needs::Missing;
use step::Step;

/// The project's own commands.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run all tests; says first what they need and this machine lacks
    Test {
        /// Install what is missing
        #[arg(long)]
        install: bool,
    },
    /// Run everything that a change must pass, as CI does; installs what is missing
    Ci,
    /// Plant bugs in a copy of the tree, one at a time, and see the tests that they name fail. Takes a while
    Planted {
        /// The bugs: files below tests/planted, without `.patch`; all where none is named
        names: Vec<String>,
    },
    /// Run one step of `ci` alone
    Step {
        step: Step,
        /// Install what is missing
        #[arg(long)]
        install: bool,
    },
}

impl Command {
    fn run(&self) -> anyhow::Result<()> {
        match self {
            Self::Test { install } => step::run(&step::TEST, Missing::from_flag(*install)),
            Self::Ci => step::run(&step::CI, Missing::Install),
            Self::Planted { names } => planted::run(&workspace::shell()?, names),
            Self::Step { step, install } => step::run(&[*step], Missing::from_flag(*install)),
        }
    }
}

fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
