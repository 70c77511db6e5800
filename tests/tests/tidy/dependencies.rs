//! Each dependency of the published crates has a reason, and the whole tree of them is pinned and checked.
//!
//! Whether a reason is a good one is a reader's business.

use super::rule::{Breach, Rule};
use super::source::Source;

const REASONS: Rule = Rule {
    name: "dependency",
    cure: "say why it is needed, in a comment on its line or directly above",
    exceptions: &[],
    find: |source| {
        let crates = ["idem-macros", "idem-rig", "idem-rmcp", "idem-runtime"];
        let manifests = crates.map(|name| format!("{name}/Cargo.toml"));
        if manifests.contains(&source.path) { unreasoned(&source.text) } else { Vec::new() }
    },
};

const PINNED: Rule = Rule {
    name: "dependencies",
    cure: "commit Cargo.lock, and let `.ci/run` call `cargo xtask ci`, which runs cargo-deny",
    exceptions: &[],
    find: |source| {
        let says = |text: &str| source.text.contains(text);
        let broken = match source.path.as_str() {
            ".gitignore" if says("Cargo.lock") || says("*.lock") => "Cargo.lock is not committed",
            ".ci/run" if !says("cargo xtask ci") => "CI does not run `cargo xtask ci`",
            "xtask/src/step.rs" if !says("cargo deny check bans licenses sources") => "nothing runs cargo-deny",
            _ => return Vec::new(),
        };
        vec![Breach::new(1, broken)]
    },
};

/// The files without which [`PINNED`] has nothing to say.
const PINS: [&str; 5] = [".ci/run", ".gitignore", "Cargo.lock", "deny.toml", "xtask/src/step.rs"];

/// Dependencies without a comment. Members of the workspace need none: their places are the house's plan.
fn unreasoned(manifest: &str) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let (mut table, mut depth, mut above) = ("", 0, "");
    for (at, line) in manifest.lines().enumerate() {
        let (code, comment) = split_comment(line);
        let header = depth == 0 && code.starts_with('[');
        if header {
            table = code.trim_matches(['[', ']']);
        }
        let name = match depth {
            0 if header => table.split_once("dependencies.").map(|(_, name)| name),
            0 if table.ends_with("dependencies") => code.split(['.', ' ', '=']).next(),
            _ => None,
        };
        let foreign = name.filter(|name| !name.is_empty() && !name.starts_with("idem-"));
        let reasoned = comment.is_some() || above.starts_with('#');
        if let Some(name) = foreign.filter(|_| !reasoned) {
            breaches.push(Breach::new(at + 1, format!("`{name}` has no reason")));
        }
        depth = (depth + code.matches('[').count()).saturating_sub(code.matches(']').count());
        above = line.trim();
    }
    breaches
}

/// A line's code and its comment; a `#` between quotes is code.
fn split_comment(line: &str) -> (&str, Option<&str>) {
    let mark = line.match_indices('#').find(|(at, _)| line[..*at].matches('"').count().is_multiple_of(2));
    mark.map_or((line.trim(), None), |(at, _)| (line[..at].trim(), Some(&line[at..])))
}

#[test]
fn every_dependency_has_a_reason() {
    REASONS.check();
}

#[test]
fn dependencies_are_pinned_and_checked() {
    PINNED.check();
    let tree = Source::tree();
    let missing: Vec<_> = PINS.iter().filter(|path| !tree.iter().any(|source| source.path == **path)).collect();
    assert!(missing.is_empty(), "files without which nothing is pinned or checked: {missing:?}");
}

#[test]
fn a_dependency_without_a_reason_is_found() {
    let lines = |text: &str| REASONS.lines("idem-runtime/Cargo.toml", text);
    assert_eq!(lines("[dependencies]\nsha2 = \"0.11\"\nserde = \"1.0\" # results"), [2]);
    assert_eq!(lines("[dev-dependencies]\n# why\na = \"#1\"\nb.workspace = true\nidem-macros.workspace = true"), [4]);
    assert_eq!(lines("[target.'cfg(unix)'.dependencies]\nrustix = \"1.1\""), [2]);
    assert_eq!(lines("[dependencies.tokio]\nversion = \"1\""), [1]);
    assert!(lines("[features]\nsqlite = [\"dep:rusqlite\"]").is_empty());
    assert!(lines("[dependencies]\n# why\na = { version = \"1\", features = [\n    \"b\",\n] }").is_empty());
    assert!(REASONS.lines("benches/Cargo.toml", "[dependencies]\nsha2 = \"0.11\"").is_empty());
}

#[test]
fn an_unpinned_or_unchecked_tree_is_found() {
    assert_eq!(PINNED.lines(".gitignore", "/target\nCargo.lock"), [1]);
    assert_eq!(PINNED.lines(".ci/run", "cargo test"), [1]);
    assert_eq!(PINNED.lines("xtask/src/step.rs", "cargo test"), [1]);
}
