//! What clients get: the first result, the same again with a marker, refusals, a tool's own failures.

use idem_rmcp::{Adapter, ToolCall};
use idem_runtime::Outcome;
use rmcp::{handler::server::wrapper::Parameters, model::CallToolResult};
use serde_json::{Value, json};

use crate::{
    bank::Bank,
    shop::{Order, Shop, ledger},
    wire::{call, connect, is_replay, meta, params, refused, unmarked},
};

fn order(id: &str) -> Value {
    json!({ "order_id": id, "cents": 4_900 })
}

fn text(result: &CallToolResult) -> &str {
    result.content.first().and_then(|block| block.as_text()).map_or("", |text| &text.text)
}

/// A second call is told the first result, in every form: nothing but `_meta` differs.
async fn replays_whole(tool: &'static str) {
    let (bank, idem) = (Bank::new(), ledger().await);
    let client = connect(Shop::new(&bank, &Adapter::new(idem)), ()).await;
    let host = |id: &str| json!({ "claudecode/toolUseId": id, "openai/session": "c-1", "shop/trace": id });

    let first = call(&client, tool, &order("A-1"), &host("toolu_1")).await;
    assert_eq!(first.is_error, Some(false), "{first:?}");
    assert!(!is_replay(&first) && meta(&first, "idem/operation").is_null(), "the first is the tool's own: {first:?}");

    for id in ["toolu_1", "toolu_2"] {
        let again = call(&client, tool, &order("A-1"), &host(id)).await;
        assert!(is_replay(&again), "{again:?}");
        assert!(meta(&again, "idem/operation").as_str().is_some_and(|id| id.starts_with("op_")), "{again:?}");
        assert!(meta(&again, "idem/first_at").is_string());
        assert_eq!(unmarked(again), first, "content, structured content and the tool's own `_meta`");
    }
    assert_eq!(bank.of("A-1"), 1);

    let other = call(&client, tool, &order("A-2"), &host("toolu_3")).await;
    assert!(!is_replay(&other));
    let elsewhere = json!({ "claudecode/toolUseId": "toolu_4", "openai/session": "c-2" });
    assert!(!is_replay(&call(&client, tool, &order("A-1"), &elsewhere).await), "another conversation's refund");
    assert_eq!((bank.of("A-1"), bank.of("A-2")), (2, 1));
    let keys: std::collections::BTreeSet<_> = bank.effects().into_iter().map(|effect| effect.key).collect();
    assert_eq!(keys.len(), 3, "each operation has a key of its own");
}

#[tokio::test]
async fn r_a3_above_rmcp_s_attribute_a_repeat_gets_the_whole_result() {
    replays_whole("send_refund").await;
}

#[tokio::test]
async fn r_a3_below_rmcp_s_attribute_a_repeat_gets_the_whole_result() {
    replays_whole("send_credit").await;
}

#[tokio::test]
async fn without_a_guard_the_bank_pays_twice() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let client = connect(Shop::new(&bank, &Adapter::new(idem)), ()).await;
    for _ in 0..2 {
        let result = call(&client, "pay_unguarded", &order("A-1"), &json!({ "claudecode/toolUseId": "toolu_1" })).await;
        assert_eq!(result.meta, None, "what is not guarded is not touched");
    }
    assert_eq!(bank.of("A-1"), 2);
}

// R-S4
#[tokio::test]
async fn a_missing_conversation_is_refused_before_anything_is_done() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let client = connect(Shop::new(&bank, &Adapter::new(idem)), ()).await;
    for host in [json!({ "claudecode/toolUseId": "toolu_1" }), json!({ "openai/session": " " }), json!({})] {
        for tool in ["send_refund", "send_credit"] {
            let result = call(&client, tool, &order("A-1"), &host).await;
            assert_eq!(refused(&result), "invalid_call");
            assert!(text(&result).contains("conversation"), "{result:?}");
        }
    }
    assert_eq!(bank.effects(), []);
}

#[tokio::test]
async fn drift_is_told_to_the_model_and_nothing_is_paid() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let client = connect(Shop::new(&bank, &Adapter::new(idem)), ()).await;
    assert_eq!(call(&client, "charge", &order("A-1"), &json!({})).await.is_error, Some(false));
    let dearer = json!({ "order_id": "A-1", "cents": 9_400 });
    let result = call(&client, "charge", &dearer, &json!({})).await;
    assert_eq!(refused(&result), "rejected_key_conflict");
    assert!(text(&result).starts_with("Conflict: "), "{result:?}");
    assert_eq!(result.structured_content, None, "an output schema is the tool's");
    assert_eq!(bank.of("A-1"), 1);
}

#[tokio::test]
async fn arguments_that_cannot_be_read_reserve_nothing() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let client = connect(Shop::new(&bank, &Adapter::new(idem)), ()).await;
    let host = json!({ "claudecode/toolUseId": "toolu_1", "openai/session": "c-1" });
    let wrong = call(&client, "send_refund", &json!({ "order_id": "A-1", "cents": "all" }), &host).await;
    assert_eq!((wrong.is_error, refused(&wrong).as_str()), (Some(true), ""), "rmcp's own words: {wrong:?}");
    let right = call(&client, "send_refund", &order("A-1"), &host).await;
    assert!(right.is_error == Some(false) && !is_replay(&right), "the id was not used up: {right:?}");
    assert_eq!(bank.of("A-1"), 1);
}

// R-U1: an error proves nothing.
#[tokio::test]
async fn a_tool_s_own_failure_stays_its_own_and_is_not_run_again() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let client = connect(Shop::new(&bank, &Adapter::new(idem)), ()).await;
    let free = json!({ "order_id": "A-1", "cents": 0 });
    for (tool, arguments, words) in
        [("note", &free, "the bank said no after rf_1"), ("fail", &order("A-2"), "the answer to rf_2 was not readable")]
    {
        let first = call(&client, tool, arguments, &json!({})).await;
        assert_eq!(text(&first), words);
        assert_eq!(refused(&first), "unknown_requires_reconciliation");
        let again = call(&client, tool, arguments, &json!({})).await;
        assert!(text(&again).starts_with("Outcome unknown"), "{again:?}");
        assert_eq!(refused(&again), "unknown_requires_reconciliation");
    }
    assert_eq!((bank.of("A-1"), bank.of("A-2")), (1, 1));
}

#[tokio::test]
async fn two_at_once_are_one_payment_and_both_are_told() {
    let (bank, idem) = (Bank::new(), ledger().await);
    bank.keep_silent();
    let client = connect(Shop::new(&bank, &Adapter::new(idem)), ()).await;
    let host = |id: &str| json!({ "claudecode/toolUseId": id, "openai/session": "c-1" });
    let (arguments, ids) = (order("A-1"), [host("toolu_1"), host("toolu_2")]);
    let second = async {
        bank.paid(1).await;
        let (second, ()) = tokio::join!(call(&client, "send_refund", &arguments, &ids[1]), async { bank.speak() });
        second
    };
    let (first, second) = tokio::join!(call(&client, "send_refund", &arguments, &ids[0]), second);
    assert!(!is_replay(&first) && is_replay(&second), "{first:?} {second:?}");
    assert_eq!(unmarked(second), first);
    assert_eq!(bank.of("A-1"), 1);
}

#[tokio::test]
async fn a_router_without_the_adapter_runs_no_guarded_tool() {
    let bank = Bank::new();
    let idem = ledger().await;
    let adapter = Adapter::new(idem.clone());
    let mut shop = Shop::new(&bank, &adapter);
    shop.set_router(Shop::tool_router());
    let client = connect(shop, ()).await;
    let host = json!({ "claudecode/toolUseId": "toolu_1", "openai/session": "c-1" });
    let told = client.call_tool(params("send_refund", &order("A-1"), &host)).await;
    assert!(told.expect_err("no call").to_string().contains("Adapter::guard"));
    let told = client.call_tool(params("send_credit", &order("A-1"), &host)).await;
    assert!(told.expect_err("no call").to_string().contains("no call reached the tool"));
    assert_eq!(bank.effects(), []);
}

#[tokio::test]
async fn the_function_beside_a_tool_tells_the_whole_outcome() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let shop = Shop::new(&bank, &Adapter::new(idem.clone()));
    let asked = || (ToolCall::from(idem.call()), Parameters(Order { order_id: "A-1".to_owned(), cents: 4_900 }));
    for replayed in [false, true] {
        let (call, order) = asked();
        let outcome = shop.charge_outcome(call, order).await;
        assert!(matches!(&outcome, Outcome::Succeeded(_)));
        assert_eq!(outcome.is_replay(), replayed);
    }
    assert_eq!(bank.of("A-1"), 1);
}
