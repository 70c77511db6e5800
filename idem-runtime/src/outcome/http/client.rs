//! Which of `reqwest`'s errors is which way to no answer.
//!
//! Must not decide what a way proves. It reads what a client says of itself, never an error's words.

use std::error::Error;

use super::{Statuses, Transport, Transports};
use crate::outcome::{EffectError, ErrorClass};

/// By the standard tables; [`classify`] takes others.
///
/// It is true of a client that sends a request once: see [`sends_once`].
impl EffectError for reqwest::Error {
    fn effect_class(&self) -> ErrorClass {
        classify(self, &Statuses::STANDARD, &Transports::STANDARD)
    }
}

/// What an error of a client that [sends once](sends_once) proves, by these tables.
///
/// ```
/// use idem_runtime::{ErrorClass, http::{self, Statuses, Transports}};
///
/// fn what_it_proves(error: &reqwest::Error) -> ErrorClass {
///     const STATUSES: Statuses = Statuses::STANDARD.with(409, ErrorClass::Final);
///     http::classify(error, &STATUSES, &Transports::STANDARD)
/// }
///
/// let error = reqwest::Proxy::all("no address").unwrap_err();
/// assert_eq!(what_it_proves(&error), ErrorClass::Final); // nothing can be sent through that
/// ```
pub fn classify(error: &reqwest::Error, statuses: &Statuses, transports: &Transports) -> ErrorClass {
    match error.status() {
        Some(status) => statuses.classify(status.as_u16()),
        None => transports.classify(Transport::of(error)),
    }
}

/// A client whose errors are proof: it follows no redirects and never sends a request again by itself.
///
/// Both hide requests. `reqwest` follows redirects unless told not to, and "connection refused" is then said of the last
/// of several requests. It sends again where the protocol says that the request was not processed, and more if a
/// `retry` policy says so.
///
/// Give it a timeout too: without one it can wait for ever for a connection that was closed long ago.
///
/// ```no_run
/// let client = idem_runtime::http::sends_once(reqwest::Client::builder()).build()?;
/// # Ok::<(), reqwest::Error>(())
/// ```
#[must_use = "the builder is changed, not the client"]
pub fn sends_once(builder: reqwest::ClientBuilder) -> reqwest::ClientBuilder {
    builder.retry(reqwest::retry::never()).redirect(reqwest::redirect::Policy::none())
}

impl Transport {
    /// The way in which this error came to no answer; [`Other`](Self::Other) for a status, which is an answer.
    pub fn of(error: &reqwest::Error) -> Self {
        if error.is_builder() {
            return Self::Building;
        }
        if error.is_redirect() {
            return Self::Redirecting;
        }
        if error.is_decode() {
            return Self::Decoding;
        }
        // The connection's own word. Its first one: further in may lie another connection's, which a body was read from.
        let wire = sources(error).find_map(|source| source.downcast_ref::<hyper::Error>());
        let by_wire = wire.and_then(of_wire);
        match by_wire {
            Some(Self::NotBegun) if !error.is_request() => Self::Other,
            Some(of) => of,
            None if wire.is_none() && error.is_request() && error.is_connect() => Self::Connecting,
            None if error.is_timeout() => Self::TimedOut,
            None if error.is_body() => Self::Body,
            None => Self::Other,
        }
    }
}

/// What a connection's own error says, if it decides.
fn of_wire(error: &hyper::Error) -> Option<Transport> {
    // `hyper` has the whole request still where a connection gave it back or could not take it, and nowhere else.
    let not_begun = error.is_canceled() || error.is_closed();
    let closed = error.is_incomplete_message();
    not_begun.then_some(Transport::NotBegun).or(closed.then_some(Transport::Closed))
}

/// What is behind an error, from the outside in.
fn sources(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |&error| error.source())
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        pin::Pin,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Context, Poll},
    };

    use hyper::rt::{Read, ReadBufCursor, Write};

    use super::*;

    /// A connection whose other end hangs up, before the first byte or after it.
    struct Wire {
        hangs_up_first: bool,
        had: Arc<AtomicUsize>,
    }

    impl Wire {
        fn had(&self) -> usize {
            self.had.load(Ordering::SeqCst)
        }
    }

    impl Read for Wire {
        fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, _: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
            if self.hangs_up_first || self.had() > 0 {
                return Poll::Ready(Ok(()));
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }
    }

    impl Write for Wire {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.had.fetch_add(bytes.len(), Ordering::SeqCst);
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn request() -> hyper::Request<String> {
        hyper::Request::post("/orders").body("A-1".to_owned()).expect("a request")
    }

    #[tokio::test]
    async fn r112_a_request_that_was_given_back_was_not_begun_and_one_that_was_written_was() {
        for (hangs_up_first, way) in [(true, Transport::NotBegun), (false, Transport::Closed)] {
            let had = Arc::default();
            let wire = Wire { hangs_up_first, had: Arc::clone(&had) };
            let (mut sender, connection) = hyper::client::conn::http1::handshake(wire).await.expect("a connection");
            let (_, answer) = tokio::join!(connection, sender.send_request(request()));
            let error = answer.expect_err("nobody answers");
            assert_eq!(of_wire(&error), Some(way), "{error:?}");
            assert_eq!(had.load(Ordering::SeqCst) == 0, way == Transport::NotBegun);
            let error = sender.send_request(request()).await.expect_err("the connection is gone");
            assert_eq!(of_wire(&error), Some(Transport::NotBegun), "{error:?}");
            let error = sender.ready().await.expect_err("for good");
            assert_eq!(of_wire(&error), Some(Transport::NotBegun), "{error:?}");
        }
    }

    #[test]
    fn a_request_that_cannot_be_built_is_final() {
        let error = reqwest::Proxy::all("no address").expect_err("no proxy");
        assert_eq!((Transport::of(&error), error.effect_class()), (Transport::Building, ErrorClass::Final));
    }
}
