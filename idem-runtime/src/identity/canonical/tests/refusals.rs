//! What has no canonical form, and what its error says: the place, never the value.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::ser::{Error as _, SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::super::{Canonical, CanonicalErrorKind, MAX_DEPTH};
use super::{Entries, LIMIT, check_refusal, raw, refusal, text};

#[derive(Serialize)]
struct Order {
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    price: Option<f64>,
}

/// R007: as JSON these would be null, like an absent value.
#[test]
fn no_number_is_refused_with_its_path() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        check_refusal(&Some(bad), &CanonicalErrorKind::NotFinite, "");
        let line = |price| Line { price };
        let order = Order { lines: vec![line(Some(1.0)), line(None), line(None), line(Some(bad))] };
        check_refusal(&order, &CanonicalErrorKind::NotFinite, "lines[3].price");
        check_refusal(&[[bad]], &CanonicalErrorKind::NotFinite, "[0][0]");
        check_refusal(&Entries(vec![("z", 1.0), ("a", bad)]), &CanonicalErrorKind::NotFinite, "a");
    }
}

#[test]
fn variants_are_part_of_the_path() {
    #[derive(Serialize)]
    enum Pay {
        Cash(f64),
        Pair(u8, f64),
        Card { limit: f64 },
    }
    check_refusal(&Pay::Cash(f64::NAN), &CanonicalErrorKind::NotFinite, "Cash");
    check_refusal(&[Pay::Pair(1, f64::NAN)], &CanonicalErrorKind::NotFinite, "[0].Pair[1]");
    check_refusal(&Pay::Card { limit: f64::NAN }, &CanonicalErrorKind::NotFinite, "Card.limit");
}

/// A name from data may be data: an address, a number. Names of fields are shown.
#[test]
fn names_that_may_be_data_are_hidden() {
    let at = |name: &str| Entries(vec![(name.to_owned(), [f64::NAN])]);
    check_refusal(&at("unit_price-2"), &CanonicalErrorKind::NotFinite, "unit_price-2[0]");
    for data in ["jo@example.com", "+41 79 000", "4111111111111111", "", "n\"", &"x".repeat(41)] {
        check_refusal(&at(data), &CanonicalErrorKind::NotFinite, "[_][0]");
    }
    check_refusal(&HashMap::from([(7, f64::NAN)]), &CanonicalErrorKind::NotFinite, "[_]");
}

#[test]
fn double_names_are_refused() {
    let double = CanonicalErrorKind::DuplicateKey;
    check_refusal(&Entries(vec![("a", 1), ("a", 1)]), &double, "a");
    check_refusal(&Entries(vec![("a", 1), ("b", 2), ("a", 3)]), &double, "a");
    check_refusal(&[Entries(vec![("b", 1), ("a", 2), ("b", 3)])], &double, "[0].b");
    check_refusal(&Entries(vec![("\u{e000}", 1), ("\u{1f600}", 2), ("\u{e000}", 3)]), &double, "[_]");
    check_refusal(&Entries(vec![("a\n", 1), ("a", 2), ("a\n", 3)]), &double, "[_]");
    check_refusal(&raw(r#"{"x":{"a":1,"\u0061":2}}"#), &double, "x.a");
    check_refusal(&raw(r#"[{"b":1,"a":1,"b":1}]"#), &double, "[0].b");

    #[derive(Serialize, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[serde(untagged)]
    enum Id {
        Number(u8),
        Text(&'static str),
    }
    check_refusal(&BTreeMap::from([(Id::Number(1), 1), (Id::Text("1"), 2)]), &double, "[_]");

    #[derive(Serialize)]
    struct Flat {
        id: u8,
        #[serde(flatten)]
        rest: BTreeMap<&'static str, u8>,
    }
    check_refusal(&Flat { id: 1, rest: BTreeMap::from([("id", 2)]) }, &double, "id");
}

#[test]
fn names_without_a_text_are_refused() {
    let refused = CanonicalErrorKind::KeyNotText;
    check_refusal(&Entries(vec![(1.5, 1)]), &refused, "");
    check_refusal(&[Entries(vec![(1.0_f32, 1)])], &refused, "[0]");
    check_refusal(&Entries(vec![(Some("a"), 1)]), &refused, "");
    check_refusal(&Entries(vec![((), 1)]), &refused, "");
    check_refusal(&Entries(vec![((1, 2), 1)]), &refused, "");
    check_refusal(&Entries(vec![(vec![1], 1)]), &refused, "");
    check_refusal(&Entries(vec![(serde_bytes::Bytes::new(b"a"), 1)]), &refused, "");
}

#[test]
fn depth_is_limited() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let limit = usize::from(MAX_DEPTH);
    assert_eq!(text(&raw(&nested(limit))), nested(limit));
    let error = refusal(&raw(&nested(limit + 1)));
    assert_eq!(error.kind(), &CanonicalErrorKind::TooDeep { limit: MAX_DEPTH });
    assert!(error.path().starts_with("[0][0]"));
    // Far below any stack's end.
    let error = refusal(&raw(&"[".repeat(100_000)));
    assert_eq!(error.kind(), &CanonicalErrorKind::TooDeep { limit: MAX_DEPTH });

    let wrap = |depth: usize| (0..depth).fold(Value::from(1), |inner, _| serde_json::json!({"a": inner}));
    assert!(text(&wrap(limit)).ends_with(&"}".repeat(limit)));
    let error = refusal(&wrap(limit + 1));
    assert_eq!(error.kind(), &CanonicalErrorKind::TooDeep { limit: MAX_DEPTH });
}

#[test]
fn length_is_limited_to_the_byte() {
    let check = |value: &Value| {
        let expected = text(value);
        for limit in 0..expected.len() {
            let mut canonical = Canonical::new(limit);
            canonical.push(b"kept");
            let error = canonical.write(value).expect_err("too large");
            assert_eq!(error.kind(), &CanonicalErrorKind::TooLarge { limit });
            assert_eq!(canonical.bytes(), b"kept");
        }
        let mut canonical = Canonical::new(expected.len());
        canonical.push(b"kept");
        let _presence = canonical.write(value).expect("just fits");
    };
    check(&serde_json::json!({"b": [1, 2.5, "x\n"], "a": {"c": null}, "long name": "long text"}));
    check(&serde_json::json!(12345));
}

/// A `Display` that never ends must not fill the memory.
#[test]
fn endless_texts_are_cut_off() {
    struct Endless;
    impl fmt::Display for Endless {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            loop {
                f.write_str("more and ")?;
            }
        }
    }
    impl Serialize for Endless {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }
    check_refusal(&[Endless], &CanonicalErrorKind::TooLarge { limit: LIMIT }, "[0]");
    let bytes = vec![0; LIMIT];
    check_refusal(serde_bytes::Bytes::new(&bytes), &CanonicalErrorKind::TooLarge { limit: LIMIT }, "");
}

#[test]
fn text_that_is_not_json_is_refused() {
    for given in [
        "",
        " ",
        "nul",
        "nullx",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[1 2]",
        "{",
        "{\"a\"",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "1 1",
        "\"",
        "\"\n\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\\u+123\"",
        "'a'",
        "tru",
        "]",
        "\u{a0}1",
        "\"\\",
        "[01]",
        "-",
    ] {
        assert_eq!(refusal(&raw(given)).kind(), &CanonicalErrorKind::MalformedJson, "{given}");
    }
    check_refusal(&vec![raw("{\"a\":[tru]}")], &CanonicalErrorKind::MalformedJson, "[0].a[0]");
}

/// A type that refuses, quoting itself.
struct Refusing;

impl Serialize for Refusing {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("bad iban CH93-0076"))
    }
}

#[test]
fn a_refusing_type_is_placed_but_not_quoted() {
    let error = refusal(&Entries(vec![("account", [Refusing])]));
    assert_eq!(error.path(), "account[0]");
    assert_eq!(error.kind(), &CanonicalErrorKind::Custom("bad iban CH93-0076".to_owned()));
    assert_eq!(error.to_string(), "put `account[0]` into canonical form: its type refused to be serialised");
    assert!(!format!("{error:?}").contains("iban"));
    assert_eq!(error.within("args").path(), "args.account[0]");
}

/// A torn value must not pass because its type looked away.
#[test]
fn swallowed_errors_are_found() {
    struct Swallowing;
    impl Serialize for Swallowing {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut seq = serializer.serialize_seq(None)?;
            let _ignored = seq.serialize_element(&Entries(vec![("a", f64::NAN)]));
            seq.serialize_element(&1)?;
            seq.end()
        }
    }
    assert!(matches!(refusal(&Swallowing).kind(), CanonicalErrorKind::Custom(_)));
    assert!(matches!(refusal(&[Swallowing]).kind(), CanonicalErrorKind::Custom(_)));

    struct Unpaired(u8);
    impl Serialize for Unpaired {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            match self.0 {
                0 => map.serialize_key("a")?,
                1 => map.serialize_value("a")?,
                _ => {
                    map.serialize_key("a")?;
                    map.serialize_key("b")?;
                }
            }
            map.end()
        }
    }
    for how in 0..3 {
        assert!(matches!(refusal(&Unpaired(how)).kind(), CanonicalErrorKind::Custom(_)));
    }
}

#[test]
fn errors_read_as_words() {
    assert_eq!(refusal(&[f64::NAN]).to_string(), "put `[0]` into canonical form: the number is NaN or infinite");
    assert_eq!(refusal(&f64::NAN).to_string(), "put the value into canonical form: the number is NaN or infinite");
}
