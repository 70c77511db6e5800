//! Golden vectors: texts and digests that no change of code, compiler, platform or feature may move. A new rule
//! needs a new version of the form and a new file.
//!
//! `golden.txt` holds a line for each: what is written, its canonical text, the SHA-256 of the text; tabs between.
//! `json …` is parsed to a `serde_json::Value`, `raw …` kept as JSON text, `typed …` names a value below.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::super::VERSION;
use super::{number, raw, text};

#[derive(Serialize)]
struct Booking {
    zone: Option<&'static str>,
    seats: u8,
    price: f64,
    account: u128,
    method: Method,
    notes: HashMap<char, f32>,
    tags: HashSet<&'static str>,
}

#[derive(Serialize)]
enum Method {
    Card {
        number: &'static str,
        code: i16,
    },
    #[serde(rename = "cash")]
    Cash,
}

/// The value that a line names.
fn typed(name: &str) -> String {
    match name {
        "booking" => text(&Booking {
            zone: None,
            seats: 2,
            price: 129.90,
            account: u128::MAX,
            method: Method::Card { number: "42", code: -1 },
            notes: HashMap::from([('b', 1.1), ('a', -0.0)]),
            tags: HashSet::from(["vip", "late", "quiet"]),
        }),
        "cash" => text(&Method::Cash),
        "i128::MIN" => text(&i128::MIN),
        "u64 2^53+1" => text(&((1_u64 << 53) + 1)),
        "f64 2^68" => text(&2_f64.powi(68)),
        "f64 9.999999999999997e22" => text(&9.999_999_999_999_997e22),
        "f32 0.1" => text(&0.1_f32),
        "bytes" => text(serde_bytes::Bytes::new(b"\x00\xff")),
        "map of integers" => text(&BTreeMap::from([(9_i64, true), (10, false)])),
        "number -0" => text(&number("-0")),
        "number 2^70" => text(&number("1180591620717411303424")),
        other => panic!("no value for `{other}`"),
    }
}

/// A digest as people compare it.
fn hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[test]
fn golden_vectors_hold() {
    assert_eq!(VERSION, 1);
    let mut count = 0;
    for line in include_str!("golden.txt").lines().filter(|line| !line.starts_with('#')) {
        let [input, expected, digest] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("three columns: {line}")
        };
        let (kind, what) = input.split_once(' ').expect("a kind and a value");
        let written = match kind {
            "json" => text(&serde_json::from_str::<Value>(what).expect("JSON")),
            "raw" => text(&raw(what)),
            "typed" => typed(what),
            other => panic!("no kind `{other}`"),
        };
        assert_eq!((written.as_str(), hex(&written).as_str()), (expected, digest), "{input}");
        count += 1;
    }
    assert!(count >= 30, "the file holds {count} vectors");
}
