//! What makes two calls one operation: keys of calls, one with another and with digests that are checked in.
//!
//! Keys are read from attempt records, as a workflow would keep them. No ledger is needed for that but the one in
//! memory; where operations are counted, both are asked.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
    path::Path,
    process::Command,
};

use idem_runtime::{AttemptRecord, Idem, IdentityKey, Refusal, RefusalKind, ToolCall, idempotent, prepare};
use idem_tests::{
    tools::ToolError,
    world::{Setup, World, memory},
};
use serde::Serialize;
use serde_json::{Value, json};

#[path = "identity/tools.rs"]
mod tools;
#[path = "identity/values.rs"]
mod values;

/// Pays, whatever it is told.
#[idempotent(scope = "conversation", key = "args", name = "test.pay")]
async fn pay(call: &ToolCall, payload: Value, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(payload.to_string()))
}

/// The record that this call's retries would carry.
async fn record<T>(call: impl Future<Output = Result<T, ToolError>>) -> AttemptRecord {
    prepare(call).await.expect("a call with an identity")
}

/// What the call is refused for.
async fn refused<T>(call: impl Future<Output = Result<T, ToolError>>) -> Refusal {
    prepare(call).await.expect_err("a call without an identity")
}

async fn key_of(setup: &Setup, payload: Value) -> Vec<String> {
    record(pay(&setup.call(), payload, setup.world.clone())).await.key()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

mod golden {
    //! The calls whose keys are pinned in golden/keys.txt, one for every way to an identity.

    use super::*;

    #[derive(Serialize)]
    pub(super) struct Order {
        pub(super) id: String,
        pub(super) cents: u64,
        pub(super) lines: Vec<Line>,
        pub(super) note: Option<String>,
    }

    #[derive(Serialize)]
    pub(super) enum Line {
        Item { sku: &'static str, price: f64 },
        Voucher(u128),
        Gift,
    }

    #[derive(Debug)]
    pub(super) struct Shop {
        pub(super) merchant: &'static str,
    }

    #[idempotent(scope = "conversation", key = "tool_call_id|args", name = "test.either")]
    pub(super) async fn either(call: &ToolCall, order: Order) -> Result<(), ToolError> {
        let _ = order;
        Ok(())
    }

    #[idempotent(scope = "workflow", key = "args(b, a)", name = "test.some")]
    pub(super) async fn some(call: &ToolCall, a: String, b: u64, c: bool) -> Result<(), ToolError> {
        let _ = (a, b, c);
        Ok(())
    }

    #[idempotent(scope = "user", key = "operation_id", name = "test.issued")]
    pub(super) async fn issued(call: &ToolCall, a: String) -> Result<(), ToolError> {
        let _ = a;
        Ok(())
    }

    #[idempotent(scope = "tenant", key = "template:refund:{invoice}:{approval}", name = "test.template")]
    pub(super) async fn template(call: &ToolCall, invoice: String, approval: i64) -> Result<(), ToolError> {
        let _ = (invoice, approval);
        Ok(())
    }

    #[idempotent(scope = "global", key = "tool_call_id+args(a)", name = "test.together")]
    pub(super) async fn together(call: &ToolCall, a: i128, b: f32) -> Result<(), ToolError> {
        let _ = (a, b);
        Ok(())
    }

    impl Shop {
        #[idempotent(scope = "named:cart+{self.merchant}", key = "args", name = "test.shop")]
        pub(super) async fn sell(&self, call: &ToolCall, sku: &str) -> Result<(), ToolError> {
            let _ = sku;
            Ok(())
        }
    }

    pub(super) fn order() -> Order {
        let lines = vec![Line::Item { sku: "é\u{1F600}\n", price: 1e21 }, Line::Voucher(1 << 68), Line::Gift];
        Order { id: "A-1".into(), cents: 4_900, lines, note: None }
    }

    /// Every pinned call with its name.
    pub(super) async fn records() -> Vec<(&'static str, AttemptRecord)> {
        let plain = memory(Idem::builder()).await;
        let key = IdentityKey::new(*b"a key of 32 bytes, for tests onl").expect("long enough");
        let keyed = memory(Idem::builder().identity_key(key)).await;
        let call = || plain.call();
        let workflow = plain.idem.call().tenant("acme").workflow("w-1");
        let user = plain.idem.call().tenant("acme").user("u-1").operation_id("approved-17");
        let cart = plain.idem.call().tenant("acme").scope("cart", "k-1");
        let shop = Shop { merchant: "M1" };
        vec![
            (
                "id in a numbered turn, or arguments",
                record(either(&call().tool_call_id("call_1").turn(7), order())).await,
            ),
            (
                "id in a named turn, or arguments",
                record(either(&call().tool_call_id("call_1").turn("r-7"), order())).await,
            ),
            ("bare id, or arguments", record(either(&call().tool_call_id("call_1"), order())).await),
            ("arguments alone", record(either(&call(), order())).await),
            ("another occurrence", record(either(&call().occurrence("second"), order())).await),
            ("some arguments in a workflow", record(some(&workflow, "x".into(), 2, true)).await),
            ("issued id for a user", record(issued(&user, "x".into())).await),
            ("template in a tenant", record(template(&call(), "I-1".into(), -3)).await),
            (
                "id and argument together",
                record(together(&call().tool_call_id("call_1").turn(7), i128::MIN, 1.1)).await,
            ),
            ("named scope of a merchant", record(shop.sell(&cart, "s-1")).await),
            (
                "untyped numbers",
                record(pay(&call(), parsed("[1.0,1e2,-0.0,1e-7,0.1,18446744073709551615]"), World::default())).await,
            ),
            (
                "an item of a call, or arguments",
                record(either(&call().tool_call_id("call_1").turn(7).item("k-1"), order())).await,
            ),
            ("an item of an issued step", record(issued(&user.clone().item("k-1").item("k-2"), "x".into())).await),
            ("keyed arguments", record(either(&keyed.call().tool_call_id("call_1").turn(7), order())).await),
        ]
    }
}

/// Compares with a checked-in file; `IDEM_BLESS=1` writes it anew.
fn check_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("IDEM_BLESS").is_some() {
        std::fs::write(&path, text).expect("a golden file");
    }
    let pinned = std::fs::read_to_string(&path).expect("a golden file");
    assert_eq!(text, pinned, "keys changed: every operation recorded so far would become a stranger");
}

// R-K2 R-K6
#[tokio::test]
async fn r002_pinned_digests_hold_whatever_serde_json_s_features_are() {
    // The flags are what this build says they are: otherwise the two builds would prove nothing.
    let foreign = cfg!(feature = "foreign-flags");
    let kept = |text: &str| serde_json::to_string(&parsed(text)).expect("JSON") == text;
    assert_eq!([kept(r#"{"b":1,"a":2}"#), kept("1.10")], [foreign; 2]);

    let mut text = String::new();
    for (name, record) in golden::records().await {
        writeln!(text, "{name}: {} {}", record.operation(), record.key().join(" ")).expect("a line");
    }
    check_golden("keys.txt", &text);

    let setup = memory(Idem::builder()).await;
    let mut keys = HashSet::new();
    for names in [["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]] {
        let mut object = serde_json::Map::new();
        for name in names {
            object.insert(name.to_owned(), json!({ "z": name, "y": { "q": 1, "p": 2 } }));
        }
        keys.insert(key_of(&setup, object.into()).await);
    }
    assert_eq!(keys.len(), 1, "one intent, inserted in three orders");
}

// R-K6
#[test]
fn r009_a_map_and_a_set_have_one_key_in_twenty_processes() {
    let run = |seed: usize| {
        let child = Command::new(env!("CARGO_BIN_EXE_fresh")).args(["keys", &seed.to_string()]).output();
        let child = child.expect("a process");
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
        String::from_utf8(child.stdout).expect("text")
    };
    let keys: HashSet<String> = (0..20).map(run).collect();
    assert_eq!(keys.len(), 1, "{keys:#?}");
}

/// Texts that are hard to keep apart.
const DELIMITED: [&str; 10] = ["a", "a:b", "b", "b:c", "c", ":", "|", "a\u{0}", "\u{0}b", "_"];

// R-K7
#[tokio::test]
async fn r011_no_delimiter_in_a_part_makes_two_keys_one() {
    #[idempotent(scope = "conversation", key = "args", name = "test.unit")]
    async fn same(call: &ToolCall, a: u8) -> Result<(), ToolError> {
        let _ = a;
        Ok(())
    }
    let setup = memory(Idem::builder()).await;
    let mut seen: HashMap<Vec<String>, [String; 3]> = HashMap::new();
    let mut parts = HashSet::new();
    for tenant in DELIMITED {
        for conversation in DELIMITED {
            for occurrence in DELIMITED {
                parts.insert([tenant, conversation, occurrence].map(str::to_owned));
            }
        }
    }
    // Random texts over the delimiters beside the chosen ones; the numbers are Knuth's.
    let mut state: u64 = 11;
    let mut draw = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % bound
    };
    for _ in 0..4_000 {
        let mut text = || (0..=draw(4)).map(|_| ["a", ":", "|", "_", "\u{0}", "\""][draw(6)]).collect::<String>();
        parts.insert([text(), text(), text()]);
    }
    // What stands between two parts, as a part of either: without lengths these two would read alike.
    let between = format!("{}conversation\u{1}", "\0".repeat(8));
    parts.insert(["a".to_owned(), format!("b{between}c"), "x".to_owned()]);
    parts.insert([format!("a{between}b"), "c".to_owned(), "x".to_owned()]);
    for [tenant, conversation, occurrence] in parts {
        let call = setup.idem.call().tenant(&*tenant).conversation(&*conversation).occurrence(&*occurrence);
        let key = record(same(&call, 1)).await.key();
        let twin = seen.insert(key, [tenant.clone(), conversation.clone(), occurrence.clone()]);
        assert!(twin.is_none(), "{twin:?} and {:?}", [tenant, conversation, occurrence]);
    }
    // An empty part is no part at all.
    for call in [setup.call().tenant(""), setup.call().conversation(""), setup.call().occurrence("")] {
        assert_eq!(refused(same(&call, 1)).await.kind(), &RefusalKind::Invalid);
    }
}

/// Nobody says what an incomplete call lacks as well as the call itself.
#[tokio::test]
async fn a_preparation_is_refused_for_what_the_call_is_refused_for() {
    #[idempotent(scope = "tenant", key = "args", name = "test.adrift")]
    async fn adrift(order: u64, #[idem(state)] world: World) -> Result<usize, ToolError> {
        Ok(world.effect(order.to_string()))
    }
    let setup = memory(Idem::builder()).await;
    let world = || setup.world.clone();
    let complete = setup.call();
    for call in [setup.idem.call(), complete.clone().tenant(""), complete.clone().conversation("")] {
        let told = pay_outcome(&call, json!(1), world()).await.into_result().expect_err("an incomplete call");
        assert_eq!(refused(pay(&call, json!(1), world())).await.to_json(), told.to_json());
    }
    let told = adrift_outcome(1, world()).await.into_result().expect_err("no call at all");
    assert_eq!(refused(adrift(1, world())).await.to_json(), told.to_json());
    // What comes after the one that was meant is not carried out either.
    let two = async {
        pay(&complete.clone().tenant(""), json!(1), world()).await.or(pay(&complete, json!(1), world()).await)
    };
    assert_eq!(refused(two).await.kind(), &RefusalKind::Invalid);
    let two = async { pay(&complete, json!(1), world()).await.or(pay(&complete, json!(2), world()).await) };
    assert_eq!(record(two).await, record(pay(&complete, json!(1), world())).await);
    assert!(setup.world.effects().is_empty());
}

// R-K7
#[tokio::test]
async fn r_k7_framing_keeps_arguments_ids_and_templates_apart() {
    #[idempotent(scope = "tenant", key = "args(a, b)", name = "test.pair")]
    async fn pair(call: &ToolCall, a: String, b: String) -> Result<(), ToolError> {
        let _ = (a, b);
        Ok(())
    }
    #[idempotent(scope = "tenant", key = "template:{a}{b}", name = "test.joined")]
    async fn joined(call: &ToolCall, a: String, b: String) -> Result<(), ToolError> {
        let _ = (a, b);
        Ok(())
    }
    #[idempotent(scope = "tenant", key = "tool_call_id", name = "test.by_id")]
    async fn by_id(call: &ToolCall, a: String) -> Result<(), ToolError> {
        let _ = a;
        Ok(())
    }
    let setup = memory(Idem::builder()).await;
    let (left, right) = (("a:b", "c"), ("a", "b:c"));
    let call = setup.call();
    for (one, other) in [(left, right), (("a\",\"b", "c"), ("a", "b\",\"c")), (("ab", "c"), ("a", "bc"))] {
        let of = |(a, b): (&str, &str)| record(pair(&call, a.into(), b.into()));
        assert_ne!(of(one).await.key(), of(other).await.key());
        let of = |(a, b): (&str, &str)| record(joined(&call, a.into(), b.into()));
        assert_ne!(of(one).await.key(), of(other).await.key());
    }
    let numbered = record(by_id(&setup.call_as("call_1", 7), "x".into())).await.key();
    let named = record(by_id(&setup.call().tool_call_id("call_1").turn("7"), "x".into())).await.key();
    let bare = record(by_id(&setup.call().tool_call_id("call_17"), "x".into())).await.key();
    assert_eq!(HashSet::from([&numbered, &named, &bare]).len(), 3);
    // What stands between an id and its turn, as a part of either.
    let between = "\u{2}\0\0\0\0\0\0\0";
    let shifted = [("a".to_owned(), format!("b{between}c")), (format!("a{between}b"), "c".to_owned())];
    let [left, right] = shifted.map(|(id, turn)| setup.call().tool_call_id(id).turn(turn));
    assert_ne!(record(by_id(&left, "x".into())).await.key(), record(by_id(&right, "x".into())).await.key());
}
