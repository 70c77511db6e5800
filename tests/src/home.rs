//! Where ledgers under test lie, and looks into them from outside.
//!
//! Must not know which case is tested. What is seen here goes past the runtime: SQLite's file is opened beside it, and
//! PostgreSQL is asked through its own client program.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, types::FromSql};
use tempfile::TempDir;

#[cfg(feature = "postgres")]
use crate::server::Schema;
use crate::store::AnyStore;

/// Where a ledger can lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In memory.
    Memory,
    /// In an SQLite file.
    File,
    /// In a schema of a PostgreSQL server.
    #[cfg(feature = "postgres")]
    Server,
}

impl Place {
    /// All of them.
    #[cfg(feature = "postgres")]
    pub const EVERY: &[Self] = &[Self::Memory, Self::File, Self::Server];
    /// All of them.
    #[cfg(not(feature = "postgres"))]
    pub const EVERY: &[Self] = &[Self::Memory, Self::File];

    /// Those whose ledgers outlive their process, and are shared by several.
    pub fn lasting() -> impl Iterator<Item = Self> {
        Self::EVERY.iter().copied().filter(|place| *place != Self::Memory)
    }

    /// Its name, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::File => "sqlite",
            #[cfg(feature = "postgres")]
            Self::Server => "postgres",
        }
    }

    /// Whether it is the server: each of its commits costs more than those of a file.
    pub fn is_server(self) -> bool {
        self.name() == "postgres"
    }

    /// Somewhere new for one ledger; nowhere for one in memory.
    ///
    /// # Panics
    /// Without a temporary folder, or without a server.
    pub fn home(self) -> Option<Home> {
        (self != Self::Memory).then(|| Home::new(self))
    }
}

/// Where one ledger lies that outlives its process. It is gone when this is dropped.
#[derive(Debug)]
pub struct Home {
    place: Place,
    address: String,
    #[cfg(feature = "postgres")]
    schema: Option<Schema>,
    folder: TempDir,
}

/// Where a home's address is written down, for other processes.
const ADDRESS: &str = "ledger";

impl Home {
    fn new(place: Place) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        #[cfg(feature = "postgres")]
        let schema = place.is_server().then(Schema::new);
        let address = format!("sqlite://{}", folder.path().join("idem.db").display());
        #[cfg(feature = "postgres")]
        let address = schema.as_ref().map_or(address, |schema| schema.address().to_owned());
        fs::write(folder.path().join(ADDRESS), &address).expect("a note");
        Self {
            place,
            address,
            #[cfg(feature = "postgres")]
            schema,
            folder,
        }
    }

    /// Somewhere new in a file.
    pub fn file() -> Self {
        Self::new(Place::File)
    }

    /// The address of the home that has this folder: for processes that were told no more than that.
    ///
    /// # Panics
    /// When it is no home's folder.
    pub fn address_of(folder: &Path) -> String {
        fs::read_to_string(folder.join(ADDRESS)).expect("a home's folder")
    }

    /// Which kind it is.
    pub fn place(&self) -> Place {
        self.place
    }

    /// What opens the ledger.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// A folder of its own, also where the ledger is in a server: for what stands beside it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where the file lies, or would.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("idem.db")
    }

    /// A store on it, as another process would open one.
    pub async fn store(&self) -> AnyStore {
        AnyStore::at(&self.address).await
    }

    /// Another connection to the file.
    ///
    /// # Panics
    /// When there is no such file.
    pub fn connect(&self) -> Connection {
        assert_eq!(self.place, Place::File, "only a file is opened");
        Connection::open(self.path()).expect("the ledger's file")
    }

    /// The one column that a query selects, of every row.
    ///
    /// # Panics
    /// When the query cannot be answered.
    pub fn column<T: Column>(&self, query: &str) -> Vec<T> {
        #[cfg(feature = "postgres")]
        if let Some(schema) = &self.schema {
            return schema.ask(query).iter().map(|value| T::from_text(value.as_deref())).collect();
        }
        let connection = self.connect();
        let mut statement = connection.prepare(query).expect("a query");
        let rows = statement.query_map([], |row| row.get(0)).expect("rows");
        rows.map(|row| row.expect("a column")).collect()
    }

    /// Changes it by hand, past the runtime.
    ///
    /// # Errors
    /// What the database says.
    pub fn change(&self, statements: &str) -> Result<(), String> {
        #[cfg(feature = "postgres")]
        if let Some(schema) = &self.schema {
            return schema.change(statements);
        }
        self.connect().execute_batch(statements).map_err(|error| error.to_string())
    }

    /// How many rows a table has.
    ///
    /// # Panics
    /// When there is no such table.
    pub fn count(&self, table: &str) -> u64 {
        self.column::<i64>(&format!("select count(*) from {table}"))[0].unsigned_abs()
    }

    /// The ledger's tables.
    fn tables(&self) -> Vec<String> {
        self.column(if self.place.is_server() {
            "select relname::text from pg_class where relnamespace = current_schema::regnamespace
             and relkind in ('r', 'p') and not relispartition and relname like 'idem%'"
        } else {
            "select name from sqlite_schema where type = 'table' and name like 'idem%'"
        })
    }

    /// How many rows all of its tables have.
    pub fn rows(&self) -> u64 {
        let counts = self.tables().into_iter().map(|table| format!("(select count(*) from {table})"));
        let sum = counts.collect::<Vec<_>>().join(" + ");
        self.column::<i64>(&format!("select {sum}"))[0].unsigned_abs()
    }

    /// Looks from now on whether anything is committed.
    pub fn watch_commits(&self) -> Commits<'_> {
        Commits { home: self, connection: (!self.place.is_server()).then(|| self.connect()) }
    }

    /// Whether these bytes stand anywhere in it: in the file or its log; in a server, in any column of any row.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn holds(&self, text: &str) -> bool {
        if self.place.is_server() {
            assert!(!text.contains('\''), "the search has no quotes");
            let rows = self.tables().into_iter().map(|table| format!("select one::text as row from {table} as one"));
            let rows = rows.collect::<Vec<_>>().join(" union all ");
            // Bytes are shown in hexadecimal digits.
            return self.column::<i64>(&format!(
                "select count(*) from ({rows}) as every where position('{text}' in row) > 0
                 or position(encode(convert_to('{text}', 'UTF8'), 'hex') in row) > 0"
            ))[0]
                > 0;
        }
        let mut bytes = Vec::new();
        for entry in fs::read_dir(self.folder.path()).expect("a folder") {
            bytes.extend(fs::read(entry.expect("a file").path()).expect("its bytes"));
        }
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

/// Whether anything was committed between two looks.
#[derive(Debug)]
pub struct Commits<'a> {
    home: &'a Home,
    /// To the file: its counter is a connection's own.
    connection: Option<Connection>,
}

impl Commits<'_> {
    /// Another one after every commit that wrote a row.
    ///
    /// # Panics
    /// When the ledger cannot be read.
    pub fn mark(&self) -> String {
        if let Some(connection) = &self.connection {
            let version = connection.query_row("pragma data_version", [], |row| row.get::<_, i64>(0));
            return version.expect("a version").to_string();
        }
        // Where each version of each row lies, and which transaction wrote it.
        let row = |table| format!("select concat_ws(' ', tableoid, ctid, xmin) as version from {table}");
        let rows = self.home.tables().into_iter().map(row).collect::<Vec<_>>().join(" union all ");
        let mark = format!("select md5(string_agg(version, ',' order by version)) from ({rows}) as every");
        self.home.column::<String>(&mark).concat()
    }
}

/// What a column can be read as.
pub trait Column: FromSql {
    /// From what a client program prints; nothing for a null.
    fn from_text(text: Option<&str>) -> Self;
}

impl Column for i64 {
    fn from_text(text: Option<&str>) -> Self {
        text.and_then(|text| text.parse().ok()).expect("a number")
    }
}

impl Column for Option<i64> {
    fn from_text(text: Option<&str>) -> Self {
        text.map(|text| i64::from_text(Some(text)))
    }
}

impl Column for String {
    fn from_text(text: Option<&str>) -> Self {
        text.expect("a text").to_owned()
    }
}

impl Column for Vec<u8> {
    fn from_text(text: Option<&str>) -> Self {
        let digits = text.and_then(|text| text.strip_prefix("\\x")).expect("bytes");
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("two digits");
        (0..digits.len()).step_by(2).map(byte).collect()
    }
}
