//! The restaurant of the tests: an HTTP server of its own with its own book, and the sandbox that counts in it.
//!
//! It must not know of tools or ledgers. Faults are not its business either: they strike in the proxy before it.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use idem_runtime::{
    Timestamp,
    testing::{FaultProxy, Habits, Provider, Request, Sandbox, harness::Fixture, provider::Effect},
};
use serde::{Deserialize, Serialize};

use super::{Booking, Restaurant, Wanted};

/// A table on one evening; the same evening for more guests is drift.
pub(super) fn booking_fixture() -> Fixture<Arc<Restaurant>, (String, u32)> {
    Fixture::of(|provider| {
        let house = serve(Book::beside(provider)).expect("a port on loopback");
        let proxy = FaultProxy::before(provider, house).expect("a port on loopback");
        Arc::new(Restaurant::at(&proxy.url()).expect("a client"))
    })
    .arguments(("friday".into(), 2))
    .other(("saturday".into(), 2))
    .drift("guests", ("friday".into(), 12))
    .missing((String::new(), 2))
    .effect("booking")
    .provider(|habits: Habits| habits.without_lookup().without_search())
    .sandbox(|provider| Arc::new(Book::beside(provider)))
}

/// The restaurant's book: a file of lines, which outlives the server and is shared by all that are opened on it.
#[derive(Debug, Clone)]
struct Book(PathBuf);

/// One line of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Line {
    booking: Booking,
    key: Option<String>,
    at_nanos: i64,
}

impl Book {
    /// The book of the run whose provider that is.
    fn beside(provider: &Provider) -> Self {
        Self(provider.path().with_extension("book"))
    }

    /// Books a table; a key that is known gives the booking that was made under it.
    fn enter(&self, key: Option<String>, wanted: Wanted) -> io::Result<Booking> {
        let mut file = self.open()?;
        let lines = read(&mut file)?;
        if let Some(known) = lines.iter().find(|line| key.is_some() && line.key == key) {
            return Ok(known.booking.clone());
        }
        let Wanted { evening, guests } = wanted;
        let booking = Booking { id: format!("table-{}", lines.len() + 1), evening, guests };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_nanos = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
        let line = Line { booking: booking.clone(), key, at_nanos };
        writeln!(file, "{}", serde_json::to_string(&line)?)?;
        file.sync_data()?;
        Ok(booking)
    }

    /// The file, held until it is dropped: servers of several processes write in it.
    fn open(&self) -> io::Result<File> {
        let file = OpenOptions::new().create(true).read(true).append(true).open(&self.0)?;
        file.lock()?;
        Ok(file)
    }
}

fn read(file: &mut File) -> io::Result<Vec<Line>> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// What the harness counts. That of a real restaurant would ask its API for the bookings of a test account.
impl Sandbox for Book {
    fn run_id(&self) -> String {
        Path::new(&self.0).display().to_string()
    }

    fn effects(&self) -> Result<Vec<Effect>, String> {
        let lines = self.open().and_then(|mut file| read(&mut file)).map_err(|error| error.to_string())?;
        let effect = |line: Line| {
            let Line { booking: Booking { id, evening, guests }, key, at_nanos } = line;
            let request = Request { key, ..Request::of("booking").object(evening).field("guests", guests) };
            Effect { reference: id, request, at: Timestamp::from_nanos(at_nanos) }
        };
        Ok(lines.into_iter().map(effect).collect())
    }

    fn clean_up(&self) -> Result<(), String> {
        match std::fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(()),
        }
    }
}

/// Serves for as long as the process lives.
fn serve(book: Book) -> io::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    thread::spawn(move || {
        runtime.block_on(async move {
            let routes = Router::new().route("/bookings", post(create)).with_state(book);
            let listener = tokio::net::TcpListener::from_std(listener)?;
            axum::serve(listener, routes).await
        })
    });
    Ok(address)
}

async fn create(
    State(book): State<Book>,
    headers: HeaderMap,
    Json(wanted): Json<Wanted>,
) -> Result<(StatusCode, Json<Booking>), StatusCode> {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).map(str::to_owned);
    let booking = book.enter(key, wanted).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok((StatusCode::CREATED, Json(booking)))
}
