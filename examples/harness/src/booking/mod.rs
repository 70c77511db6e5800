//! A table at a restaurant, booked through a client of its own over HTTP. The restaurant knows idempotency keys for a day.

#[cfg(test)]
mod restaurant;

use idem_runtime::{EffectError, Refusal, ToolCall, http, idempotent};
use serde::{Deserialize, Serialize};

/// A booking, as the restaurant answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking {
    /// The restaurant's id of it.
    pub id: String,
    /// On which evening.
    pub evening: String,
    /// For how many.
    pub guests: u32,
}

/// Why there is no booking to show.
#[derive(Debug, thiserror::Error, EffectError)]
pub enum BookingError {
    /// The guard says no, or tells how things stand.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// What it proves is in the tables of `idem_runtime::http`.
    #[error("the restaurant did not answer with a booking")]
    #[effect(transparent)]
    Http(#[from] reqwest::Error),
}

/// The client of the restaurant's API. It sends every request once.
#[derive(Debug, Clone)]
pub struct Restaurant {
    http: reqwest::Client,
    bookings: String,
}

impl Restaurant {
    /// The restaurant at `http://host:port`.
    ///
    /// # Errors
    /// [`reqwest::Error`], when no client can be built.
    pub fn at(url: &str) -> reqwest::Result<Self> {
        let http = http::sends_once(reqwest::Client::builder()).no_proxy().build()?;
        Ok(Self { http, bookings: format!("{url}/bookings") })
    }

    async fn book(&self, key: &str, evening: &str, guests: u32) -> reqwest::Result<Booking> {
        let wanted = Wanted { evening: evening.to_owned(), guests };
        let sent = self.http.post(&self.bookings).header("Idempotency-Key", key).json(&wanted).send().await?;
        sent.error_for_status()?.json().await
    }
}

/// What a `POST /bookings` carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Wanted {
    evening: String,
    guests: u32,
}

/// Books a table.
///
/// # Errors
/// [`BookingError`], which says what it proves.
#[idempotent(
    scope = "user",
    key = "template:{evening}",
    name = "restaurant.book_table",
    recover(provider_key = "24h", then = operator),
    store_arguments,
    harness = restaurant::booking_fixture
)]
pub async fn book_table(
    call: &ToolCall,
    #[idem(state)] restaurant: &Restaurant,
    evening: String,
    guests: u32,
) -> Result<Booking, BookingError> {
    let booking = restaurant.book(call.provider_key("booking").as_str(), &evening, guests).await?;
    call.reference(&booking.id);
    Ok(booking)
}
