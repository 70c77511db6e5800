//! Tools that ask their client for input: rounds are not final, and not duplicates of each other.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use idem_rmcp::Adapter;
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        CallToolResponse, ClientCapabilities, ElicitRequestParams, ElicitResult, ElicitationAction, Implementation,
        InitializeRequestParams, InitializeResult, InputResponses, ProtocolVersion, ServerCapabilities,
    },
    service::{RequestContext, RoleServer, RunningService, serve_directly},
};
use serde_json::{Value, json};

use crate::{
    bank::Bank,
    shop::{Shop, ledger},
    wire::{call, is_replay, meta, params, refused},
};

/// A person who says what the test says, and how often it was asked.
#[derive(Clone)]
struct Manager {
    says: bool,
    asked: Arc<AtomicUsize>,
}

impl ClientHandler for Manager {
    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "yes": self.says })))
    }
}

/// Both sides of the protocol that has rounds.
fn connect(shop: Shop, manager: Manager) -> RunningService<RoleClient, Manager> {
    let (theirs, ours) = tokio::io::duplex(64 * 1024);
    let client = InitializeRequestParams::new(
        ClientCapabilities::builder().enable_elicitation().build(),
        Implementation::new("a client", "1"),
    );
    let client = client.with_protocol_version(ProtocolVersion::V_2026_07_28);
    let mut server = InitializeResult::new(ServerCapabilities::builder().enable_tools().build());
    server.protocol_version = ProtocolVersion::V_2026_07_28;
    let running = serve_directly::<RoleServer, _, _, _, _>(shop, theirs, Some(client));
    tokio::spawn(running.waiting());
    serve_directly::<RoleClient, _, _, _, _>(manager, ours, Some(server.into()))
}

async fn stage(says: bool) -> (Bank, RunningService<RoleClient, Manager>, Arc<AtomicUsize>) {
    let (bank, asked) = (Bank::new(), Arc::new(AtomicUsize::new(0)));
    let shop = Shop::new(&bank, &Adapter::new(ledger().await));
    let client = connect(shop, Manager { says, asked: Arc::clone(&asked) });
    (bank, client, asked)
}

fn order(id: &str) -> Value {
    json!({ "order_id": id, "cents": 4_900 })
}

fn host(id: &str) -> Value {
    json!({ "idem/callId": id, "idem/conversation": "c-1" })
}

#[tokio::test]
async fn an_approved_call_pays_once_and_is_replayed_without_asking() {
    let (bank, client, asked) = stage(true).await;
    let first = call(&client, "approve", &order("A-1"), &host("k-1")).await;
    assert!(first.is_error == Some(false) && !is_replay(&first), "{first:?}");
    assert_eq!((asked.load(Ordering::SeqCst), bank.of("A-1")), (1, 1));
    for id in ["k-1", "k-2"] {
        let again = call(&client, "approve", &order("A-1"), &host(id)).await;
        assert!(is_replay(&again), "{again:?}");
        assert_eq!(again.structured_content, first.structured_content);
    }
    assert_eq!((asked.load(Ordering::SeqCst), bank.of("A-1")), (1, 1), "nobody was asked again");
}

#[tokio::test]
async fn a_round_that_is_sent_again_asks_again_and_pays_nothing() {
    let (bank, client, _) = stage(true).await;
    let round = || client.call_tool_once(params("approve", &order("A-1"), &host("k-1")));
    let mut states = Vec::new();
    for _ in 0..3 {
        let CallToolResponse::InputRequired(asks) = round().await.expect("a round") else {
            panic!("a round that asks is not final");
        };
        states.push(asks.request_state.expect("a state"));
    }
    assert_eq!(bank.effects(), []);

    // The answer comes, and its own answer is lost: it is sent again.
    let answer = || {
        let mut answer = params("approve", &order("A-1"), &host("k-1"));
        answer.request_state = states.first().cloned();
        let yes = json!({ "action": "accept", "content": { "yes": true } });
        answer.input_responses = Some(InputResponses::from([("approval".to_owned(), yes)]));
        client.call_tool_once(answer)
    };
    for replayed in [false, true] {
        let CallToolResponse::Complete(result) = answer().await.expect("a result") else {
            panic!("it was approved");
        };
        assert_eq!((result.is_error, is_replay(&result)), (Some(false), replayed), "{result:?}");
    }
    // The first round once more, out of order: the call is done.
    let CallToolResponse::Complete(late) = round().await.expect("a result") else {
        panic!("nobody is asked about what is done");
    };
    assert!(is_replay(&late), "{late:?}");
    assert_eq!(bank.of("A-1"), 1);
}

#[tokio::test]
async fn what_was_not_approved_can_be_asked_for_again() {
    let (bank, client, asked) = stage(false).await;
    for times in 1..=2 {
        let result = call(&client, "approve", &order("A-1"), &host("k-1")).await;
        assert_eq!(refused(&result), "failed_retryable", "{result:?}");
        assert_eq!(meta(&result, "idem/nothing_done"), true);
        assert_eq!(asked.load(Ordering::SeqCst), times, "it was no replay");
    }
    assert_eq!(bank.effects(), []);
}

#[tokio::test]
async fn two_clients_in_the_same_round_are_both_asked_and_pay_once() {
    let (bank, client, asked) = stage(true).await;
    let (arguments, ids) = (order("A-1"), [host("k-1"), host("k-2")]);
    let both =
        tokio::join!(call(&client, "approve", &arguments, &ids[0]), call(&client, "approve", &arguments, &ids[1]));
    let replays = usize::from(is_replay(&both.0)) + usize::from(is_replay(&both.1));
    assert_eq!((replays, bank.of("A-1")), (1, 1), "{both:?}");
    assert!((1..=2).contains(&asked.load(Ordering::SeqCst)));
}

#[tokio::test]
async fn a_result_that_is_its_caller_s_to_act_on_is_not_tried_again_behind_their_back() {
    let (bank, client, _) = stage(true).await;
    for times in 1..=2 {
        let result = call(&client, "ask", &order("A-1"), &host("k-1")).await;
        assert_eq!(refused(&result), "failed_retryable", "{result:?}");
        assert_eq!(bank.turned_away(), times, "a budget of three is the tool's, for its errors");
    }
}
