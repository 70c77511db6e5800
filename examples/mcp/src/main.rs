//! An MCP server whose refund is safe to send again.
//!
//! `refund-server stdio` for a host that starts its servers, `refund-server http 127.0.0.1:8000` for one that connects; both
//! with `--ledger idem.db --till till.txt`. The lesson is `Shop`: an rmcp server as rmcp's own documentation has it, and one
//! more attribute.
//!
//! This file must not know its clients: a tool cannot see whether it is called again.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use anyhow::{Context as _, anyhow};
use clap::{Parser, Subcommand};
use idem_rmcp::{Adapter, ToolCall, idempotent};
use idem_runtime::Idem;
use rmcp::{
    ErrorData, Json, ServerHandler, ServiceExt,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    tool, tool_handler, tool_router,
    transport::{
        stdio,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::{fs, io::AsyncWriteExt, net::TcpListener};

/// What to give back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Order {
    /// The order's number.
    order_id: String,
    /// How much, in cents.
    cents: u64,
}

/// What was given back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Refund {
    reference: String,
    cents: u64,
}

/// The server: its till is a file, a line a refund.
#[derive(Clone)]
struct Shop {
    till: PathBuf,
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Shop {
    fn new(adapter: &Adapter, till: PathBuf) -> Self {
        Self { till, tool_router: adapter.guard(Self::tool_router(), [Self::send_refund_spec()]) }
    }

    /// Gives a customer money back for an order.
    #[idempotent(scope = "conversation", key = "tool_call_id|args", counts = "one refund per order and amount")]
    #[tool]
    async fn send_refund(
        &self,
        call: ToolCall,
        Parameters(Order { order_id, cents }): Parameters<Order>,
    ) -> Result<Json<Refund>, ErrorData> {
        let reference = self.pay(call.provider_key("refund").as_str(), &order_id, cents).await;
        let reference = reference.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        call.reference(&reference);
        Ok(Json(Refund { reference, cents }))
    }

    /// Lists what was given back.
    #[tool(annotations(read_only_hint = true))]
    async fn list_refunds(&self) -> String {
        fs::read_to_string(&self.till).await.unwrap_or_default()
    }
}

impl Shop {
    /// What a payment provider would do.
    async fn pay(&self, key: &str, order_id: &str, cents: u64) -> std::io::Result<String> {
        let mut till = fs::OpenOptions::new().create(true).append(true).open(&self.till).await?;
        till.write_all(format!("{order_id} {cents} {key}\n").as_bytes()).await?;
        till.sync_all().await?;
        Ok(format!("rf_{order_id}"))
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Shop {}

/// An MCP server whose refund is safe to send again.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    transport: Transport,
    /// The ledger's file
    #[arg(long, global = true, default_value = "idem.db")]
    ledger: String,
    /// The file in which refunds are counted
    #[arg(long, global = true, default_value = "till.txt")]
    till: PathBuf,
}

#[derive(Subcommand)]
enum Transport {
    /// Speaks to the host that started it
    Stdio,
    /// Listens, and prints where
    Http { address: SocketAddr },
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Cli { transport, ledger, till } = Cli::parse();
    let idem = Idem::builder().single_tenant("acme").open(&format!("sqlite://{ledger}")).await;
    // The error names its cause itself.
    let idem = idem.map_err(|error| anyhow!("failed to {error}"))?;
    let shop = Shop::new(&Adapter::new(idem).ledger_is_shared(), till);
    match transport {
        Transport::Stdio => {
            shop.serve(stdio()).await.context("failed to greet the host")?.waiting().await?;
        }
        Transport::Http { address } => {
            let listener = TcpListener::bind(address).await.context("failed to listen")?;
            eprintln!("http://{}/mcp", listener.local_addr()?);
            let sessions = Arc::new(LocalSessionManager::default());
            let service =
                StreamableHttpService::new(move || Ok(shop.clone()), sessions, StreamableHttpServerConfig::default());
            axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
        }
    }
    Ok(())
}
