//! `PgBouncer`, as it is where nobody set it up for us: it lends its only connection by the transaction.

use std::{
    fs::{self, Permissions},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// How long it may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);

/// A part of its socket's name.
const PORT: u16 = 6432;

/// Until it is dropped.
pub(crate) struct Bouncer {
    program: Child,
    /// Where its socket is: nobody else's can be taken for it.
    folder: TempDir,
}

impl Bouncer {
    /// One in front of the server at this port of 127.0.0.1.
    pub(crate) fn start(server: u16) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("a folder that it may write to");
        let (settings, place) = (folder.path().join("pgbouncer.ini"), folder.path().display());
        let said = format!(
            "[databases]\n* = host=127.0.0.1 port={server} user=postgres\n[pgbouncer]\nunix_socket_dir = {place}\n\
             listen_port = {PORT}\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 1\n"
        );
        fs::write(&settings, said).expect("its settings");
        let mut command = program();
        command.arg("--quiet").arg(&settings).stdin(Stdio::null()).stdout(Stdio::null()).current_dir("/");
        let bouncer = Self { program: command.spawn().expect("pgbouncer is installed"), folder };
        let (socket, begun) = (bouncer.folder.path().join(format!(".s.PGSQL.{PORT}")), Instant::now());
        while UnixStream::connect(&socket).is_err() {
            assert!(begun.elapsed() < PATIENCE, "pgbouncer does not listen");
            std::thread::yield_now();
        }
        bouncer
    }

    /// The address of a ledger behind it.
    pub(crate) fn address(&self) -> String {
        format!("postgres://postgres@localhost:{PORT}/postgres?host={}", self.folder.path().display())
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        // It is gone already where this fails.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// The program. It refuses to run as root.
fn program() -> Command {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&folders).chain(["/usr/sbin".into()]);
    let place = places.map(|folder| folder.join("pgbouncer")).find(|place| place.exists());
    let place = place.expect("pgbouncer is installed (`cargo xtask test` does that on Debian)");
    let id = Command::new("id").arg("-u").output().expect("an id");
    if id.stdout.trim_ascii() != b"0" {
        return Command::new(place);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "postgres", "--regid", "postgres", "--init-groups", "--"]).arg(place);
    command
}
