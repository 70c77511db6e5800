//! Runs the tests that have to notice a bug, and says whether they did.
//!
//! It must not know which bug. A bug that does not compile proves nothing; one that makes a test hang is noticed.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    bug::{Bug, Test},
    copy::Copy,
};

/// How long the tests of one binary may take before they count as hanging. Without a bug each of them takes seconds.
const HANGS: Duration = Duration::from_mins(3);
const LOOK: Duration = Duration::from_millis(50);

/// What became of a bug.
pub(crate) enum Verdict {
    Killed,
    /// These tests passed all the same.
    Survived(Vec<String>),
}

impl Verdict {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Survived(_) => "SURVIVED",
        }
    }
}

/// The tests with the bug in the copy: every one of them has to fail.
pub(crate) fn run(copy: &Copy, build: &Path, bug: &Bug) -> Result<Verdict> {
    let mut unnoticed = Vec::new();
    let tests: Vec<&Test> = bug.tests.iter().collect();
    for ((package, target), names) in binaries(&tests) {
        let failed = failures(copy, build, (package, target), &names)?;
        unnoticed.extend(names.into_iter().filter(|name| !failed.contains(&(*name).to_owned())).map(str::to_owned));
    }
    Ok(if unnoticed.is_empty() { Verdict::Killed } else { Verdict::Survived(unnoticed) })
}

/// The names by package and target, each once.
fn binaries<'t>(tests: &[&'t Test]) -> BTreeMap<(&'t str, &'t str), Vec<&'t str>> {
    let mut binaries: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for test in tests {
        let names = binaries.entry((test.package.as_str(), test.target.as_str())).or_default();
        if !names.contains(&test.name.as_str()) {
            names.push(&test.name);
        }
    }
    binaries
}

/// Those of the tests that fail. Those that have not ended after a while fail too.
fn failures(copy: &Copy, build: &Path, (package, target): (&str, &str), names: &[&str]) -> Result<Vec<String>> {
    let mut cargo = vec!["test", "--package", package];
    match target {
        "lib" => cargo.push("--lib"),
        test => cargo.extend(["--test", test]),
    }
    let command = |rest: &[&str]| {
        let mut command = Command::new("cargo");
        command.args(&cargo).args(rest).current_dir(&copy.root).env("CARGO_TARGET_DIR", build).stdin(Stdio::null());
        command.process_group(0);
        command
    };
    let built = command(&["--quiet", "--no-run"]).status().context("failed to run cargo")?;
    ensure!(built.success(), "`{package}` does not compile");

    let said = build.join("planted-said.txt");
    let exact: Vec<&str> = ["--", "--exact"].into_iter().chain(names.iter().copied()).collect();
    let mut running =
        command(&exact).stdout(File::create(&said)?).stderr(Stdio::null()).spawn().context("failed to run cargo")?;
    let begun = Instant::now();
    while running.try_wait()?.is_none() {
        if begun.elapsed() > HANGS {
            // The tests, and the children of tests, are in cargo's group.
            Command::new("kill").args(["-KILL", "--", &format!("-{}", running.id())]).status()?;
            running.wait()?;
            break;
        }
        thread::sleep(LOOK);
    }
    let said = fs::read_to_string(&said)?;
    let passed = |name: &str| said.lines().any(|line| line == format!("test {name} ... ok"));
    // Where all tests came to an end, each of them is named.
    let named = |name: &str| !said.contains("test result: ") || said.contains(&format!("test {name} ... "));
    if let Some(unknown) = names.iter().find(|name| !named(name)) {
        bail!("`{target}` of `{package}` has no test `{unknown}`");
    }
    Ok(names.iter().filter(|name| !passed(name)).map(|name| (*name).to_owned()).collect())
}
