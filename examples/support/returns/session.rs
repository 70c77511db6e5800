//! One run of the agent and its tools as a process of its own, which the director can kill.
//!
//! It reports on its standard output, a JSON line an event: what was reported survives the kill. It must not know which
//! story it is part of, nor what the providers counted.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Returns,
    agent::{self, Call, Errand},
    api::{Addresses, Providers},
};
use crate::session::ToolSet;

/// What the director hands over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// The ledger's file.
    pub ledger: PathBuf,
    /// Which tools run.
    pub tools: ToolSet,
    /// Where they find the providers.
    pub providers: Addresses,
    /// What the agent is to do.
    pub errand: Errand,
    /// The tool before whose call the process stands still, to be killed there.
    pub stand_before: Option<String>,
}

/// What the director hears.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A tool is about to be called.
    Calls(String),
    /// The agent was told this.
    Told(Value),
    /// The process stands still.
    Stands,
}

/// Plays the session to its end.
pub async fn play<T: Returns>(plan: &Plan) -> anyhow::Result<()> {
    let tools = T::open(&plan.ledger, Providers::at(plan.providers)?).await?;
    tools.recover().await?;
    let call = async |call: Call| {
        let tool = call.tool();
        if plan.stand_before.as_deref() == Some(tool) {
            emit(&Event::Stands);
            std::future::pending::<()>().await;
        }
        emit(&Event::Calls(tool.to_owned()));
        let told = tools.call(call).await;
        emit(&Event::Told(told.clone()));
        told
    };
    agent::handle(call, &plan.errand).await;
    Ok(())
}

/// Reports an event. A director who no longer listens has no use for it: a failed write is not an error here.
fn emit(event: &Event) {
    let mut out = io::stdout().lock();
    if serde_json::to_writer(&mut out, event).is_ok() {
        let _ = out.write_all(b"\n").and_then(|()| out.flush());
    }
}
