//! The payment provider: HTTP on loopback over its effect log.
//!
//! It commits before it answers, and cannot tell whether its answer arrives. It must not know of agents, tools or ledgers:
//! the story is only true if this side of the wire is a stranger.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context as _;
use axum::{
    Json, Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use serde::Deserialize;
use tokio::net::TcpListener;

use crate::{
    bank::RefundRequest,
    effect_log::{Booked, EffectLog},
};

type Log = Arc<Mutex<EffectLog>>;

/// The provider, bound to a free port and not yet serving.
#[derive(Debug)]
pub struct Provider {
    listener: TcpListener,
    log: Log,
}

impl Provider {
    /// Takes a free port on loopback.
    pub async fn bind(log: EffectLog) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("failed to take a port")?;
        Ok(Self { listener, log: Arc::new(Mutex::new(log)) })
    }

    /// Where it listens.
    pub fn address(&self) -> anyhow::Result<SocketAddr> {
        self.listener.local_addr().context("failed to read the port")
    }

    /// Serves until `stop` completes.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> anyhow::Result<()> {
        let routes = Router::new().route("/refunds", post(create).get(count)).with_state(self.log);
        axum::serve(self.listener, routes).with_graceful_shutdown(stop).await.context("failed to serve")
    }
}

#[derive(Debug, Deserialize)]
struct Filter {
    order_id: String,
}

async fn create(State(log): State<Log>, headers: HeaderMap, Json(wanted): Json<RefundRequest>) -> Response {
    let key = match headers.get("idempotency-key").map(|value| value.to_str()) {
        None => None,
        Some(Ok(key)) => Some(key.to_owned()),
        Some(Err(_)) => return refused(StatusCode::BAD_REQUEST, "the Idempotency-Key is not text"),
    };
    match with(log, move |log| log.book(key.as_deref(), &wanted)).await {
        Ok(Booked::Now(refund)) => (StatusCode::CREATED, Json(refund)).into_response(),
        Ok(Booked::Before(refund)) => (StatusCode::OK, Json(refund)).into_response(),
        Ok(Booked::Conflict) => refused(StatusCode::UNPROCESSABLE_ENTITY, "this key was used for another refund"),
        Ok(Booked::BadAmount) => {
            refused(StatusCode::UNPROCESSABLE_ENTITY, "amount_cents is no amount that can be refunded")
        }
        Err(failure) => failure,
    }
}

async fn count(State(log): State<Log>, Query(filter): Query<Filter>) -> Response {
    match with(log, move |log| log.count(&filter.order_id)).await {
        Ok(count) => Json(count).into_response(),
        Err(failure) => failure,
    }
}

/// Runs `work` on the file, off the threads that serve. It completes even if the caller hangs up.
async fn with<T: Send + 'static>(
    log: Log,
    work: impl FnOnce(&mut EffectLog) -> rusqlite::Result<T> + Send + 'static,
) -> Result<T, Response> {
    let done = tokio::task::spawn_blocking(move || work(&mut log.lock().unwrap_or_else(PoisonError::into_inner)));
    match done.await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(refused(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())),
        Err(error) => Err(refused(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())),
    }
}

fn refused(status: StatusCode, text: &str) -> Response {
    (status, text.to_owned()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bank::{Bank, BankError, Count},
        effect_log::Keys,
    };

    async fn provider(keys: Keys) -> (tempfile::TempDir, Bank) {
        let folder = tempfile::tempdir().unwrap();
        let log = EffectLog::open(&folder.path().join("provider.db"), keys).unwrap();
        let provider = Provider::bind(log).await.unwrap();
        let bank = Bank::at(provider.address().unwrap()).unwrap();
        tokio::spawn(provider.serve(std::future::pending()));
        (folder, bank)
    }

    #[tokio::test]
    async fn a_key_is_honoured_over_http() {
        let (_folder, bank) = provider(Keys::On).await;
        let first = bank.refund(&"k", "A-1", 4_900).await.unwrap();
        assert_eq!(bank.refund(&"k", "A-1", 4_900).await.unwrap(), first);
        let refused = bank.refund(&"k", "A-1", 9_400).await;
        assert!(matches!(refused, Err(BankError::Refused(text)) if text.contains("another refund")));
        assert_eq!(bank.count("A-1").await.unwrap(), Count { effects: 1, keys: 1 });
    }

    #[tokio::test]
    async fn a_key_is_ignored_when_the_switch_says_so() {
        let (_folder, bank) = provider(Keys::Off).await;
        let first = bank.refund(&"k", "A-1", 4_900).await.unwrap();
        assert_ne!(bank.refund(&"k", "A-1", 4_900).await.unwrap(), first);
        assert_eq!(bank.count("A-1").await.unwrap(), Count { effects: 2, keys: 1 });
    }

    #[tokio::test]
    async fn made_up_keys_protect_nothing() {
        let (_folder, bank) = provider(Keys::On).await;
        for _ in 0..2 {
            bank.refund(&bank.made_up_key(), "A-1", 4_900).await.unwrap();
        }
        assert_eq!(bank.count("A-1").await.unwrap(), Count { effects: 2, keys: 2 });
    }
}
