//! A wire to a server that is cut where a test wants it: before a request reaches the server, or after the server has carried
//! it out and before the answer is back.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{net::TcpStream, sync::watch};

use super::{
    Listening,
    frame::{Frame, Startup, says},
};

/// Where the wire is cut next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// At the next `commit`.
    Commit,
    /// At the request with this number, counted from 1 and from here on, of whatever connection.
    Request(usize),
}

/// On which side of the server's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The request never reaches the server.
    Before,
    /// The server has done it, and nobody hears so.
    After,
    /// The wire is not cut: a statement that fails comes before the request, and nobody hears of it. In a transaction it is
    /// aborted then.
    Aborted,
}

/// What becomes of the server's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    Heard,
    /// The next one is nobody's.
    Dropped,
    /// The next one is not heard, and then the wire is cut.
    Last,
}

/// A wire to a server. Cut where it is told to, once; then whoever connects is served again. Clones are the same wire.
#[derive(Debug, Clone)]
pub struct Proxy {
    listening: Arc<Listening>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Changes when everybody is cut off.
    cut_off: watch::Sender<u32>,
}

#[derive(Debug, Default)]
struct State {
    target: u16,
    armed: Option<(At, Side)>,
    requests: usize,
    cuts: usize,
    open: usize,
    open_max: usize,
    statements: Vec<String>,
    codes: Vec<String>,
}

impl Proxy {
    /// A wire to the server at this port of 127.0.0.1.
    pub fn to(port: u16) -> Self {
        let state = Mutex::new(State { target: port, ..State::default() });
        let shared = Arc::new(Shared { state, cut_off: watch::Sender::new(0) });
        Self { listening: Arc::new(Listening::start(&shared, carry)), shared }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.listening.port
    }

    /// Leads to another server from here on. Whoever is connected stays.
    pub fn lead_to(&self, port: u16) {
        self.shared.state().target = port;
    }

    /// Cuts off everybody.
    pub fn cut_off(&self) {
        self.shared.cut_off.send_modify(|times| *times += 1);
    }

    /// Will cut there, once.
    pub fn cut(&self, at: At, side: Side) {
        let mut state = self.shared.state();
        (state.armed, state.requests) = (Some((at, side)), 0);
    }

    /// Whether there still is a cut to come. It will not any more.
    pub fn disarm(&self) -> bool {
        self.shared.state().armed.take().is_some()
    }

    /// How often it cut.
    pub fn cuts(&self) -> usize {
        self.shared.state().cuts
    }

    /// How many were connected at once, at most.
    pub fn open_max(&self) -> usize {
        self.shared.state().open_max
    }

    /// What was said to the server, in order.
    pub fn statements(&self) -> Vec<String> {
        self.shared.state().statements.clone()
    }

    /// How often the server answered with this error.
    pub fn errors(&self, code: &str) -> usize {
        self.shared.state().codes.iter().filter(|said| *said == code).count()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what a client sends, and says whether the wire is cut here.
    fn heard(&self, frame: &Frame) -> Option<Side> {
        let mut state = self.state();
        let statement = frame.statement().map(|(_, statement)| statement);
        let commits = frame.kind == b'Q' && statement.as_ref().is_some_and(|said| says(said, "commit"));
        state.statements.extend(statement);
        state.requests += usize::from(frame.ends_request());
        let (at, side) = state.armed?;
        let here = match at {
            At::Commit => commits,
            At::Request(number) => frame.ends_request() && state.requests == number,
        };
        here.then(|| {
            state.armed = None;
            state.cuts += 1;
            side
        })
    }
}

async fn carry(mut client: TcpStream, shared: Arc<Shared>) -> io::Result<()> {
    let mut cut_off = shared.cut_off.subscribe();
    let Some(startup) = Startup::read(&mut client).await? else { return Ok(()) };
    let target = shared.state().target;
    let mut server = TcpStream::connect(("127.0.0.1", target)).await?;
    server.set_nodelay(true)?;
    tokio::io::AsyncWriteExt::write_all(&mut server, &startup.0).await?;
    let _open = Open::new(&shared);
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let answers = Mutex::new(Answers::Heard);
    let answers = || answers.lock().unwrap_or_else(PoisonError::into_inner);
    let there = async {
        loop {
            let frame = Frame::read(&mut from_client).await?;
            match shared.heard(&frame) {
                Some(Side::Before) => return Ok(()),
                Some(Side::After) => *answers() = Answers::Last,
                Some(Side::Aborted) => {
                    *answers() = Answers::Dropped;
                    Frame::new(b'Q', *b"select 1/0\0").write(&mut to_server).await?;
                }
                None => {}
            }
            frame.write(&mut to_server).await?;
        }
    };
    let back = async {
        loop {
            let frame = Frame::read(&mut from_server).await?;
            let now = *answers();
            if now != Answers::Dropped
                && let Some(code) = frame.error(b'C')
            {
                shared.state().codes.push(code);
            }
            match (now, frame.ready()) {
                (Answers::Heard, _) => frame.write(&mut to_client).await?,
                (Answers::Dropped, Some(_)) => *answers() = Answers::Heard,
                // Done: from here on it is true, and nobody was told.
                (Answers::Last, Some(_)) => return Ok(()),
                (Answers::Dropped | Answers::Last, None) => {}
            }
        }
    };
    tokio::select! {
        ended = there => ended,
        ended = back => ended,
        _ = cut_off.changed() => Ok(()),
    }
}

/// Counts a connection for as long as it is open.
struct Open<'a>(&'a Shared);

impl<'a> Open<'a> {
    fn new(shared: &'a Shared) -> Self {
        let mut state = shared.state();
        state.open += 1;
        state.open_max = state.open_max.max(state.open);
        drop(state);
        Self(shared)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.state().open -= 1;
    }
}
