//! The airline's tools as an application writes them, once for each way to say what makes two calls the same.
//!
//! Must not know which calls were recorded, or which of them were repeats.

use idem_runtime::{Outcome, ToolCall, idempotent};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::airline::{AirlineError, Answer, Desk, classify, find};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Booking {
    user_id: String,
    origin: String,
    destination: String,
    flight_type: String,
    cabin: String,
    flights: Vec<Flight>,
    passengers: Vec<Passenger>,
    payment_methods: Vec<Payment>,
    total_baggages: u32,
    nonfree_baggages: u32,
    insurance: String,
}

#[expect(clippy::struct_field_names, reason = "the arguments are called what the recorded airline calls them")]
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Flight {
    flight_number: String,
    date: String,
    origin: Option<String>,
    destination: Option<String>,
    price: Option<i64>,
    scheduled_departure_time_est: Option<String>,
    scheduled_arrival_time_est: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Passenger {
    first_name: String,
    last_name: String,
    dob: Option<String>,
    date_of_birth: Option<String>,
    seat_preference: Option<String>,
}

#[expect(clippy::struct_field_names, reason = "the arguments are called what the recorded airline calls them")]
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Payment {
    payment_id: Option<String>,
    id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    source: Option<String>,
    amount: Option<i64>,
}

/// The tools of the airline that write.
const NAMES: [&str; 6] = [
    "book_reservation",
    "cancel_reservation",
    "update_reservation_flights",
    "update_reservation_baggages",
    "update_reservation_passengers",
    "send_certificate",
];

/// That tool's name, if it is one of them.
///
/// # Panics
/// When it is none.
pub(crate) fn name(of: &str) -> &'static str {
    NAMES.into_iter().find(|name| *name == of).expect("a tool that writes")
}

/// One argument of a recorded call.
fn argument<T: DeserializeOwned>(arguments: &Value, name: &str) -> T {
    serde_json::from_value(arguments[name].clone()).expect("an argument as it was called")
}

/// The six tools of the airline that write, under one policy: `every` stands at each of them, the rest says what a
/// booking, a change of a reservation and a certificate declare on top.
macro_rules! airline {
    ($policy:ident, every: [$($every:tt)*], booking: [$($booking:tt)*], change: [$($change:tt)*], gift: [$($gift:tt)*]) => {
        pub(crate) mod $policy {
            use super::*;

            #[idempotent(
                scope = "conversation", classify = classify, recover(lookup = find, then = operator), $($every)* $($booking)*
            )]
            async fn book_reservation(
                call: &ToolCall, booking: Booking, #[idem(state)] desk: &Desk,
            ) -> Result<Answer, AirlineError> {
                desk.ask("book_reservation", json!(booking), call.provider_key("write").to_string())
            }

            #[idempotent(
                scope = "conversation", classify = classify, recover(lookup = find, then = operator), $($every)* $($change)*
            )]
            async fn cancel_reservation(
                call: &ToolCall, reservation_id: String, #[idem(state)] desk: &Desk,
            ) -> Result<Answer, AirlineError> {
                desk.ask("cancel_reservation", json!([reservation_id]), call.provider_key("write").to_string())
            }

            #[idempotent(
                scope = "conversation", classify = classify, recover(lookup = find, then = operator), $($every)* $($change)*
            )]
            async fn update_reservation_flights(
                call: &ToolCall, reservation_id: String, cabin: String, flights: Vec<Flight>, payment_id: String,
                #[idem(state)] desk: &Desk,
            ) -> Result<Answer, AirlineError> {
                let set = json!([reservation_id, cabin, flights, payment_id]);
                desk.ask("update_reservation_flights", set, call.provider_key("write").to_string())
            }

            #[idempotent(
                scope = "conversation", classify = classify, recover(lookup = find, then = operator), $($every)* $($change)*
            )]
            async fn update_reservation_baggages(
                call: &ToolCall, reservation_id: String, total_baggages: u32, nonfree_baggages: u32, payment_id: String,
                #[idem(state)] desk: &Desk,
            ) -> Result<Answer, AirlineError> {
                let set = json!([reservation_id, total_baggages, nonfree_baggages, payment_id]);
                desk.ask("update_reservation_baggages", set, call.provider_key("write").to_string())
            }

            #[idempotent(
                scope = "conversation", classify = classify, recover(lookup = find, then = operator), $($every)* $($change)*
            )]
            async fn update_reservation_passengers(
                call: &ToolCall, reservation_id: String, passengers: Vec<Passenger>, #[idem(state)] desk: &Desk,
            ) -> Result<Answer, AirlineError> {
                let set = json!([reservation_id, passengers]);
                desk.ask("update_reservation_passengers", set, call.provider_key("write").to_string())
            }

            #[idempotent(
                scope = "conversation", classify = classify, recover(lookup = find, then = operator), $($every)* $($gift)*
            )]
            async fn send_certificate(
                call: &ToolCall, user_id: String, amount: u32, #[idem(state)] desk: &Desk,
            ) -> Result<Answer, AirlineError> {
                desk.ask("send_certificate", json!([user_id, amount]), call.provider_key("write").to_string())
            }

            /// Calls the tool of that name.
            pub(crate) async fn dispatch(call: &ToolCall, tool: &str, said: &Value, desk: &Desk) -> Outcome<Answer> {
                let of = |name: &str| argument::<String>(said, name);
                let number = |name: &str| argument::<u32>(said, name);
                match tool {
                    "book_reservation" => {
                        let booking = serde_json::from_value(said.clone()).expect("a booking");
                        book_reservation_outcome(call, booking, desk).await
                    }
                    "cancel_reservation" => cancel_reservation_outcome(call, of("reservation_id"), desk).await,
                    "update_reservation_flights" => {
                        let (id, cabin, flights) = (of("reservation_id"), of("cabin"), argument(said, "flights"));
                        update_reservation_flights_outcome(call, id, cabin, flights, of("payment_id"), desk).await
                    }
                    "update_reservation_baggages" => {
                        let (id, payment) = (of("reservation_id"), of("payment_id"));
                        let (total, nonfree) = (number("total_baggages"), number("nonfree_baggages"));
                        update_reservation_baggages_outcome(call, id, total, nonfree, payment, desk).await
                    }
                    "update_reservation_passengers" => {
                        let (id, passengers) = (of("reservation_id"), argument(said, "passengers"));
                        update_reservation_passengers_outcome(call, id, passengers, desk).await
                    }
                    "send_certificate" => {
                        send_certificate_outcome(call, of("user_id"), number("amount"), desk).await
                    }
                    other => panic!("a tool that writes, and is not here: {other}"),
                }
            }
        }
    };
}

airline!(arguments, every: [key = "args",], booking: [], change: [], gift: []);
airline!(id, every: [key = "tool_call_id",], booking: [], change: [], gift: []);
airline!(either, every: [key = "tool_call_id|args",], booking: [], change: [], gift: []);
airline!(
    resources,
    every: [key = "tool_call_id|args",],
    booking: [resource = "reservation:{result.reservation_id}"],
    change: [resource = "reservation:{reservation_id}"],
    gift: [resource = "certificates:{user_id}"]
);
airline!(
    payment_left_out,
    every: [key = "tool_call_id|args",],
    booking: [resource = "reservation:{result.reservation_id}", content = "booking.payment_methods"],
    change: [resource = "reservation:{reservation_id}"],
    gift: [resource = "certificates:{user_id}"]
);
