//! The providers: HTTP on loopback over their own file.
//!
//! They commit before they answer, and cannot tell whether an answer arrives. They must not know of agents, tools or
//! ledgers. One process plays all three; each has its own wire.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context as _;
use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::net::TcpListener;

use super::effects::{Effects, Service};

/// Whether an email can be found by its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Search {
    /// It can.
    Up,
    /// The mail provider says that its search is down.
    Down,
}

/// The providers, bound to a free port and not yet serving.
#[derive(Debug)]
pub struct Outside {
    listener: TcpListener,
    shared: Shared,
}

#[derive(Debug, Clone)]
struct Shared {
    effects: Arc<Mutex<Effects>>,
    search: Search,
}

impl Outside {
    /// Takes a free port on loopback.
    pub async fn bind(effects: Effects, search: Search) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("failed to take a port")?;
        Ok(Self { listener, shared: Shared { effects: Arc::new(Mutex::new(effects)), search } })
    }

    /// Where it listens.
    pub fn address(&self) -> anyhow::Result<SocketAddr> {
        self.listener.local_addr().context("failed to read the port")
    }

    /// Serves until `stop` completes.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> anyhow::Result<()> {
        let routes = Router::new()
            .route("/{service}", post(create).get(find))
            .route("/{service}/log", get(log))
            .with_state(self.shared);
        axum::serve(self.listener, routes).with_graceful_shutdown(stop).await.context("failed to serve")
    }
}

#[derive(Debug, Deserialize)]
struct ByKey {
    key: String,
}

#[derive(Debug, Deserialize)]
struct ByReturn {
    rma: String,
}

async fn create(
    State(shared): State<Shared>,
    Path(service): Path<Service>,
    headers: HeaderMap,
    Json(wanted): Json<Map<String, Value>>,
) -> Response {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).map(str::to_owned);
    with(shared, move |effects| effects.create(service, key.as_deref(), wanted)).await
}

async fn find(State(shared): State<Shared>, Path(service): Path<Service>, Query(by): Query<ByKey>) -> Response {
    if service == Service::Emails && shared.search == Search::Down {
        return (StatusCode::SERVICE_UNAVAILABLE, "the search is down").into_response();
    }
    with(shared, move |effects| effects.find(service, &by.key).map(Value::from)).await
}

/// What the provider's own page shows to a person who signs in.
async fn log(State(shared): State<Shared>, Path(service): Path<Service>, Query(by): Query<ByReturn>) -> Response {
    with(shared, move |effects| effects.of(service, &by.rma).map(Value::from)).await
}

/// Runs `work` on the file, off the threads that serve. It completes even if the caller hangs up.
async fn with(shared: Shared, work: impl FnOnce(&mut Effects) -> rusqlite::Result<Value> + Send + 'static) -> Response {
    let effects = shared.effects;
    let done = tokio::task::spawn_blocking(move || work(&mut effects.lock().unwrap_or_else(PoisonError::into_inner)));
    match done.await {
        Ok(Ok(value)) => Json(value).into_response(),
        Ok(Err(error)) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::returns::api::{Addresses, ApiError, Providers};

    async fn providers(search: Search) -> (tempfile::TempDir, Providers) {
        let folder = tempfile::tempdir().unwrap();
        let effects = Effects::open(&folder.path().join("outside.db")).unwrap();
        let outside = Outside::bind(effects, search).await.unwrap();
        let address = outside.address().unwrap();
        tokio::spawn(outside.serve(std::future::pending()));
        (folder, Providers::at(Addresses { bank: address, desk: address, mail: address }).unwrap())
    }

    #[tokio::test]
    async fn an_effect_is_found_by_its_key() {
        let (_folder, providers) = providers(Search::Up).await;
        let refund = providers.bank.create(&"k", &json!({"rma": "R", "cents": 5})).await.unwrap();
        assert_eq!((refund.id.as_str(), refund.cents), ("rf_1", 5));
        assert_eq!(providers.bank.find(&"k").await.unwrap(), Some(refund));
        assert_eq!(providers.bank.find(&"other").await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_search_that_is_down_says_nothing_about_the_email() {
        let (_folder, providers) = providers(Search::Down).await;
        let email = json!({"rma": "R", "to": "a@b", "body": "…"});
        providers.mail.create(&"k", &email).await.unwrap();
        let asked = providers.mail.find(&"k").await;
        assert!(matches!(&asked, Err(ApiError::Failed(words)) if words == "the search is down"), "{asked:?}");
        assert_eq!(providers.mail.log("R").await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn what_is_malformed_is_refused() {
        let (_folder, providers) = providers(Search::Up).await;
        let refused = providers.bank.create(&"k", &json!([])).await;
        assert!(matches!(refused, Err(ApiError::Refused(_))), "{refused:?}");
    }
}
