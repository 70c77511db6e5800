//! Streamable HTTP: clients that go away in the middle of a call, and come again.
//!
//! The bank keeps silent until the client is gone, so a call is cut off between its effect and its answer.

use std::sync::Arc;

use idem_rmcp::{Adapter, Unresolved};
use rmcp::{
    ServiceExt,
    transport::{
        StreamableHttpClientTransport,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{
    bank::Bank,
    shop::{Shop, ledger},
    wire::{call, is_replay, refused, request},
};

/// A server on a port of its own, for as long as the test.
struct Server {
    url: String,
    running: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// How clients are served.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A session, which answers in a stream of events.
    Sessions,
    /// No session; a request is answered by one body.
    Bodies,
}

async fn serve(bank: &Bank, adapter: &Adapter, kind: Kind) -> Server {
    let shop = Shop::new(bank, adapter);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(kind == Kind::Sessions)
        .with_json_response(kind == Kind::Bodies);
    let service =
        StreamableHttpService::new(move || Ok(shop.clone()), Arc::new(LocalSessionManager::default()), config);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("its address"));
    let router = axum::Router::new().nest_service("/mcp", service);
    let running = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
    Server { url, running }
}

fn order() -> Value {
    json!({ "order_id": "A-1", "cents": 4_900 })
}

fn host(id: &str) -> Value {
    json!({ "claudecode/toolUseId": id, "idem/conversation": "c-1" })
}

/// What a client without sessions posts, and what it is answered.
async fn post(url: String, message: Value) -> Value {
    let client = reqwest::Client::builder().pool_max_idle_per_host(0).build().expect("a client");
    let request = client.post(url).header("content-type", "application/json");
    let request = request.header("accept", "application/json, text/event-stream");
    let request = request.header("mcp-protocol-version", "2025-06-18").body(message.to_string());
    let body = request.send().await.expect("an answer").text().await.expect("its body");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error} in {body}"))
}

#[tokio::test]
async fn a_client_that_hung_up_and_sends_again_is_told_and_pays_once() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let server = serve(&bank, &Adapter::new(idem), Kind::Bodies).await;

    bank.keep_silent();
    let mut first = tokio::spawn(post(server.url.clone(), request(7, "send_refund", &order(), &host("toolu_1"))));
    tokio::select! {
        () = bank.paid(1) => {}
        answer = &mut first => panic!("the bank keeps silent: {answer:?}"),
    }
    first.abort();
    assert!(first.await.expect_err("it hung up").is_cancelled());

    // It sends the call again, under another JSON-RPC id, while the first one runs on.
    let again = post(server.url.clone(), request(8, "send_refund", &order(), &host("toolu_1")));
    let (again, ()) = tokio::join!(again, async { bank.speak() });
    assert_eq!(again["id"], 8, "{again}");
    assert_eq!(again["result"]["_meta"]["idem/replayed"], true, "{again}");
    assert_eq!(again["result"]["structuredContent"], json!({ "reference": "rf_1", "cents": 4_900 }));

    // And once more, when it is over.
    let late = post(server.url.clone(), request(9, "send_refund", &order(), &host("toolu_1"))).await;
    assert_eq!(late["result"]["structuredContent"], again["result"]["structuredContent"]);
    assert_eq!(bank.of("A-1"), 1);
}

#[tokio::test]
async fn without_a_guard_a_client_that_sends_again_pays_twice() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let server = serve(&bank, &Adapter::new(idem), Kind::Bodies).await;
    bank.keep_silent();
    let mut first = tokio::spawn(post(server.url.clone(), request(7, "pay_silently", &order(), &host("toolu_1"))));
    tokio::select! {
        () = bank.paid(1) => {}
        answer = &mut first => panic!("the bank keeps silent: {answer:?}"),
    }
    first.abort();
    bank.speak();
    post(server.url.clone(), request(8, "pay_silently", &order(), &host("toolu_1"))).await;
    assert_eq!(bank.of("A-1"), 2);
}

#[tokio::test]
async fn a_client_with_a_session_is_dropped_in_the_middle_and_another_one_asks() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let server = serve(&bank, &Adapter::new(idem), Kind::Sessions).await;
    let connect = || ().serve(StreamableHttpClientTransport::from_uri(server.url.clone()));

    bank.keep_silent();
    let client = connect().await.expect("a client");
    let mut first = tokio::spawn(async move { call(&client, "send_refund", &order(), &host("toolu_1")).await });
    tokio::select! {
        () = bank.paid(1) => {}
        answer = &mut first => panic!("the bank keeps silent: {answer:?}"),
    }
    // The client goes with its task: it tells the server to stop, and closes its connections.
    first.abort();
    assert!(first.await.expect_err("it is gone").is_cancelled());

    let client = connect().await.expect("another client");
    client.list_all_tools().await.expect("its ids go on by one");
    let (again, ()) =
        tokio::join!(async { call(&client, "send_refund", &order(), &host("toolu_1")).await }, async { bank.speak() });
    assert!(is_replay(&again), "{again:?}");
    assert_eq!(again.structured_content, Some(json!({ "reference": "rf_1", "cents": 4_900 })));
    // The model plans it anew, under an id of its own.
    assert!(is_replay(&call(&client, "send_refund", &order(), &host("toolu_2")).await));
    assert_eq!(bank.of("A-1"), 1);
}

#[tokio::test]
async fn headers_say_whose_a_call_is() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let adapter = Adapter::new(idem).resolve_with(|request, call| {
        let version = request.header("mcp-protocol-version").ok_or(Unresolved::new("no version"))?;
        if request.header("x-signed-in").is_none() {
            return Err(Unresolved::new("nobody is signed in"));
        }
        Ok(call.principal(version))
    });
    let server = serve(&bank, &adapter, Kind::Bodies).await;
    let answer = post(server.url.clone(), request(1, "send_refund", &order(), &host("toolu_1"))).await;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("nobody is signed in"), "the version was there: {answer}");
    let client = ().serve(StreamableHttpClientTransport::from_uri(server.url.clone())).await.expect("a client");
    assert_eq!(refused(&call(&client, "charge", &order(), &json!({})).await), "invalid_call");
    assert_eq!(bank.effects(), []);
}
