//! A wire between two programs that can lose an answer, at the level of TCP.
//!
//! A fault strikes the first connection only, and never before the other side has begun to answer: the request arrived,
//! its effect is committed, and the asker does not learn it. It must not know what the bytes mean.

use std::{io, net::SocketAddr, sync::Arc};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt as _, copy, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::AbortHandle,
};

/// What happens to the first answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// It arrives.
    None,
    /// It is dropped, and the connection with it.
    LoseFirst,
    /// It is kept back for as long as the asker lives, and [`Link::held`] says so.
    HoldFirst,
}

/// The wire; it is cut when this is dropped.
#[derive(Debug)]
pub struct Link {
    address: SocketAddr,
    held: Arc<Notify>,
    accepting: AbortHandle,
}

impl Link {
    /// Lays a wire to `upstream` and takes a free port on loopback for its near end.
    pub async fn to(upstream: SocketAddr, fault: Fault) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let held = Arc::new(Notify::new());
        let accepting = tokio::spawn(accept(listener, upstream, fault, Arc::clone(&held)));
        Ok(Self { address, held, accepting: accepting.abort_handle() })
    }

    /// The near end.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until an answer is being kept back.
    pub async fn held(&self) {
        self.held.notified().await;
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, upstream: SocketAddr, fault: Fault, held: Arc<Notify>) {
    let mut fault = fault;
    while let Ok((near, _)) = listener.accept().await {
        let fate = std::mem::replace(&mut fault, Fault::None);
        tokio::spawn(carry(near, upstream, fate, Arc::clone(&held)));
    }
}

/// Carries one connection. An error of either side ends it for both, which is what a wire does.
async fn carry(mut near: TcpStream, upstream: SocketAddr, fate: Fault, held: Arc<Notify>) -> io::Result<()> {
    let mut far = TcpStream::connect(upstream).await?;
    match fate {
        Fault::None => copy_bidirectional(&mut near, &mut far).await.map(drop),
        Fault::LoseFirst => until_answered(&mut near, &mut far).await,
        Fault::HoldFirst => {
            until_answered(&mut near, &mut far).await?;
            held.notify_one();
            near.read_u8().await.map(drop)
        }
    }
}

/// Forwards the request until the first byte of its answer is there.
async fn until_answered(near: &mut TcpStream, far: &mut TcpStream) -> io::Result<()> {
    let (mut asks, _) = near.split();
    let (mut answers, mut takes) = far.split();
    tokio::select! {
        // The asker left before it was answered: there is nothing to lose or to hold.
        sent = copy(&mut asks, &mut takes) => Err(sent.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())),
        answer = answers.read_u8() => answer.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt as _;

    use super::*;

    /// Answers each connection's byte `n` with `n + 1`.
    async fn adder() -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (mut peer, _) = listener.accept().await.unwrap();
                let asked = peer.read_u8().await.unwrap();
                peer.write_u8(asked + 1).await.unwrap();
            }
        });
        address
    }

    async fn ask(link: &Link, number: u8) -> io::Result<u8> {
        let mut stream = TcpStream::connect(link.address()).await?;
        stream.write_u8(number).await?;
        stream.read_u8().await
    }

    #[tokio::test]
    async fn a_sound_wire_carries_every_answer() {
        let link = Link::to(adder().await, Fault::None).await.unwrap();
        assert_eq!(ask(&link, 1).await.unwrap(), 2);
        assert_eq!(ask(&link, 5).await.unwrap(), 6);
    }

    #[tokio::test]
    async fn the_first_answer_is_lost_and_the_second_arrives() {
        let link = Link::to(adder().await, Fault::LoseFirst).await.unwrap();
        assert!(ask(&link, 1).await.is_err());
        assert_eq!(ask(&link, 1).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn a_held_answer_is_announced_and_not_delivered() {
        let link = Link::to(adder().await, Fault::HoldFirst).await.unwrap();
        let mut stream = TcpStream::connect(link.address()).await.unwrap();
        stream.write_u8(1).await.unwrap();
        tokio::time::timeout(Duration::from_secs(30), link.held()).await.unwrap();
        let mut answer = [0];
        assert!(stream.try_read(&mut answer).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock));
        assert_eq!(ask(&link, 2).await.unwrap(), 3);
    }
}
