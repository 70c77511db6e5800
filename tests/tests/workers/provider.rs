//! The provider: HTTP on loopback over books that only it writes, with faults drawn from a seed.
//!
//! It runs on a thread of the parent, so its books outlive every worker. At one address it honours keys, at the other a key
//! is a tag that can be asked for, and no more. Must not know that its callers have a ledger.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use idem_tests::{
    dice::Dice,
    provider::{
        Refund,
        http::{self, Request},
    },
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot};

/// In a hundred sends: the effect happens, and its answer is lost.
const LOST: u64 = 4;

/// In a hundred: the connection drops, and nothing happens.
const DROPPED: u64 = 2;

/// In a hundred: it says that it is busy, and nothing happens.
const BUSY: u64 = 3;

/// Whether a key is more than a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    Honoured,
    Tags,
}

/// What happened, and what went wrong on purpose.
#[derive(Debug)]
struct Books {
    dice: Option<Dice>,
    happened: u64,
    by_order: HashMap<String, Vec<Refund>>,
    by_key: HashMap<String, Refund>,
    faults: u64,
    lookups: u64,
}

/// A provider that is running; it stops when this is dropped.
#[derive(Debug)]
pub(crate) struct Provider {
    books: Arc<Mutex<Books>>,
    /// Where it honours keys.
    pub(crate) keyed: SocketAddr,
    /// Where it does not.
    pub(crate) plain: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Provider {
    pub(crate) fn start(seed: u64) -> Self {
        let books = Arc::new(Mutex::new(Books {
            dice: Some(Dice::new(seed)),
            happened: 0,
            by_order: HashMap::new(),
            by_key: HashMap::new(),
            faults: 0,
            lookups: 0,
        }));
        let listeners = [(); 2].map(|()| std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port"));
        let [keyed, plain] = listeners.each_ref().map(|listener| listener.local_addr().expect("its address"));
        let (stop, stopped) = oneshot::channel();
        let of_thread = Arc::clone(&books);
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let [keyed, plain] = listeners.map(|listener| {
                    listener.set_nonblocking(true).expect("a listener that waits");
                    TcpListener::from_std(listener).expect("a listener")
                });
                tokio::select! {
                    () = serve(keyed, &of_thread, Keys::Honoured) => {}
                    () = serve(plain, &of_thread, Keys::Tags) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { books, keyed, plain, stop: Some(stop), thread: Some(thread) }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on nothing goes wrong.
    pub(crate) fn calm(&self) {
        self.books().dice = None;
    }

    /// The references of everything that happened for an order.
    pub(crate) fn effects(&self, order: &str) -> Vec<String> {
        let books = self.books();
        books.by_order.get(order).into_iter().flatten().map(|refund| refund.id.clone()).collect()
    }

    /// How many faults it had.
    pub(crate) fn faults(&self) -> u64 {
        self.books().faults
    }

    /// How often it was asked what happened.
    pub(crate) fn lookups(&self) -> u64 {
        self.books().lookups
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

async fn serve(listener: TcpListener, books: &Arc<Mutex<Books>>, keys: Keys) {
    loop {
        let Ok((mut stream, _)) = listener.accept().await else { continue };
        let books = Arc::clone(books);
        tokio::spawn(async move {
            // A worker that was killed asks no more.
            let Ok(Some(request)) = http::request(&mut stream).await else { return };
            let answer = books.lock().unwrap_or_else(PoisonError::into_inner).answer(&request, keys);
            if let Some((status, body)) = answer {
                let _ = http::respond(&mut stream, status, &body).await;
            }
        });
    }
}

impl Books {
    /// None for a connection that drops.
    fn answer(&mut self, request: &Request, keys: Keys) -> Option<(u16, Value)> {
        match (request.method.as_str(), request.path.strip_prefix("/refunds")) {
            ("POST", Some("")) => self.send(request, keys),
            ("GET", Some(query)) => {
                self.lookups += 1;
                let found = query.strip_prefix("?key=").and_then(|key| self.by_key.get(key));
                Some(found.map_or_else(|| (404, json!({ "error": "no such refund" })), |refund| (200, json!(refund))))
            }
            _ => Some((405, json!({ "error": "no such thing here" }))),
        }
    }

    fn send(&mut self, request: &Request, keys: Keys) -> Option<(u16, Value)> {
        let drawn = self.dice.as_mut().map_or(100, |dice| dice.below(100));
        self.faults += u64::from(drawn < LOST + DROPPED + BUSY);
        if (LOST..LOST + DROPPED).contains(&drawn) {
            return None;
        }
        if (LOST + DROPPED..LOST + DROPPED + BUSY).contains(&drawn) {
            return Some((503, json!({ "error": "busy" })));
        }
        let refund = self.made(request, keys);
        (drawn >= LOST).then(|| (201, json!(refund)))
    }

    fn made(&mut self, request: &Request, keys: Keys) -> Refund {
        let key = request.key.clone().unwrap_or_default();
        if let (Keys::Honoured, Some(known)) = (keys, self.by_key.get(&key)) {
            return known.clone();
        }
        self.happened += 1;
        let text = |name: &str| request.body[name].as_str().unwrap_or_default().to_owned();
        let refund = Refund {
            id: format!("rf_{}", self.happened),
            order: text("order"),
            cents: request.body["cents"].as_u64().unwrap_or_default(),
            recipient: text("recipient"),
        };
        self.by_order.entry(refund.order.clone()).or_default().push(refund.clone());
        self.by_key.entry(key).or_insert_with(|| refund.clone());
        refund
    }
}
