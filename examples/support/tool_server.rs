//! The server on which an agent's tools run: one route, `POST /call`.
//!
//! It must not retry, remember or guard anything: a call that arrives is a call of the tool.

use std::{net::SocketAddr, path::Path, sync::Arc};

use anyhow::Context as _;
use axum::{Json, Router, extract::State, routing::post};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::net::TcpListener;

use crate::{
    bank::Bank,
    session::{Event, emit},
    transcript::ToolUse,
};

/// A call as the agent sends it: what the model asked for, and where in which conversation it did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallRequest {
    /// The agent's own name for the conversation; no model wrote it.
    pub conversation: String,
    /// Which of the conversation's messages asked: its index.
    pub turn: u64,
    /// The call in that message.
    pub call: ToolUse,
}

impl CallRequest {
    /// The arguments of a call of the tool `name`; the error is what the model is told instead.
    pub fn arguments<A: DeserializeOwned>(&self, name: &str) -> Result<A, Answer> {
        if self.call.name != name {
            return Err(Answer::failure("no such tool", format!("there is no tool `{}`", self.call.name)));
        }
        A::deserialize(&self.call.arguments)
            .map_err(|error| Answer::failure("bad arguments", format!("the arguments do not fit: {error}")))
    }
}

/// What the agent gets back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// One word on what happened.
    pub status: String,
    /// Whether it happened at an earlier call.
    pub replayed: bool,
    /// Whether the model is told of a failure.
    pub is_error: bool,
    /// What the model reads.
    pub text: String,
}

impl Answer {
    /// The answer to a call that cannot be run, or was not answered.
    pub fn failure(status: &str, text: impl Into<String>) -> Self {
        Self { status: status.to_owned(), replayed: false, is_error: true, text: text.into() }
    }
}

/// The tools of one application.
pub trait Tools: Sized + Send + Sync + 'static {
    /// Gets ready to run, with a ledger at this path if the tools keep one.
    fn open(ledger: &Path, bank: Bank) -> impl Future<Output = anyhow::Result<Self>> + Send;

    /// Runs one call. Whatever happens is an answer: the model has to be told something.
    fn call(&self, request: CallRequest) -> impl Future<Output = Answer> + Send;
}

/// Serves `tools` on a free port of loopback, for as long as the process lives.
pub async fn serve(tools: impl Tools) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("failed to take a port")?;
    let address = listener.local_addr().context("failed to read the port")?;
    let routes = Router::new().route("/call", post(call)).with_state(Arc::new(tools));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Ok(address)
}

async fn call<T: Tools>(State(tools): State<Arc<T>>, Json(request): Json<CallRequest>) -> Json<Answer> {
    emit(&Event::Attempt);
    Json(tools.call(request).await)
}
