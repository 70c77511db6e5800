//! One server of a test's own: a folder, a port, and the processes that come and go.
//!
//! Must not know what is kept in it.

use std::{
    ffi::OsString,
    fmt::Write as _,
    fs,
    io::{self, Write},
    net::{TcpListener, UdpSocket},
    path::{Path, PathBuf},
    process,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use super::{
    NoServer,
    keeper::Kept,
    programs::{Programs, USER, run},
};

static SERVERS: AtomicU32 = AtomicU32::new(0);

/// Ports that no system gives to whoever asks for any: nobody takes one while its server is down.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// How many ports are tried.
const PORT_TRIES: u32 = 100;

/// How often it is looked whether killed processes are gone, each time by starting a program.
const GONE_TRIES: u32 = 2_000;

/// A server of one's own. It ends with its folder.
#[derive(Debug)]
pub(super) struct Server {
    folder: Kept,
    programs: Programs,
    port: Mutex<Port>,
}

/// A port that no other test's server takes, also while the server is down.
#[derive(Debug)]
struct Port {
    number: u16,
    /// Servers do not speak UDP: whoever holds the datagram port of that number has it for its server.
    _held: UdpSocket,
}

impl Server {
    /// Makes a cluster and starts its server, which waits for the disk at each commit.
    pub(super) fn new(settings: &[(&str, &str)]) -> Result<Self, NoServer> {
        let server = Self::in_new_folder(Programs::find(&["initdb", "pg_ctl", "psql"])?)?;
        let init = ["--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "--username=postgres", "-D"];
        let init: Vec<OsString> = init.map(OsString::from).into_iter().chain([server.data().into()]).collect();
        server.programs.run("initdb", &init)?;
        server.configure(&[("listen_addresses", "127.0.0.1"), ("fsync", "on"), ("max_connections", "200")])?;
        server.configure(settings)?;
        server.start_at_free_port()?;
        Ok(server)
    }

    /// A copy of this server that follows it, as `name`, and answers reads.
    pub(super) fn standby(&self, name: &str) -> Result<Self, NoServer> {
        let standby = Self::in_new_folder(self.programs.clone())?;
        let from = format!("host={} port={} user={USER}", self.folder().display(), self.port());
        let copy: Vec<OsString> =
            ["-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", &from, "-D"].map(OsString::from).into();
        standby.programs.run("pg_basebackup", &[copy, vec![standby.data().into()]].concat())?;
        // The name under which it is known to the server that it follows.
        let again_soon = ("wal_retrieve_retry_interval", "100ms");
        standby.configure(&[("cluster_name", name), ("hot_standby", "on"), again_soon])?;
        standby.start_at_free_port()?;
        Ok(standby)
    }

    fn in_new_folder(programs: Programs) -> Result<Self, NoServer> {
        let folder = loop {
            let number = SERVERS.fetch_add(1, Ordering::Relaxed);
            // Short: the path of a socket has no more than about a hundred bytes.
            match Kept::new(std::env::temp_dir().join(format!("idem-pg-{}-{number}", process::id()))) {
                // A process of this number had it, and its machine went down.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => break made.map_err(in_folder)?,
            }
        };
        let server = Self { folder, programs, port: Mutex::new(Port::find()?) };
        if server.programs.root {
            run("chown", &[USER.into(), server.folder().into()])?;
        }
        Ok(server)
    }

    fn data(&self) -> PathBuf {
        self.folder().join("data")
    }

    /// Where its socket and its data are.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn port(&self) -> u16 {
        self.port.lock().unwrap_or_else(PoisonError::into_inner).number
    }

    /// Settings for every start from here on; later ones count.
    pub(super) fn configure(&self, settings: &[(&str, &str)]) -> Result<(), NoServer> {
        let mut lines = String::new();
        for (name, value) in settings {
            writeln!(lines, "{name} = '{}'", value.replace('\'', "''")).expect("a string takes every word");
        }
        let file = fs::OpenOptions::new().append(true).open(self.data().join("postgresql.conf"));
        file.and_then(|mut file| file.write_all(lines.as_bytes())).map_err(in_folder)
    }

    /// Starts the server for the first time, at another port where somebody has taken this one.
    fn start_at_free_port(&self) -> Result<(), NoServer> {
        let mut tries = 0;
        loop {
            tries += 1;
            let (port, folder) = (self.port().to_string(), self.folder().display().to_string());
            self.configure(&[("port", &port), ("unix_socket_directories", &folder)])?;
            match self.start() {
                Err(NoServer(why)) if tries < PORT_TRIES && why.contains("could not bind") => {
                    *self.port.lock().unwrap_or_else(PoisonError::into_inner) = Port::find()?;
                }
                started => return started,
            }
        }
    }

    /// Starts the server where it was; it has recovered when this returns.
    pub(super) fn start(&self) -> Result<(), NoServer> {
        let log = self.folder().join("log");
        let written = fs::metadata(&log).map_or(0, |log| log.len());
        let start = ["-w", "-s", "-t", "120", "start", "-l"].map(OsString::from);
        let started = self.pg_ctl(&[start.to_vec(), vec![log.clone().into()]].concat());
        started.map_err(|NoServer(why)| {
            // What this start wrote, not what an earlier one did.
            let log = fs::read(&log).unwrap_or_default();
            let log = log.get(usize::try_from(written).unwrap_or(0)..).unwrap_or_default();
            NoServer(format!("{why}\n{}", String::from_utf8_lossy(log)))
        })
    }

    /// Stops the server in good order; whoever is connected is cut off.
    pub(super) fn stop(&self) -> Result<(), NoServer> {
        self.pg_ctl(&["-m", "fast", "-w", "-s", "-t", "120", "stop"].map(OsString::from))
    }

    /// Lets a standby become a server that writes.
    pub(super) fn promote(&self) -> Result<(), NoServer> {
        self.pg_ctl(&["-w", "-s", "-t", "120", "promote"].map(OsString::from))
    }

    /// From its next start on it only answers reads.
    pub(super) fn mark_standby(&self) -> Result<(), NoServer> {
        fs::write(self.data().join("standby.signal"), "").map_err(in_folder)?;
        if self.programs.root {
            run("chown", &[USER.into(), self.data().join("standby.signal").into()])?;
        }
        Ok(())
    }

    /// `kill -9` of every process of the server, as when its machine loses power with an honest disk.
    pub(super) fn kill(&self) -> Result<(), NoServer> {
        let head = self.head().ok_or_else(|| NoServer("it is not running".to_owned()))?;
        // Stopped first: so it starts no further process while its own are listed.
        signal("-STOP", &[head])?;
        let mut all: Vec<u32> =
            processes()?.into_iter().filter(|process| process.parent == head).map(|it| it.number).collect();
        all.push(head);
        signal("-KILL", &all)?;
        let gone = |all: &[u32]| {
            let alive = processes()?;
            Ok::<_, NoServer>(!alive.iter().any(|process| all.contains(&process.number) && !process.ended))
        };
        for _ in 0..GONE_TRIES {
            if gone(&all)? {
                // Where nobody buries the dead, the server would take its own corpse for another server.
                let mark = format!(".s.PGSQL.{}.lock", self.port());
                for file in [self.data().join("postmaster.pid"), self.folder().join(mark)] {
                    fs::remove_file(file).map_err(in_folder)?;
                }
                return Ok(());
            }
        }
        Err(NoServer("killed processes do not end".to_owned()))
    }

    /// The first process of the server, if it runs.
    fn head(&self) -> Option<u32> {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        file.lines().next()?.trim().parse().ok()
    }

    fn pg_ctl(&self, arguments: &[OsString]) -> Result<(), NoServer> {
        let data = ["-D".into(), self.data().into()];
        self.programs.run("pg_ctl", &[&data, arguments].concat()).map(drop)
    }
}

impl Port {
    fn find() -> Result<Self, NoServer> {
        for _ in 0..PORT_TRIES {
            let number = fastrand::u16(PORTS);
            let Ok(held) = UdpSocket::bind(("127.0.0.1", number)) else { continue };
            if TcpListener::bind(("127.0.0.1", number)).is_ok() {
                return Ok(Self { number, _held: held });
            }
        }
        Err(NoServer("no port is free".to_owned()))
    }
}

/// A process of this machine.
#[derive(Debug)]
struct Process {
    number: u32,
    parent: u32,
    /// It has ended, and nobody took note.
    ended: bool,
}

fn processes() -> Result<Vec<Process>, NoServer> {
    let listed = run("ps", &["-A", "-o", "pid=", "-o", "ppid=", "-o", "state="].map(OsString::from))?;
    let process = |line: &str| {
        let mut words = line.split_whitespace();
        let (number, parent) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Process { number, parent, ended: words.next()?.starts_with('Z') })
    };
    Ok(listed.lines().filter_map(process).collect())
}

/// Sends these processes a signal; those that have ended by now need none.
fn signal(signal: &str, processes: &[u32]) -> Result<(), NoServer> {
    let sent = "kill \"$@\" 2>/dev/null; exit 0";
    let numbers = processes.iter().map(|number| number.to_string().into());
    let arguments: Vec<OsString> =
        ["-c", sent, "kill", signal].map(OsString::from).into_iter().chain(numbers).collect();
    run("sh", &arguments).map(drop)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what an error is mapped with")]
fn in_folder(error: io::Error) -> NoServer {
    NoServer(format!("its folder: {error}"))
}
