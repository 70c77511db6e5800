//! The provider over HTTP on loopback, under the same rules as in process: for tools whose client speaks HTTP.
//!
//! | request | answer |
//! | --- | --- |
//! | `POST /effects/NAME`, key in `Idempotency-Key`, [`Request`] fields as JSON | 201 (200 where the key was known) and a [`Reply`](super::Reply) |
//! | `GET /effects?key=…`, `?reference=…`, `?object=…` | 200 and a reply, or 404 |
//!
//! Busy is 503, declined is 422, "cannot be asked" is 501; a lost or late answer is a connection that ends without one, and
//! garbage is a body that is no JSON. A panic of the caller's body cannot be made to happen from here: it is passed over.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

use serde::Serialize;

use super::{Checkpoint, Fault, Provider, ProviderError, Reply, Request};

/// More than any test sends.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// Serves `provider` until its last handle is gone; says where.
pub(super) fn serve(provider: &Provider) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let weak = provider.downgrade();
    thread::Builder::new().name("idem-provider".to_owned()).spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let Some(provider) = weak() else { return };
            thread::spawn(move || {
                // A client that goes away is a client's business.
                let _ = answer(&provider, stream);
            });
        }
    })?;
    Ok(address)
}

/// One request of one connection.
struct Asked {
    method: String,
    target: String,
    key: Option<String>,
    body: Vec<u8>,
}

fn read(stream: &TcpStream) -> io::Result<Option<Asked>> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut key, mut length) = (None, 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "idempotency-key" => key = Some(value.trim().to_owned()),
            "content-length" => length = value.trim().parse().unwrap_or(0),
            _ => {}
        }
    }
    let mut body = vec![0; usize::min(length, BODY_BYTES_MAX)];
    reader.read_exact(&mut body)?;
    Ok(Some(Asked { method, target, key, body }))
}

fn answer(provider: &Provider, mut stream: TcpStream) -> io::Result<()> {
    let Some(asked) = read(&stream)? else { return Ok(()) };
    let path = asked.target.split('?').next().unwrap_or_default();
    match (asked.method.as_str(), path.strip_prefix("/effects/")) {
        ("POST", Some(effect)) => {
            let Ok(mut fields) = serde_json::from_slice::<serde_json::Map<_, _>>(&asked.body) else {
                return say(&mut stream, "400 Bad Request", &"the body is no JSON object");
            };
            fields.insert("effect".to_owned(), effect.into());
            let Ok(request) = serde_json::from_value::<Request>(fields.into()) else {
                return say(&mut stream, "400 Bad Request", &"the body is no request");
            };
            carry_out(provider, &Request { key: asked.key.or(request.key.clone()), ..request }, &mut stream)
        }
        ("GET", None) if path == "/effects" => {
            let (name, value) =
                asked.target.split_once('?').and_then(|(_, query)| query.split_once('=')).unwrap_or_default();
            let value = decoded(value);
            let habits = provider.habits();
            let found = match name {
                "key" => provider.seen(habits.lookup, |effect| effect.request.key.as_deref() == Some(&value)),
                "reference" => provider.seen(habits.lookup, |effect| effect.reference == value),
                "object" => provider.seen(habits.search, |effect| effect.request.object == value),
                _ => Err(ProviderError::Unavailable),
            };
            match found {
                Ok(Some(reply)) => say(&mut stream, "200 OK", &reply),
                Ok(None) => say(&mut stream, "404 Not Found", &"no such effect"),
                Err(error) => say(&mut stream, "501 Not Implemented", &error.to_string()),
            }
        }
        _ => say(&mut stream, "404 Not Found", &"there is nothing here"),
    }
}

/// The same way as in process, with the same places where something may strike.
fn carry_out(provider: &Provider, request: &Request, stream: &mut TcpStream) -> io::Result<()> {
    let aimed = provider.aims_at(&request.effect);
    let strikes = |at| if aimed { provider.line().strikes(at) } else { None };
    let mut times = 1;
    match strikes(Checkpoint::Dispatch) {
        Some(Fault::Error) => return say(stream, "503 Service Unavailable", &"busy; nothing was done"),
        Some(Fault::Timeout | Fault::Reset | Fault::LostResponse | Fault::CorruptResponse) => return Ok(()),
        Some(Fault::DuplicateDelivery) => times = 2,
        Some(Fault::Cancel) => provider.line().gate.pass_blocking(),
        Some(Fault::Panic | Fault::Kill) | None => {}
    }
    if aimed && provider.line().armed(Checkpoint::ProviderCommit) == Some(Fault::DuplicateDelivery) {
        times = 2;
    }
    let mut reply = provider.carry_out(request);
    for _ in 1..times {
        reply = provider.carry_out(request);
    }
    let reply: Reply = match reply {
        Ok(reply) => reply,
        Err(ProviderError::Declined(why)) => return say(stream, "422 Unprocessable Content", &why),
        Err(error) => return say(stream, "500 Internal Server Error", &error.to_string()),
    };
    for at in [Checkpoint::ProviderCommit, Checkpoint::ReceiveResponse] {
        match strikes(at) {
            Some(Fault::Timeout | Fault::Reset | Fault::LostResponse) => return Ok(()),
            Some(Fault::CorruptResponse) => {
                return write!(stream, "{}", head("200 OK", 9)).and_then(|()| stream.write_all(b"{\"refere,"));
            }
            Some(Fault::Cancel) => provider.line().gate.pass_blocking(),
            _ => {}
        }
    }
    say(stream, if reply.known { "200 OK" } else { "201 Created" }, &reply)
}

fn head(status: &str, length: usize) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    )
}

fn say(stream: &mut TcpStream, status: &str, body: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_string(body)?;
    stream.write_all(format!("{}{body}", head(status, body.len())).as_bytes())
}

/// A value of a query as it was meant.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        let hex = |digit: Option<u8>| digit.and_then(|digit| char::from(digit).to_digit(16)).unwrap_or(0);
        bytes.push(match byte {
            b'%' => u8::try_from(hex(rest.next()) * 16 + hex(rest.next())).unwrap_or(b'?'),
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
