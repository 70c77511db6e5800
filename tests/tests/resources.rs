//! What an operation changes, and that an equal call after another change is a new intent.
//!
//! The three stories are recorded runs of agents on an airline's tools, with the tools' names and the arguments as they
//! were called (conversation and message stand at each).

use std::{collections::HashSet, sync::Arc};

use idem_runtime::{
    Idem, OperationId, Outcome, Refusal, RefusalKind, Tenant, ToolCall, Unsettled, Verdict, idempotent,
    ledger::{Evidence, State},
};
use idem_tests::{
    timing::Gate,
    tools::{ToolError, classify},
    world::{TENANT, World, every_store, lasting},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// What the provider of `hold_seat` does: makes a hold and loses the answer, or makes it.
#[derive(Debug, Clone)]
struct Holds {
    world: World,
    loses: bool,
}

/// Makes something that `release_seat` takes away again: here it is called `id`, there `hold`.
#[idempotent(
    scope = "conversation",
    key = "tool_call_id|args",
    name = "hold_seat",
    classify = classify,
    recover(lookup = find_hold, then = operator),
    on_unknown = "tell",
    resource = "hold:{result.made.id}"
)]
async fn hold_seat(call: &ToolCall, seat: String, #[idem(state)] holds: Holds) -> Result<Hold, ToolError> {
    let _ = call.number();
    let id = holds.world.effect(format!("hold {seat}"));
    if holds.loses { Err(ToolError::Timeout) } else { Ok(Hold { made: Made { id } }) }
}

#[expect(clippy::unused_async, reason = "a look-up is async: a real one asks over the network")]
async fn find_hold(holds: &Holds, _: Unsettled) -> Verdict<Hold> {
    let id = holds.world.effects().len();
    Verdict::applied(Hold { made: Made { id } }, format!("hold-{id}"))
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", name = "release_seat", resource = "hold:{hold}")]
async fn release_seat(call: &ToolCall, hold: usize, #[idem(state)] world: World) -> Result<usize, ToolError> {
    let _ = call.number();
    Ok(world.effect(format!("release {hold}")))
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Hold {
    made: Made,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Made {
    id: usize,
}

#[expect(clippy::struct_field_names, reason = "the arguments are called what the recorded airline calls them")]
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Flight {
    flight_number: String,
    date: String,
    origin: Option<String>,
    destination: Option<String>,
    price: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Passenger {
    first_name: String,
    last_name: String,
    dob: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Payment {
    payment_id: String,
    amount: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Booking {
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Reservation {
    reservation_id: String,
}

/// Books; the reservation that it makes is what it changes.
#[idempotent(
    scope = "conversation",
    key = "tool_call_id|args",
    name = "book_reservation",
    classify = classify,
    resource = "reservation:{result.reservation_id}"
)]
async fn book_reservation(
    call: &ToolCall,
    booking: Booking,
    #[idem(state)] world: World,
) -> Result<Reservation, ToolError> {
    let _ = call.number();
    let paid: u64 = booking.payment_methods.iter().map(|payment| payment.amount).sum();
    // The recorded airline takes each certificate for one booking only.
    let certificate = booking.payment_methods.iter().find(|payment| payment.payment_id.starts_with("certificate"));
    let used = |payment: &Payment| world.count(&format!("certificate {}", payment.payment_id)) > 0;
    if paid != 305 || certificate.is_some_and(used) {
        return Err(ToolError::Declined);
    }
    for payment in booking.payment_methods.iter().filter(|payment| payment.payment_id.starts_with("certificate")) {
        world.effect(format!("certificate {}", payment.payment_id));
    }
    let booked = world.effects().iter().filter(|effect| effect.starts_with("book ")).count();
    let reservation_id = format!("HATHA{}", ['T', 'U', 'V', 'W'][booked]);
    world.effect(format!("book {reservation_id}"));
    Ok(Reservation { reservation_id })
}

#[idempotent(
    scope = "conversation",
    key = "tool_call_id|args",
    name = "cancel_reservation",
    classify = classify,
    on_busy = "tell",
    resource = "reservation:{reservation_id}"
)]
async fn cancel_reservation(
    call: &ToolCall,
    reservation_id: String,
    #[idem(state)] desk: Desk,
    #[idem(state)] world: World,
) -> Result<Reservation, ToolError> {
    let _ = call.number();
    desk.gate.pass().await;
    if let Some(error) = (desk.refuses)() {
        return Err(error);
    }
    world.effect(format!("cancel {reservation_id}"));
    if let Some(error) = (desk.loses)() { Err(error) } else { Ok(Reservation { reservation_id }) }
}

#[idempotent(
    scope = "conversation",
    key = "tool_call_id|args",
    name = "update_reservation_flights",
    classify = classify,
    on_busy = "tell",
    resource = "reservation:{reservation_id}"
)]
async fn update_reservation_flights(
    call: &ToolCall,
    reservation_id: String,
    cabin: String,
    flights: Vec<Flight>,
    payment_id: String,
    #[idem(state)] desk: Desk,
    #[idem(state)] world: World,
) -> Result<Reservation, ToolError> {
    let _ = (call.number(), flights, payment_id);
    desk.gate.pass().await;
    if let Some(error) = (desk.refuses)() {
        return Err(error);
    }
    world.effect(format!("update {reservation_id} {cabin}"));
    if let Some(error) = (desk.loses)() { Err(error) } else { Ok(Reservation { reservation_id }) }
}

/// The same as `cancel_reservation`, and it does not say what it changes.
#[idempotent(scope = "conversation", key = "tool_call_id|args", name = "cancel_blindly")]
async fn cancel_blindly(
    call: &ToolCall,
    reservation_id: String,
    #[idem(state)] world: World,
) -> Result<Reservation, ToolError> {
    let _ = call.number();
    world.effect(format!("cancel {reservation_id}"));
    Ok(Reservation { reservation_id })
}

/// Goes by its arguments alone.
#[idempotent(scope = "conversation", key = "args", name = "set_seat", resource = "reservation:{reservation_id}")]
async fn set_seat(
    call: &ToolCall,
    reservation_id: String,
    seat: String,
    #[idem(state)] world: World,
) -> Result<Reservation, ToolError> {
    let _ = call.number();
    world.effect(format!("seat {reservation_id} {seat}"));
    Ok(Reservation { reservation_id })
}

/// How the desk handles a request: when, and with which error before its effect or after.
#[derive(Debug, Clone)]
struct Desk {
    gate: Gate,
    refuses: fn() -> Option<ToolError>,
    loses: fn() -> Option<ToolError>,
}

impl Desk {
    fn quick() -> Self {
        Self { gate: Gate::opened(), refuses: || None, loses: || None }
    }

    fn declining() -> Self {
        Self { refuses: || Some(ToolError::Declined), ..Self::quick() }
    }

    fn busy() -> Self {
        Self { refuses: || Some(ToolError::Busy), ..Self::quick() }
    }

    fn losing_answers() -> Self {
        Self { loses: || Some(ToolError::Timeout), ..Self::quick() }
    }

    fn gated(gate: &Gate) -> Self {
        Self { gate: gate.clone(), ..Self::quick() }
    }
}

fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("arguments as they were called")
}

fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

fn id<T>(outcome: &Outcome<T>) -> OperationId {
    outcome.operation().expect("an operation")
}

async fn cancel(call: &ToolCall, reservation: &str, desk: Desk, world: &World) -> Outcome<Reservation> {
    cancel_reservation_outcome(call, reservation.into(), desk, world.clone()).await
}

/// An update to a cabin; everything else about it stays.
async fn update(call: &ToolCall, reservation: &str, cabin: &str, desk: Desk, world: &World) -> Outcome<Reservation> {
    let (reservation, cabin, payment) = (reservation.into(), cabin.into(), "credit_card_7434610".into());
    update_reservation_flights_outcome(call, reservation, cabin, vec![], payment, desk, world.clone()).await
}

fn spawn_cancel(
    call: ToolCall,
    reservation: &'static str,
    desk: Desk,
    world: &World,
) -> JoinHandle<Outcome<Reservation>> {
    let world = world.clone();
    tokio::spawn(async move { cancel(&call, reservation, desk, &world).await })
}

fn spawn_update(call: ToolCall, cabin: &'static str, desk: Desk, world: &World) -> JoinHandle<Outcome<Reservation>> {
    let world = world.clone();
    tokio::spawn(async move { update(&call, "XEHM4B", cabin, desk, &world).await })
}

/// The booking of `gpt-4o-airline.json#0/3`, paid in the given way.
fn booking(payment_methods: &Value) -> Booking {
    of(json!({
        "user_id": "mia_li_3668", "origin": "JFK", "destination": "SEA", "flight_type": "one_way", "cabin": "economy",
        "flights": [
            { "flight_number": "HAT136", "date": "2024-05-20" },
            { "flight_number": "HAT039", "date": "2024-05-20" }
        ],
        "passengers": [{ "first_name": "Mia", "last_name": "Li", "dob": "1990-04-05" }],
        "payment_methods": payment_methods,
        "total_baggages": 3, "nonfree_baggages": 1, "insurance": "no"
    }))
}

// R-K13 (gpt-4o-airline.json#0/3)
#[tokio::test]
async fn r_k13_what_was_cancelled_is_booked_again() {
    for setup in every_store().await {
        let world = &setup.world;
        let book = async |message: u64, id: &str, paid: &Value| {
            book_reservation_outcome(&setup.call_as(id, message), booking(paid), world.clone()).await
        };
        let by_card = json!([{ "payment_id": "credit_card_4421486", "amount": 305 }]);
        let by_used_certificate = json!([
            { "payment_id": "certificate_7504069", "amount": 250 }, { "payment_id": "credit_card_4421486", "amount": 55 }
        ]);
        let two_certificates = json!([
            { "payment_id": "certificate_7504069", "amount": 250 }, { "payment_id": "certificate_4856383", "amount": 55 }
        ]);
        let too_little = json!([
            { "payment_id": "certificate_7504069", "amount": 250 }, { "payment_id": "certificate_4856383", "amount": 5 },
            { "payment_id": "credit_card_4421486", "amount": 0 }
        ]);
        let other_certificate = json!([
            { "payment_id": "certificate_4856383", "amount": 100 }, { "payment_id": "credit_card_4421486", "amount": 205 }
        ]);
        let reservation = |outcome: &Outcome<Reservation>| outcome.value().map(|it| it.reservation_id.clone());
        let refused = book(16, "call_ISe0D4yG7XBPGB9QcTTWTffm", &too_little).await;
        assert_eq!(refusal(refused).kind(), &RefusalKind::FailedFinal);
        let first = book(20, "call_dhYivf6VRUVJfU9DItC2EQ95", &two_certificates).await;
        assert_eq!(reservation(&first).as_deref(), Some("HATHAT"));
        let refused = refusal(book(24, "call_Mxn2CmKacuvxn7cEyJA5chIF", &by_used_certificate).await);
        let other = refusal(book(26, "call_I5bNG8aFQW38qA9xRdG2N9KS", &other_certificate).await);
        assert_eq!([refused.kind(), other.kind()], [&RefusalKind::FailedFinal; 2]);
        let second = book(30, "call_oYHDxU9tCZvK72L28iJya8HK", &by_card).await;
        assert_eq!(reservation(&second).as_deref(), Some("HATHAU"));
        // Before anything else happened to it, an equal call would be a repeat, under whichever id.
        let repeat = book(32, "call_that_nobody_made", &by_card).await;
        assert_eq!((repeat.is_replay(), id(&repeat)), (true, id(&second)), "{}", setup.name());
        let cancelled = setup.call_as("call_2oRVlzswhUOTAgegHKEyEvnz", 36);
        assert!(!cancel(&cancelled, "HATHAU", Desk::quick(), world).await.is_replay());
        // The business error of message 24 again: it stays the failure that it was.
        let again = refusal(book(38, "call_2RsC2M8hCVti5gri5Jjj0FRm", &by_used_certificate).await);
        assert_eq!((again.kind(), again.operation()), (&RefusalKind::FailedFinal, refused.operation()));
        // Message 42 books again what message 36 cancelled, under an id that message 20 had.
        let third = book(42, "call_dhYivf6VRUVJfU9DItC2EQ95", &by_card).await;
        assert_eq!((third.is_replay(), reservation(&third).as_deref()), (false, Some("HATHAV")), "{}", setup.name());
        assert_ne!(id(&third), id(&second));
        // What is called again as it was called is still what it was.
        for (message, call, paid, was) in [
            (42, "call_dhYivf6VRUVJfU9DItC2EQ95", &by_card, "HATHAV"),
            (44, "call_that_nobody_made_either", &by_card, "HATHAV"),
            (30, "call_oYHDxU9tCZvK72L28iJya8HK", &by_card, "HATHAU"),
            (20, "call_dhYivf6VRUVJfU9DItC2EQ95", &two_certificates, "HATHAT"),
        ] {
            let again = book(message, call, paid).await;
            assert_eq!((again.is_replay(), reservation(&again).as_deref()), (true, Some(was)), "{}", setup.name());
        }
        assert!(cancel(&cancelled, "HATHAU", Desk::quick(), world).await.is_replay());
        let effects: Vec<String> = world.effects().into_iter().filter(|it| !it.starts_with("certificate")).collect();
        assert_eq!(effects, ["book HATHAT", "book HATHAU", "cancel HATHAU", "book HATHAV"], "{}", setup.name());
    }
}

// R-K13 (langchain_agent_airline_2025-11-26_00-37-06.json#10/0)
#[tokio::test]
async fn r_k13_business_then_economy_then_business_is_three_updates() {
    let flights = |outbound: &Value| -> Vec<Flight> {
        let mut flights = outbound.as_array().expect("flights").clone();
        flights.extend([
            json!({ "flight_number": "HAT021", "origin": "SEA", "destination": "JFK", "date": "2024-05-26", "price": 148 }),
            json!({ "flight_number": "HAT279", "origin": "JFK", "destination": "IAH", "date": "2024-05-27", "price": 114 }),
        ]);
        of(Value::Array(flights))
    };
    let business = flights(&json!([
        { "flight_number": "HAT131", "origin": "IAH", "destination": "LAS", "date": "2024-05-24", "price": 228 },
        { "flight_number": "HAT047", "origin": "LAS", "destination": "SEA", "date": "2024-05-24", "price": 202 }
    ]));
    let economy = flights(&json!([
        { "flight_number": "HAT190", "origin": "IAH", "destination": "LAS", "date": "2024-05-23", "price": 126 },
        { "flight_number": "HAT047", "origin": "LAS", "destination": "SEA", "date": "2024-05-23", "price": 139 }
    ]));
    for setup in every_store().await {
        let told = async |call: &str, message: u64, cabin: &str, flights: &[Flight]| {
            let call = setup.call_as(call, message);
            let (of, cabin, flights, paid) = ("4NQLHD".into(), cabin.into(), flights.to_vec(), "credit_card_7434610");
            let (desk, world) = (Desk::quick(), setup.world.clone());
            update_reservation_flights_outcome(&call, of, cabin, flights, paid.into(), desk, world).await
        };
        // One message, three calls.
        let calls = [
            ("chatcmpl-tool-1045984bbec443a49aa6927ff1bf3bc8", "business", &business),
            ("chatcmpl-tool-2ac98ae449664ef8b5f50504affe1326", "economy", &economy),
            ("chatcmpl-tool-12fc94233e3040a3a7b30ec567b04ae5", "business", &business),
        ];
        let mut operations = HashSet::new();
        for (call, cabin, flights) in calls {
            let outcome = told(call, 15, cabin, flights).await;
            assert!(!outcome.is_replay(), "{}: {cabin}", setup.name());
            operations.insert(id(&outcome));
        }
        assert_eq!(operations.len(), 3);
        // That framework sends its last call again in the next response, under the same id: a repeat. So is the message.
        let (call, cabin, flights) = calls[2];
        assert!(told(call, 17, cabin, flights).await.is_replay(), "{}", setup.name());
        for (call, cabin, flights) in calls {
            assert!(told(call, 15, cabin, flights).await.is_replay(), "{}: {cabin}", setup.name());
        }
        let effects = ["update 4NQLHD business", "update 4NQLHD economy", "update 4NQLHD business"];
        assert_eq!(setup.world.effects(), effects, "{}", setup.name());
    }
}

// R-K13 (qwen2.5:7b_airline_default_gpt-4.1-2025-04-14_1trials.json#7/0)
#[tokio::test]
async fn r_k13_what_was_upgraded_is_cancelled_again() {
    let flights: Vec<Flight> = of(json!([
        { "date": "2024-05-20", "flight_number": "HAT005" }, { "date": "2024-05-30", "flight_number": "HAT178" }
    ]));
    for setup in every_store().await {
        let world = &setup.world;
        let quick = async |call: &str, message: u64, reservation: &str| {
            cancel(&setup.call_as(call, message), reservation, Desk::quick(), world).await
        };
        let first = quick("9f604c97-b74d-4c2a-858d-153838f69f44", 6, "XEHM4B").await;
        assert!(!quick("a541006c-f1a7-4150-9bb2-d28482a59032", 6, "59XX6W").await.is_replay());
        assert!(quick("before-the-upgrade", 10, "XEHM4B").await.is_replay(), "nothing has changed it yet");
        let upgraded = setup.call_as("cb2c6b0f-b896-4559-9c88-a13b8c23ab27", 16);
        let (of, paid) = ("XEHM4B".into(), "credit_card_2408938".into());
        let (cabin, desk, at) = ("economy".into(), Desk::quick(), world.clone());
        let upgraded = update_reservation_flights_outcome(&upgraded, of, cabin, flights.clone(), paid, desk, at).await;
        assert!(!upgraded.is_replay());
        let again = quick("bf92560f-c96a-4006-9e39-cb9ae62e6a67", 16, "XEHM4B").await;
        assert_eq!((again.is_replay(), id(&again) == id(&first)), (false, false), "{}", setup.name());
        // The other reservation was not touched: cancelling it once more is a repeat.
        assert!(quick("the-other-one", 18, "59XX6W").await.is_replay());
        let effects = ["cancel XEHM4B", "cancel 59XX6W", "update XEHM4B economy", "cancel XEHM4B"];
        assert_eq!(world.effects(), effects, "{}", setup.name());
        // The control arm: a tool that does not say what it changes takes the second cancellation for the first.
        let blind = async |call: &str, message: u64| {
            cancel_blindly_outcome(&setup.call_as(call, message), "XEHM4B".into(), world.clone()).await
        };
        assert!(!blind("call_1", 20).await.is_replay());
        assert!(!update(&setup.call_as("call_2", 21), "XEHM4B", "business", Desk::quick(), world).await.is_replay());
        assert!(blind("call_3", 22).await.is_replay(), "the wanted effect is lost");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_success_counts_only_where_it_began_after_the_first_had_settled() {
    for setup in every_store().await {
        let (world, gate) = (&setup.world, Gate::new());
        // The upgrade begins before the cancellation, and ends after it.
        let upgrade = spawn_update(setup.call_as("call_1", 1), "business", Desk::gated(&gate), world);
        gate.arrived().await;
        let first = cancel(&setup.call_as("call_2", 2), "XEHM4B", Desk::quick(), world).await;
        gate.open();
        assert!(upgrade.await.expect("no panic").value().is_some());
        let again = cancel(&setup.call_as("call_3", 3), "XEHM4B", Desk::quick(), world).await;
        assert_eq!((again.is_replay(), id(&again)), (true, id(&first)), "{}", setup.name());
        assert_eq!(world.count("cancel XEHM4B"), 1);
        // Nor one that begins while the first is running, and ends after it.
        let (early, late) = (Gate::new(), Gate::new());
        let first_there = spawn_cancel(setup.call_as("call_6", 6), "59XX6W", Desk::gated(&early), world);
        early.arrived().await;
        let other = tokio::spawn({
            let (call, desk, world) = (setup.call_as("call_7", 7), Desk::gated(&late), world.clone());
            async move { update(&call, "59XX6W", "business", desk, &world).await }
        });
        late.arrived().await;
        early.open();
        let first_there = first_there.await.expect("no panic");
        late.open();
        assert!(other.await.expect("no panic").value().is_some());
        let again = cancel(&setup.call_as("call_8", 8), "59XX6W", Desk::quick(), world).await;
        assert_eq!((again.is_replay(), id(&again)), (true, id(&first_there)), "{}", setup.name());
        // The control arm: one that begins after it.
        assert!(update(&setup.call_as("call_4", 4), "XEHM4B", "economy", Desk::quick(), world).await.value().is_some());
        let again = cancel(&setup.call_as("call_5", 5), "XEHM4B", Desk::quick(), world).await;
        assert!(!again.is_replay(), "{}: {again:?}", setup.name());
        assert_eq!(world.count("cancel XEHM4B"), 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_id_and_turn_stays_a_replay_and_so_does_a_carried_record() {
    for setup in every_store().await {
        let world = &setup.world;
        let first = cancel(&setup.call_as("call_1", 1), "XEHM4B", Desk::quick(), world).await;
        let Outcome::Succeeded(success) = &first else { panic!("{first:?}") };
        let carried = Arc::clone(&success.told.record);
        assert!(!update(&setup.call_as("call_2", 2), "XEHM4B", "business", Desk::quick(), world).await.is_replay());
        for call in [setup.call_as("call_1", 1), setup.call().resume(carried)] {
            let again = cancel(&call, "XEHM4B", Desk::quick(), world).await;
            assert_eq!((again.is_replay(), id(&again)), (true, id(&first)), "{}", setup.name());
        }
        assert_eq!(world.count("cancel XEHM4B"), 1);
        // After the second one too.
        let second = cancel(&setup.call_as("call_3", 3), "XEHM4B", Desk::quick(), world).await;
        for (call, turn, was) in [("call_1", 1, &first), ("call_3", 3, &second), ("call_9", 9, &second)] {
            let again = cancel(&setup.call_as(call, turn), "XEHM4B", Desk::quick(), world).await;
            assert_eq!((again.is_replay(), id(&again)), (true, id(was)), "{}: {call}", setup.name());
        }
        assert_eq!(world.count("cancel XEHM4B"), 2, "{}", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_or_running_operation_is_never_reopened() {
    for setup in every_store().await {
        let world = &setup.world;
        let upgraded = async |turn: u64| {
            let call = setup.call_as("upgrade", turn);
            let upgraded = update(&call, "XEHM4B", &format!("cabin {turn}"), Desk::quick(), world).await;
            assert!(upgraded.value().is_some() && !upgraded.is_replay());
        };
        // Unknown.
        let lost = refusal(cancel(&setup.call_as("call_1", 1), "XEHM4B", Desk::losing_answers(), world).await);
        assert_eq!(lost.kind(), &RefusalKind::Unknown);
        upgraded(2).await;
        let again = refusal(cancel(&setup.call_as("call_3", 3), "XEHM4B", Desk::quick(), world).await);
        assert_eq!((again.kind(), again.operation()), (&RefusalKind::Unknown, lost.operation()), "{}", setup.name());
        assert_eq!(world.count("cancel XEHM4B"), 1);
        // Running.
        let gate = Gate::new();
        let running = spawn_cancel(setup.call_as("call_4", 4), "59XX6W", Desk::gated(&gate), world);
        gate.arrived().await;
        let of_other = update(&setup.call_as("call_5", 5), "59XX6W", "economy", Desk::quick(), world).await;
        assert!(of_other.value().is_some());
        let again = refusal(cancel(&setup.call_as("call_6", 6), "59XX6W", Desk::quick(), world).await);
        assert!(matches!(again.kind(), RefusalKind::InProgress { .. }), "{}: {again:?}", setup.name());
        gate.open();
        let first = running.await.expect("no panic");
        assert_eq!(again.operation(), first.operation());
        // What ran beside it, and had begun before it settled, did not reopen it either.
        assert!(cancel(&setup.call_as("call_7", 7), "59XX6W", Desk::quick(), world).await.is_replay());
        assert_eq!(world.count("cancel 59XX6W"), 1, "{}", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_other_operation_is_unsettled_an_equal_call_is_a_replay() {
    for setup in every_store().await {
        let world = &setup.world;
        let first = cancel(&setup.call_as("call_1", 1), "XEHM4B", Desk::quick(), world).await;
        let again = async |turn: u64| cancel(&setup.call_as("again", turn), "XEHM4B", Desk::quick(), world).await;
        // Running.
        let gate = Gate::new();
        let running = spawn_update(setup.call_as("call_2", 2), "business", Desk::gated(&gate), world);
        gate.arrived().await;
        let meanwhile = again(3).await;
        assert_eq!((meanwhile.is_replay(), id(&meanwhile)), (true, id(&first)), "{}", setup.name());
        running.abort();
        // Failed, either way: nothing has changed.
        for (turn, desk) in [(4, Desk::declining()), (6, Desk::busy())] {
            let call = setup.call_as("call", turn);
            let failed = refusal(update(&call, "XEHM4B", &format!("cabin {turn}"), desk, world).await);
            assert!(matches!(failed.kind(), RefusalKind::FailedFinal | RefusalKind::FailedRetryable), "{failed:?}");
            assert!(again(turn + 1).await.is_replay(), "{}: a failure reopens nothing", setup.name());
        }
        // Unknown, and then settled as done.
        let call = setup.call_as("call_8", 8);
        let lost = refusal(update(&call, "XEHM4B", "economy", Desk::losing_answers(), world).await);
        assert!(again(9).await.is_replay(), "{}: nor does what nobody knows", setup.name());
        assert_eq!(world.count("cancel XEHM4B"), 1);
        let tenant = Tenant::new(TENANT).expect("a tenant");
        let said = Evidence::of(&tenant, lost.operation().expect("one"), "airline", "evt_1").applied(None, None);
        setup.idem.evidence(said).await.expect("weighed");
        assert_eq!(setup.record(lost.operation().expect("one")).await.state, State::Succeeded);
        let after = again(10).await;
        assert_eq!((after.is_replay(), world.count("cancel XEHM4B")), (false, 2), "{}: {after:?}", setup.name());
        gate.open();
    }
}

#[tokio::test]
async fn another_tenant_another_reservation_and_a_second_call_of_the_same_reopen_nothing() {
    for setup in every_store().await {
        let world = &setup.world;
        let first = cancel(&setup.call_as("call_1", 1), "XEHM4B", Desk::quick(), world).await;
        let stranger = setup.idem.call().tenant("umbrella").conversation("c-1").tool_call_id("call_2").turn(2);
        assert!(update(&stranger, "XEHM4B", "business", Desk::quick(), world).await.value().is_some());
        assert!(
            update(&setup.call_as("call_3", 3), "59XX6W", "business", Desk::quick(), world).await.value().is_some()
        );
        // Its own success, again and again, is no other operation's.
        for turn in 4..7 {
            let again = cancel(&setup.call_as("again", turn), "XEHM4B", Desk::quick(), world).await;
            assert_eq!((again.is_replay(), id(&again)), (true, id(&first)), "{}", setup.name());
        }
        // From another conversation it counts: the reservation is one and the same.
        let elsewhere = setup.idem.call().tenant(TENANT).conversation("c-2").tool_call_id("call_1").turn(1);
        assert!(update(&elsewhere, "XEHM4B", "business", Desk::quick(), world).await.value().is_some());
        assert!(!cancel(&setup.call_as("call_8", 8), "XEHM4B", Desk::quick(), world).await.is_replay());
        assert_eq!(world.count("cancel XEHM4B"), 2, "{}", setup.name());
    }
}

#[tokio::test]
async fn another_process_that_changed_it_reopens_it_here() {
    for setup in lasting().await {
        let address = setup.home.as_ref().expect("a home").address();
        let other = Idem::builder().clock(setup.clock.clone()).open(address).await.expect("the same ledger");
        let there = |id: &str, turn: u64| other.call().tenant(TENANT).conversation("c-1").tool_call_id(id).turn(turn);
        let world = &setup.world;
        let first = cancel(&setup.call_as("call_1", 1), "XEHM4B", Desk::quick(), world).await;
        // This process answers it from memory by now.
        let (again, seat) =
            (cancel(&setup.call_as("call_2", 2), "XEHM4B", Desk::quick(), world).await, "12A".to_owned());
        assert!(again.is_replay());
        let sit = async || set_seat_outcome(&setup.call(), "XEHM4B".into(), seat.clone(), world.clone()).await;
        // Both there before the other process changes the reservation.
        assert!(!sit().await.is_replay() && sit().await.is_replay());
        assert!(update(&there("call_3", 3), "XEHM4B", "business", Desk::quick(), world).await.value().is_some());
        // By arguments under a new id, and by arguments alone.
        let second = cancel(&setup.call_as("call_4", 4), "XEHM4B", Desk::quick(), world).await;
        assert_eq!((second.is_replay(), id(&second) == id(&first)), (false, false), "{second:?}");
        assert!(!sit().await.is_replay(), "equal arguments alone are a new intent by now");
        assert_eq!((world.count("cancel XEHM4B"), world.count("seat XEHM4B 12A")), (2, 2));
        // And the other way round.
        let back = cancel(&there("call_5", 5), "XEHM4B", Desk::quick(), world).await;
        assert!(!back.is_replay(), "the seat was set after it: {back:?}");
        assert_eq!(world.count("cancel XEHM4B"), 3);
    }
}

#[tokio::test]
async fn an_empty_resource_is_refused_before_anything_is_reserved() {
    for setup in every_store().await {
        for empty in ["", "  ", "\t\n"] {
            let refused = refusal(cancel(&setup.call_as("call_1", 1), empty, Desk::quick(), &setup.world).await);
            assert_eq!(refused.kind(), &RefusalKind::Invalid, "{}: {refused:?}", setup.name());
            assert!(refused.to_string().contains("`reservation_id`"), "{refused}");
        }
        assert_eq!((setup.operations().await, setup.world.effects().len()), (0, 0), "{}", setup.name());
        // The control arm.
        assert!(cancel(&setup.call_as("call_1", 1), "XEHM4B", Desk::quick(), &setup.world).await.value().is_some());
    }
}

#[tokio::test]
async fn what_a_result_names_is_what_another_tools_argument_names() {
    // Whether the tool itself gave the result or its look-up did.
    for loses in [false, true] {
        for setup in every_store().await {
            let world = &setup.world;
            let holds = Holds { world: world.clone(), loses };
            let hold =
                async |turn: u64| hold_seat_outcome(&setup.call_as("hold", turn), "12A".into(), holds.clone()).await;
            let release = async |turn: u64, of: usize| {
                release_seat_outcome(&setup.call_as("release", turn), of, world.clone()).await
            };
            let first = hold(1).await;
            if loses {
                let mut reconciler = setup.idem.reconciler([hold_seat_tool(holds.clone())]);
                assert_eq!(reconciler.run_once().await.expect("a ledger").applied, 1);
            }
            assert_eq!(hold(2).await.value(), Some(&Hold { made: Made { id: 1 } }), "{}: a repeat", setup.name());
            // Another hold that is released is none of this one's.
            assert!(!release(3, 99).await.is_replay());
            assert!(hold(4).await.is_replay(), "{}", setup.name());
            assert!(!release(5, 1).await.is_replay());
            let second = hold(6).await;
            assert_ne!(id(&second), id(&first), "{}, {loses}: a new intent: {second:?}", setup.name());
            assert_eq!(world.count("hold 12A"), 2, "{}", setup.name());
        }
    }
}
