//! What the project needs from the machine beside Rust: how it is found, and how it gets there.
//!
//! One row a need. It must not know which step asks: a service that tests talk to is one more row of [`OF_TESTS`].

use std::{env, path::PathBuf};

use anyhow::{Result, bail};
use xshell::{Shell, cmd};

/// What the tests need, and the examples with them.
pub(crate) const OF_TESTS: [Need; 3] = [
    Need {
        what: "a C compiler",
        why: "SQLite is built from its source",
        found: |sh| {
            let compiler = sh.var("CC").unwrap_or_else(|_| "cc".to_owned());
            cfg!(target_env = "msvc") || answers(sh, &compiler, &["--version"])
        },
        source: Source::Debian(&["gcc", "libc6-dev"]),
        elsewhere: None,
    },
    Need {
        what: "PostgreSQL",
        why: "the tests of its store start servers of their own, and stop and copy some of them",
        found: |sh| {
            // Also where a server is named: those that are killed are never the named one.
            let needed = ["initdb", "pg_ctl", "pg_basebackup", "psql"];
            postgres_folders(sh).iter().any(|folder| needed.iter().all(|program| folder.join(program).exists()))
        },
        source: Source::Debian(&["postgresql"]),
        elsewhere: Some(
            "`dnf install postgresql-server postgresql`, `pacman -S postgresql` or `brew install postgresql`; or name the folder \
             of its programs in IDEM_TEST_POSTGRES_BIN",
        ),
    },
    Need {
        what: "PgBouncer",
        why: "the tests of PostgreSQL's store put it in front of a server",
        found: |sh| programs_folders(sh).iter().any(|folder| folder.join("pgbouncer").exists()),
        source: Source::Debian(&["pgbouncer"]),
        elsewhere: Some("`dnf install pgbouncer`, `pacman -S pgbouncer` or `brew install pgbouncer`"),
    },
];

/// Where programs are, also those that only root is expected to start.
fn programs_folders(sh: &Shell) -> Vec<PathBuf> {
    env::split_paths(&sh.var_os("PATH").unwrap_or_default()).chain(["/usr/sbin".into()]).collect()
}

/// Where PostgreSQL's programs may be: as the tests look for them.
fn postgres_folders(sh: &Shell) -> Vec<PathBuf> {
    if let Ok(folder) = sh.var("IDEM_TEST_POSTGRES_BIN") {
        return vec![folder.into()];
    }
    let path = sh.var_os("PATH").unwrap_or_default();
    let versions = sh.read_dir("/usr/lib/postgresql").unwrap_or_default();
    env::split_paths(&path).chain(versions.into_iter().map(|version| version.join("bin"))).collect()
}

/// What `ci` needs to judge dependencies.
pub(crate) const CARGO_DENY: Need = Need {
    what: "cargo-deny",
    why: "it checks bans, licences and sources of dependencies",
    found: |sh| answers(sh, "cargo", &["deny", "--version"]),
    source: Source::Cargo { name: "cargo-deny", version: "0.20.2" },
    elsewhere: None,
};

pub(crate) struct Need {
    what: &'static str,
    why: &'static str,
    found: fn(&Shell) -> bool,
    source: Source,
    /// What to do where the source is not for this system.
    elsewhere: Option<&'static str>,
}

enum Source {
    /// Packages of Debian and the systems that descend from it.
    Debian(&'static [&'static str]),
    /// A program from the crate registry.
    Cargo { name: &'static str, version: &'static str },
}

/// What to do about a need that is not met.
#[derive(Clone, Copy)]
pub(crate) enum Missing {
    Say,
    Install,
}

impl Missing {
    pub(crate) fn from_flag(install: bool) -> Self {
        if install { Self::Install } else { Self::Say }
    }
}

/// Checks every need, says which are missing and, if asked to, installs them.
pub(crate) fn provide(sh: &Shell, needs: &[Need], missing: Missing) -> Result<()> {
    let mut left = Vec::new();
    for need in needs {
        if (need.found)(sh) {
            println!("{}: found", need.what);
            continue;
        }
        println!("{}: missing ({}); comes with `{}`", need.what, need.why, need.source.command());
        if let Some(elsewhere) = need.elsewhere {
            println!("  elsewhere: {elsewhere}");
        }
        match missing {
            Missing::Say => left.push(need.what),
            Missing::Install => need.source.install(sh)?,
        }
    }
    if left.is_empty() {
        return Ok(());
    }
    bail!("missing: {}; add `--install` to install it, or do it by hand", left.join(", "))
}

/// Whether a program can be started and says that all is well.
pub(crate) fn answers(sh: &Shell, program: &str, args: &[&str]) -> bool {
    cmd!(sh, "{program} {args...}").quiet().ignore_stdout().ignore_stderr().run().is_ok()
}

impl Source {
    /// The command that a person would type.
    fn command(&self) -> String {
        match *self {
            Self::Debian(packages) => format!("apt-get install -y {}", packages.join(" ")),
            Self::Cargo { name, version } => {
                format!("cargo install {name} --locked --version {version}")
            }
        }
    }

    fn install(&self, sh: &Shell) -> Result<()> {
        match *self {
            Self::Cargo { name, version } => {
                cmd!(sh, "cargo install {name} --locked --version {version}").run()?;
            }
            Self::Debian(packages) => {
                if !answers(sh, "apt-get", &["--version"]) {
                    bail!("no apt-get on this system: install its counterparts of {} by hand", packages.join(", "));
                }
                let root = cmd!(sh, "id -u").quiet().read()? == "0";
                let runner = if root { "env" } else { "sudo" };
                cmd!(sh, "{runner} apt-get update").run()?;
                cmd!(sh, "{runner} apt-get install -y --no-install-recommends {packages...}").run()?;
            }
        }
        Ok(())
    }
}
