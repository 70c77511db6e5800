//! What the compiler says of mistakes, word for word.
//!
//! A file below `ui/` is one mistake, in the folder of its kind and named after it; `TRYBUILD=overwrite` writes what
//! is said anew. It must not know how the macro finds a mistake. What compiles is in `macro_taken` and `macro_strict`.

use trybuild::TestCases;

/// These files do not compile, and the compiler says why.
fn refused(files: &[&str]) {
    let cases = TestCases::new();
    for file in files {
        cases.compile_fail(format!("ui/{file}.rs"));
    }
}

#[test]
fn every_mistake_is_told_where_it_stands() {
    refused(&["conflict/*", "malformed/*", "missing/*", "precondition/*", "unknown/*"]);
}

#[test]
fn r028_a_list_that_names_no_parameter_does_not_compile() {
    refused(&["unknown/name-in-list"]);
}

#[test]
fn r125_a_result_without_a_name_does_not_compile() {
    refused(&["precondition/impl-result", "missing/async"]);
}

#[test]
fn r127_names_and_words_are_checked() {
    refused(&[
        "conflict/argument-twice",
        "malformed/key",
        "unknown/name-in-list",
        "unknown/parameter-near-miss",
        "unknown/scope-near-miss",
    ]);
}

#[test]
fn what_a_tool_set_cannot_hold_does_not_compile() {
    refused(&["toolset/*"]);
}
