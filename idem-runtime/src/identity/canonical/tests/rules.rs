//! The rules of the form, one by one.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::json;

use super::super::{Canonical, Presence, sets};
use super::{Entries, LIMIT, raw, text};

#[test]
fn members_are_ordered_by_utf16() {
    // RFC 8785, 3.2.3.
    let members = Entries(vec![
        ("\u{20ac}", "Euro Sign"),
        ("\r", "Carriage Return"),
        ("\u{fb33}", "Hebrew Letter Dalet With Dagesh"),
        ("1", "One"),
        ("\u{1f600}", "Emoji: Grinning Face"),
        ("\u{80}", "Control"),
        ("\u{f6}", "Latin Small Letter O With Diaeresis"),
    ]);
    assert_eq!(
        text(&members),
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
         \"\u{f6}\":\"Latin Small Letter O With Diaeresis\",\"\u{20ac}\":\"Euro Sign\",\
         \"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}"
    );
    // By bytes U+E000 comes first.
    let expected = "{\"\u{1f600}\":2,\"\u{e000}\":1}";
    assert_eq!(text(&Entries(vec![("\u{e000}", 1), ("\u{1f600}", 2)])), expected);
    assert_eq!(text(&Entries(vec![("\u{1f600}", 2), ("\u{e000}", 1)])), expected);
}

/// An escape starts with a backslash, which sorts elsewhere than what it stands for.
#[test]
fn escaped_names_are_ordered_by_what_they_stand_for() {
    let names = ["", "\u{1}", "\t", "\n", "!", "\"", "#", "A", "Z", "[", "\\", "]", "a", "a\"", "aa"];
    let expected = Entries(names.iter().map(|name| (*name, ())).collect());
    let reversed = Entries(names.iter().rev().map(|name| (*name, ())).collect());
    let expected = serde_json::to_string(&expected).expect("JSON");
    assert_eq!(text(&reversed), expected);
}

#[test]
fn names_alike_up_to_any_length_are_ordered() {
    let mut names: Vec<String> = (0..24).map(|len| "customer_identifier_long"[..len].to_owned()).collect();
    names.extend(names.clone().iter().map(|name| format!("{name}\u{e9}")));
    names.extend((0..24).map(|len| format!("{}\u{0}", &"customer_identifier_long"[..len])));
    let tree: BTreeMap<&str, usize> = names.iter().map(|name| (name.as_str(), name.len())).collect();
    let shuffled = Entries(names.iter().rev().map(|name| (name.as_str(), name.len())).collect());
    assert_eq!(text(&shuffled), serde_json::to_string(&tree).expect("JSON"));
}

#[derive(Serialize)]
struct Unsorted {
    zeta: u8,
    alpha: Option<Box<Unsorted>>,
    mid: Vec<BTreeMap<&'static str, i8>>,
}

#[test]
fn nested_structs_are_ordered() {
    let leaf = |zeta| Unsorted { zeta, alpha: None, mid: vec![] };
    let mid = vec![BTreeMap::from([("b", 1), ("a", 2)]), BTreeMap::new()];
    let value = Unsorted { zeta: 1, alpha: Some(Box::new(leaf(2))), mid };
    assert_eq!(text(&value), r#"{"alpha":{"alpha":null,"mid":[],"zeta":2},"mid":[{"a":2,"b":1},{}],"zeta":1}"#);
}

#[test]
fn texts_are_escaped_as_jcs_escapes() {
    assert_eq!(text("\u{8}\t\n\u{c}\r\"\\/"), r#""\b\t\n\f\r\"\\/""#);
    assert_eq!(text("\u{0}\u{f}\u{1f}"), r#""\u0000\u000f\u001f""#);
    assert_eq!(text("\u{7f}\u{80}\u{2028}"), "\"\u{7f}\u{80}\u{2028}\"");
    // Every byte that matters at every place of the scan.
    for special in ["\"", "\\", "\n", "\u{1}", "\u{1f}", " ", "\u{7f}", "\u{e9}", "\u{ff22}", "\u{1f600}"] {
        for before in 0..20 {
            for after in 0..20 {
                let given = format!("{}{special}{}", "x".repeat(before), "y".repeat(after));
                assert_eq!(text(&given), serde_json::to_string(&given).expect("JSON"));
                let twice = format!("{given}{special}");
                assert_eq!(text(&twice), serde_json::to_string(&twice).expect("JSON"));
            }
        }
    }
}

/// R008: spellings are data; folding them is the user's choice, made before.
#[test]
fn texts_are_never_normalised() {
    assert_ne!(text("Jos\u{e9}"), text("Jose\u{301}"));
}

#[test]
fn printed_values_are_texts() {
    struct Printed;
    impl Serialize for Printed {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(&format_args!("{}-\"{}\"-{}", 1, "q\n", 'é'))
        }
    }
    assert_eq!(text(&Printed), r#""1-\"q\n\"-é""#);
}

#[derive(Serialize, PartialEq, Eq, Hash, PartialOrd, Ord, Clone, Copy)]
enum Shape {
    Unit,
    Newtype(u8),
    Tuple(u8, u8),
    Struct { y: u8, x: u8 },
}

#[test]
fn enums_are_tagged_from_outside() {
    let shapes = [Shape::Unit, Shape::Newtype(1), Shape::Tuple(1, 2), Shape::Struct { y: 1, x: 2 }];
    assert_eq!(text(&shapes), r#"["Unit",{"Newtype":1},{"Tuple":[1,2]},{"Struct":{"x":2,"y":1}}]"#);
}

#[test]
fn wrappers_are_what_they_hold() {
    #[derive(Serialize)]
    struct Newtype(Option<Box<Option<u8>>>);
    #[derive(Serialize)]
    struct Unit;
    #[derive(Serialize)]
    struct Pair(char, ());
    assert_eq!(text(&Newtype(Some(Box::new(Some(7))))), "7");
    assert_eq!(text(&(Newtype(None), Unit, Pair('é', ()))), "[null,null,[\"é\",null]]");
}

#[test]
fn bytes_are_no_text() {
    assert_eq!(text(serde_bytes::Bytes::new(b"a\xff")), "[97,255]");
    assert_eq!(text(serde_bytes::Bytes::new(b"")), "[]");
}

#[test]
fn names_that_are_not_text_go_by_their_text() {
    #[derive(Serialize, PartialEq, Eq, Hash, PartialOrd, Ord)]
    struct Id(u32);
    assert_eq!(text(&BTreeMap::from([(9, 'a'), (10, 'b'), (-1, 'c')])), r#"{"-1":"c","10":"b","9":"a"}"#);
    assert_eq!(text(&BTreeMap::from([(i128::MIN, 1)])), r#"{"-170141183460469231731687303715884105728":1}"#);
    assert_eq!(text(&BTreeMap::from([(true, 1), (false, 2)])), r#"{"false":2,"true":1}"#);
    assert_eq!(text(&BTreeMap::from([('"', 1)])), r#"{"\"":1}"#);
    assert_eq!(text(&BTreeMap::from([(Shape::Unit, 1)])), r#"{"Unit":1}"#);
    assert_eq!(text(&BTreeMap::from([(Id(7), 1)])), r#"{"7":1}"#);
}

#[test]
fn only_null_at_the_top_is_absent() {
    let presence = |value: &dyn Fn(&mut Canonical) -> Presence| value(&mut Canonical::new(LIMIT));
    assert_eq!(presence(&|c| c.write(&None::<u8>).expect("null")), Presence::Absent);
    assert_eq!(presence(&|c| c.write(&()).expect("null")), Presence::Absent);
    assert_eq!(presence(&|c| c.write(&json!(null)).expect("null")), Presence::Absent);
    assert_eq!(presence(&|c| c.write(&raw(" null ")).expect("null")), Presence::Absent);
    assert_eq!(presence(&|c| c.write(&Some(0)).expect("0")), Presence::Given);
    assert_eq!(presence(&|c| c.write("null").expect("text")), Presence::Given);
    assert_eq!(presence(&|c| c.write(&[None::<u8>]).expect("array")), Presence::Given);
}

/// R009: twenty maps, twenty random states, one text.
#[test]
fn hash_maps_have_one_text() {
    let build = || (0..40).map(|i| (format!("key{i}"), i)).collect::<HashMap<String, i64>>();
    let first = text(&build());
    for _ in 0..20 {
        assert_eq!(text(&build()), first);
    }
}

#[derive(Serialize)]
#[expect(clippy::box_collection, reason = "a set behind a pointer is the case")]
struct Sets<'a> {
    plain: HashSet<i32>,
    maybe: Option<HashSet<i32>>,
    boxed: Box<HashSet<i32>>,
    lent: &'a HashSet<i32>,
    many: Vec<HashSet<i32>>,
    mapped: BTreeMap<u8, HashSet<i32>>,
    tree: BTreeSet<i32>,
    list: Vec<i32>,
}

#[test]
fn sets_have_one_text_at_any_depth() {
    let build = || [3, 20, 1, -4, 100, 5].into_iter().collect::<HashSet<i32>>();
    let sorted = "[-4,1,100,20,3,5]";
    for _ in 0..20 {
        let lent = build();
        let value = Sets {
            plain: build(),
            maybe: Some(build()),
            boxed: Box::new(build()),
            lent: &lent,
            many: vec![build(), HashSet::new()],
            mapped: BTreeMap::from([(1, build())]),
            tree: build().into_iter().collect(),
            list: vec![3, 1, 2],
        };
        assert_eq!(
            text(&value),
            format!(
                r#"{{"boxed":{sorted},"lent":{sorted},"list":[3,1,2],"many":[{sorted},[]],"mapped":{{"1":{sorted}}},"maybe":{sorted},"plain":{sorted},"tree":[-4,1,3,5,20,100]}}"#
            )
        );
        assert_eq!(text(&build()), sorted);
        assert_eq!(text(&Some(&lent)), sorted);
    }
}

/// How the compiler names these types is not promised; sorting them rests on it.
#[test]
fn set_types_are_known_by_name() {
    assert!(sets::is_unordered::<HashSet<String>>());
    assert!(sets::is_unordered::<&HashSet<u8>>());
    assert!(sets::is_unordered::<Box<HashSet<u8>>>());
    assert!(sets::is_unordered::<Arc<HashSet<u8>>>());
    assert!(sets::is_unordered::<Rc<HashSet<u8>>>());
    assert!(sets::is_unordered::<BinaryHeap<u8>>());
    assert!(!sets::is_unordered::<Vec<HashSet<u8>>>());
    assert!(!sets::is_unordered::<HashMap<u8, HashSet<u8>>>());
    assert!(!sets::is_unordered::<[u8]>());
}

#[test]
fn raw_values_are_read() {
    let samples = [
        (" { \"b\" : [ 1.0 , 2e0 ,\ttrue ] ,\n\"a\" : { } } ", r#"{"a":{},"b":[1,2,true]}"#),
        (
            r#"{"\u0062":1,"a":"\u00e9\/\ud83d\ude00\u0007\"\\\b\f\n\r\t"}"#,
            "{\"a\":\"é/\u{1f600}\\u0007\\\"\\\\\\b\\f\\n\\r\\t\",\"b\":1}",
        ),
        ("[[],[[]],null,false,\"\",-0,123456789012345678901]", "[[],[[]],null,false,\"\",0,123456789012345678901]"),
        ("\"x\\u0041y\\u0042\"", "\"xAyB\""),
    ];
    for (given, expected) in samples {
        assert_eq!(text(&raw(given)), expected);
        let own: Box<serde_json::value::RawValue> = serde_json::from_str(given).expect("JSON");
        assert_eq!(text(&own), expected);
        assert_eq!(text(&vec![own]), format!("[{expected}]"));
    }
}
