//! Tests of the canonical form, by what they hold it against: [`golden`] its own past, [`numbers`] and [`rules`]
//! the rules as written, [`refusals`] what must not pass, [`omission`] fields left out, [`properties`] other
//! implementations and itself.

#![expect(clippy::items_after_statements, reason = "a type that one check needs stands beside it")]

mod golden;
mod numbers;
mod omission;
mod properties;
mod refusals;
mod rules;

use std::cell::Cell;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::{Canonical, CanonicalError, CanonicalErrorKind};

/// Limit of the values in these tests.
const LIMIT: usize = 1 << 20;

/// The canonical text of a value.
#[track_caller]
fn text<T: Serialize + ?Sized>(value: &T) -> String {
    let mut canonical = Canonical::new(LIMIT);
    let _presence = canonical.write(value).expect("a canonical form");
    String::from_utf8(canonical.bytes().to_vec()).expect("UTF-8")
}

/// Why a value has none; what was written before must stay alone.
#[track_caller]
fn refusal<T: Serialize + ?Sized>(value: &T) -> CanonicalError {
    let mut canonical = Canonical::new(LIMIT);
    canonical.push(b"before,");
    let error = canonical.write(value).expect_err("a refusal");
    assert_eq!(canonical.bytes(), b"before,");
    // And the writer still works.
    let _presence = canonical.write(&[(1, "a")]).expect("the writer after an error");
    assert_eq!(canonical.bytes(), b"before,[[1,\"a\"]]");
    error
}

/// One check: the kind and the path of a refusal.
#[track_caller]
fn check_refusal<T: Serialize + ?Sized>(value: &T, kind: &CanonicalErrorKind, path: &str) {
    let error = refusal(value);
    assert_eq!((error.kind(), error.path()), (kind, path));
}

/// Entries in the order given, repeated names and all, as no map type has them.
struct Entries<K, V>(Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Entries<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// What `serde_json` makes of a number under `arbitrary_precision`, whether or not it is on here.
#[derive(Serialize)]
#[serde(rename = "$serde_json::private::Number")]
struct NumberText {
    /// The number as JSON text.
    #[serde(rename = "$serde_json::private::Number")]
    text: String,
}

/// A number given as text.
fn number(text: &str) -> NumberText {
    NumberText { text: text.to_owned() }
}

/// What `serde_json` makes of a raw value; unlike its own, this may hold text that is not JSON.
#[derive(Serialize)]
#[serde(rename = "$serde_json::private::RawValue")]
struct RawText {
    /// JSON text.
    #[serde(rename = "$serde_json::private::RawValue")]
    text: String,
}

/// A raw value.
fn raw(text: &str) -> RawText {
    RawText { text: text.to_owned() }
}

/// A small generator (splitmix64), so that a run repeats from its seed.
struct Random(Cell<u64>);

impl Random {
    /// Starts from a seed.
    fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    /// The next 64 bits.
    fn bits(&self) -> u64 {
        self.0.set(self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut z = self.0.get();
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    fn below(&self, bound: u64) -> u64 {
        self.bits() % bound
    }
}
