//! PostgreSQL's programs: where they are, as whom they run, and what they said where they failed.
//!
//! Must not know which server they are run for.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::NoServer;

/// The folder of `initdb` and `pg_ctl`, where they are not among the installed ones.
const PROGRAMS: &str = "IDEM_TEST_POSTGRES_BIN";

/// As whom the server runs where the tests run as root: it refuses to.
pub(super) const USER: &str = "postgres";

/// Where the server's programs are, and as whom they run.
#[derive(Debug, Clone)]
pub(super) struct Programs {
    folder: PathBuf,
    pub(super) root: bool,
}

impl Programs {
    pub(super) fn find(needed: &[&str]) -> Result<Self, NoServer> {
        let id = Command::new("id").arg("-u").output();
        let root = id.is_ok_and(|id| id.stdout.trim_ascii() == b"0");
        let folders = match std::env::var_os(PROGRAMS) {
            Some(folder) => vec![PathBuf::from(folder)],
            None => installed(),
        };
        let has_all = |folder: &PathBuf| needed.iter().all(|program| folder.join(program).exists());
        let folder = folders.into_iter().find(has_all);
        let missing = || NoServer(format!("no folder has `{}`", needed.join("`, `")));
        folder.map(|folder| Self { folder, root }).ok_or_else(missing)
    }

    /// Runs one of the server's programs to its end, as the server's user; gives what it printed.
    pub(super) fn run(&self, program: &str, arguments: &[OsString]) -> Result<String, NoServer> {
        let path = self.folder.join(program);
        let command = if self.root {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", USER, "--regid", USER, "--init-groups", "--"]).arg(path);
            command
        } else {
            Command::new(path)
        };
        to_its_end(program, command, arguments)
    }
}

/// Runs a program that is not the server's to its end; gives what it printed.
pub(super) fn run(program: &str, arguments: &[OsString]) -> Result<String, NoServer> {
    to_its_end(program, Command::new(program), arguments)
}

fn to_its_end(program: &str, mut command: Command, arguments: &[OsString]) -> Result<String, NoServer> {
    // Neither its input nor its folder are the test's: the server outlives this program, and may not enter every folder.
    let ended = command.args(arguments).stdin(Stdio::null()).current_dir(Path::new("/")).output();
    let ended = ended.map_err(|error| NoServer(format!("`{program}`: {error}")))?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).trim_end().to_owned());
    }
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    Err(NoServer(format!("`{program}` failed: {}", said.trim())))
}

/// Folders with PostgreSQL's programs: Debian's, the newest version first, then those that are called by their names. What
/// Debian calls `psql` is a script that looks for the program, and takes longer than the program does.
fn installed() -> Vec<PathBuf> {
    let mut versions: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten() {
        versions.push(entry.path().join("bin"));
    }
    versions.sort_by_key(|folder| {
        let version = folder.parent().and_then(Path::file_name).and_then(|name| name.to_str()?.parse::<u32>().ok());
        std::cmp::Reverse(version)
    });
    let path = std::env::var_os("PATH").unwrap_or_default();
    versions.into_iter().chain(std::env::split_paths(&path)).collect()
}
