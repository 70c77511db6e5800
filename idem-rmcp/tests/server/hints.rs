//! `idempotentHint` where it is true, and what is said of annotations that are not.

use std::time::Duration;

use idem_rmcp::{Adapter, Problem};
use rmcp::{
    handler::server::router::tool::ToolRouter,
    model::{Tool, ToolAnnotations},
};
use serde_json::json;

use crate::{
    bank::Bank,
    shop::{Shop, ledger},
    wire::{call, connect},
};

const PAST_ALL: Duration = Duration::from_hours(365 * 24);

/// What a client reads of a tool.
fn tool<'t>(tools: &'t [Tool], name: &str) -> &'t Tool {
    tools.iter().find(|tool| tool.name == name).expect("the tool is listed")
}

fn hint(tools: &[Tool], name: &str) -> Option<bool> {
    tool(tools, name).annotations.as_ref().and_then(|hints| hints.idempotent_hint)
}

/// The tools that say `idempotentHint` to a client, of those with a guard.
async fn hinted(adapter: Adapter) -> Vec<String> {
    let client = connect(Shop::new(&Bank::new(), &adapter), ()).await;
    let tools = client.list_all_tools().await.expect("the tools");
    let guarded = Shop::guarded().into_iter().filter(|spec| hint(&tools, spec.name()) == Some(true));
    guarded.map(|spec| spec.name().to_owned()).collect()
}

#[tokio::test]
async fn the_hint_needs_every_promise() {
    let idem = ledger().await;
    let adapter = || Adapter::new(idem.clone());
    let none: [&str; 0] = [];
    // `charge` says it by itself, and nobody promised that the ledger lasts.
    assert_eq!(hinted(adapter()).await, none);
    // The key of `pay_keyed` is an id that a client need not send again.
    assert_eq!(hinted(adapter().ledger_is_shared()).await, ["charge", "note", "fail"]);
    let all = adapter().ledger_is_shared().scopes_come_again();
    assert_eq!(hinted(all.clone()).await, ["send_refund", "send_credit", "charge", "note", "approve", "fail"]);
    assert_eq!(hinted(all.resent_within(PAST_ALL)).await, none, "results are held for less than a year");
    assert_eq!(hinted(adapter().scopes_come_again()).await, none);
}

#[tokio::test]
async fn r110_a_hint_is_the_wrapped_tool_s() {
    let (bank, idem) = (Bank::new(), ledger().await);
    let adapter = Adapter::new(idem).ledger_is_shared();
    let client = connect(Shop::new(&bank, &adapter), ()).await;
    let tools = client.list_all_tools().await.expect("the tools");
    let free = json!({ "order_id": "A-1", "cents": 1 });

    // True, and it holds: what a client sends again has no effect, without a key or anything else.
    assert_eq!(hint(&tools, "charge"), Some(true));
    for _ in 0..3 {
        call(&client, "charge", &free, &json!({})).await;
    }
    assert_eq!(bank.of("A-1"), 1);

    // A guard that does not make it true says nothing.
    assert_eq!((hint(&tools, "send_refund"), hint(&tools, "pay_keyed")), (None, None));
    // What is not guarded is its author's claim.
    assert_eq!((hint(&tools, "pay_unguarded"), hint(&tools, "pay_silently")), (Some(true), None));
    call(&client, "pay_unguarded", &json!({ "order_id": "A-2", "cents": 1 }), &json!({})).await;
    call(&client, "pay_unguarded", &json!({ "order_id": "A-2", "cents": 1 }), &json!({})).await;
    assert_eq!(bank.of("A-2"), 2, "a claim that is not true");
}

#[tokio::test]
async fn other_hints_and_schemas_are_not_touched() {
    let idem = ledger().await;
    let adapter = Adapter::new(idem).ledger_is_shared().scopes_come_again();
    let plain = Shop::tool_router().list_all();
    let guarded = adapter.guard(Shop::tool_router(), Shop::guarded()).list_all();
    assert_eq!(plain.len(), guarded.len());
    for mut guarded in guarded {
        let mut plain = tool(&plain, &guarded.name).clone();
        if let Some(hints) = &mut guarded.annotations {
            hints.idempotent_hint = None;
        }
        if let Some(hints) = &mut plain.annotations {
            hints.idempotent_hint = None;
        }
        plain.annotations.get_or_insert_default();
        guarded.annotations.get_or_insert_default();
        assert_eq!(plain, guarded);
        let schema = serde_json::to_string(&guarded.input_schema).expect("a schema");
        assert!(schema.contains("order_id") && !schema.contains("call"), "nothing of ours is in it: {schema}");
    }
    let credit = tool(&adapter.guard(Shop::tool_router(), Shop::guarded()).list_all(), "send_credit").clone();
    let hints = credit.annotations.expect("its author's");
    let said = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint);
    assert_eq!(said, (None, Some(false), Some(true), Some(false)));
}

#[tokio::test]
async fn a_tool_s_own_no_stays() {
    let adapter = Adapter::new(ledger().await).ledger_is_shared();
    let mut router: ToolRouter<Shop> = Shop::tool_router();
    let mut no = ToolAnnotations::default();
    no.idempotent_hint = Some(false);
    router.map.get_mut("charge").expect("the tool").attr.annotations = Some(no.clone());
    let guarded = adapter.guard(router, Shop::guarded());
    assert_eq!(guarded.get("charge").and_then(|tool| tool.annotations.clone()), Some(no));
}

#[tokio::test]
async fn what_is_wrong_with_a_router_is_said_tool_by_tool() {
    let adapter = Adapter::new(ledger().await);
    let mut router: ToolRouter<Shop> = Shop::tool_router();
    let found = |router: &ToolRouter<Shop>| -> Vec<(String, Problem)> {
        let findings = adapter.check(router, Shop::guarded());
        findings.into_iter().map(|finding| (finding.tool, finding.problem)).collect()
    };
    let said = found(&router);
    let names: Vec<_> = said.iter().map(|(tool, _)| tool.as_str()).collect();
    assert_eq!(names, ["charge", "pay_silently", "pay_unguarded"], "{said:?}");
    assert!(matches!(&said[0].1, Problem::NotIdempotent(unmet) if unmet.len() == 1), "{said:?}");
    assert_eq!((&said[1].1, &said[2].1), (&Problem::NotGuarded, &Problem::ClaimsIdempotent));

    let mut reads = ToolAnnotations::default();
    reads.read_only_hint = Some(true);
    router.map.get_mut("note").expect("the tool").attr.annotations = Some(reads);
    router.remove_route("charge");
    let said = found(&router);
    assert!(said.contains(&("note".to_owned(), Problem::ClaimsReadOnly)), "{said:?}");
    assert!(said.contains(&("charge".to_owned(), Problem::NotThere)), "{said:?}");
    for finding in adapter.check(&router, Shop::guarded()) {
        assert!(finding.to_string().starts_with(&format!("`{}` ", finding.tool)), "{finding}");
    }
}
