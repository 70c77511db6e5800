//! A provider of refunds that is really called over HTTP, and the client that tools call it with.
//!
//! It keeps its own log of what happened, by order, cents and recipient: effects are counted there and nowhere else. Its
//! habits are a test's to choose, its clock is the test's, and it runs on a thread of its own, so that no runtime under
//! test can hold it up. The provider itself must not know that
//! there is a ledger.

mod client;
mod desk;
pub mod http;
mod till;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use idem_runtime::{Clock, Timestamp};
use tokio::{net::TcpListener, sync::oneshot};

pub use client::{Bank, BankError, Refund};
pub use desk::{SendError, classify};
use till::Till;

/// One refund that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The provider's id of it.
    pub reference: String,
    /// The key under which it was sent, where one was.
    pub key: Option<String>,
    /// The order that was refunded.
    pub order: String,
    /// How much.
    pub cents: u64,
    /// To whom.
    pub recipient: String,
    /// When it happened.
    pub at: Timestamp,
}

/// What becomes of one `POST /refunds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// It happens, and is answered.
    Answered,
    /// It happens, and the connection drops before the answer.
    Lost,
    /// It does not happen, and the connection drops.
    Dropped,
    /// It does not happen, and the answer has this status.
    Refused(u16),
    /// The connection drops, and it happens so much later.
    Late(Duration),
}

/// What becomes of every `GET /refunds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looking {
    /// It is answered from the index.
    Answered,
    /// The connection drops.
    Dropped,
    /// The answer has this status, whatever happened.
    Refused(u16),
}

/// How the provider answers a key that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownKey {
    /// With the refund that happened.
    SameAnswer,
    /// With 409, "already processed".
    Conflict,
}

/// How the provider behaves.
#[derive(Debug, Clone)]
pub struct Habits {
    /// It honours `Idempotency-Key`.
    pub keyed: bool,
    /// It forgets a key so long after it first came.
    pub forgets_after: Option<Duration>,
    /// What it says to a key that it knows.
    pub known_key: KnownKey,
    /// So long after it happened a refund can be looked up.
    pub index_lag: Duration,
    /// What becomes of the next sends, in order; those after them are answered.
    pub sends: Vec<Sending>,
    /// What becomes of look-ups.
    pub lookups: Looking,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            keyed: true,
            forgets_after: None,
            known_key: KnownKey::SameAnswer,
            index_lag: Duration::ZERO,
            sends: Vec::new(),
            lookups: Looking::Answered,
        }
    }
}

/// A provider that is running; it stops when this is dropped.
#[derive(Debug)]
pub struct Provider {
    till: Shared,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The provider's books, shared between its thread and the test.
#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<Till>>);

impl Shared {
    fn till(&self) -> MutexGuard<'_, Till> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider {
    /// Starts one that lives by `clock`.
    ///
    /// # Panics
    /// When there is no port or no thread for it.
    pub fn start(clock: &(impl Clock + Clone)) -> Self {
        let till = Shared(Arc::new(Mutex::new(Till::new(Arc::new(clock.clone())))));
        let (stop, stopped) = oneshot::channel();
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("its address");
        let of_thread = till.clone();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                listener.set_nonblocking(true).expect("a listener that waits");
                let listener = TcpListener::from_std(listener).expect("a listener");
                tokio::select! {
                    () = serve(&listener, &of_thread) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { till, address, stop: Some(stop), thread: Some(thread) }
    }

    /// What tools call it with.
    pub fn bank(&self) -> Bank {
        Bank::at(self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From here on it behaves otherwise.
    pub fn habits(&self, change: impl FnOnce(&mut Habits)) {
        change(&mut self.till.till().habits);
    }

    /// What becomes of the next sends, in order.
    pub fn sends(&self, sends: impl IntoIterator<Item = Sending>) {
        self.habits(|habits| habits.sends = sends.into_iter().collect());
    }

    /// From here on look-ups end like this.
    pub fn lookups(&self, lookups: Looking) {
        self.habits(|habits| habits.lookups = lookups);
    }

    /// Everything that happened, in order.
    pub fn effects(&self) -> Vec<Effect> {
        self.till.till().effects()
    }

    /// How often this order was refunded.
    pub fn refunds_of(&self, order: &str) -> usize {
        self.effects().iter().filter(|effect| effect.order == order).count()
    }

    /// How many sends arrived.
    pub fn sent(&self) -> usize {
        self.till.till().sent
    }

    /// The keys under which refunds were sent, in order.
    pub fn sent_under(&self) -> Vec<String> {
        self.till.till().sent_under.clone()
    }

    /// How many look-ups arrived.
    pub fn looked_up(&self) -> usize {
        self.till.till().looked_up
    }

    /// Methods and paths of everything that was asked, in order.
    pub fn asked(&self) -> Vec<String> {
        self.till.till().asked.clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // It may have stopped by itself.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers whoever comes.
async fn serve(listener: &TcpListener, till: &Shared) {
    loop {
        let Ok((mut stream, _)) = listener.accept().await else { continue };
        let till = till.clone();
        tokio::spawn(async move {
            // A client that went away asks no more.
            let Ok(Some(request)) = http::request(&mut stream).await else { return };
            let answer = till.till().answer(&request);
            if let Some((status, body)) = answer {
                let _ = http::respond(&mut stream, status, &body).await;
            }
        });
    }
}
