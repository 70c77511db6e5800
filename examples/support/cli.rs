//! The command line of `refund`: words to values. It must not act on them.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::{effect_log::Keys, session::Plan};

const LONG_ABOUT: &str = "\
Plays seven short stories in which an AI agent's call of a refund tool is attempted twice, against a payment provider that
runs as a process of its own, and prints for each: how often the tool was called, how many refunds exist at the provider
afterwards, how many idempotency keys the provider saw, and what the model was told.

The tool carries `#[idempotent]`. Run it once more with `--unguarded` to see the same stories without it.";

/// What to play, and where its files are.
#[derive(Debug, Parser)]
#[command(name = "refund", about = "Two attempts, one refund, one key, and an answer that says so", long_about = LONG_ABOUT)]
pub struct Cli {
    /// The ledger's file, kept after the run [default: a temporary one]
    ///
    /// The provider's own file is kept beside it, as PATH.provider.db. A second run over both finds every refund made.
    #[arg(long, value_name = "PATH")]
    pub ledger: Option<PathBuf>,

    /// The folder with what the model said, in the formats of OpenAI and Anthropic
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/transcripts"))]
    pub transcripts: PathBuf,

    /// Whether the provider honours idempotency keys
    #[arg(long, value_name = "on|off", default_value = "on", hide_possible_values = true)]
    pub provider_keys: Keys,

    /// Run the tool without `#[idempotent]`: the contrast
    #[arg(long)]
    pub unguarded: bool,

    /// Print each conversation in the model's format, tool results included, after the table
    #[arg(long)]
    pub conversations: bool,

    /// A part of the example that it runs as a process of its own.
    #[command(subcommand)]
    pub role: Option<Role>,
}

/// The parts that run as processes of their own.
#[derive(Debug, Subcommand)]
pub enum Role {
    /// The payment provider; prints its address and serves until its standard input closes.
    #[command(hide = true)]
    Provider {
        /// The effect log's file.
        #[arg(long)]
        log: PathBuf,
        /// Whether idempotency keys are honoured.
        #[arg(long, default_value = "on")]
        keys: Keys,
    },
    /// One run of the agent and its tools.
    #[command(hide = true)]
    Session {
        /// The plan as JSON.
        #[arg(value_parser = read_plan)]
        plan: Plan,
    },
}

fn read_plan(text: &str) -> Result<Plan, serde_json::Error> {
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_names_every_switch_and_no_inner_role() {
        let help = Cli::command().render_long_help().to_string();
        for switch in ["--ledger", "--transcripts", "--provider-keys", "--unguarded", "--conversations"] {
            assert!(help.contains(switch), "{help}");
        }
        assert!(!help.contains("session"), "{help}");
    }
}
