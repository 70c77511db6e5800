//! A pooler that lends connections by the transaction, as unkindly as one may: each transaction of a client is carried out on
//! another connection than its last one, and nothing of a session comes along.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU16, Ordering},
    },
};

use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    sync::{OwnedSemaphorePermit, Semaphore},
};

use super::{
    Listening,
    frame::{Frame, Startup},
};

/// How many connections a pooler lends, if nothing else is said.
const LENT_MAX: usize = 3;

/// What it gives every connection that it lends; whoever begins with anything else is sent away. `options` is what tests put their
/// ledgers apart by.
const KNOWN: [&str; 8] = [
    "user",
    "database",
    "options",
    "application_name",
    "client_encoding",
    "DateStyle",
    "TimeZone",
    "standard_conforming_strings",
];

/// A pooler in front of a server.
#[derive(Debug)]
pub struct Pooler {
    listening: Listening,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: AtomicU16,
    /// How many connections those have between them who say the same at the beginning.
    lent_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    lanes: HashMap<Startup, Lane>,
    statements: BTreeSet<(String, String)>,
    lent: usize,
    moved: usize,
    opened: usize,
    broken_off: usize,
}

/// The connections of those who began alike.
#[derive(Debug)]
struct Lane {
    clients: usize,
    idle: VecDeque<Backend>,
    opened: usize,
    free: Arc<Semaphore>,
}

/// A connection to the server, and its number.
#[derive(Debug)]
struct Backend {
    number: usize,
    stream: TcpStream,
    /// What the server said of itself at the beginning.
    greeting: Vec<Frame>,
}

impl Pooler {
    /// A pooler in front of the server at this port of 127.0.0.1.
    pub fn to(port: u16) -> Self {
        Self::of(port, LENT_MAX)
    }

    /// One that lends so many connections at once to those who say the same at the beginning.
    pub fn of(port: u16, lent_max: usize) -> Self {
        let shared = Arc::new(Shared { target: AtomicU16::new(port), lent_max, state: Mutex::default() });
        Self { listening: Listening::start(&shared, serve), shared }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.listening.port
    }

    /// From now on another server is behind it, at this port of 127.0.0.1; its clients do not notice.
    pub fn lead_to(&self, port: u16) {
        self.shared.target.store(port, Ordering::SeqCst);
        for lane in self.shared.state().lanes.values_mut() {
            lane.opened -= lane.idle.len();
            lane.idle.clear();
        }
    }

    /// Every statement that was sent, and under which name it was prepared.
    pub fn statements(&self) -> BTreeSet<(String, String)> {
        self.shared.state().statements.clone()
    }

    /// How often a connection was lent.
    pub fn lent(&self) -> usize {
        self.shared.state().lent
    }

    /// How often it was another one than the same client's last.
    pub fn moved(&self) -> usize {
        self.shared.state().moved
    }

    /// How many clients went away in the middle of a transaction.
    pub fn broken_off(&self) -> usize {
        self.shared.state().broken_off
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free(&self, startup: &Startup) -> Arc<Semaphore> {
        let mut state = self.state();
        Arc::clone(&state.lane(startup, self.lent_max).free)
    }

    /// A connection, another one than `last` if there is one or may be.
    async fn borrow(&self, startup: &Startup, last: Option<usize>) -> io::Result<(Backend, OwnedSemaphorePermit)> {
        let permit = self.free(startup).acquire_owned().await.map_err(io::Error::other)?;
        let number = {
            let mut state = self.state();
            state.lent += 1;
            let lane = state.lane(startup, self.lent_max);
            let other = lane.idle.iter().position(|backend| Some(backend.number) != last);
            let at = other.or((lane.opened == self.lent_max).then_some(0));
            if let Some(backend) = at.and_then(|at| lane.idle.remove(at)) {
                state.moved += usize::from(last.is_some_and(|last| last != backend.number));
                return Ok((backend, permit));
            }
            lane.opened += 1;
            state.opened += 1;
            state.moved += usize::from(last.is_some());
            state.opened
        };
        match Backend::open(self.target.load(Ordering::SeqCst), startup, number).await {
            Ok(backend) => Ok((backend, permit)),
            Err(error) => {
                self.state().lane(startup, self.lent_max).opened -= 1;
                Err(error)
            }
        }
    }

    fn give_back(&self, startup: &Startup, backend: Backend) {
        self.state().lane(startup, self.lent_max).idle.push_back(backend);
    }

    fn drop_backend(&self, startup: &Startup, backend: Backend) {
        drop(backend);
        let mut state = self.state();
        state.broken_off += 1;
        state.lane(startup, self.lent_max).opened -= 1;
    }
}

impl State {
    fn lane(&mut self, startup: &Startup, lent_max: usize) -> &mut Lane {
        self.lanes.entry(startup.clone()).or_insert_with(|| Lane {
            clients: 0,
            idle: VecDeque::new(),
            opened: 0,
            free: Arc::new(Semaphore::new(lent_max)),
        })
    }
}

impl Backend {
    async fn open(target: u16, startup: &Startup, number: usize) -> io::Result<Self> {
        let mut stream = TcpStream::connect(("127.0.0.1", target)).await?;
        stream.set_nodelay(true)?;
        stream.write_all(&startup.0).await?;
        let mut greeting = Vec::new();
        loop {
            let frame = Frame::read(&mut stream).await?;
            if frame.ready().is_some() {
                return Ok(Self { number, stream, greeting });
            }
            if let Some(words) = frame.error(b'M') {
                return Err(io::Error::other(words));
            }
            if frame.kind == b'S' {
                greeting.push(frame);
            }
        }
    }
}

/// Takes a client into account for as long as it is there; the last of its kind takes the connections along.
struct Client<'a> {
    shared: &'a Shared,
    startup: Startup,
}

impl<'a> Client<'a> {
    fn new(shared: &'a Shared, startup: Startup) -> Self {
        shared.state().lane(&startup, shared.lent_max).clients += 1;
        Self { shared, startup }
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        let lane = state.lane(&self.startup, self.shared.lent_max);
        lane.clients -= 1;
        if lane.clients == 0 {
            state.lanes.remove(&self.startup);
        }
    }
}

async fn serve(mut client: TcpStream, shared: Arc<Shared>) -> io::Result<()> {
    let Some(startup) = Startup::read(&mut client).await? else { return Ok(()) };
    if let Some(strange) = startup.names().find(|name| !KNOWN.contains(&name.as_str())) {
        let why = io::Error::other(format!("unsupported startup parameter: {strange}"));
        return refuse(&mut client, &why).await;
    }
    let here = Client::new(&shared, startup);
    let startup = &here.startup;
    let mut last = match shared.borrow(startup, None).await {
        Ok((backend, _permit)) => {
            greet(&mut client, &backend.greeting).await?;
            let number = backend.number;
            shared.give_back(startup, backend);
            Some(number)
        }
        Err(error) => return refuse(&mut client, &error).await,
    };
    let mut lent: Option<(Backend, OwnedSemaphorePermit)> = None;
    loop {
        let Ok(request) = request(&mut client, &shared).await else {
            // Whoever goes in the middle of a transaction leaves nothing that another one could be given.
            if let Some((backend, _permit)) = lent.take() {
                shared.drop_backend(startup, backend);
            }
            return Ok(());
        };
        let (mut backend, permit) = match lent.take() {
            Some(lent) => lent,
            None => shared.borrow(startup, last).await?,
        };
        last = Some(backend.number);
        match exchange(&mut client, &mut backend, &request).await {
            Ok(b'I') => shared.give_back(startup, backend),
            Ok(_) => lent = Some((backend, permit)),
            Err(_) => {
                shared.drop_backend(startup, backend);
                return Ok(());
            }
        }
    }
}

async fn greet(client: &mut TcpStream, greeting: &[Frame]) -> io::Result<()> {
    let (let_in, ready) = (Frame::new(b'R', [0; 4]), Frame::new(b'Z', *b"I"));
    let all = std::iter::once(&let_in).chain(greeting).chain(std::iter::once(&ready));
    for frame in all {
        frame.write(client).await?;
    }
    Ok(())
}

async fn refuse(client: &mut TcpStream, error: &io::Error) -> io::Result<()> {
    let words = format!("SFATAL\0VFATAL\0C08006\0Mthe pooler has no connection: {error}\0\0");
    Frame::new(b'E', words.into_bytes()).write(client).await
}

/// Everything up to the point where the client waits for an answer.
async fn request(client: &mut TcpStream, shared: &Shared) -> io::Result<Vec<Frame>> {
    let mut frames = Vec::new();
    loop {
        let frame = Frame::read(client).await?;
        if frame.kind == b'X' {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        shared.state().statements.extend(frame.statement());
        let whole = frame.ends_request();
        frames.push(frame);
        if whole {
            return Ok(frames);
        }
    }
}

/// Has a request carried out; says whether a transaction is open afterwards.
async fn exchange(client: &mut TcpStream, backend: &mut Backend, request: &[Frame]) -> io::Result<u8> {
    for frame in request {
        frame.write(&mut backend.stream).await?;
    }
    loop {
        let frame = Frame::read(&mut backend.stream).await?;
        frame.write(client).await?;
        if let Some(status) = frame.ready() {
            return Ok(status);
        }
    }
}
