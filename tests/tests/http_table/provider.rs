//! A provider behind a real socket: it reads a request, acts or does not, and answers or fails in a way of its own.
//!
//! Must not know what a client makes of it. What it had and what it did is counted here, by order.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use idem_tests::{timing::Gate, world::World};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
};

/// What the provider does with a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    /// Answers with this status, and acts before that unless the status is a refusal.
    Answer(u16),
    /// Answers the first request of a connection with 200; hangs up on the second one, having acted.
    AnswerThenClose,
    /// Acts, and never answers: waits until the client hangs up.
    Silent,
    /// Acts, and resets the connection.
    Reset,
    /// Acts, and closes the connection in peace.
    Close,
    /// Acts, and answers less than it said it would.
    HalfAnswer,
    /// Acts, and answers what is no HTTP.
    Babble,
    /// Closes its half of the connection before it reads; reads then, to count what came all the same.
    CloseUnread,
    /// Drops the connection at once.
    DropUnread,
    /// Is asked over TLS, and answers in plain text.
    PlainText,
}

/// The provider. Clones are the same one.
#[derive(Debug, Clone)]
pub(crate) struct Provider {
    /// Where it is.
    pub(crate) address: SocketAddr,
    /// Orders whose request was read to its end, each time it was.
    pub(crate) read: World,
    /// Orders that were carried out, each time.
    pub(crate) acted: World,
    /// Provider keys, with every request.
    pub(crate) keys: World,
    /// Bytes that came although nobody was going to read them.
    unread: Arc<AtomicUsize>,
    /// Connections.
    connections: Arc<AtomicUsize>,
    /// Passed with each connection that the provider is done with.
    pub(crate) done: Gate,
}

impl Provider {
    /// A provider that is up.
    pub(crate) async fn start(way: Way) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let provider = Self::at(listener.local_addr().expect("an address"));
        let serving = provider.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serving.connections.fetch_add(1, Ordering::SeqCst);
                let serving = serving.clone();
                tokio::spawn(async move {
                    // A client that hangs up is no fault of the provider's.
                    let _ = serving.serve(stream, way).await;
                    serving.done.pass().await;
                });
            }
        });
        provider
    }

    /// A provider that is down: the port is taken, and nobody listens. It is down until the socket is dropped.
    pub(crate) fn down() -> (Self, TcpSocket) {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
        (Self::at(socket.local_addr().expect("an address")), socket)
    }

    fn at(address: SocketAddr) -> Self {
        Self {
            address,
            read: World::default(),
            acted: World::default(),
            keys: World::default(),
            unread: Arc::default(),
            connections: Arc::default(),
            done: Gate::opened(),
        }
    }

    /// Where to send an order.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/orders", self.address)
    }

    /// How often a client came.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// How many bytes came that nobody was going to read.
    pub(crate) fn unread(&self) -> usize {
        self.unread.load(Ordering::SeqCst)
    }

    async fn serve(&self, mut stream: TcpStream, way: Way) -> std::io::Result<()> {
        match way {
            Way::DropUnread => return Ok(()),
            Way::CloseUnread => {
                stream.shutdown().await?;
                let mut late = Vec::new();
                stream.read_to_end(&mut late).await?;
                self.unread.fetch_add(late.len(), Ordering::SeqCst);
                return Ok(());
            }
            Way::PlainText => {
                stream.read_u8().await?;
                return stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
            }
            _ => {}
        }
        let order = self.request(&mut stream).await?;
        if !matches!(way, Way::Answer(400..=499)) {
            self.acted.effect(&order);
        }
        match way {
            Way::Answer(status) => {
                let head = format!("HTTP/1.1 {status} Said\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok");
                stream.write_all(head.as_bytes()).await
            }
            Way::AnswerThenClose => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await?;
                let order = self.request(&mut stream).await?;
                self.acted.effect(order);
                Ok(())
            }
            Way::Silent => stream.read_u8().await.map(drop),
            Way::Reset => stream.set_zero_linger(),
            Way::HalfAnswer => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await,
            Way::Babble => stream.write_all(b"what do you want?\r\n\r\n").await,
            Way::Close | Way::CloseUnread | Way::DropUnread | Way::PlainText => Ok(()),
        }
    }

    /// Reads a request to its end; gives the order, which is its body.
    async fn request(&self, stream: &mut TcpStream) -> std::io::Result<String> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        let head = String::from_utf8(head).expect("a head");
        let field = |name: &str| {
            let mut fields = head.lines().filter_map(|line| line.split_once(": "));
            fields.find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
        };
        let length = field("content-length").expect("a length").parse().expect("a number");
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let order = String::from_utf8(body).expect("an order");
        self.read.effect(&order);
        self.keys.effect(field("idempotency-key").expect("a provider key"));
        Ok(order)
    }
}
