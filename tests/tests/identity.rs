//! What makes two calls one operation: keys of calls, one with another and with digests that are checked in.
//!
//! Keys are read from attempt records, as a workflow would keep them. No ledger is needed for that but the one in
//! memory; where operations are counted, both are asked.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Write,
    path::Path,
    process::Command,
};

use idem_runtime::{AttemptRecord, Idem, IdentityKey, Refusal, RefusalKind, ToolCall, idempotent, outcome, prepare};
use idem_tests::{
    tools::ToolError,
    world::{Setup, World, every_store, memory},
};
use serde::{Serialize, ser::Error as _};
use serde_json::{Value, json};

/// Pays, whatever it is told.
#[idempotent(scope = "conversation", key = "args", name = "test.pay")]
async fn pay(call: &ToolCall, payload: Value, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(payload.to_string()))
}

#[idempotent(scope = "conversation", key = "args", name = "test.measure")]
async fn measure(call: &ToolCall, amount: Option<f64>, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(format!("{amount:?}")))
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
#[tokio::test]
async fn r004_numbers_that_a_gateway_rewrote_are_the_same_numbers() {
    #[derive(Clone, Copy, Serialize)]
    struct Line {
        qty: f64,
        p: f64,
    }
    #[idempotent(scope = "conversation", key = "tool_call_id|args")]
    async fn order(call: &ToolCall, line: Line, #[idem(state)] world: World) -> Result<usize, ToolError> {
        let _ = line;
        Ok(world.effect("order"))
    }
    #[idempotent(scope = "conversation", key = "tool_call_id|args")]
    async fn untyped(call: &ToolCall, line: Value, #[idem(state)] world: World) -> Result<usize, ToolError> {
        let _ = line;
        Ok(world.effect("untyped"))
    }
    let typed = |text: &str| {
        let value = parsed(text);
        let field = |name: &str| value[name].as_f64().expect("a number");
        Line { qty: field("qty"), p: field("p") }
    };
    let (was, rewritten) = (r#"{"qty":1.0,"p":1e2}"#, r#"{"qty":1,"p":100}"#);
    for setup in every_store().await {
        let (call, world) = (setup.call_as("call_1", 1), &setup.world);
        assert!(!order_outcome(&call, typed(was), world.clone()).await.is_replay());
        let told = order_outcome(&call, typed(rewritten), world.clone()).await;
        assert!(told.is_replay(), "{}: {told:?}", setup.name());
        assert!(!untyped_outcome(&call, parsed(was), world.clone()).await.is_replay());
        let told = untyped_outcome(&call, parsed(rewritten), world.clone()).await;
        assert!(told.is_replay(), "{}: {told:?}", setup.name());
        assert_eq!(setup.world.effects(), ["order", "untyped"]);
        let first = record(untyped(&call, parsed(was), world.clone())).await;
        assert_eq!(first.key(), record(untyped(&call, parsed(rewritten), world.clone())).await.key());
    }
}

/// The same documents as golden/rfc8785.mjs writes, drawn from the same numbers.
mod documents {
    use std::fmt::Write;

    /// Knuth's 64 bits.
    pub(super) struct Draw(u64);

    /// Names and texts whose order differs by code unit, code point and byte.
    const TEXTS: [&str; 12] =
        ["", "a", "b", "aa", "A", "é", "e\u{301}", "\u{E000}", "\u{1F600}", "\u{FFFF}", "\n\"\\\u{7}", "\u{2028}/"];

    impl Draw {
        pub(super) fn new(seed: u64) -> Self {
            Self(seed)
        }

        fn bits(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.0
        }

        fn below(&mut self, bound: u64) -> u64 {
            (self.bits() >> 33) % bound
        }

        fn text(&mut self) -> String {
            let at = usize::try_from(self.below(12)).expect("small");
            serde_json::to_string(TEXTS[at]).expect("JSON")
        }

        fn number(&mut self) -> String {
            match self.below(3) {
                0 => (i64::try_from(self.below(2_000)).expect("small") - 1_000).to_string(),
                1 => format!(
                    "{:e}",
                    (f64::from(u32::try_from(self.below(2_000_001)).expect("small")) - 1_000_000.0) / 1_000.0
                ),
                _ => loop {
                    let (high, low) = (self.bits() >> 32, self.bits() >> 32);
                    let number = f64::from_bits(high << 32 | low);
                    if number.is_finite() {
                        return format!("{number:e}");
                    }
                },
            }
        }

        /// A document as text, written as no canonical form would write it.
        pub(super) fn document(&mut self, depth: u64) -> String {
            match self.below(if depth == 0 { 4 } else { 6 }) {
                0 => ["true", "false", "null"][usize::try_from(self.below(3)).expect("small")].to_owned(),
                1 => self.text(),
                2 | 3 => self.number(),
                4 => {
                    let members: Vec<String> = (0..self.below(4)).map(|_| self.document(depth - 1)).collect();
                    format!("[ {} ]", members.join(" , "))
                }
                _ => {
                    let mut names: Vec<String> = Vec::new();
                    let mut text = String::from("{ ");
                    for _ in 0..self.below(5) {
                        let (name, value) = (self.text(), self.document(depth - 1));
                        if names.contains(&name) {
                            continue;
                        }
                        let comma = if names.is_empty() { "" } else { " , " };
                        write!(text, "{comma}{name} : {value}").expect("a member");
                        names.push(name);
                    }
                    text + " }"
                }
            }
        }
    }
}

// R-K6
#[tokio::test]
async fn r005_numbers_and_names_are_written_as_rfc_8785_says() {
    // Text, the form that node gives it, and the key that follows from that form: golden/rfc8785.mjs wrote them.
    let setup = memory(Idem::builder()).await;
    let pinned = include_str!("golden/rfc8785.txt");
    let (mut vectors, mut thirty_thousand) = (0, None);
    for line in pinned.lines().filter(|line| !line.starts_with('#')) {
        let [text, form, key] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("three columns: {line}") };
        if text == "30000 documents" {
            thirty_thousand = Some(key);
            continue;
        }
        assert_eq!(key_of(&setup, parsed(text)).await, [key], "{text} is written {form}");
        vectors += 1;
    }
    assert!(vectors >= 40, "{vectors}");
    assert_eq!(key_of(&setup, parsed("-0.0")).await, key_of(&setup, parsed("0")).await);

    let mut draw = documents::Draw::new(8785);
    let mut chained = String::new();
    for _ in 0..30_000 {
        let document = draw.document(3);
        let wrapped = format!("[ {document} , \"{chained}\" ]");
        chained = key_of(&setup, parsed(&wrapped)).await.remove(0);
    }
    assert_eq!(Some(&*chained), thirty_thousand, "each key takes in the one before: all 30,000 agree, or this differs");
}

// R-K6
#[tokio::test]
async fn r007_not_a_number_is_refused_and_is_not_nothing() {
    for setup in every_store().await {
        let told = |amount| measure_outcome_of(&setup, amount);
        for amount in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let refusal = told(Some(amount)).await.expect_err("no number");
            assert_eq!(refusal.kind(), &RefusalKind::Invalid);
            assert!(refusal.to_string().contains("amount"), "{refusal}");
        }
        assert_eq!(setup.operations().await, 0, "{}", setup.name());
        assert_eq!(setup.world.effects(), Vec::<String>::new());
        assert_eq!(told(None).await.expect("a key of its own"), 1);
        assert_eq!(told(Some(0.0)).await.expect("another"), 2);
        assert_eq!(told(None).await.expect("a replay"), 1);
        assert_eq!(setup.operations().await, 2);
    }
}

async fn measure_outcome_of(setup: &Setup, amount: Option<f64>) -> Result<usize, Refusal> {
    measure_outcome(&setup.call(), amount, setup.world.clone()).await.into_result()
}

// R-K6
#[tokio::test]
async fn r008_two_spellings_of_one_visible_name_are_two_by_default() {
    let (nfc, nfd) = ("Jos\u{e9}", "Jose\u{301}");
    assert_ne!(nfc, nfd);
    for setup in every_store().await {
        assert_ne!(key_of(&setup, json!({ "to": nfc })).await, key_of(&setup, json!({ "to": nfd })).await);
        for to in [nfc, nfd, nfc, nfd] {
            pay(&setup.call(), json!({ "to": to }), setup.world.clone()).await.expect("paid");
        }
        assert_eq!(setup.world.effects().len(), 2, "{}", setup.name());
    }
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

mod billing {
    use super::*;

    #[idempotent(scope = "conversation", key = "args")]
    pub(super) async fn send(call: &ToolCall, id: u32, #[idem(state)] world: World) -> Result<usize, ToolError> {
        Ok(world.effect(format!("bill {id}")))
    }
}

mod mail {
    use super::*;

    #[idempotent(scope = "conversation", key = "args")]
    pub(super) async fn send(call: &ToolCall, id: u32, #[idem(state)] world: World) -> Result<usize, ToolError> {
        Ok(world.effect(format!("mail {id}")))
    }
}

struct Refunds(World);
struct Credits(World);

impl Refunds {
    #[idempotent(scope = "conversation", key = "args")]
    async fn send(&self, call: &ToolCall, id: u32) -> Result<usize, ToolError> {
        Ok(self.0.effect(format!("refund {id}")))
    }
}

impl Credits {
    #[idempotent(scope = "conversation", key = "args")]
    async fn send(&self, call: &ToolCall, id: u32) -> Result<usize, ToolError> {
        Ok(self.0.effect(format!("credit {id}")))
    }
}

#[tokio::test]
async fn r012_functions_and_methods_of_one_name_are_two_tools() {
    for setup in every_store().await {
        let (call, world) = (setup.call(), &setup.world);
        let (refunds, credits) = (Refunds(world.clone()), Credits(world.clone()));
        for _ in 0..2 {
            billing::send(&call, 1, world.clone()).await.expect("sent");
            mail::send(&call, 1, world.clone()).await.expect("sent");
            refunds.send(&call, 1).await.expect("sent");
            credits.send(&call, 1).await.expect("sent");
        }
        assert_eq!(world.effects(), ["bill 1", "mail 1", "refund 1", "credit 1"], "{}", setup.name());
        if let Some(home) = &setup.home {
            let mut tools: Vec<String> =
                home.column("select t.name from idem_operations o join idem_tools t on t.tool = o.tool");
            tools.sort();
            let expected = ["Credits::send", "Refunds::send", "billing::send", "mail::send"];
            assert_eq!(tools, expected.map(|name| format!("identity::{name}")));
        }
    }
}

#[derive(Debug, Clone)]
struct RefundTool {
    merchant: &'static str,
    world: World,
}

impl RefundTool {
    #[idempotent(scope = "conversation+{self.merchant}", key = "args", name = "test.merchant_scope")]
    async fn refund(&self, call: &ToolCall, id: u32) -> Result<String, ToolError> {
        self.world.effect(format!("{} {id}", self.merchant));
        Ok(self.merchant.to_owned())
    }

    #[idempotent(scope = "conversation", key = "template:{self.merchant}:{id}", name = "test.merchant_key")]
    async fn credit(&self, call: &ToolCall, id: u32) -> Result<String, ToolError> {
        self.world.effect(format!("credit {} {id}", self.merchant));
        Ok(self.merchant.to_owned())
    }
}

// R-S2
#[tokio::test]
async fn r015_two_instances_that_scope_or_key_names_share_nothing() {
    for setup in every_store().await {
        let tool = |merchant| RefundTool { merchant, world: setup.world.clone() };
        let (a, b) = (tool("A"), tool("B"));
        for _ in 0..2 {
            assert_eq!(a.refund(&setup.call(), 1).await.expect("refunded"), "A");
            assert_eq!(b.refund(&setup.call(), 1).await.expect("refunded"), "B");
            assert_eq!(a.credit(&setup.call(), 1).await.expect("credited"), "A");
            assert_eq!(b.credit(&setup.call(), 1).await.expect("credited"), "B");
        }
        assert_eq!(setup.world.effects(), ["A 1", "B 1", "credit A 1", "credit B 1"], "{}", setup.name());
    }
}

/// Serialises never.
#[derive(Clone)]
struct Stubborn;

impl Serialize for Stubborn {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("the secret 4111-1111 may not be written"))
    }
}

#[tokio::test]
async fn r093_what_serde_can_write_has_a_key_and_the_rest_is_refused_by_its_path() {
    #[derive(Clone, Serialize)]
    struct Odd {
        id: uuid::Uuid,
        at: jiff::Timestamp,
        sum: u128,
        by_number: BTreeMap<i64, bool>,
    }
    #[derive(Clone, Serialize)]
    struct Holds<T> {
        lines: Vec<T>,
    }
    #[idempotent(scope = "conversation", key = "args")]
    async fn book<T: Serialize>(call: &ToolCall, what: T, #[idem(state)] world: &World) -> Result<usize, ToolError> {
        let _ = what;
        Ok(world.effect("booked"))
    }
    let odd = |last: u128| Odd {
        id: uuid::Uuid::from_u128(7),
        at: jiff::Timestamp::UNIX_EPOCH,
        sum: u128::MAX - last,
        by_number: BTreeMap::from([(-3, true), (20, false)]),
    };
    for setup in every_store().await {
        let (call, world) = (setup.call(), &setup.world);
        let stubborn = Holds { lines: vec![Stubborn] };
        let refusal = outcome(book(&call, stubborn, world)).await.into_result().expect_err("not serialisable");
        assert_eq!(refusal.kind(), &RefusalKind::Invalid);
        assert!(refusal.to_string().contains("what.lines[0]"), "names the field: {refusal}");
        assert!(!format!("{refusal} {refusal:?}").contains("4111"), "and not what it holds: {refusal:?}");
        let keyed = Holds { lines: vec![HashMap::from([((1, 2), 3)])] };
        let refusal = outcome(book(&call, keyed, world)).await.into_result().expect_err("no name in a map");
        assert!(refusal.to_string().contains("what.lines[0]"), "{refusal}");
        assert_eq!(setup.operations().await, 0, "{}", setup.name());
        assert_eq!(world.effects(), Vec::<String>::new());
        assert!(!outcome(book(&call, odd(0), world)).await.is_replay());
        assert!(outcome(book(&call, odd(0), world)).await.is_replay());
        assert!(!outcome(book(&call, odd(1), world)).await.is_replay(), "every digit counts");
        assert_eq!(world.effects().len(), 2);
    }
}
