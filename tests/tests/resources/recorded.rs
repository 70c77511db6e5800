//! The recorded runs: a reservation that changes and changes back.

use std::collections::HashSet;

use idem_runtime::{Outcome, RefusalKind};
use idem_tests::world::every_store;
use serde_json::{Value, json};

use crate::{
    Desk, Flight, Reservation, book_reservation_outcome, booking, cancel, cancel_blindly_outcome, id, of, refusal,
    update, update_reservation_flights_outcome,
};

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
