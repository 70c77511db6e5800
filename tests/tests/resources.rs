//! What an operation changes, and that an equal call after another change is a new intent.
//!
//! The three stories are recorded runs of agents on an airline's tools, with the tools' names and the arguments as they
//! were called (conversation and message stand at each).

use idem_runtime::{Idem, OperationId, Outcome, Refusal, ToolCall, Unsettled, Verdict, idempotent};
use idem_tests::{
    timing::Gate,
    tools::{ToolError, classify},
    world::{TENANT, World, every_store, lasting},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

#[path = "resources/bounds.rs"]
mod bounds;
#[path = "resources/recorded.rs"]
mod recorded;

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
