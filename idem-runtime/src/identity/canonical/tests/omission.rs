//! Fields left out by name.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use super::super::{Canonical, CanonicalErrorKind, Presence};
use super::{LIMIT, raw};

/// The text of a value without some fields.
fn without<T: Serialize + ?Sized>(value: &T, omit: &[&str]) -> Result<String, String> {
    let mut canonical = Canonical::new(LIMIT);
    canonical.push(b"kept");
    let done = canonical.write_without(value, omit);
    let text = canonical.bytes().strip_prefix(b"kept").expect("what was there").to_vec();
    match done {
        Ok(_) => Ok(String::from_utf8(text).expect("UTF-8")),
        Err(error) => match error.kind() {
            CanonicalErrorKind::UnknownField(path) if text.is_empty() => Err(path.clone()),
            other => Err(format!("{other:?}")),
        },
    }
}

#[track_caller]
fn check<T: Serialize + ?Sized>(value: &T, omit: &[&str], expected: &str) {
    assert_eq!(without(value, omit).as_deref(), Ok(expected));
}

#[track_caller]
fn check_unknown<T: Serialize + ?Sized>(value: &T, omit: &[&str], path: &str) {
    assert_eq!(without(value, omit), Err(path.to_owned()));
}

#[derive(Serialize)]
struct Order {
    reason: f64,
    id: u8,
    meta: Option<Meta>,
    lines: Vec<Line>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<Meta>,
}

#[derive(Serialize, Clone)]
struct Meta {
    ts: u64,
    by: &'static str,
}

#[derive(Serialize)]
struct Line {
    note: &'static str,
    #[serde(rename = "quantity")]
    count: u8,
}

fn order() -> Order {
    let line = |note, count| Line { note, count };
    Order {
        reason: 0.5,
        id: 7,
        meta: Some(Meta { ts: 1, by: "me" }),
        lines: vec![line("a", 1), line("b", 2)],
        hint: None,
    }
}

#[test]
fn named_fields_are_left_out() {
    let lines = r#""lines":[{"note":"a","quantity":1},{"note":"b","quantity":2}]"#;
    check(&order(), &[], &format!(r#"{{"id":7,{lines},"meta":{{"by":"me","ts":1}},"reason":0.5}}"#));
    check(&order(), &["reason"], &format!(r#"{{"id":7,{lines},"meta":{{"by":"me","ts":1}}}}"#));
    check(&order(), &["meta.ts", "reason"], &format!(r#"{{"id":7,{lines},"meta":{{"by":"me"}}}}"#));
    check(&order(), &["meta", "reason", "lines"], r#"{"id":7}"#);
    check(&order(), &["meta", "meta.ts", "reason", "lines"], r#"{"id":7}"#);
    check(&order(), &["meta.by", "meta.ts", "reason", "lines"], r#"{"id":7,"meta":{}}"#);
}

#[test]
fn sequences_are_passed_through() {
    check(&order(), &["lines.note", "meta", "reason"], r#"{"id":7,"lines":[{"quantity":1},{"quantity":2}]}"#);
}

#[test]
fn a_left_out_value_is_not_looked_at() {
    check(&Order { reason: f64::NAN, lines: vec![], ..order() }, &["reason", "meta"], r#"{"id":7,"lines":[]}"#);
}

#[test]
fn a_field_that_never_comes_by_is_a_mistake() {
    check_unknown(&order(), &["raeson"], "raeson");
    check_unknown(&order(), &["reason", "meta.tz"], "meta.tz");
    // Its name in Rust, and a field of another level.
    check_unknown(&order(), &["lines.count"], "lines.count");
    check_unknown(&order(), &["ts"], "ts");
    check_unknown(&order(), &["id.ts"], "id.ts");
    check_unknown(&order(), &["meta.reason"], "meta.reason");
    check_unknown(&order(), &["meta.ts.x"], "meta.ts.x");
    check_unknown(&order(), &["meta."], "meta.");
    check_unknown(&order(), &[""], "");
    check_unknown(&7, &["a"], "a");
    let mut canonical = Canonical::new(LIMIT);
    let error = canonical.write_without(&order(), &["raeson"]).expect_err("a mistake");
    assert_eq!(
        error.to_string(),
        "put the value into canonical form: there is no field `raeson` to leave out; \
         its name in serde may differ from its name in Rust"
    );
}

#[test]
fn a_field_that_could_not_come_by_is_none() {
    check(&order(), &["hint", "reason", "meta", "lines"], r#"{"id":7}"#);
    check(&order(), &["hint.ts", "reason", "meta", "lines"], r#"{"id":7}"#);
    let bare = Order { meta: None, lines: vec![], ..order() };
    check(&bare, &["meta.ts", "lines.note", "reason"], r#"{"id":7,"lines":[],"meta":null}"#);
    let mut canonical = Canonical::new(LIMIT);
    let presence = canonical.write_without(&None::<Order>, &["reason"]).expect("null");
    assert_eq!(presence, Presence::Absent);
}

#[test]
fn other_variants_are_excused() {
    #[derive(Serialize)]
    enum Pay {
        Cash,
        Card { number: u8, ts: u8 },
        Wire(Meta),
    }
    let omit: &[&str] = &["Card.ts", "Wire.ts"];
    check(&Pay::Cash, omit, "\"Cash\"");
    check(&Pay::Card { number: 1, ts: 2 }, omit, r#"{"Card":{"number":1}}"#);
    check(&[Pay::Wire(Meta { ts: 1, by: "x" })], omit, r#"[{"Wire":{"by":"x"}}]"#);
    check_unknown(&Pay::Card { number: 1, ts: 2 }, &["Card.tz"], "Card.tz");
}

#[test]
fn maps_and_raw_values_are_met_too() {
    let value = json!({"b": {"ts": 1, "x.y": 2, "z": 3}, "a": [{"ts": 1}, {"n": 2}]});
    check(&value, &["b.ts", "b.x.y", "a.ts"], r#"{"a":[{},{"n":2}],"b":{"z":3}}"#);
    let text = r#"{"b":{"ts":[{"ts":1}],"x.y":2,"z":3},"a":[{"ts":1e999},{"n":2}]}"#;
    check_unknown(&raw(text), &["b.q"], "NotFinite");
    let text = text.replace("1e999", "1");
    check(&raw(&text), &["b.ts", "b.x.y", "a.ts"], r#"{"a":[{},{"n":2}],"b":{"z":3}}"#);
    check(&BTreeMap::from([(1, 2), (3, 4)]), &["1"], r#"{"3":4}"#);
    #[derive(Serialize)]
    struct Flat {
        id: u8,
        #[serde(flatten)]
        meta: Meta,
    }
    check(&Flat { id: 1, meta: Meta { ts: 2, by: "y" } }, &["ts"], r#"{"by":"y","id":1}"#);
}

/// The next call leaves out nothing.
#[test]
fn omission_ends_with_its_call() {
    let mut canonical = Canonical::new(LIMIT);
    let value = json!({"a": 1, "b": 2});
    let _presence = canonical.write_without(&value, &["a"]).expect("without a");
    let _error = canonical.write_without(&value, &["c"]).expect_err("a mistake");
    let _presence = canonical.write(&value).expect("whole");
    assert_eq!(canonical.bytes(), br#"{"b":2}{"a":1,"b":2}"#);
}
