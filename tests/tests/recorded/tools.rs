//! A tool for every name in the recordings. Each has an effect that the world counts, whatever it was at home: what is
//! recorded is how calls are written.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use idem_runtime::{ToolCall, ToolSet, idempotent, tools};
use idem_tests::{
    tools::{ToolError, classify},
    world::World,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Tools that take something: the id of the call, or equal arguments, make a repeat.
macro_rules! effects {
    ($($name:ident($($argument:ident: $ty:ty),+);)*) => { $(
        #[idempotent(scope = "conversation", key = "tool_call_id|args")]
        async fn $name(_call: &ToolCall, #[idem(state)] world: World, $($argument: $ty),+) -> Result<String, ToolError> {
            $(let _ = $argument;)+
            Ok(format!("{} {}", stringify!($name), world.effect(stringify!($name))))
        }
    )* };
}

/// Tools that take nothing: only the id of the call can make a repeat.
macro_rules! effects_of_nothing {
    ($($name:ident $($repeats:literal)?;)*) => { $(
        #[idempotent(scope = "conversation", key = "tool_call_id" $(, repeats = $repeats)?)]
        async fn $name(_call: &ToolCall, #[idem(state)] world: World) -> Result<String, ToolError> {
            Ok(format!("{} {}", stringify!($name), world.effect(stringify!($name))))
        }
    )* };
}

effects! {
    add(x: i64, y: i64);
    subtract(x: i64, y: i64);
    multiply(a: f64, b: f64);
    echo(message: String);
    text_editor(command: String, path: String);
    record_primitives(count: i64, enabled: bool, nothing: Option<Value>, ratio: f64, text: String);
    record_payload(label: String, values: Vec<i64>, meta: Value);
    get_weather(location: String, unit: Option<String>);
    get_current_weather(location: String, unit: Option<String>);
    get_time(timezone: Option<String>, location: Option<String>);
    get_capital(country: String);
    get_location(loc_name: String);
    page_oncall(team: String);
    file_report(summary: String);
    delete_file(path: String);
    create_file(path: String);
    repeat_text(text: String, times: Option<u64>);
    get_user_details(user_id: String);
    get_reservation_details(reservation_id: String);
    search_direct_flight(origin: String, destination: String, date: String);
    search_onestop_flight(origin: String, destination: String, date: String);
    think(thought: String);
    transfer_to_human_agents(summary: String);
    calculate(expression: String);
    weather(latitude: String, longitude: String);
}

effects_of_nothing! {
    dice_roll "allowed";
    pelican_name_generator "allowed";
    get_user_country;
    lookup_label;
    lookup_harbor_label;
    lookup_orchard_label;
    llm_version;
    first_tool;
    second_tool;
    best_language_to_learn;
}

/// An airline, as far as the recorded bookings need one: every flight has one price, and a certificate pays once.
#[derive(Clone)]
struct Airline {
    world: World,
    spent: Arc<Mutex<BTreeSet<String>>>,
}

const PRICE: i64 = 305;

#[derive(Serialize, Deserialize)]
struct Reservation {
    reservation_id: String,
}

impl Airline {
    fn pay(&self, methods: &Value) -> Result<(), ToolError> {
        let methods: Vec<(&str, i64)> = methods
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|method| Some((method["payment_id"].as_str()?, method["amount"].as_i64()?)))
            .collect();
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = methods.iter().any(|(id, _)| spent.contains(*id));
        if gone || methods.iter().map(|(_, amount)| amount).sum::<i64>() != PRICE {
            return Err(ToolError::Declined);
        }
        let certificates = methods.iter().filter(|(id, _)| id.starts_with("certificate_"));
        spent.extend(certificates.map(|(id, _)| (*id).to_owned()));
        Ok(())
    }
}

/// The recordings name reservations as the airline of the benchmark does: `HATHAT`, then `HATHAU` and so on.
#[expect(clippy::too_many_arguments, reason = "as many as the recorded calls have")]
#[idempotent(
    scope = "conversation",
    key = "tool_call_id|args",
    resource = "reservation:{result.reservation_id}",
    classify = classify
)]
async fn book_reservation(
    _call: &ToolCall,
    #[idem(state)] airline: Airline,
    user_id: String,
    origin: String,
    destination: String,
    flight_type: String,
    cabin: String,
    flights: Value,
    passengers: Value,
    payment_methods: Value,
    total_baggages: i64,
    nonfree_baggages: i64,
    insurance: String,
) -> Result<Reservation, ToolError> {
    let _ = (user_id, origin, destination, flight_type, cabin, flights, passengers, insurance);
    let _ = (total_baggages, nonfree_baggages);
    airline.pay(&payment_methods)?;
    let earlier = airline.world.count("book_reservation");
    airline.world.effect("book_reservation");
    let last = ["T", "U", "V"].get(earlier).ok_or(ToolError::Timeout)?;
    Ok(Reservation { reservation_id: format!("HATHA{last}") })
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", resource = "reservation:{reservation_id}")]
async fn cancel_reservation(
    _call: &ToolCall,
    #[idem(state)] airline: Airline,
    reservation_id: String,
) -> Result<Reservation, ToolError> {
    airline.world.effect("cancel_reservation");
    Ok(Reservation { reservation_id })
}

/// All of them.
pub(crate) fn set(world: &World) -> ToolSet {
    let w = || world.clone();
    let airline = Airline { world: w(), spent: Arc::default() };
    let tools = tools![
        add(w()),
        subtract(w()),
        multiply(w()),
        echo(w()),
        text_editor(w()),
        record_primitives(w()),
        record_payload(w()),
        get_weather(w()),
        get_current_weather(w()),
        get_time(w()),
        get_capital(w()),
        get_location(w()),
        page_oncall(w()),
        file_report(w()),
        delete_file(w()),
        create_file(w()),
        repeat_text(w()),
        get_user_details(w()),
        get_reservation_details(w()),
        cancel_reservation(airline.clone()),
        search_direct_flight(w()),
        search_onestop_flight(w()),
        book_reservation(airline),
        think(w()),
        transfer_to_human_agents(w()),
        calculate(w()),
        dice_roll(w()),
        pelican_name_generator(w()),
        get_user_country(w()),
        lookup_label(w()),
        lookup_harbor_label(w()),
        lookup_orchard_label(w()),
        llm_version(w()),
        first_tool(w()),
        second_tool(w()),
        best_language_to_learn(w()),
        weather(w()),
    ];
    tools.expect("names are different")
}
