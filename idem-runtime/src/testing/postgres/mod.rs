//! A PostgreSQL server that lasts as long as a test, and what may befall one.
//!
//! It speaks to the server through its installed programs and addresses alone. A test that asks for a server and gets none
//! fails: what is not tested must not look as if it were.

mod keeper;
mod programs;
mod server;

use std::{
    ffi::OsString,
    fmt, process,
    sync::atomic::{AtomicU32, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use programs::{Programs, USER};
use server::Server;

/// A server that is there already, in place of one's own.
const GIVEN: &str = "IDEM_TEST_POSTGRES_URL";

/// For servers that nobody stops: an index alone waits several times for the disk while it is made, and tests make hundreds of
/// ledgers. Only a loss of power could tell the difference.
const NO_WAIT_FOR_THE_DISK: (&str, &str) = ("fsync", "off");

/// How often [`Cluster::until`] asks, each time by starting a program.
const ASKS_MAX: u32 = 3_000;

/// A server of one's own, made anew and removed at the end, also where the test panics or its process is killed; or the one that
/// `IDEM_TEST_POSTGRES_URL` names, where every [`ledger`](Self::ledger) is a schema that stays behind.
///
/// What befalls a server ([`kill`](Self::kill), [`promote`](Self::promote) and their like) befalls only one's own: of a given
/// one these methods are errors.
#[derive(Debug)]
pub struct Cluster {
    programs: Programs,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Given(String),
    Own(Server),
}

/// Why there is no server, or why it did not do what was asked.
#[derive(Debug)]
pub struct NoServer(String);

impl fmt::Display for NoServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(why) = self;
        write!(f, "use a PostgreSQL server: {why} (`cargo xtask test --install` installs it; `{GIVEN}` names another)")
    }
}

impl std::error::Error for NoServer {}

static LEDGERS: AtomicU32 = AtomicU32::new(0);

impl Cluster {
    /// The server that `IDEM_TEST_POSTGRES_URL` names; without it one's own, with `fsync` off. For tests that leave the server as
    /// it is, and change no setting of more than their own [`ledger`](Self::ledger).
    ///
    /// # Errors
    /// [`NoServer`], when PostgreSQL's programs are not installed, or do not work.
    pub fn start() -> Result<Self, NoServer> {
        match std::env::var(GIVEN) {
            Ok(address) => Ok(Self { programs: Programs::find(&["psql"])?, kind: Kind::Given(address) }),
            Err(_) => Self::own_with(&[NO_WAIT_FOR_THE_DISK]),
        }
    }

    /// Makes a cluster in a folder of its own and starts its server at a port of its own, with `fsync` on. It is stopped and
    /// removed when it is dropped. Any number of them run side by side.
    ///
    /// # Errors
    /// [`NoServer`], when PostgreSQL's programs are not installed, or do not work.
    pub fn own() -> Result<Self, NoServer> {
        Self::own_with(&[])
    }

    /// The same, with settings (`[("max_connections", "10")]`) that hold from its start on.
    ///
    /// # Errors
    /// [`NoServer`], when PostgreSQL's programs are not installed, or do not work with them.
    pub fn own_with(settings: &[(&str, &str)]) -> Result<Self, NoServer> {
        Server::new(settings).and_then(Self::of)
    }

    fn of(server: Server) -> Result<Self, NoServer> {
        Ok(Self { programs: Programs::find(&["psql"])?, kind: Kind::Own(server) })
    }

    /// Its address, without a ledger's schema.
    pub fn address(&self) -> String {
        match &self.kind {
            Kind::Given(address) => address.clone(),
            Kind::Own(server) => {
                format!("postgres://{USER}@localhost:{}/postgres?host={}", server.port(), server.folder().display())
            }
        }
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
        Ok(self.ledger_in(&schema))
    }

    /// The address of the ledger in a schema: of one that is in a copy of this server, say.
    pub fn ledger_in(&self, schema: &str) -> String {
        let address = self.address();
        let sign = if address.contains('?') { '&' } else { '?' };
        format!("{address}{sign}options=-csearch_path%3D{schema}")
    }

    /// Lets the server carry out one statement, through its own client program.
    ///
    /// # Errors
    /// [`NoServer`], with what the server said.
    pub fn say(&self, statement: &str) -> Result<(), NoServer> {
        self.ask(statement).map(drop)
    }

    /// What one statement answers: a line a row, columns apart by `|`.
    ///
    /// # Errors
    /// [`NoServer`], with what the server said.
    pub fn ask(&self, statement: &str) -> Result<String, NoServer> {
        let address = self.address();
        let arguments = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement, "-d", &address];
        self.programs.run("psql", &arguments.map(OsString::from))
    }

    /// Asks until the server answers this.
    ///
    /// # Errors
    /// [`NoServer`], with what the server said last, when it never does.
    pub fn until(&self, statement: &str, answer: &str) -> Result<(), NoServer> {
        let mut last = String::new();
        for _ in 0..ASKS_MAX {
            last = match self.ask(statement) {
                Ok(said) if said == answer => return Ok(()),
                Ok(said) => said,
                Err(NoServer(why)) => why,
            };
        }
        Err(NoServer(format!("`{statement}` does not come to be `{answer}`: `{last}`")))
    }

    /// Changes a setting of the running server and of its later starts; it holds when this returns.
    ///
    /// # Errors
    /// [`NoServer`], with what the server said, or when only a start changes this setting.
    pub fn set(&self, name: &str, value: &str) -> Result<(), NoServer> {
        self.server()?;
        let loaded = self.ask("select pg_conf_load_time()")?;
        self.say(&format!("alter system set {name} = '{}'", value.replace('\'', "''")))?;
        self.say("select pg_reload_conf()")?;
        self.until(&format!("select pg_conf_load_time() > '{loaded}'"), "t")?;
        match &*self.ask(&format!("select pending_restart from pg_settings where name = '{name}'"))? {
            "f" => Ok(()),
            _ => Err(NoServer(format!("`{name}` is a setting that only a start changes"))),
        }
    }

    /// `kill -9` of every process of the server, as a crash.
    ///
    /// # Errors
    /// [`NoServer`], when it does not run.
    pub fn kill(&self) -> Result<(), NoServer> {
        self.server()?.kill()
    }

    /// Stops the server in good order. Whoever is connected is cut off.
    ///
    /// # Errors
    /// [`NoServer`], when it does not run.
    pub fn stop(&self) -> Result<(), NoServer> {
        self.server()?.stop()
    }

    /// Starts the server again, with what it held, at the same address; after a [`kill`](Self::kill) it recovers first.
    ///
    /// # Errors
    /// [`NoServer`], when it does not start, or runs.
    pub fn start_again(&self) -> Result<(), NoServer> {
        self.server()?.start()
    }

    /// Stops it in good order and starts it again.
    ///
    /// # Errors
    /// [`NoServer`], when it does not.
    pub fn restart(&self) -> Result<(), NoServer> {
        self.stop()?;
        self.start_again()
    }

    /// A copy of this server that follows it, through `pg_basebackup`, at an address of its own. `name` is what
    /// `synchronous_standby_names` and `pg_stat_replication` call it. It follows when this returns.
    ///
    /// # Errors
    /// [`NoServer`], when it cannot be made.
    pub fn standby(&self, name: &str) -> Result<Self, NoServer> {
        let standby = Self::of(self.server()?.standby(name)?)?;
        self.until(&format!("select state from pg_stat_replication where application_name = '{name}'"), "streaming")?;
        Ok(standby)
    }

    /// Lets this server wait at each commit until the standby of that name has it on its disk; it does when this returns.
    ///
    /// # Errors
    /// [`NoServer`], when the standby does not follow.
    pub fn wait_for_standby(&self, name: &str) -> Result<(), NoServer> {
        self.set("synchronous_standby_names", name)?;
        self.until(&format!("select sync_state from pg_stat_replication where application_name = '{name}'"), "sync")
    }

    /// Makes a standby the server that writes; it does when this returns.
    ///
    /// # Errors
    /// [`NoServer`], when it is none.
    pub fn promote(&self) -> Result<(), NoServer> {
        self.server()?.promote()
    }

    /// Starts this server anew as a standby that follows nobody: it answers reads until it is [promoted](Self::promote).
    ///
    /// # Errors
    /// [`NoServer`], when it does not stop and start.
    pub fn demote(&self) -> Result<(), NoServer> {
        let server = self.server()?;
        server.stop()?;
        server.mark_standby()?;
        server.start()
    }

    /// A standby shows nothing new from here on; it still receives, and promotes with what it received.
    ///
    /// # Errors
    /// [`NoServer`], when it is none.
    pub fn pause_replay(&self) -> Result<(), NoServer> {
        self.say("select pg_wal_replay_pause()")?;
        self.until("select pg_get_wal_replay_pause_state()", "paused")
    }

    /// A standby goes on where it [paused](Self::pause_replay).
    ///
    /// # Errors
    /// [`NoServer`], when it is none.
    pub fn resume_replay(&self) -> Result<(), NoServer> {
        self.say("select pg_wal_replay_resume()")
    }

    /// A standby receives nothing more: what its server commits from here on is lost if it is promoted.
    ///
    /// # Errors
    /// [`NoServer`], when it does not let go.
    pub fn stop_following(&self) -> Result<(), NoServer> {
        self.set("primary_conninfo", "")?;
        self.until("select count(*) from pg_stat_wal_receiver", "0")
    }

    fn server(&self) -> Result<&Server, NoServer> {
        match &self.kind {
            Kind::Own(server) => Ok(server),
            Kind::Given(_) => Err(NoServer(format!("this befalls a server of one's own, not the one of `{GIVEN}`"))),
        }
    }

    /// The port at 127.0.0.1 where it listens.
    ///
    /// # Errors
    /// [`NoServer`], when it is not one's own.
    pub fn port(&self) -> Result<u16, NoServer> {
        self.server().map(Server::port)
    }
}
