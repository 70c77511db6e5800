//! One worker: a process that takes refunds from its standard input, many at a time, and says what it was told.
//!
//! It must not know that there are other workers.

use std::{
    io::{self, Write as _},
    net::SocketAddr,
    sync::Arc,
};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, stdin},
    task::JoinSet,
};

use super::Refunds;
use crate::{
    returns::api::{Addresses, Providers},
    session::ToolSet,
};

/// What the director hands over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// The ledger's address.
    pub ledger: String,
    /// Whose operations these are.
    pub tenant: String,
    /// Which tool runs.
    pub tools: ToolSet,
    /// Where it finds the bank.
    pub bank: SocketAddr,
}

/// What a worker is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Errand {
    /// The return.
    pub rma: String,
    /// How much goes back.
    pub cents: u64,
}

/// What the director hears.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The ledger is open.
    Ready,
    /// The caller was told this about a return.
    Told(String, Value),
}

/// Works until its standard input closes and everything is answered.
pub(super) async fn work<T: Refunds>(plan: &Plan) -> anyhow::Result<()> {
    let providers = Providers::at(Addresses { bank: plan.bank, desk: plan.bank, mail: plan.bank })?;
    let tool = Arc::new(T::open(&plan.ledger, &plan.tenant, providers.bank).await?);
    emit(&Event::Ready);
    let (mut errands, mut calls) = (BufReader::new(stdin()).lines(), JoinSet::new());
    while let Some(line) = errands.next_line().await.context("failed to read an errand")? {
        let Errand { rma, cents } = serde_json::from_str(&line).context("failed to read an errand")?;
        let tool = Arc::clone(&tool);
        calls.spawn(async move {
            let told = tool.refund(rma.clone(), cents).await;
            emit(&Event::Told(rma, told));
        });
    }
    while let Some(call) = calls.join_next().await {
        call.context("a call did not end")?;
    }
    Ok(())
}

/// Reports an event. A director who no longer listens has no use for it: a failed write is not an error here.
fn emit(event: &Event) {
    let mut out = io::stdout().lock();
    if serde_json::to_writer(&mut out, event).is_ok() {
        let _ = out.write_all(b"\n").and_then(|()| out.flush());
    }
}
