//! One run of the agent and its tools as a process of its own, which the director can kill.
//!
//! It reports on its standard output, a JSON line an event, written before anything else happens: what was reported
//! survives the kill. It must not know which story it is part of, nor what the provider counted.

use std::{
    io::{self, Write as _},
    net::SocketAddr,
    path::PathBuf,
};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::{
    agent::Agent,
    bank::Bank,
    link::{Fault, Link},
    tool_server::{self, Answer, Tools},
    transcript::Transcript,
};

/// What the director hands over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// The ledger's file.
    pub ledger: PathBuf,
    /// Which tools run.
    pub tools: ToolSet,
    /// The transcript to play.
    pub transcript: PathBuf,
    /// The conversation's name.
    pub conversation: String,
    /// Where the tools find the provider.
    pub bank: SocketAddr,
    /// What happens on the wire between the agent and its tools.
    pub fault: Fault,
    /// How often the agent sends a call again when no answer came.
    pub resends: u32,
}

/// The tools with the attribute, or the same without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolSet {
    /// With `#[idempotent]`.
    Guarded,
    /// Without: the control arm.
    Unguarded,
}

/// What the director hears.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A tool was called.
    Attempt,
    /// The model was told the results of one message's calls.
    Told(Vec<Answer>),
    /// The conversation as it stood at the end.
    Conversation(Vec<serde_json::Value>),
}

/// Plays the session to its end.
pub async fn play<T: Tools>(plan: &Plan) -> anyhow::Result<()> {
    let transcript = Transcript::read(&plan.transcript)?;
    let tools = T::open(&plan.ledger, Bank::at(plan.bank)?).await?;
    let server = tool_server::serve(tools).await?;
    let wire = Link::to(server, plan.fault).await.context("failed to lay the wire")?;
    let agent = Agent::new(wire.address(), &plan.conversation, plan.resends)?;
    emit(&Event::Conversation(agent.play(transcript).await?));
    Ok(())
}

/// Reports an event. A director who no longer listens has no use for it: a failed write is not an error here.
pub(crate) fn emit(event: &Event) {
    let mut out = io::stdout().lock();
    if serde_json::to_writer(&mut out, event).is_ok() {
        let _ = out.write_all(b"\n").and_then(|()| out.flush());
    }
}
