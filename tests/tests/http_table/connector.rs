//! Connectors that make no connection: one that never comes to an end, and one whose handshake fails.
//!
//! Must not know the provider's ways nor what a client makes of a failure.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tower::{Layer, Service};

/// How no connection comes about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Connector {
    /// Connecting never comes to an end.
    Stuck,
    /// TLS is spoken to this address, and comes to nothing where the answer is not TLS. By hand: a TLS feature of the
    /// client would be on in every program of the workspace that has one.
    Tls(SocketAddr),
}

#[derive(Debug, Clone)]
pub(crate) struct Meddled<S> {
    how: Connector,
    inner: S,
}

impl<S> Layer<S> for Connector {
    type Service = Meddled<S>;

    fn layer(&self, inner: S) -> Meddled<S> {
        Meddled { how: *self, inner }
    }
}

impl<S, R> Service<R> for Meddled<S>
where
    S: Service<R, Response: 'static, Error: From<io::Error> + 'static>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, _: R) -> Self::Future {
        match self.how {
            Connector::Stuck => Box::pin(std::future::pending()),
            Connector::Tls(address) => Box::pin(async move { Err(handshake(address).await.into()) }),
        }
    }
}

/// Why there is no TLS with this server.
async fn handshake(address: SocketAddr) -> io::Error {
    let greet = async || {
        let mut stream = TcpStream::connect(address).await?;
        // A handshake record of TLS 1.0, as every client begins.
        stream.write_all(&[0x16, 3, 1, 0, 1, 1]).await?;
        stream.read_u8().await
    };
    match greet().await {
        Ok(0x16) => io::Error::other("the server does speak TLS"),
        Ok(_) => io::Error::new(io::ErrorKind::InvalidData, "received corrupt message of type InvalidContentType"),
        Err(error) => error,
    }
}
