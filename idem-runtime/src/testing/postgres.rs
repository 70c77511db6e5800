//! A PostgreSQL server that lasts as long as a test.
//!
//! It speaks to the server through its installed programs and addresses alone. A test that asks for a server and gets none
//! fails: what is not tested must not look as if it were.

use std::{
    ffi::OsString,
    fmt, fs,
    io::{self, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

/// A server that is there already, in place of one's own.
const GIVEN: &str = "IDEM_TEST_POSTGRES_URL";

/// The folder of `initdb` and `pg_ctl`, where they are not among the installed ones.
const PROGRAMS: &str = "IDEM_TEST_POSTGRES_BIN";

/// As whom the server runs where the tests run as root: it refuses to.
const USER: &str = "postgres";

/// A server of one's own, made anew and removed at the end; or the one that `IDEM_TEST_POSTGRES_URL` names, where every
/// [`ledger`](Self::ledger) is a schema that stays behind.
#[derive(Debug)]
pub struct Cluster {
    address: String,
    programs: Programs,
    /// Of one's own server.
    folder: Option<PathBuf>,
}

/// Why there is no server.
#[derive(Debug)]
pub struct NoServer(String);

impl fmt::Display for NoServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(why) = self;
        write!(
            f,
            "start a PostgreSQL server: {why} (`cargo xtask test --install` installs it; `{GIVEN}` names another)"
        )
    }
}

impl std::error::Error for NoServer {}

/// Where the server's programs are, and as whom they run.
#[derive(Debug)]
struct Programs {
    folder: PathBuf,
    root: bool,
}

static CLUSTERS: AtomicU32 = AtomicU32::new(0);
static LEDGERS: AtomicU32 = AtomicU32::new(0);

impl Cluster {
    /// Makes a cluster in a folder of its own and starts its server, with `fsync` on. It is stopped and removed when it is
    /// dropped.
    ///
    /// # Errors
    /// [`NoServer`], when PostgreSQL's programs are not installed, or do not work.
    pub fn start() -> Result<Self, NoServer> {
        if let Ok(address) = std::env::var(GIVEN) {
            return Ok(Self { address, programs: Programs::find(&["psql"])?, folder: None });
        }
        let programs = Programs::find(&["initdb", "pg_ctl", "psql"])?;
        let number = CLUSTERS.fetch_add(1, Ordering::Relaxed);
        // Short: the path of a socket has no more than about a hundred bytes.
        let folder = std::env::temp_dir().join(format!("idem-pg-{}-{number}", process::id()));
        let data = folder.join("data");
        let failed = |error: io::Error| NoServer(format!("its folder: {error}"));
        fs::create_dir(&folder).map_err(failed)?;
        let address = |port: u16| format!("postgres://{USER}@localhost:{port}/postgres?host={}", folder.display());
        let mut cluster = Self { address: String::new(), programs, folder: Some(folder.clone()) };
        if cluster.programs.root {
            cluster.programs.run("chown", &[USER.into(), folder.clone().into()], false)?;
        }
        let init = ["--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "--username=postgres", "-D"];
        let init = init.map(OsString::from).into_iter().chain([data.clone().into()]);
        cluster.programs.run("initdb", &init.collect::<Vec<_>>(), true)?;
        let port = free_port().map_err(failed)?;
        let options = format!(
            "-p {port} -k {} -c listen_addresses=127.0.0.1 -c fsync=on -c max_connections=200",
            folder.display()
        );
        let start: [OsString; 9] = [
            "-D".into(),
            data.into(),
            "-l".into(),
            folder.join("log").into(),
            "-o".into(),
            options.into(),
            "-w".into(),
            "-s".into(),
            "start".into(),
        ];
        cluster.programs.run("pg_ctl", &start, true)?;
        cluster.address = address(port);
        Ok(cluster)
    }

    /// The address of a ledger that is empty: a schema of its own.
    ///
    /// # Errors
    /// [`NoServer`], when the schema cannot be made.
    pub fn ledger(&self) -> Result<String, NoServer> {
        let number = LEDGERS.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let schema = format!("idem_{}_{now}_{number}", process::id());
        self.say(&format!("create schema {schema}"))?;
        let sign = if self.address.contains('?') { '&' } else { '?' };
        Ok(format!("{}{sign}options=-csearch_path%3D{schema}", self.address))
    }

    /// Lets the server carry out one statement, through its own client program.
    ///
    /// # Errors
    /// [`NoServer`], with what the server said.
    pub fn say(&self, statement: &str) -> Result<(), NoServer> {
        let arguments = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, "-d", &self.address];
        self.programs.run("psql", &arguments.map(OsString::from), true)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let Some(folder) = &self.folder else { return };
        let stop = ["-m", "immediate", "-s", "-w", "stop", "-D"].map(OsString::from);
        let stop: Vec<_> = stop.into_iter().chain([folder.join("data").into()]).collect();
        let removed = self.programs.run("pg_ctl", &stop, true).map_err(|error| error.to_string());
        let removed = removed.and_then(|()| fs::remove_dir_all(folder).map_err(|error| error.to_string()));
        if let Err(error) = removed {
            // A test has ended by now: there is nobody else to tell.
            let _ = writeln!(io::stderr(), "a server of a test was left behind: {error}");
        }
    }
}

impl Programs {
    fn find(needed: &[&str]) -> Result<Self, NoServer> {
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

    /// Runs a program to its end; what it said is told only where it failed.
    fn run(&self, program: &str, arguments: &[OsString], ours: bool) -> Result<(), NoServer> {
        let path = if ours { self.folder.join(program) } else { PathBuf::from(program) };
        let mut command = if self.root && ours {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", USER, "--regid", USER, "--init-groups", "--"]).arg(path);
            command
        } else {
            Command::new(path)
        };
        // Neither its input nor its folder are the test's: the server outlives this program, and may not enter every folder.
        let ended = command.args(arguments).stdin(Stdio::null()).current_dir(Path::new("/")).output();
        let ended = ended.map_err(|error| NoServer(format!("`{program}`: {error}")))?;
        if ended.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        Err(NoServer(format!("`{program}` failed: {}", said.trim())))
    }
}

/// Folders with PostgreSQL's programs, the newest version first: those that are called by their names, and Debian's.
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
    std::env::split_paths(&path).chain(versions).collect()
}

/// A port that nobody listens on at this instant.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
