//! PostgreSQL's messages, as far as whoever stands in between has to tell them apart.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const CANCEL: u32 = 80_877_102;
const TLS: u32 = 80_877_103;
const GSS: u32 = 80_877_104;

/// Nothing that is sent here is longer.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// What a client begins with: parameters, as it sent them, length included.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Startup(pub(super) Vec<u8>);

impl Startup {
    pub(super) fn of(parameters: &[(&str, &str)]) -> Self {
        let mut body = 196_608_u32.to_be_bytes().to_vec();
        for (name, value) in parameters {
            for word in [name, value] {
                body.extend_from_slice(word.as_bytes());
                body.push(0);
            }
        }
        body.push(0);
        let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
        Self([length.to_vec(), body].concat())
    }

    /// The names of the parameters.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        // Behind length and version they take turns with their values, each with a NUL at its end.
        let words = self.0.get(8..).unwrap_or_default().split(|byte| *byte == 0);
        words.step_by(2).filter(|name| !name.is_empty()).map(|name| String::from_utf8_lossy(name).into_owned())
    }

    /// What the client begins with, after it was told that nothing is encrypted. None where it only wants another one's
    /// statement cancelled.
    pub(super) async fn read(client: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<Option<Self>> {
        loop {
            let length = client.read_u32().await?;
            let mut rest = vec![0; bytes(length)?];
            client.read_exact(&mut rest).await?;
            let code = rest.first_chunk().copied().map(u32::from_be_bytes);
            match code {
                Some(TLS | GSS) => client.write_all(b"N").await?,
                Some(CANCEL) | None => return Ok(None),
                Some(_) => return Ok(Some(Self([length.to_be_bytes().to_vec(), rest].concat()))),
            }
        }
    }
}

/// A message: its kind, and what follows its length.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) kind: u8,
    pub(super) body: Vec<u8>,
}

impl Frame {
    pub(super) fn new(kind: u8, body: impl Into<Vec<u8>>) -> Self {
        Self { kind, body: body.into() }
    }

    pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let kind = from.read_u8().await?;
        let mut body = vec![0; bytes(from.read_u32().await?)?];
        from.read_exact(&mut body).await?;
        Ok(Self { kind, body })
    }

    pub(super) async fn write(&self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let mut all = vec![self.kind];
        all.extend_from_slice(&u32::try_from(self.body.len() + 4).expect("short").to_be_bytes());
        all.extend_from_slice(&self.body);
        to.write_all(&all).await
    }

    /// Of a client: the server answers everything up to here.
    pub(super) fn ends_request(&self) -> bool {
        matches!(self.kind, b'Q' | b'S')
    }

    /// Of a client: the name of a prepared statement, and the statement. A whole message in one has no name.
    pub(super) fn statement(&self) -> Option<(String, String)> {
        let mut words = self.body.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        match self.kind {
            b'Q' => Some((String::new(), words.next()?)),
            b'P' => Some((words.next()?, words.next()?)),
            _ => None,
        }
    }

    /// Of a server: it is ready for the next request, and there is no transaction (`I`), one (`T`) or an aborted one (`E`).
    pub(super) fn ready(&self) -> Option<u8> {
        (self.kind == b'Z').then(|| self.body.first().copied()).flatten()
    }

    /// Of a server: the field of an error.
    pub(super) fn error(&self, field: u8) -> Option<String> {
        let mut fields = self.body.split(|byte| *byte == 0).filter(|_| self.kind == b'E');
        let found = fields.find(|text| text.first() == Some(&field))?;
        Some(String::from_utf8_lossy(&found[1..]).into_owned())
    }
}

fn bytes(length: u32) -> io::Result<usize> {
    let bytes = usize::try_from(length).ok().and_then(|length| length.checked_sub(4));
    bytes.filter(|bytes| *bytes <= BYTES_MAX).ok_or_else(|| io::Error::other("a message has an impossible length"))
}

/// Whether this word stands in a statement, by itself.
pub(super) fn says(statement: &str, word: &str) -> bool {
    statement.split(|sign: char| !sign.is_alphanumeric() && sign != '_').any(|said| said.eq_ignore_ascii_case(word))
}
