//! A session that somebody else has with the server: it says what a test wants, word for word, and holds what it holds.

use std::fmt;

use tokio::{io::AsyncWriteExt, net::TcpStream};

use super::frame::{Frame, Startup};

/// A session without a ledger.
#[derive(Debug)]
pub struct Session {
    stream: TcpStream,
}

/// What a server says instead of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// The code (SQLSTATE).
    pub code: String,
    /// In words.
    pub words: String,
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.words)
    }
}

impl std::error::Error for SqlError {}

/// A row as text; an absent value is an empty one.
pub type Row = Vec<String>;

impl Session {
    /// A session with the server at this port, in a schema.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn open(port: u16, schema: &str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a server");
        let path = format!("-csearch_path={schema}");
        let startup = Startup::of(&[("user", "postgres"), ("database", "postgres"), ("options", &path)]);
        stream.write_all(&startup.0).await.expect("a greeting");
        let mut session = Self { stream };
        session.answer().await.expect("let in");
        session
    }

    /// Says something; gives the rows of all of it.
    ///
    /// # Errors
    /// [`SqlError`], the first that the server answers.
    ///
    /// # Panics
    /// When the server hangs up.
    pub async fn ask(&mut self, statement: &str) -> Result<Vec<Row>, SqlError> {
        let query = Frame::new(b'Q', [statement.as_bytes(), b"\0"].concat());
        query.write(&mut self.stream).await.expect("a server that listens");
        self.answer().await
    }

    /// The single value that a statement gives.
    ///
    /// # Panics
    /// When it gives none.
    pub async fn value(&mut self, statement: &str) -> String {
        let rows = self.ask(statement).await.expect("an answer");
        rows.first().and_then(|row| row.first()).expect("a value").clone()
    }

    async fn answer(&mut self) -> Result<Vec<Row>, SqlError> {
        let (mut rows, mut failed) = (Vec::new(), None);
        loop {
            let frame = Frame::read(&mut self.stream).await.expect("a server that answers");
            if frame.ready().is_some() {
                return failed.map_or(Ok(rows), Err);
            }
            match frame.kind {
                b'D' => rows.push(row(&frame.body)),
                b'E' if failed.is_none() => {
                    let field = |name| frame.error(name).unwrap_or_default();
                    failed = Some(SqlError { code: field(b'C'), words: field(b'M') });
                }
                _ => {}
            }
        }
    }
}

fn row(body: &[u8]) -> Row {
    let mut rest = body.get(2..).unwrap_or_default();
    let mut row = Row::new();
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let bytes = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
        row.push(String::from_utf8_lossy(&behind[..bytes]).into_owned());
        rest = &behind[bytes..];
    }
    row
}
