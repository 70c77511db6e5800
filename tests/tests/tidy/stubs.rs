//! No test is switched off, waits by the clock or counts a panic as success; nothing is left to be written.
//!
//! Tokens are read, not text, so a string or a comment may name what code must not do.

use super::rule::{Breach, Rule};
use super::source::{Source, Token};

const STUBS: Rule = Rule {
    name: "stub",
    cure: "write it, or leave it out; a test that must fail checks the error it gets",
    exceptions: &[],
    find: |source| {
        let forms: [&[&str]; 6] = [
            &["#", "[", "ignore"],
            &[",", "ignore", ")", "]"],
            &["#", "[", "should_panic"],
            &[",", "should_panic", ")", "]"],
            &["todo", "!"],
            &["unimplemented", "!"],
        ];
        found(source.is_rust(), source, &forms)
    },
};

const SLEEPS: Rule = Rule {
    name: "sleep",
    cure: "wait for what happens, or move a clock by hand",
    exceptions: &[],
    find: |source| found(source.is_rust_in(&["tests/"]), source, &[&["sleep"], &["sleep_until"]]),
};

/// Where one of the forms stands in the file, if the rule applies to it.
fn found(applies: bool, source: &Source, forms: &[&[&str]]) -> Vec<Breach> {
    let tokens = if applies { source.tokens() } else { Vec::new() };
    let at = |start: &[Token], form: &[&str]| {
        start.len() >= form.len() && start.iter().zip(form).all(|(token, text)| token.text == *text)
    };
    let starts = (0..tokens.len()).map(|start| &tokens[start..]);
    let hits = starts.filter_map(|start| Some((start[0].line, forms.iter().find(|form| at(start, form))?)));
    hits.map(|(line, form)| Breach::new(line, format!("`{}`", form.concat()))).collect()
}

#[test]
fn nothing_is_left_to_be_written() {
    STUBS.check();
}

#[test]
fn tests_do_not_sleep() {
    SLEEPS.check();
}

#[test]
fn stubs_and_silenced_tests_are_found() {
    for word in ["ignore", "should_panic"] {
        let plain = format!("\n#[{word}]\nfn f() {{}}");
        let reasoned = format!("\n#[{word} = \"later\"]\nfn f() {{}}");
        let hidden = format!("\n#[cfg_attr(unix, {word})]\nfn f() {{}}");
        assert_eq!([plain, reasoned, hidden].map(|text| STUBS.lines("benches/src/lib.rs", &text)), [[2], [2], [2]]);
    }
    for word in ["todo", "unimplemented"] {
        assert_eq!(STUBS.lines("xtask/src/main.rs", &format!("fn f() {{\n{word}!()\n}}")), [2]);
        assert!(STUBS.lines("xtask/src/main.rs", &format!("const NAME: &str = \"{word}!\"; // {word}!")).is_empty());
    }
}

#[test]
fn a_sleep_is_found_in_tests_only() {
    let text = "use std::thread::{self, sleep};\nfn f() { select!(_ = tokio::time::sleep(ms)) }";
    assert_eq!(SLEEPS.lines("tests/tests/crash.rs", text), [1, 2]);
    assert!(SLEEPS.lines("examples/refund.rs", text).is_empty());
}
