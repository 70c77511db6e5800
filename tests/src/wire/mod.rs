//! What stands between a ledger and its PostgreSQL server: a wire that is cut, a pooler that lends connections by the
//! transaction, and a session that somebody else has.
//!
//! Must not know what a ledger is: these speak PostgreSQL's protocol, and listen at 127.0.0.1 on threads of their own.

mod frame;
mod pooler;
mod proxy;
mod session;

use std::{
    future::Future,
    io,
    sync::Arc,
    thread::{self, JoinHandle},
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

pub use pooler::Pooler;
pub use proxy::{At, Proxy, Side};
pub use session::{Row, Session, SqlError};

/// The address of the same ledger by way of this port: `ledger` is one of `Cluster::ledger`.
///
/// # Panics
/// When it is not.
pub fn through(ledger: &str, port: u16) -> String {
    let (_, options) = ledger.split_once("options=").expect("the address of a ledger in a schema of its own");
    format!("postgres://postgres@127.0.0.1:{port}/postgres?options={options}")
}

/// The schema that this ledger is in.
///
/// # Panics
/// When `ledger` is not an address of `Cluster::ledger`.
pub fn schema_of(ledger: &str) -> &str {
    ledger.rsplit_once("search_path%3D").expect("the address of a ledger in a schema of its own").1
}

/// A port at which everybody who comes is served, on a thread of its own; until it is dropped.
#[derive(Debug)]
struct Listening {
    port: u16,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Listening {
    fn start<S, F>(state: &Arc<S>, serve: fn(TcpStream, Arc<S>) -> F) -> Self
    where
        S: Send + Sync + 'static,
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let state = Arc::clone(state);
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                listener.set_nonblocking(true).expect("a listener that waits");
                let listener = TcpListener::from_std(listener).expect("a listener");
                let serving = async {
                    loop {
                        let Ok((stream, _)) = listener.accept().await else { continue };
                        let _ = stream.set_nodelay(true);
                        // Whoever hangs up, or is hung up on, is told so by that alone.
                        drop(tokio::spawn(serve(stream, Arc::clone(&state))));
                    }
                };
                tokio::select! {
                    () = serving => {}
                    _ = stopped => {}
                }
            });
        });
        Self { port, stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Listening {
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
