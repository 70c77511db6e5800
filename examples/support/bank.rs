//! The client of the payment provider's API, as a tool's body uses it.
//!
//! It must not send anything twice: no retries of its own and no pooled connections, whose loss an HTTP client mends by
//! sending again. It does not know whether the tool around it is guarded.

use std::{
    fmt::Display,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use reqwest::{Client, Response};
use serde::{Deserialize, Serialize};

/// How long a request may take before the client gives it up.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The refund as the provider made it, and as a replay hands it out again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refund {
    /// The provider's id of the effect.
    pub id: String,
    /// The order whose money went back.
    pub order_id: String,
    /// How much of it.
    pub amount_cents: u64,
}

/// What a `POST /refunds` carries beside its `Idempotency-Key`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundRequest {
    /// The order whose money goes back.
    pub order_id: String,
    /// How much of it.
    pub amount_cents: u64,
}

/// What the provider counted for one order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Refunds that exist: the effects.
    pub effects: u64,
    /// Distinct idempotency keys that arrived.
    pub keys: u64,
}

/// Why there is no refund to show. Only [`BankError::Refused`] says that none was made.
#[derive(Debug, thiserror::Error)]
pub enum BankError {
    /// The request left and nothing came back: the refund may exist.
    #[error("no answer from the bank")]
    NoAnswer(#[source] reqwest::Error),
    /// The bank answered, and not with a refund.
    #[error("the bank refused: {0}")]
    Refused(String),
}

/// A handle to the provider's API. Clones share their connections' settings and the counter of random-looking keys.
#[derive(Debug, Clone)]
pub struct Bank {
    http: Client,
    refunds: String,
    made_up: Arc<AtomicU64>,
}

impl Bank {
    /// Speaks to the provider at `address`. Fails when no HTTP client can be built.
    pub fn at(address: SocketAddr) -> Result<Self, BankError> {
        let http = client().map_err(BankError::NoAnswer)?;
        let refunds = format!("http://{address}/refunds");
        Ok(Self { http, refunds, made_up: Arc::default() })
    }

    /// Moves the money: one effect, if the provider lets it happen.
    pub async fn refund(&self, key: &impl Display, order_id: &str, amount_cents: u64) -> Result<Refund, BankError> {
        let body = RefundRequest { order_id: order_id.to_owned(), amount_cents };
        let request = self.http.post(&self.refunds).header("Idempotency-Key", key.to_string());
        answered(request.json(&body).send().await).await
    }

    /// What exists for an order, by the provider's own count.
    pub async fn count(&self, order_id: &str) -> Result<Count, BankError> {
        answered(self.http.get(&self.refunds).query(&[("order_id", order_id)]).send().await).await
    }

    /// A new key for every call: the usual mistake. It looks like an idempotency key and protects nothing.
    pub fn made_up_key(&self) -> String {
        format!("{}-{}", std::process::id(), self.made_up.fetch_add(1, Ordering::Relaxed))
    }
}

/// A client that sends a request once, on a connection of its own.
pub(crate) fn client() -> reqwest::Result<Client> {
    Client::builder().timeout(TIMEOUT).pool_max_idle_per_host(0).retry(reqwest::retry::never()).no_proxy().build()
}

async fn answered<T: for<'de> Deserialize<'de>>(sent: reqwest::Result<Response>) -> Result<T, BankError> {
    let no_answer = |error: reqwest::Error| BankError::NoAnswer(error.without_url());
    let response = sent.map_err(no_answer)?;
    if response.status().is_client_error() || response.status().is_server_error() {
        return Err(BankError::Refused(response.text().await.map_err(no_answer)?));
    }
    response.json().await.map_err(no_answer)
}
