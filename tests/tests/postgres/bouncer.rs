//! `PgBouncer`, as it is where nobody set it up for us: it lends its only connection by the transaction.

use std::{
    fs::{self, Permissions},
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// How long it may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);

/// Until it is dropped.
pub(crate) struct Bouncer {
    program: Child,
    port: u16,
    _folder: TempDir,
}

impl Bouncer {
    /// One in front of the server at this port of 127.0.0.1.
    pub(crate) fn start(server: u16) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("a folder that others may enter");
        let port = free_port();
        let settings = folder.path().join("pgbouncer.ini");
        let said = format!(
            "[databases]\n* = host=127.0.0.1 port={server} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 1\n"
        );
        fs::write(&settings, said).expect("its settings");
        let mut command = program();
        command.arg("--quiet").arg(&settings).stdin(Stdio::null()).stdout(Stdio::null()).current_dir("/");
        let bouncer = Self { program: command.spawn().expect("pgbouncer is installed"), port, _folder: folder };
        let begun = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "pgbouncer does not listen");
            std::thread::yield_now();
        }
        bouncer
    }

    /// The address of a ledger behind it.
    pub(crate) fn address(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
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

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}
