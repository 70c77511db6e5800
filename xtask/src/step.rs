//! The steps of `cargo xtask ci`, their order, and what each one runs.
//!
//! A step must not know which steps went before it: any of them can be run alone. They share one target directory and,
//! wherever a check allows it, one set of features (`--workspace --all-features`), so that dependencies are built once.

use std::time::Instant;

use anyhow::{Context, Result};
use clap::ValueEnum;
use xshell::{Shell, cmd};

use crate::needs::{self, Missing};
use crate::workspace::{self, Workspace};
use crate::{examples, planted};

/// What a change must pass, in order: what fails fast stands first.
pub(crate) const CI: [Step; 10] = [
    Step::Fmt,
    Step::Planted,
    Step::Clippy,
    Step::Features,
    Step::Deny,
    Step::Needs,
    Step::Tests,
    Step::Doctests,
    Step::Docs,
    Step::Examples,
];

/// The README's test command, and the same steps of [`CI`].
pub(crate) const TEST: [Step; 3] = [Step::Needs, Step::Tests, Step::Doctests];

/// The crate that users depend on with features of their choice, so each of them must stand alone.
const FEATURED: &str = "idem-runtime";

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Step {
    /// Formatting
    Fmt,
    /// Whether the bugs of `cargo xtask planted` can still be planted
    Planted,
    /// Lints of all targets with all features, warnings denied
    Clippy,
    /// Lints of the library without features and with each feature alone
    Features,
    /// Bans, licences and sources of dependencies
    Deny,
    /// What the tests need on this machine
    Needs,
    /// Unit and integration tests
    Tests,
    /// The code in the documentation
    Doctests,
    /// Documentation, warnings denied
    Docs,
    /// The output of every example against its expected one
    Examples,
}

/// Runs the steps in order and stops at the first that fails.
pub(crate) fn run(steps: &[Step], missing: Missing) -> Result<()> {
    let sh = workspace::shell()?;
    let begun = Instant::now();
    for step in steps {
        let (name, purpose) = step.words();
        println!("\n== {name}: {purpose}");
        let started = Instant::now();
        step.run(&sh, missing).with_context(|| format!("stopped at `{name}` (alone: `cargo xtask step {name}`)"))?;
        println!("== {name}: passed in {:.1} s", started.elapsed().as_secs_f64());
    }
    println!("\n== passed in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

impl Step {
    /// Its name on the command line, and what `--help` says of it.
    fn words(self) -> (String, String) {
        let value = self.to_possible_value().expect("no step is hidden");
        let purpose = value.get_help().map(ToString::to_string);
        (value.get_name().to_owned(), purpose.unwrap_or_default())
    }

    fn run(self, sh: &Shell, missing: Missing) -> Result<()> {
        match self {
            Self::Fmt => cmd!(sh, "cargo fmt --all --check").run()?,
            Self::Planted => planted::check(sh)?,
            Self::Clippy => {
                cmd!(sh, "cargo clippy --workspace --all-targets --all-features -- -D warnings").run()?;
            }
            Self::Features => features(sh)?,
            Self::Deny => {
                needs::provide(sh, &[needs::CARGO_DENY], missing)?;
                cmd!(sh, "cargo deny check bans licenses sources").run()?;
            }
            Self::Needs => needs::provide(sh, &needs::OF_TESTS, missing)?,
            Self::Tests => tests(sh)?,
            Self::Doctests => cmd!(sh, "cargo test --doc --workspace --all-features").run()?,
            Self::Docs => {
                let docs = cmd!(sh, "cargo doc --no-deps --workspace --all-features");
                docs.env("RUSTDOCFLAGS", "-D warnings").run()?;
            }
            Self::Examples => {
                needs::provide(sh, &needs::OF_TESTS, missing)?;
                examples::check(sh)?;
            }
        }
        Ok(())
    }
}

/// Only the library target: tests and their dependencies would switch on features that users do not have.
fn features(sh: &Shell) -> Result<()> {
    let lint = |chosen: &[&str]| {
        cmd!(sh, "cargo clippy --package {FEATURED} --lib --no-default-features {chosen...} -- -D warnings").run()
    };
    lint(&[])?;
    for feature in Workspace::read(sh)?.features(FEATURED)? {
        lint(&["--features", &feature])?;
    }
    Ok(())
}

/// The variable that names a PostgreSQL server which is there already.
const SERVER: &str = "IDEM_TEST_POSTGRES_URL";

/// Recordings that stand beside the repository on some machines, below `../shared`, and the variable that names each to its
/// tests. Without one the tests use those of the repository.
const RECORDINGS: [(&str, &str); 2] = [("IDEM_TRACES_DIR", "traces"), ("IDEM_RECORDED_DIR", "transcripts")];

/// nextest runs tests of all binaries at once; without it cargo's own runner tells the same, later. Each of nextest's tests
/// is a process of its own: one server for all of them is started before, unless one is named.
fn tests(sh: &Shell) -> Result<()> {
    let mut named = Vec::new();
    for (variable, folder) in RECORDINGS {
        let folder = sh.current_dir().with_file_name("shared").join(folder);
        if sh.var(variable).is_ok() {
            continue;
        }
        if folder.is_dir() {
            named.push(sh.push_env(variable, folder));
        } else {
            println!("{} is not there: its tests read the repository's own recordings alone", folder.display());
        }
    }
    // No doctests: they are a step of their own, and nextest runs none.
    let (run, all): (&[&str], &[&str]) = if needs::answers(sh, "cargo", &["nextest", "--version"]) {
        (&["nextest", "run"], &["--workspace", "--all-features"])
    } else {
        (&["test"], &["--workspace", "--all-features", "--lib", "--bins", "--tests", "--examples"])
    };
    if sh.var(SERVER).is_ok() {
        cmd!(sh, "cargo {run...} {all...}").run()?;
    } else {
        // With the tests also the program is built that starts the server, and stops it whatever becomes of them.
        cmd!(sh, "cargo {run...} {all...} --no-run").run()?;
        let beside_server = Workspace::read(sh)?.program("beside-server");
        cmd!(sh, "{beside_server} cargo {run...} {all...}").run()?;
    }
    // The digests once more, without the features of other crates that "all features" turns on.
    cmd!(sh, "cargo {run...} --package idem-runtime --package idem-tests --lib --test identity").run()?;
    Ok(())
}
