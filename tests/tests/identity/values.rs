//! How values are written in a key: numbers, texts, what serde makes of a type.

use std::collections::{BTreeMap, HashMap};

use idem_runtime::{Idem, Refusal, RefusalKind, ToolCall, idempotent, outcome};
use idem_tests::{
    tools::ToolError,
    world::{Setup, World, every_store, memory},
};
use serde::{Serialize, ser::Error as _};
use serde_json::{Value, json};

use crate::{key_of, parsed, pay, record};

#[idempotent(scope = "conversation", key = "args", name = "test.measure")]
async fn measure(call: &ToolCall, amount: Option<f64>, #[idem(state)] world: World) -> Result<usize, ToolError> {
    Ok(world.effect(format!("{amount:?}")))
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
    let pinned = include_str!("../golden/rfc8785.txt");
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
