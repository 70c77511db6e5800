//! Compares a text with a file in `idem-macros/tests/snapshots`; `IDEM_BLESS=1` writes the file anew.

use std::path::PathBuf;

/// Fails with the lines that differ.
pub(super) fn check(file: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(file);
    if std::env::var_os("IDEM_BLESS").is_some() {
        std::fs::write(&path, actual).expect("the snapshot can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == actual, "{file} changed; IDEM_BLESS=1 accepts it\n{}", difference(&expected, actual));
}

/// The lines that differ, between the common beginning and end.
fn difference(expected: &str, actual: &str) -> String {
    let (expected, actual): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let same = expected.iter().zip(&actual).take_while(|(left, right)| left == right).count();
    let (left, right) = (&expected[same..], &actual[same..]);
    let tail = left.iter().rev().zip(right.iter().rev()).take_while(|(left, right)| left == right).count();
    let mut text = format!("at line {}\n", same + 1);
    for (sign, lines) in [('-', left), ('+', right)] {
        for line in &lines[..lines.len() - tail] {
            text.extend([sign.to_string().as_str(), " ", line, "\n"]);
        }
    }
    text
}
