//! The clients of the providers' APIs, as the tools' bodies use them.
//!
//! They must not send anything twice: no retries of their own and no pooled connections, whose loss an HTTP client mends
//! by sending again. They do not know whether the tools around them are guarded.

use std::{fmt::Display, marker::PhantomData, net::SocketAddr};

use reqwest::{Client, Response, StatusCode};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::effects::Service;
use crate::bank;

/// Something that exists at a provider.
pub trait Effect: DeserializeOwned {
    /// Where.
    const SERVICE: Service;
}

/// Money that went back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refund {
    /// The bank's id of it.
    pub id: String,
    /// For which return.
    pub rma: String,
    /// How much.
    pub cents: u64,
}

/// A ticket of the support desk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// The desk's id of it.
    pub id: String,
    /// For which return.
    pub rma: String,
    /// The refund that it belongs to.
    pub refund: String,
}

/// An email that was taken for delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Email {
    /// The mail provider's id of it.
    pub id: String,
    /// About which return.
    pub rma: String,
    /// To whom.
    pub to: String,
}

impl Effect for Refund {
    const SERVICE: Service = Service::Refunds;
}

impl Effect for Ticket {
    const SERVICE: Service = Service::Tickets;
}

impl Effect for Email {
    const SERVICE: Service = Service::Emails;
}

/// Why there is no effect to show. Only [`ApiError::Refused`] says that there is none.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The request left and nothing came back.
    #[error("no answer from the provider")]
    NoAnswer(#[source] reqwest::Error),
    /// The provider could not do its part; it may have done some of it.
    #[error("the provider failed: {0}")]
    Failed(String),
    /// The provider did not take the request.
    #[error("the provider refused: {0}")]
    Refused(String),
}

/// A handle to the API of the provider of `T`. Clones share its settings.
#[derive(Debug)]
pub struct Api<T> {
    http: Client,
    url: String,
    effect: PhantomData<fn() -> T>,
}

impl<T> Clone for Api<T> {
    fn clone(&self) -> Self {
        Self { http: self.http.clone(), url: self.url.clone(), effect: PhantomData }
    }
}

impl<T: Effect> Api<T> {
    fn at(http: &Client, address: SocketAddr) -> Self {
        let url = format!("http://{address}/{}", T::SERVICE.name());
        Self { http: http.clone(), url, effect: PhantomData }
    }

    /// Has the effect, under a key: a promise at the bank, elsewhere no more than a tag to search for.
    pub async fn create(&self, key: &impl Display, wanted: &Value) -> Result<T, ApiError> {
        let request = self.http.post(&self.url).header("Idempotency-Key", key.to_string());
        answered(request.json(wanted).send().await).await
    }

    /// The first effect that came with this key.
    pub async fn find(&self, key: &impl Display) -> Result<Option<T>, ApiError> {
        let request = self.http.get(&self.url).query(&[("key", key.to_string())]);
        let found: Vec<T> = answered(request.send().await).await?;
        Ok(found.into_iter().next())
    }

    /// What the provider's own page shows to a person: everything that concerns a return.
    pub async fn log(&self, rma: &str) -> Result<Vec<Value>, ApiError> {
        let request = self.http.get(format!("{}/log", self.url)).query(&[("rma", rma)]);
        answered(request.send().await).await
    }
}

/// Where the providers are found: the near ends of three wires.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Addresses {
    /// The bank.
    pub bank: SocketAddr,
    /// The support desk.
    pub desk: SocketAddr,
    /// The mail provider.
    pub mail: SocketAddr,
}

/// The three APIs.
#[derive(Debug, Clone)]
pub struct Providers {
    /// Gives money back.
    pub bank: Api<Refund>,
    /// Opens tickets.
    pub desk: Api<Ticket>,
    /// Sends emails.
    pub mail: Api<Email>,
}

impl Providers {
    /// Speaks to the providers at these addresses. Fails when no HTTP client can be built.
    pub fn at(addresses: Addresses) -> reqwest::Result<Self> {
        let http = bank::client()?;
        Ok(Self {
            bank: Api::at(&http, addresses.bank),
            desk: Api::at(&http, addresses.desk),
            mail: Api::at(&http, addresses.mail),
        })
    }
}

async fn answered<T: DeserializeOwned>(sent: reqwest::Result<Response>) -> Result<T, ApiError> {
    let no_answer = |error: reqwest::Error| ApiError::NoAnswer(error.without_url());
    let response = sent.map_err(no_answer)?;
    let status: StatusCode = response.status();
    if status.is_success() {
        return response.json().await.map_err(no_answer);
    }
    let words = response.text().await.map_err(no_answer)?;
    Err(if status.is_client_error() { ApiError::Refused(words) } else { ApiError::Failed(words) })
}
