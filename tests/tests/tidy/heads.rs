//! Every Rust file opens with `//!`: what it is for, what it must not know.
//!
//! Whether the words are true is a reader's business, not this rule's.

use super::rule::{Breach, Rule};

const HEADS: Rule = Rule {
    name: "head",
    cure: "open the file with `//!`: what it is for, what it must not know",
    exceptions: &[],
    find: |source| {
        let headless = source.is_rust() && !source.text.starts_with("//!");
        headless.then(|| Breach::new(1, "the file does not say what it is for")).into_iter().collect()
    },
};

#[test]
fn every_file_says_what_it_is_for() {
    HEADS.check();
}

#[test]
fn a_file_without_a_head_is_found() {
    assert_eq!(HEADS.lines("xtask/src/main.rs", "fn main() {}"), [1]);
    assert!(HEADS.lines("xtask/src/main.rs", "//! Speaks.\nfn main() {}").is_empty());
}
