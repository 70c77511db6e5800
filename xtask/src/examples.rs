//! Runs every example and compares what it prints with what `examples/expected/NAME.txt` says.
//!
//! It must not know what an example shows. In an expected line `…` stands for any run of characters (an id, a
//! duration); everything else is literal, spaces at the end of a line apart.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use xshell::{Shell, cmd};

use crate::workspace::{Example, Workspace};

const EXPECTED: &str = "examples/expected";

/// Every example has an expected output and prints it; every expected output has an example.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let examples = Workspace::read(sh)?.examples();
    ensure!(!examples.is_empty(), "the workspace has no examples");
    // Without any feature: what a newcomer builds.
    cmd!(sh, "cargo build --quiet --examples").run()?;
    let mut failed = orphans(sh, &examples)?;
    for example in examples {
        let name = example.name.clone();
        match compare(sh, &example) {
            Ok(()) => println!("{name}: as expected"),
            Err(error) => {
                println!("{name}: {error:#}");
                failed.push(name);
            }
        }
    }
    ensure!(failed.is_empty(), "not as expected: {}", failed.join(", "));
    Ok(())
}

/// Files in the folder of expected outputs that belong to no example.
fn orphans(sh: &Shell, examples: &[Example]) -> Result<Vec<String>> {
    let known: BTreeSet<_> = examples.iter().map(|example| expected(&example.name)).collect();
    let files = if sh.path_exists(EXPECTED) { sh.read_dir(EXPECTED)? } else { Vec::new() };
    let names = files.iter().filter_map(|file| file.file_name());
    let paths = names.map(|name| Path::new(EXPECTED).join(name));
    let orphans: Vec<_> = paths.filter(|path| !known.contains(path)).map(|path| path.display().to_string()).collect();
    for orphan in &orphans {
        println!("{orphan}: no example has this name");
    }
    Ok(orphans)
}

fn expected(name: &str) -> PathBuf {
    Path::new(EXPECTED).join(name).with_extension("txt")
}

/// The command is the README's: what is compared is what a newcomer sees.
fn compare(sh: &Shell, Example { name, features }: &Example) -> Result<()> {
    let features = features.iter().flat_map(|feature| ["--features", feature]);
    let output = cmd!(sh, "cargo run --quiet --example {name} {features...}").ignore_status().output()?;
    let actual = String::from_utf8(output.stdout).context("the output is not UTF-8")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "failed with {}\n{actual}{errors}", output.status);
    let path = expected(name);
    ensure!(sh.path_exists(&path), "{} is missing; it would say\n{actual}", path.display());
    match first_difference(&sh.read_file(&path)?, &actual) {
        None => Ok(()),
        Some(difference) => bail!("{}: {difference}\n{actual}", path.display()),
    }
}

/// Says where the two first differ, if they do.
fn first_difference(expected: &str, actual: &str) -> Option<String> {
    let lines = |text: &str| text.trim_end().lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    let (expected, actual) = (lines(expected), lines(actual));
    let longest = expected.len().max(actual.len());
    (0..longest).find_map(|at| {
        let (want, got) = (expected.get(at), actual.get(at));
        let same = matches!((want, got), (Some(want), Some(got)) if fits(want, got));
        let or_end = |line: Option<&String>| line.map_or_else(|| "the end".to_owned(), |line| format!("`{line}`"));
        (!same).then(|| format!("line {}: expected {}, got {}", at + 1, or_end(want), or_end(got)))
    })
}

/// Whether a line is what the expected one says, `…` standing for any run of characters.
fn fits(expected: &str, line: &str) -> bool {
    let Some((head, rest)) = expected.split_once('…') else {
        return expected == line;
    };
    let Some(tail) = line.strip_prefix(head) else {
        return false;
    };
    let mut ends = tail.char_indices().map(|(at, _)| at).chain([tail.len()]);
    ends.any(|at| fits(rest, &tail[at..]))
}

#[cfg(test)]
mod tests {
    //! Comparing, which must be able to fail.

    use super::*;

    #[test]
    fn a_placeholder_stands_for_a_run_within_its_line() {
        assert!(fits("op … in … ms", "op 7f3a in 12 ms"));
        assert!(fits("…", ""));
        assert!(!fits("op …!", "op 7f3a"));
        assert!(!fits("attempts 2", "attempts 3"));
    }

    #[test]
    fn the_first_different_line_is_named() {
        assert_eq!(first_difference("a\nid …\n", "a  \nid 1"), None);
        let told = first_difference("a\nb", "a\nc");
        assert_eq!(told.as_deref(), Some("line 2: expected `b`, got `c`"));
        let told = first_difference("a", "a\nb");
        assert_eq!(told.as_deref(), Some("line 2: expected the end, got `b`"));
    }
}
