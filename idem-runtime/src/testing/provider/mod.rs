//! A provider for tests: it has effects, keeps them in a file of its own, and behaves as badly as real ones do.
//!
//! Must not know that its callers have a ledger. In reading order: what is asked of it and what it answers ([`Request`],
//! [`Reply`], [`ProviderError`]), its [`Habits`], the log that outlives its callers, and the [`Sandbox`], which is what a
//! harness needs of any provider. In process and over HTTP it has the same rules.

mod habits;
mod http;
mod log;
mod request;
mod sandbox;

use std::{
    fmt, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

pub use habits::Habits;
pub use request::{Effect, ProviderError, Reply, Request};
pub use sandbox::Sandbox;

use self::log::{Contents, Log};
use super::{
    TestClock,
    faults::{Checkpoint, Fault, Line},
};
use crate::Clock;

/// A provider. Clones are the same one; processes that name the same file share its effects.
#[derive(Clone)]
pub struct Provider(Arc<Inner>);

struct Inner {
    path: PathBuf,
    log: Log,
    clock: TestClock,
    habits: Mutex<Habits>,
    line: Arc<Line>,
    /// The effects that faults strike at; empty for all.
    aims: Mutex<Vec<String>>,
    /// Where it is served over HTTP, once somebody asked.
    served: Mutex<Option<SocketAddr>>,
}

impl Provider {
    /// The provider whose log stands at `path`, and is made there if it is not.
    pub fn at(path: impl AsRef<Path>, clock: &TestClock, habits: Habits) -> Self {
        let path = path.as_ref().to_owned();
        Self(Arc::new(Inner {
            log: Log::at(&path),
            path,
            clock: clock.clone(),
            habits: Mutex::new(habits),
            line: Arc::default(),
            aims: Mutex::default(),
            served: Mutex::default(),
        }))
    }

    /// Asks for an effect. When this returns `Ok`, it has happened and is in the log.
    ///
    /// # Errors
    /// [`ProviderError`]; its [`class`](ProviderError::class) says whether it proves anything.
    pub async fn commit(&self, request: Request) -> Result<Reply, ProviderError> {
        let aimed = self.aims_at(&request.effect);
        let twice = self.pass(Checkpoint::Dispatch, aimed).await?;
        let mut reply = self.carry_out(&request);
        if twice || (aimed && self.0.line.armed(Checkpoint::ProviderCommit) == Some(Fault::DuplicateDelivery)) {
            reply = self.carry_out(&request);
        }
        if reply.is_ok() {
            self.pass(Checkpoint::ProviderCommit, aimed).await?;
            self.pass(Checkpoint::ReceiveResponse, aimed).await?;
        }
        reply
    }

    /// What it has under a caller's key.
    ///
    /// # Errors
    /// [`ProviderError`], when it cannot be asked.
    pub async fn lookup(&self, key: impl fmt::Display + Send) -> Result<Option<Reply>, ProviderError> {
        let key = key.to_string();
        self.asked(self.habits().lookup, |effect| effect.request.key.as_ref() == Some(&key)).await
    }

    /// What it has under its own reference.
    ///
    /// # Errors
    /// [`ProviderError`], when it cannot be asked.
    pub async fn by_reference(&self, reference: &str) -> Result<Option<Reply>, ProviderError> {
        self.asked(self.habits().lookup, |effect| effect.reference == reference).await
    }

    /// What it has for a business identifier.
    ///
    /// # Errors
    /// [`ProviderError`], when it cannot be searched.
    pub async fn search(&self, object: &str) -> Result<Option<Reply>, ProviderError> {
        self.asked(self.habits().search, |effect| effect.request.object == object).await
    }

    /// Every effect that ever happened, in order: the truth.
    ///
    /// # Errors
    /// An [`io::Error`], when the log cannot be read.
    pub fn effects(&self) -> io::Result<Vec<Effect>> {
        Ok(self.contents()?.effects)
    }

    /// Every request that arrived, in order.
    ///
    /// # Errors
    /// An [`io::Error`], when the log cannot be read.
    pub fn requests(&self) -> io::Result<Vec<Request>> {
        Ok(self.contents()?.requests)
    }

    /// Lets `fault` happen at `at`, the next so many times that a request comes there. Faults of a ledger do not.
    pub fn strike(&self, at: Checkpoint, fault: Fault, times: usize) {
        self.0.line.arm(at, fault, times);
    }

    /// Changes how it behaves from now on.
    pub fn behave(&self, change: impl FnOnce(Habits) -> Habits) {
        let mut habits = self.0.habits.lock().unwrap_or_else(PoisonError::into_inner);
        *habits = change(habits.clone());
    }

    /// How it behaves.
    pub fn habits(&self) -> Habits {
        self.0.habits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its address over HTTP on loopback, `http://127.0.0.1:…`: `POST /effects/NAME` with the fields of a [`Request`] as JSON
    /// and the key in `Idempotency-Key`, `GET /effects?key=…` (`reference`, `object`) for what there is.
    ///
    /// # Errors
    /// An [`io::Error`], when there is no port to listen on.
    pub fn url(&self) -> io::Result<String> {
        let mut served = self.0.served.lock().unwrap_or_else(PoisonError::into_inner);
        let address = match *served {
            Some(address) => address,
            None => *served.insert(http::serve(self)?),
        };
        Ok(format!("http://{address}"))
    }

    /// Itself, for as long as somebody else holds it.
    fn downgrade(&self) -> impl Fn() -> Option<Self> + Send + 'static {
        let weak = Arc::downgrade(&self.0);
        move || weak.upgrade().map(Self)
    }

    /// What sets its effects apart from those of every other stage, in all processes of a case: the name of its folder.
    pub fn run_id(&self) -> String {
        let folder = self.0.path.parent().and_then(Path::file_name).unwrap_or_default();
        folder.to_string_lossy().into_owned()
    }

    /// Where its log stands.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    pub(crate) fn line(&self) -> &Arc<Line> {
        &self.0.line
    }

    /// Faults strike at requests for these effects only.
    pub(crate) fn aim(&self, effects: &[String]) {
        *self.0.aims.lock().unwrap_or_else(PoisonError::into_inner) = effects.to_vec();
    }

    pub(crate) fn contents(&self) -> io::Result<Contents> {
        self.0.log.contents()
    }

    pub(crate) fn clear(&self) -> io::Result<()> {
        self.0.log.clear()
    }

    fn aims_at(&self, effect: &str) -> bool {
        let aims = self.0.aims.lock().unwrap_or_else(PoisonError::into_inner);
        aims.is_empty() || aims.iter().any(|aim| aim == effect)
    }

    fn carry_out(&self, request: &Request) -> Result<Reply, ProviderError> {
        let habits = self.habits();
        let reply = self.0.log.carry_out(request, &habits, self.0.clock.now())?;
        Ok(if habits.references { reply } else { Reply { reference: String::new(), ..reply } })
    }

    async fn asked(&self, can: bool, is: impl Fn(&Effect) -> bool) -> Result<Option<Reply>, ProviderError> {
        tokio::task::yield_now().await;
        self.seen(can, is)
    }

    /// What its index has, if it can be asked.
    fn seen(&self, can: bool, is: impl Fn(&Effect) -> bool) -> Result<Option<Reply>, ProviderError> {
        if !can {
            return Err(ProviderError::Unavailable);
        }
        let (now, lag) = (self.0.clock.now(), self.habits().lag);
        let effects = self.effects().map_err(|_| ProviderError::Unavailable)?;
        let seen = effects.iter().find(|effect| is(effect) && effect.at.after(lag) <= now);
        Ok(seen.map(|effect| Reply::of(effect, true)))
    }

    /// A place on the way where something may strike; says whether what was sent arrives twice.
    async fn pass(&self, at: Checkpoint, aimed: bool) -> Result<bool, ProviderError> {
        // A real way takes time: others come in between.
        tokio::task::yield_now().await;
        if !aimed {
            return Ok(false);
        }
        match self.0.line.strikes(at) {
            None | Some(Fault::Kill) => Ok(false),
            Some(Fault::Error) => Err(ProviderError::Busy),
            Some(Fault::Timeout) => Err(ProviderError::TimedOut),
            Some(Fault::Reset) => Err(ProviderError::Reset),
            Some(Fault::LostResponse) => Err(ProviderError::NoAnswer),
            Some(Fault::CorruptResponse) => Err(ProviderError::Garbage),
            Some(Fault::DuplicateDelivery) => Ok(true),
            // As any panic, but for the words that it would print.
            Some(Fault::Panic) => std::panic::resume_unwind(Box::new(format!("the harness's own panic at {at}"))),
            Some(Fault::Cancel) => {
                self.0.line.gate.pass().await;
                Ok(false)
            }
        }
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("path", &self.0.path).field("habits", &self.habits()).finish_non_exhaustive()
    }
}
