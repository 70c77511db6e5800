//! What cargo says about this workspace, and a shell that stands in its root.
//!
//! It must not know members by name: whoever asks brings the name along.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use xshell::{Shell, cmd};

/// A shell in the workspace's root, wherever the command was typed.
pub(crate) fn shell() -> Result<Shell> {
    let sh = Shell::new()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    sh.change_dir(root.context("xtask is a folder of the workspace")?);
    Ok(sh)
}

/// The part of `cargo metadata` that steps read.
#[derive(Deserialize)]
pub(crate) struct Workspace {
    packages: Vec<Package>,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    features: BTreeMap<String, Vec<String>>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
    #[serde(rename = "required-features", default)]
    required_features: Vec<String>,
}

/// An example, and the features without which it is not built.
pub(crate) struct Example {
    pub(crate) name: String,
    pub(crate) features: Vec<String>,
}

impl Workspace {
    pub(crate) fn read(sh: &Shell) -> Result<Self> {
        let json = cmd!(sh, "cargo metadata --no-deps --format-version 1").quiet().read()?;
        serde_json::from_str(&json).context("failed to read the answer of cargo metadata")
    }

    /// The features of one member, without the set that is on by default.
    pub(crate) fn features(&self, member: &str) -> Result<Vec<String>> {
        let package = self.packages.iter().find(|package| package.name == member);
        let names = package.with_context(|| format!("no member is named `{member}`"))?.features.keys();
        Ok(names.filter(|name| *name != "default").cloned().collect())
    }

    /// Where builds go.
    pub(crate) fn target_directory(&self) -> &Path {
        &self.target_directory
    }

    /// Where a program of the workspace lies once it is built.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.target_directory.join("debug").join(name).with_extension(env::consts::EXE_EXTENSION)
    }

    /// All examples, in the order of their names.
    pub(crate) fn examples(&self) -> Vec<Example> {
        let targets = self.packages.iter().flat_map(|package| &package.targets);
        let examples = targets.filter(|target| target.kind.iter().any(|kind| kind == "example"));
        let described =
            |target: &Target| Example { name: target.name.clone(), features: target.required_features.clone() };
        let mut examples: Vec<_> = examples.map(described).collect();
        examples.sort_by(|one, other| one.name.cmp(&other.name));
        examples
    }
}
