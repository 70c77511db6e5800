//! One planted bug: a patch with a head that says what it is and which tests have to fail.
//!
//! It must not know how tests are run.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use xshell::{Shell, cmd};

/// Where the patches are.
const FOLDER: &str = "tests/planted";

/// A bug.
pub(crate) struct Bug {
    /// The file's name.
    pub(crate) name: String,
    pub(crate) patch: PathBuf,
    /// All of them have to fail.
    pub(crate) tests: Vec<Test>,
    /// The files that it changes, relative to the root.
    pub(crate) files: Vec<String>,
}

/// `test: PACKAGE TARGET NAME` in the head of a patch; TARGET is `lib` or the name of an integration test.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Test {
    pub(crate) package: String,
    pub(crate) target: String,
    pub(crate) name: String,
}

impl Bug {
    /// All bugs, by name.
    pub(crate) fn all(sh: &Shell) -> Result<Vec<Self>> {
        let mut bugs = Vec::new();
        for path in sh.read_dir(FOLDER)? {
            if path.extension().is_some_and(|extension| extension == "patch") {
                bugs.push(Self::read(sh, &path)?);
            }
        }
        ensure!(!bugs.is_empty(), "no patch below {FOLDER}");
        Ok(bugs)
    }

    /// These bugs; all where none is named.
    pub(crate) fn named(sh: &Shell, names: &[String]) -> Result<Vec<Self>> {
        let all = Self::all(sh)?;
        if let Some(unknown) = names.iter().find(|name| all.iter().all(|bug| bug.name != **name)) {
            let known: Vec<_> = all.iter().map(|bug| bug.name.as_str()).collect();
            bail!("no bug is called `{unknown}`; there are {}", known.join(", "));
        }
        Ok(all.into_iter().filter(|bug| names.is_empty() || names.contains(&bug.name)).collect())
    }

    fn read(sh: &Shell, path: &Path) -> Result<Self> {
        let text = sh.read_file(path)?;
        let name = path.file_stem().and_then(|stem| stem.to_str()).context("a patch has a name")?.to_owned();
        let head = text.lines().take_while(|line| !line.starts_with("diff ")).filter_map(|line| {
            let mut words = line.strip_prefix("test: ")?.split(' ').map(str::to_owned);
            Some(Test { package: words.next()?, target: words.next()?, name: words.next()? })
        });
        let tests: Vec<Test> = head.collect();
        let files: Vec<String> =
            text.lines().filter_map(|line| line.strip_prefix("+++ b/")).map(str::to_owned).collect();
        ensure!(!tests.is_empty(), "`{name}` names no test: write `test: PACKAGE TARGET NAME` above its patch");
        ensure!(!files.is_empty(), "`{name}` changes no file");
        Ok(Self { name, patch: path.to_owned(), tests, files })
    }

    /// Whether the patch still fits the working tree.
    pub(crate) fn fits(&self, sh: &Shell) -> Result<()> {
        let patch = &self.patch;
        let (name, cure) = (&self.name, "plant it anew where the code went, or remove it with a reason");
        cmd!(sh, "git apply --check {patch}")
            .quiet()
            .run()
            .with_context(|| format!("planted bug `{name}` does not fit any more: {cure}"))
    }

    pub(crate) fn tests_in_words(&self) -> String {
        let names: Vec<_> = self.tests.iter().map(|test| format!("{}::{}", test.target, test.name)).collect();
        names.join(", ")
    }
}
