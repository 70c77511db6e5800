//! The code of the chapter `docs/testing-your-tool.md` is the code of this crate.
//!
//! Blocks that are marked `ignore` are parts of it with something changed or left out. It must not know what the code does.

const CHAPTER: &str = include_str!("../../../docs/testing-your-tool.md");
const SOURCES: [&str; 3] =
    [include_str!("../src/refund.rs"), include_str!("../src/ticket.rs"), include_str!("../src/booking/restaurant.rs")];

/// The Rust blocks of a page.
fn blocks(page: &str) -> Vec<&str> {
    let opened = page.split("```rust\n").skip(1);
    opened.map(|rest| rest.split("```").next().unwrap_or(rest)).collect()
}

#[test]
fn every_block_of_the_chapter_is_code_that_is_tested() {
    let blocks = blocks(CHAPTER);
    assert!(blocks.len() >= 4, "the chapter has code: {blocks:?}");
    for block in blocks {
        assert!(SOURCES.iter().any(|source| source.contains(block)), "not in examples/harness as it stands:\n{block}");
    }
}

#[test]
fn the_first_fixture_has_at_most_fifteen_lines() {
    let fixture = blocks(CHAPTER).into_iter().find(|block| block.contains("Fixture<")).expect("a fixture");
    assert!(fixture.lines().count() <= 15, "{fixture}");
}

#[test]
fn a_block_ends_where_it_is_closed() {
    assert_eq!(blocks("a\n```rust\nfn f() {}\n```\nb\n```rust,ignore\nno\n```\n"), ["fn f() {}\n"]);
}
