//! A proxy on loopback in front of a provider with an HTTP API of its own: faults strike on the wire, the client is a real one.
//!
//! Must not know the API. It speaks as much HTTP/1.1 as it takes to see where a message ends.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use super::{Checkpoint, Fault, Provider, faults::Line, gate::PATIENCE};

/// How long a client that was dropped may take to hang up. A body that outlives its caller does not hang up.
const HANGS_UP: Duration = Duration::from_secs(2);

/// Longer messages are no requests of a tool.
const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A proxy in front of somebody's own provider. It lasts as long as the process.
///
/// Faults that are made to happen at the [`Provider`] of a test happen here, to every request that is not a `GET`; how often
/// something really happened is counted by a [`Sandbox`](super::Sandbox) of one's own, at the provider behind the proxy.
///
/// | fault | on the way to the provider | on the way back |
/// | --- | --- | --- |
/// | `error` | `429`, nothing is passed on | `500` in place of the answer |
/// | `timeout` | `504`, nothing is passed on | `504` in place of the answer |
/// | `reset`, `lost_response`, `panic` | the connection ends, nothing is passed on | it ends without an answer |
/// | `corrupt_response` | an answer that cannot be read | the same |
/// | `duplicate_delivery` | what is sent arrives twice | the same |
/// | `cancel` | whoever waits goes away, and nothing is passed on; a body that stays is served | whoever waits goes away |
/// | `kill` | whoever waits is killed | the same |
#[derive(Debug, Clone)]
pub struct FaultProxy {
    address: SocketAddr,
}

impl FaultProxy {
    /// A proxy in front of `upstream`, on which the faults of `provider` strike.
    ///
    /// # Errors
    /// An [`io::Error`], when there is no port on loopback.
    pub fn before(provider: &Provider, upstream: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let line = Arc::clone(provider.line());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let line = Arc::clone(&line);
                // A client that goes away is what this is for.
                thread::spawn(move || drop(Wire { line, upstream }.serve(client)));
            }
        });
        Ok(Self { address })
    }

    /// Where it listens: `http://127.0.0.1:…`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// What one connection needs.
struct Wire {
    line: Arc<Line>,
    upstream: SocketAddr,
}

/// How one request goes on.
enum Goes {
    On,
    /// Unless whoever asked has gone away meanwhile.
    OnIfWaited,
    Twice,
    /// These bytes are the answer; none at all where the connection ends.
    Ends(Vec<u8>),
}

impl Wire {
    fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_read_timeout(Some(PATIENCE))?;
        let request = message(&mut client)?;
        let aimed = !request.starts_with(b"GET ");
        let answer = match self.pass(Checkpoint::Dispatch, aimed) {
            Goes::Ends(answer) => answer,
            Goes::OnIfWaited if has_gone(&client)? => return Ok(()),
            on => {
                let mut answer = self.ask(&request)?;
                if matches!(on, Goes::Twice) {
                    answer = self.ask(&request)?;
                }
                self.back(answer, &request, aimed)?
            }
        };
        client.write_all(&answer)?;
        client.shutdown(Shutdown::Write)
    }

    fn back(&self, mut answer: Vec<u8>, request: &[u8], aimed: bool) -> io::Result<Vec<u8>> {
        for at in [Checkpoint::ProviderCommit, Checkpoint::ReceiveResponse] {
            match self.pass(at, aimed) {
                Goes::On | Goes::OnIfWaited => {}
                Goes::Twice => answer = self.ask(request)?,
                Goes::Ends(instead) => return Ok(instead),
            }
        }
        Ok(answer)
    }

    /// A place on the way where something may strike.
    fn pass(&self, at: Checkpoint, aimed: bool) -> Goes {
        let struck = if aimed { self.line.strikes(at) } else { None };
        match struck {
            None | Some(Fault::Kill) => Goes::On,
            Some(Fault::Error) if at == Checkpoint::Dispatch => Goes::Ends(status("429 Too Many Requests")),
            Some(Fault::Error) => Goes::Ends(status("500 Internal Server Error")),
            Some(Fault::Timeout) => Goes::Ends(status("504 Gateway Timeout")),
            Some(Fault::Reset | Fault::LostResponse | Fault::Panic) => Goes::Ends(Vec::new()),
            Some(Fault::CorruptResponse) => Goes::Ends(garbage()),
            Some(Fault::DuplicateDelivery) => Goes::Twice,
            Some(Fault::Cancel) => {
                self.line.gate.pass_blocking();
                Goes::OnIfWaited
            }
        }
    }

    /// Asks the provider, on a connection of its own that ends with the answer.
    fn ask(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        let mut upstream = TcpStream::connect(self.upstream)?;
        upstream.set_read_timeout(Some(PATIENCE))?;
        upstream.write_all(&closing(request))?;
        let mut answer = Vec::new();
        upstream.read_to_end(&mut answer)?;
        Ok(answer)
    }
}

/// Whether the client hangs up. What it has been told to give up, it gives up soon.
fn has_gone(client: &TcpStream) -> io::Result<bool> {
    client.set_read_timeout(Some(HANGS_UP))?;
    match client.peek(&mut [0]) {
        Ok(read) => Ok(read == 0),
        Err(error) => Ok(!matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)),
    }
}

/// One request: its head, and as much as the head says.
fn message(from: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut part = [0; 8 * 1024];
    loop {
        if let Some(head) = end_of_head(&bytes)
            && bytes.len() >= head + length(&bytes[..head])
        {
            return Ok(bytes);
        }
        let read = from.read(&mut part)?;
        if read == 0 || bytes.len() > MESSAGE_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        bytes.extend_from_slice(&part[..read]);
    }
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

fn length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head);
    let named = head.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = named.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    lengths.find_map(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
}

/// The request, asking for a connection that ends with the answer.
fn closing(request: &[u8]) -> Vec<u8> {
    let head = end_of_head(request).unwrap_or(request.len());
    let text = String::from_utf8_lossy(&request[..head]);
    let kept = text.trim_end().lines().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let mut closing = kept.collect::<Vec<_>>().join("\r\n").into_bytes();
    closing.extend_from_slice(b"\r\nConnection: close\r\n\r\n");
    closing.extend_from_slice(&request[head..]);
    closing
}

fn status(line: &str) -> Vec<u8> {
    format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_bytes()
}

fn garbage() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\nConnection: close\r\n\r\n{\"id\": \"r"
        .to_vec()
}
