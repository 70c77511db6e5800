//! Which call it is: ids of requests, of hosts, and keys among the arguments.

use idem_rmcp::{Adapter, Unresolved};
use idem_runtime::{Tenant, ledger::Listing};
use serde_json::{Value, json};

use crate::{
    bank::Bank,
    log::Log,
    shop::{Shop, ledger},
    wire::{Raw, call, connect, is_replay, refused},
};

fn order(id: &str) -> Value {
    json!({ "order_id": id, "cents": 4_900 })
}

fn keyed(id: &str, key: &str) -> Value {
    json!({ "order_id": id, "cents": 4_900, "idempotency_key": key })
}

#[tokio::test]
async fn r108_two_requests_of_one_id_are_two_operations() {
    let (bank, idem) = (Bank::new(), ledger().await);
    bank.keep_silent();
    let mut client = Raw::connect(Shop::new(&bank, &Adapter::new(idem))).await;
    let host = json!({ "idem/conversation": "c-1" });
    for id in ["A-1", "A-2"] {
        client.call(1, "send_refund", &order(id), &host).await;
    }
    // Both at once, on one session, both of them 1.
    tokio::select! {
        () = bank.paid(2) => {}
        answer = client.receive() => panic!("one of them was not paid: {answer}"),
    }
    bank.speak();
    let answer = client.receive().await;
    assert_eq!(answer["id"], 1, "{answer}");
    assert!(answer["result"]["_meta"].is_null(), "no replay and no refusal: {answer}");
    let of_order =
        |id: &str| bank.effects().iter().position(|effect| effect.order == id).map(|at| format!("rf_{}", at + 1));
    assert_eq!((bank.of("A-1"), bank.of("A-2")), (1, 1), "an operation each");
    assert_ne!(bank.effects()[0].key, bank.effects()[1].key, "and a key each");

    // rmcp answers one request of an id. Whoever sends again, under whatever id, is told its own.
    for (request, id) in [(2, "A-1"), (3, "A-2"), (1, "A-1"), (1, "A-2")] {
        client.call(request, "send_refund", &order(id), &host).await;
        let result = client.receive().await["result"].take();
        assert_eq!(result["_meta"]["idem/replayed"], true, "{result}");
        assert_eq!(result["structuredContent"]["reference"].as_str(), of_order(id).as_deref(), "{result}");
    }
    assert_eq!((bank.of("A-1"), bank.of("A-2")), (1, 1));
}

#[tokio::test]
async fn r110_a_key_in_meta_is_used_and_none_is_needed() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let client = connect(Shop::new(&bank, &Adapter::new(idem)), ()).await;

    // With it: the same id is the same operation.
    let with = json!({ "idem/callId": "k-1", "idem/conversation": "c-1", "idem/turn": 3 });
    assert!(!is_replay(&call(&client, "send_refund", &order("A-1"), &with).await));
    assert!(is_replay(&call(&client, "send_refund", &order("A-1"), &with).await));
    assert_eq!(bank.of("A-1"), 1);
    // The id of another turn is another call.
    let later = json!({ "idem/callId": "k-1", "idem/conversation": "c-1", "idem/turn": 4 });
    assert!(!is_replay(&call(&client, "send_refund", &order("A-2"), &later).await));
    // Used again within its turn for something else, it is drift.
    assert_eq!(refused(&call(&client, "send_refund", &order("A-3"), &with).await), "rejected_key_conflict");

    // Without it, and from a client that sends another one's key: the arguments are what counts.
    let without = json!({ "idem/conversation": "c-1", "idempotencyKey": "k-9" });
    assert!(!is_replay(&call(&client, "send_refund", &order("A-4"), &without).await));
    let other = json!({ "idem/conversation": "c-1", "idempotencyKey": "k-10" });
    assert!(is_replay(&call(&client, "send_refund", &order("A-4"), &other).await));
    assert_eq!((bank.of("A-2"), bank.of("A-3"), bank.of("A-4")), (1, 0, 1));
    // The hints of the wrapped tools: `r110_a_hint_is_the_wrapped_tool_s`.
}

#[tokio::test]
async fn names_of_one_s_own_take_the_place_of_the_known_ones() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let adapter = Adapter::new(idem).call_ids(["com.example/call"]).conversations(["com.example/thread"]);
    let client = connect(Shop::new(&bank, &adapter), ()).await;
    let known = json!({ "idem/callId": "k-1", "idem/conversation": "c-1" });
    assert_eq!(refused(&call(&client, "send_refund", &order("A-1"), &known).await), "invalid_call");
    let own = json!({ "com.example/call": "k-1", "com.example/thread": "c-1" });
    assert!(!is_replay(&call(&client, "send_refund", &order("A-1"), &own).await));
    assert!(is_replay(&call(&client, "send_refund", &order("A-1"), &own).await));
    assert_eq!(bank.of("A-1"), 1);
}

#[tokio::test]
async fn r029_two_keys_are_an_error_before_anything_is_reserved() {
    let (log, _listening) = Log::listen();
    let (bank, idem) = (Bank::new(), ledger().await);
    let adapter = Adapter::new(idem.clone()).argument_call_id("/idempotency_key");
    let client = connect(Shop::new(&bank, &adapter), ()).await;
    let meta = |key: &str| json!({ "idem/callId": key });

    let two = call(&client, "pay_keyed", &keyed("A-1", "K2"), &meta("K1")).await;
    assert_eq!(refused(&two), "invalid_call");
    let words = format!("{:?}", two.content);
    assert!(words.contains("`idem/callId`") && words.contains("`/idempotency_key`"), "both places: {words}");
    assert!(!words.contains("K1") && !words.contains("K2"), "and no values: {words}");
    assert_eq!(bank.effects(), []);
    let acme = Tenant::new("acme").expect("a tenant");
    let desk = idem.operator(&acme, "ann").expect("a name");
    let listed = desk.list(&Listing { records_max: 10, ..Listing::default() }).await.expect("a list");
    assert_eq!(listed.records.len(), 0, "neither key has a record");
    assert_eq!(log.lines(&["two ids", "idem/callId", "/idempotency_key"]), 1, "both places are logged");
    assert_eq!(log.lines(&["K1"]) + log.lines(&["K2"]), 0, "and no values");

    // Each alone is a key, and the same one in both places is one key.
    assert!(!is_replay(&call(&client, "pay_keyed", &keyed("A-1", "K1"), &meta("K1")).await));
    assert!(is_replay(&call(&client, "pay_keyed", &keyed("A-1", "K1"), &json!({})).await));
    assert_eq!(bank.of("A-1"), 1);
}

#[tokio::test]
async fn r029_a_key_that_nobody_named_is_an_argument() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let client = connect(Shop::new(&bank, &Adapter::new(idem)), ()).await;
    let meta = json!({ "idem/callId": "K1" });
    assert!(!is_replay(&call(&client, "pay_keyed", &keyed("A-1", "K2"), &meta).await), "`_meta` is the key");
    assert!(is_replay(&call(&client, "pay_keyed", &keyed("A-1", "K2"), &meta).await));
    assert_eq!(refused(&call(&client, "pay_keyed", &keyed("A-1", "K3"), &meta).await), "rejected_key_conflict");
    assert_eq!(bank.of("A-1"), 1, "never two");
}

#[tokio::test]
async fn the_application_has_the_last_word() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let adapter = Adapter::new(idem).resolve_with(|request, call| {
        let who = request.meta("shop/who").ok_or(Unresolved::new("nobody is signed in"))?;
        Ok(call.tenant(format!("of {who}")).principal(who).conversation("one for all"))
    });
    let client = connect(Shop::new(&bank, &adapter), ()).await;
    let of = |who: &str| json!({ "shop/who": who, "idem/conversation": "the client's" });
    assert_eq!(refused(&call(&client, "send_refund", &order("A-1"), &json!({})).await), "invalid_call");
    assert!(!is_replay(&call(&client, "send_refund", &order("A-1"), &of("ann")).await));
    assert!(is_replay(&call(&client, "send_refund", &order("A-1"), &of("ann")).await));
    assert!(!is_replay(&call(&client, "send_refund", &order("A-1"), &of("bob")).await), "another tenant's");
    assert_eq!(bank.of("A-1"), 2);
}
