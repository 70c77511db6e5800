//! Several statements in one message: what a driver sends one by one, and waits for each time, is one round trip here.
//!
//! Must not know what the statements mean. A message carries no parameters, so values are written out: numbers, bytes as
//! hexadecimal digits, words with whatever could end them escaped, the same under every setting of the server. No statement
//! has a name, and what fails ends the message: nothing behind it is carried out.

use std::future::poll_fn;

use sqlx::{AssertSqlSafe, Either, PgConnection, postgres::PgRow};

/// Statements to be sent together.
#[derive(Debug, Default)]
pub(super) struct Script {
    text: String,
    statements: usize,
}

/// What a statement answered.
#[derive(Debug, Default)]
pub(super) struct Answered {
    pub(super) rows: Vec<PgRow>,
    /// How many rows it changed, or told.
    pub(super) count: u64,
}

/// A message that failed.
#[derive(Debug)]
pub(super) struct Failed {
    /// How many statements had been answered.
    pub(super) answered: usize,
    pub(super) error: sqlx::Error,
}

impl Script {
    /// Adds one statement or more, none of which is open for a value.
    pub(super) fn say(&mut self, statements: &str, many: usize) {
        self.text.push_str(statements);
        self.text.push_str(";\n");
        self.statements += many;
    }

    /// How many statements there are.
    pub(super) const fn len(&self) -> usize {
        self.statements
    }

    /// Sends them; gives what each answered.
    pub(super) async fn send(self, db: &mut PgConnection) -> Result<Vec<Answered>, Failed> {
        let mut answers = Vec::with_capacity(self.statements);
        let mut answer = Answered::default();
        let mut stream = sqlx::raw_sql(AssertSqlSafe(self.text)).fetch_many(db);
        while let Some(next) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
            match next {
                Ok(Either::Right(row)) => answer.rows.push(row),
                Ok(Either::Left(done)) => {
                    answer.count = done.rows_affected();
                    answers.push(std::mem::take(&mut answer));
                }
                Err(error) => return Err(Failed { answered: answers.len(), error }),
            }
        }
        Ok(answers)
    }
}

/// The values of a column, one a row.
#[derive(Debug)]
pub(super) enum Values<'a> {
    Numbers(Vec<Option<i64>>),
    Flags(Vec<bool>),
    Bytes(Vec<&'a [u8]>),
    Words(Vec<Option<String>>),
}

/// Rows to be written, by column.
#[derive(Debug, Default)]
pub(super) struct Rows<'a> {
    columns: Vec<Column<'a>>,
}

#[derive(Debug)]
struct Column<'a> {
    name: &'static str,
    values: Values<'a>,
    /// Always one value a row, also where all are the same.
    is_key: bool,
}

impl<'a> Rows<'a> {
    /// Adds a column of numbers by which rows are looked up: a planner that is told the one tenant of them all looks at each of
    /// that tenant's rows, where its statistics say that there are few.
    pub(super) fn keys(mut self, name: &'static str, values: impl Iterator<Item = i64>) -> Self {
        self.columns.push(Column { name, values: Values::Numbers(values.map(Some).collect()), is_key: true });
        self
    }

    /// Adds a column of numbers.
    pub(super) fn numbers(self, name: &'static str, values: impl Iterator<Item = i64>) -> Self {
        self.and(name, Values::Numbers(values.map(Some).collect()))
    }

    /// Adds a column of numbers, some of which may be missing.
    pub(super) fn maybe(self, name: &'static str, values: impl Iterator<Item = Option<i64>>) -> Self {
        self.and(name, Values::Numbers(values.collect()))
    }

    /// Adds a column of flags.
    pub(super) fn flags(self, name: &'static str, values: impl Iterator<Item = bool>) -> Self {
        self.and(name, Values::Flags(values.collect()))
    }

    /// Adds a column of bytes.
    pub(super) fn bytes(self, name: &'static str, values: impl Iterator<Item = &'a [u8]>) -> Self {
        self.and(name, Values::Bytes(values.collect()))
    }

    /// Adds a column of words, some of which may be missing.
    pub(super) fn words(self, name: &'static str, values: impl Iterator<Item = Option<String>>) -> Self {
        self.and(name, Values::Words(values.collect()))
    }

    fn and(mut self, name: &'static str, values: Values<'a>) -> Self {
        self.columns.push(Column { name, values, is_key: false });
        self
    }

    /// The columns' names.
    pub(super) fn names(&self) -> String {
        self.columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
    }

    /// `name = n.name` for every column that is no key.
    pub(super) fn changes(&self) -> String {
        let changing = self.columns.iter().filter(|column| !column.is_key);
        changing.map(|column| format!("{0} = n.{0}", column.name)).collect::<Vec<_>>().join(", ")
    }

    /// A table of the rows, which have at least one key. Another column that is the same in all of them is written once.
    pub(super) fn table(&self) -> String {
        let (mut told, mut arrays, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for Column { name, values, is_key } in &self.columns {
            let kind = values.kind();
            if let Some(same) = values.same().filter(|_| !is_key) {
                told.push(format!("{same}::{kind} as {name}"));
                continue;
            }
            told.push(format!("r.{name}"));
            names.push(*name);
            arrays.push(format!("{}::{kind}[]", values.array()));
        }
        let (told, arrays, names) = (told.join(", "), arrays.join(", "), names.join(", "));
        format!("select {told} from unnest({arrays}) as r ({names})")
    }
}

impl Values<'_> {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Numbers(_) => "bigint",
            Self::Flags(_) => "boolean",
            Self::Bytes(_) => "bytea",
            Self::Words(_) => "text",
        }
    }

    /// The one value that all rows have.
    fn same(&self) -> Option<String> {
        fn all<T: PartialEq>(values: &[T]) -> Option<&T> {
            let first = values.first()?;
            values.iter().all(|value| value == first).then_some(first)
        }
        match self {
            Self::Numbers(values) => {
                all(values).map(|value| value.map_or("null".to_owned(), |number| format!("'{number}'")))
            }
            Self::Flags(values) => all(values).map(bool::to_string),
            Self::Bytes(values) => all(values).map(|bytes| {
                let mut text = String::with_capacity(bytes.len() * 2 + 8);
                text.push_str("E'\\\\x");
                hexadecimal(&mut text, bytes);
                text.push('\'');
                text
            }),
            Self::Words(values) => {
                all(values).map(|value| value.as_ref().map_or("null".to_owned(), |words| quoted(words)))
            }
        }
    }

    fn array(&self) -> String {
        let mut text = String::new();
        match self {
            Self::Numbers(values) => {
                text.push_str("'{");
                for (at, value) in values.iter().enumerate() {
                    text.push_str(if at == 0 { "" } else { "," });
                    match value {
                        Some(number) => text.push_str(itoa::Buffer::new().format(*number)),
                        None => text.push_str("null"),
                    }
                }
                text.push_str("}'");
            }
            Self::Flags(values) => {
                text.push_str("'{");
                for (at, value) in values.iter().enumerate() {
                    text.push_str(if at == 0 { "" } else { "," });
                    text.push(if *value { 't' } else { 'f' });
                }
                text.push_str("}'");
            }
            Self::Bytes(values) => {
                text.reserve(values.iter().map(|bytes| bytes.len() * 2 + 9).sum());
                text.push_str("E'{");
                for (at, bytes) in values.iter().enumerate() {
                    // Twice escaped: for the literal, and for the array.
                    text.push_str(if at == 0 { "\"\\\\\\\\x" } else { ",\"\\\\\\\\x" });
                    hexadecimal(&mut text, bytes);
                    text.push('"');
                }
                text.push_str("}'");
            }
            Self::Words(values) => {
                text.push_str("array[");
                for (at, value) in values.iter().enumerate() {
                    text.push_str(if at == 0 { "" } else { "," });
                    text.push_str(&value.as_ref().map_or("null".to_owned(), |words| quoted(words)));
                }
                text.push(']');
            }
        }
        text
    }
}

/// Words as a literal that means the same whatever the server thinks of backslashes.
fn quoted(words: &str) -> String {
    format!("E'{}'", words.replace('\\', "\\\\").replace('\'', "''"))
}

fn hexadecimal(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(DIGITS.get(usize::from(digit)).map_or('0', |digit| char::from(*digit)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_rows_have_is_written_once() {
        let rows = Rows::default()
            .keys("id", [7, 7].into_iter())
            .numbers("tenant", [1, 1].into_iter())
            .maybe("at", [Some(-3), None].into_iter())
            .flags("gone", [true, false].into_iter())
            .bytes("digest", [&[0_u8, 255] as &[u8], &[]].into_iter())
            .words("name", [Some("a'b\\c".to_owned()), None].into_iter());
        assert_eq!(rows.names(), "id, tenant, at, gone, digest, name");
        assert_eq!(
            Rows::default().keys("id", [7].into_iter()).flags("gone", [true].into_iter()).changes(),
            "gone = n.gone"
        );
        assert_eq!(
            rows.table(),
            "select r.id, '1'::bigint as tenant, r.at, r.gone, r.digest, r.name from unnest('{7,7}'::bigint[], \
             '{-3,null}'::bigint[], '{t,f}'::boolean[], E'{\"\\\\\\\\x00ff\",\"\\\\\\\\x\"}'::bytea[], \
             array[E'a''b\\\\c',null]::text[]) as r (id, at, gone, digest, name)"
        );
    }
}
