//! The client that tools call the provider with. It never sends again by itself: what is said of a send that was refused
//! or did not get through is then proof.
//!
//! Must not know the provider's books: it has an address, and nothing else.

use std::{io, net::SocketAddr};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::http::{self, Request};

/// A refund as the provider tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refund {
    /// The provider's id of it.
    pub id: String,
    /// The order that was refunded.
    pub order: String,
    /// How much.
    pub cents: u64,
    /// To whom.
    pub recipient: String,
}

/// Why there is no answer, or none that one could wish for.
#[derive(Debug, thiserror::Error)]
pub enum BankError {
    /// There was no connection: nothing was sent.
    #[error("connect to the provider: {0}")]
    Unreachable(io::Error),
    /// The request was sent, and no answer came.
    #[error("no answer from the provider: {0}")]
    NoAnswer(io::Error),
    /// The provider answered with a status that is no success.
    #[error("the provider answered {status}: {words}")]
    Refused {
        /// The status.
        status: u16,
        /// What it says.
        words: String,
    },
    /// The provider's answer is not what it should be.
    #[error("the provider's answer is not readable: {0}")]
    Unreadable(String),
}

/// A client of the provider. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Bank {
    address: SocketAddr,
}

impl Bank {
    /// A client of the provider that listens there.
    pub fn at(address: SocketAddr) -> Self {
        Self { address }
    }

    /// Sends a refund.
    ///
    /// # Errors
    /// [`BankError`]; after [`NoAnswer`](BankError::NoAnswer) it may have happened.
    pub async fn send(&self, key: &str, order: &str, cents: u64, recipient: &str) -> Result<Refund, BankError> {
        let body = json!({ "order": order, "cents": cents, "recipient": recipient });
        let request = Request { method: "POST".into(), path: "/refunds".into(), key: Some(key.into()), body };
        read(self.ask(&request).await?)
    }

    /// The refund that was sent under this key, if there is one.
    ///
    /// # Errors
    /// [`BankError`], when the provider does not say.
    pub async fn by_key(&self, key: &str) -> Result<Option<Refund>, BankError> {
        self.find(format!("/refunds?key={key}")).await
    }

    /// The refund with this id, if there is one.
    ///
    /// # Errors
    /// [`BankError`], when the provider does not say.
    pub async fn by_reference(&self, reference: &str) -> Result<Option<Refund>, BankError> {
        self.find(format!("/refunds/{reference}")).await
    }

    /// The refunds of an order.
    ///
    /// # Errors
    /// [`BankError`], when the provider does not say.
    pub async fn of_order(&self, order: &str) -> Result<Vec<Refund>, BankError> {
        let mut found = self.ask(&get(format!("/refunds?order={order}"))).await?;
        read(found["refunds"].take())
    }

    async fn find(&self, path: String) -> Result<Option<Refund>, BankError> {
        match self.ask(&get(path)).await {
            Ok(found) => read(found).map(Some),
            Err(BankError::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn ask(&self, request: &Request) -> Result<Value, BankError> {
        let mut stream = TcpStream::connect(self.address).await.map_err(BankError::Unreachable)?;
        let (status, body) = http::ask(&mut stream, request).await.map_err(BankError::NoAnswer)?;
        if status < 400 {
            return Ok(body);
        }
        let words = body["error"].as_str().unwrap_or("without words").to_owned();
        Err(BankError::Refused { status, words })
    }
}

fn get(path: String) -> Request {
    Request { method: "GET".into(), path, key: None, body: Value::Null }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, BankError> {
    serde_json::from_value(value).map_err(|error| BankError::Unreadable(error.to_string()))
}
