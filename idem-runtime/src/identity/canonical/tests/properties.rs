//! The form against another implementation of RFC 8785, and against what it promises of any two values.
//!
//! Where the two implementations must agree: no integers beyond 2^53, since JCS rounds them. The loop starts from
//! `IDEM_SEED`, makes `IDEM_DOCUMENTS` documents and prints both.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Map, Number, Value};

use super::super::number as subject;
use super::{Entries, Random, raw, text};

/// Largest integer that JCS keeps.
const SAFE: i64 = (1 << 53) - 1;

/// Texts that make ordering and escaping hard, from few characters so that equal ones occur.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,3}",
        "[ab\"\\\\\n\u{1}\u{7f}é\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{1f600}]{0,12}",
        "\\PC{0,24}",
        any::<String>(),
    ]
}

/// Numbers of every size and kind.
fn numbers(integers: std::ops::RangeInclusive<i64>) -> impl Strategy<Value = Value> {
    prop_oneof![
        (-3..3_i64).prop_map(Value::from),
        integers.prop_map(Value::from),
        (-3..3_i32).prop_map(|i| Value::from(f64::from(i))),
        (-1_000_000..1_000_000_i32).prop_map(|i| Value::from(f64::from(i) / 100.0)),
        proptest::num::f64::ANY.prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
    ]
}

/// Documents.
fn documents(integers: std::ops::RangeInclusive<i64>) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        numbers(integers),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((texts(), inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A value under the equalities of the form: what is equal here must have one text, and nothing else may.
#[derive(Debug, PartialEq, Eq)]
enum Normal {
    Null,
    Bool(bool),
    /// Integers, and floats that ECMAScript prints as integers.
    Integer(i128),
    Float(u64),
    Text(String),
    Array(Vec<Normal>),
    Object(BTreeMap<String, Normal>),
}

impl Normal {
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::of_number(number),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(elements) => Self::Array(elements.iter().map(Self::of).collect()),
            Value::Object(members) => {
                Self::Object(members.iter().map(|(name, value)| (name.clone(), Self::of(value))).collect())
            }
        }
    }

    fn of_number(number: &Number) -> Self {
        if let Some(integer) = number.as_i64() {
            return Self::Integer(integer.into());
        }
        let float = number.as_f64().expect("a float");
        match ryu_js::Buffer::new().format_finite(float).parse() {
            Ok(digits) => Self::Integer(digits),
            Err(_) => Self::Float(float.to_bits()),
        }
    }
}

/// The members of all objects in reverse, and so in another order for any map.
struct Reversed<'a>(&'a Value);

impl serde::Serialize for Reversed<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(elements) => serializer.collect_seq(elements.iter().map(Reversed)),
            Value::Object(members) => {
                let members: Vec<_> = members.iter().collect();
                serializer.collect_map(members.into_iter().rev().map(|(name, value)| (name, Reversed(value))))
            }
            other => other.serialize(serializer),
        }
    }
}

/// What holds for any document that both implementations accept.
fn check(document: &Value) {
    let ours = text(document);
    assert_eq!(ours, serde_json_canonicalizer::to_string(document).expect("JCS"));
    check_alone(document, &ours);
}

/// What the form promises of any document.
fn check_alone(document: &Value, ours: &str) {
    assert_eq!(text(&Reversed(document)), ours, "order of members");
    // Read back unread, it is the same; read back as a value, too.
    assert_eq!(text(&raw(ours)), ours, "raw");
    let spaced = serde_json::to_string_pretty(document).expect("JSON");
    assert_eq!(text(&raw(&spaced)), ours, "raw, spaced");
    let back: Value = serde_json::from_str(ours).expect("JSON");
    assert_eq!(Normal::of(&back), Normal::of(document), "read back");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_another_implementation(document in documents(-SAFE..=SAFE)) {
        check(&document);
    }

    #[test]
    fn keeps_its_promises_for_all_integers(document in documents(i64::MIN..=i64::MAX)) {
        check_alone(&document, &text(&document));
    }

    /// Injective: one text exactly for equal values.
    #[test]
    fn different_values_have_different_texts(
        a in documents(i64::MIN..=i64::MAX),
        b in documents(i64::MIN..=i64::MAX),
    ) {
        prop_assert_eq!(text(&a) == text(&b), Normal::of(&a) == Normal::of(&b));
    }

    /// The same for values that differ little, where a collision would hide.
    #[test]
    fn near_values_have_different_texts(
        a in prop::collection::vec(numbers(SAFE - 2..=SAFE + 6), 1..3),
        b in prop::collection::vec(numbers(SAFE - 2..=SAFE + 6), 1..3),
        names in prop::collection::vec("[a\"\\\\,:{}\\[\\]0]{0,3}", 0..3),
    ) {
        let (a, b) = (Value::from(a), Value::from(b));
        prop_assert_eq!(text(&a) == text(&b), Normal::of(&a) == Normal::of(&b));
        let joined = Value::from(names.join(","));
        let split = Value::from(names.clone());
        prop_assert_ne!(text(&joined), text(&split));
        let members: Map<String, Value> = names.iter().map(|name| (name.clone(), joined.clone())).collect();
        let object = Value::Object(members);
        prop_assert_eq!(text(&object) == text(&split), false);
        check(&object);
    }
}

/// A document from the seeded generator.
fn document(random: &Random, depth: u32) -> Value {
    const CHARACTERS: [char; 16] = [
        'a',
        'b',
        'c',
        'Z',
        '0',
        '"',
        '\\',
        '\n',
        '\u{1}',
        '\u{7f}',
        'é',
        '\u{20ac}',
        '\u{e000}',
        '\u{ffee}',
        '\u{1f600}',
        '\u{10ffff}',
    ];
    let some_text = || -> String {
        let index = || usize::try_from(random.below(16)).unwrap_or_default();
        (0..random.below(14)).map(|_| CHARACTERS[index()]).collect()
    };
    let kinds = if depth == 0 { 6 } else { 9 };
    match random.below(kinds) {
        0 => Value::Null,
        1 => Value::from(random.below(2) == 0),
        2 => Value::from(random.below(SAFE.unsigned_abs()).cast_signed() >> random.below(52)),
        3 => {
            let float = f64::from_bits(random.bits());
            if float.is_finite() { Value::from(float) } else { Value::from(0.5) }
        }
        #[expect(clippy::cast_precision_loss, reason = "any float will do")]
        4 => Value::from(random.below(10_000_000) as f64 / 100.0),
        5 => Value::from(some_text()),
        6 => (0..random.below(6)).map(|_| document(random, depth - 1)).collect(),
        _ => (0..random.below(9)).map(|_| (some_text(), document(random, depth - 1))).collect(),
    }
}

/// R005: thirty thousand documents from one seed.
#[test]
#[expect(clippy::print_stdout, reason = "a failure has to be repeatable")]
fn agrees_on_many_documents() {
    let setting =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default);
    let (seed, count) = (setting("IDEM_SEED", 20_261_130), setting("IDEM_DOCUMENTS", 30_000));
    println!("IDEM_SEED={seed} IDEM_DOCUMENTS={count}");
    let random = Random::new(seed);
    for _ in 0..count {
        check(&document(&random, 4));
    }
}

/// R002: whatever order members are inserted in, with or without `preserve_order`.
#[test]
fn order_of_insertion_does_not_matter() {
    let names = ["zeta", "alpha", "mid", "\u{1f600}", "\u{e000}", "10", "9"];
    let expected = text(&Entries(names.iter().map(|name| (*name, name.len())).collect()));
    for turn in 0..names.len() {
        let mut turned = names;
        turned.rotate_left(turn);
        let object: Map<String, Value> =
            turned.iter().map(|name| ((*name).to_owned(), Value::from(name.len()))).collect();
        assert_eq!(text(&object), expected);
    }
}

/// Numbers that a float keeps apart have different texts, and the texts read back.
#[test]
fn neighbouring_floats_have_different_texts() {
    let random = Random::new(7);
    for _ in 0..100_000 {
        let float = f64::from_bits(random.bits());
        if !float.is_finite() {
            continue;
        }
        let mut written = Vec::new();
        subject::write_float(&mut written, float).expect("finite");
        let back: f64 = String::from_utf8(written).expect("UTF-8").parse().expect("a number");
        assert_eq!(back.to_bits(), float.to_bits());
    }
}
