//! As much of HTTP/1.1 as a provider and its client need: one request a connection, bodies by their length.
//!
//! Must not know what is asked.

use std::io::{Error, ErrorKind};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A request as it came.
#[derive(Debug)]
pub struct Request {
    /// What is to be done: `POST`, `GET`.
    pub method: String,
    /// With what, a query included.
    pub path: String,
    /// Its `Idempotency-Key`.
    pub key: Option<String>,
    /// Its body as JSON; null without one.
    pub body: Value,
}

/// The head and the body of a message; none when the connection ended before it was whole.
async fn message(stream: &mut TcpStream) -> Result<Option<(String, Vec<u8>)>, Error> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4_096];
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = header(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                return Ok(Some((head, bytes[end + 4..end + 4 + length].to_vec())));
            }
        }
        match stream.read(&mut chunk).await? {
            0 => return Ok(None),
            read => bytes.extend_from_slice(&chunk[..read]),
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    lines.find_map(|(found, value)| found.eq_ignore_ascii_case(name).then(|| value.trim()))
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or(Value::Null)
}

/// The next request, if there is one.
///
/// # Errors
/// Those of the connection.
pub async fn request(stream: &mut TcpStream) -> Result<Option<Request>, Error> {
    let Some((head, body)) = message(stream).await? else { return Ok(None) };
    let mut first = head.lines().next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let key = header(&head, "idempotency-key").map(str::to_owned);
    Ok(Some(Request { method, path, key, body: json(&body) }))
}

/// Answers it.
///
/// # Errors
/// Those of the connection.
pub async fn respond(stream: &mut TcpStream, status: u16, body: &Value) -> Result<(), Error> {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        if status < 400 { "OK" } else { "Refused" },
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    stream.shutdown().await
}

/// Sends a request and waits for its answer.
///
/// # Errors
/// Those of the connection, which may break before the answer.
pub async fn ask(stream: &mut TcpStream, request: &Request) -> Result<(u16, Value), Error> {
    let Request { method, path, key, body } = request;
    let key = key.as_ref().map_or_else(String::new, |key| format!("idempotency-key: {key}\r\n"));
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let head = format!("{method} {path} HTTP/1.1\r\nhost: provider\r\n{key}content-length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    let lost = || Error::new(ErrorKind::UnexpectedEof, "the connection was closed before the answer");
    let (head, body) = message(stream).await?.ok_or_else(lost)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(lost)?;
    Ok((status, json(&body)))
}
