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
    /// No array: one value.
    Number(i64),
    Flag(bool),
    Word(Option<String>),
    /// No array: all of them behind each other.
    Joined(Vec<&'a [u8]>),
}

/// What a function is told: rows by column, as `functions.sql` takes them, or the values of one row.
#[derive(Debug, Default)]
pub(super) struct Rows<'a> {
    columns: Vec<(&'static str, Values<'a>)>,
}

impl<'a> Rows<'a> {
    /// Adds a column of numbers, one a row also where all are the same. The first column is such a one, of any kind: it says
    /// how many rows there are.
    pub(super) fn keys(self, name: &'static str, values: impl Iterator<Item = i64>) -> Self {
        self.whole(name, Values::Numbers(values.map(Some).collect()))
    }

    /// Adds a column of bytes, one a row also where all are the same.
    pub(super) fn digests(self, name: &'static str, values: impl Iterator<Item = &'a [u8]>) -> Self {
        self.whole(name, Values::Bytes(values.collect()))
    }

    /// Adds a number that is for all rows.
    pub(super) fn number(self, name: &'static str, value: i64) -> Self {
        self.whole(name, Values::Number(value))
    }

    /// Adds a flag that is for all rows.
    pub(super) fn flag(self, name: &'static str, value: bool) -> Self {
        self.whole(name, Values::Flag(value))
    }

    /// Adds words that are for all rows.
    pub(super) fn word(self, name: &'static str, value: Option<String>) -> Self {
        self.whole(name, Values::Word(value))
    }

    /// Adds bytes that are for all rows.
    pub(super) fn one(self, name: &'static str, value: &'a [u8]) -> Self {
        self.whole(name, Values::Joined(vec![value]))
    }

    /// Adds a column of bytes, each as many as the others, behind each other.
    pub(super) fn joined(self, name: &'static str, values: impl Iterator<Item = &'a [u8]>) -> Self {
        self.whole(name, Values::Joined(values.collect()))
    }

    /// Adds a column of words, one a row also where all are the same.
    pub(super) fn each_word(self, name: &'static str, values: impl Iterator<Item = Option<String>>) -> Self {
        self.whole(name, Values::Words(values.collect()))
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

    fn and(self, name: &'static str, values: Values<'a>) -> Self {
        let values = values.shortened();
        self.whole(name, values)
    }

    fn whole(mut self, name: &'static str, values: Values<'a>) -> Self {
        self.columns.push((name, values));
        self
    }

    /// The function, called with these rows.
    pub(super) fn call(&self, function: &str) -> String {
        self.written(function, |text, name| {
            text.push('_');
            text.push_str(name);
            text.push_str(" => ");
        })
    }

    /// The function, called with these rows in the order in which it takes them.
    pub(super) fn call_in_order(&self, function: &str) -> String {
        self.written(function, |_, _| ())
    }

    fn written(&self, function: &str, begin: fn(&mut String, &str)) -> String {
        let mut text = String::with_capacity(1_024);
        text.push_str(function);
        for (at, (name, values)) in self.columns.iter().enumerate() {
            text.push_str(if at == 0 { "(" } else { ", " });
            begin(&mut text, name);
            values.write(&mut text);
        }
        text.push(')');
        text
    }
}

impl<'a> Values<'a> {
    /// One value, where all rows have the same one.
    fn shortened(self) -> Self {
        fn one<T: PartialEq>(mut values: Vec<T>) -> Vec<T> {
            if let Some((first, others)) = values.split_first()
                && others.iter().all(|value| value == first)
            {
                values.truncate(1);
            }
            values
        }
        match self {
            Self::Numbers(values) => Self::Numbers(one(values)),
            Self::Flags(values) => Self::Flags(one(values)),
            Self::Bytes(values) => Self::Bytes(one::<&'a [u8]>(values)),
            Self::Words(values) => Self::Words(one(values)),
            Self::Number(_) | Self::Flag(_) | Self::Word(_) | Self::Joined(_) => self,
        }
    }

    /// As an array, where it is one.
    fn write(&self, text: &mut String) {
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
                    hexadecimal(text, bytes);
                    text.push('"');
                }
                text.push_str("}'");
            }
            // In quotes: the least one would otherwise be what comes of negating a number that is too great.
            Self::Number(value) => {
                text.push('\'');
                text.push_str(itoa::Buffer::new().format(*value));
                text.push('\'');
            }
            Self::Flag(value) => text.push_str(if *value { "true" } else { "false" }),
            Self::Word(None) => text.push_str("null"),
            Self::Word(Some(words)) => quote(text, words),
            Self::Joined(values) => {
                text.reserve(values.iter().map(|bytes| bytes.len() * 2).sum::<usize>() + 8);
                text.push_str("E'\\\\x");
                for bytes in values {
                    hexadecimal(text, bytes);
                }
                text.push('\'');
            }
            // The short way for what is nearly always missing.
            Self::Words(values) if values.iter().all(Option::is_none) => {
                Self::Numbers(vec![None; values.len()]).write(text);
            }
            Self::Words(values) => {
                text.push_str("array[");
                for (at, value) in values.iter().enumerate() {
                    text.push_str(if at == 0 { "" } else { "," });
                    match value {
                        Some(words) => quote(text, words),
                        None => text.push_str("null"),
                    }
                }
                text.push_str("]::text[]");
            }
        }
    }
}

/// Words as a literal that means the same whatever the server thinks of backslashes.
fn quote(text: &mut String, words: &str) {
    text.push_str("E'");
    for character in words.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '\'' => text.push_str("''"),
            other => text.push(other),
        }
    }
    text.push('\'');
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
    fn what_is_said_of_one_row_has_no_names() {
        let rows = Rows::default()
            .number("nonce", i64::MIN)
            .flag("gone", true)
            .word("name", Some("a'b\\c".to_owned()))
            .word("approval", None)
            .one("content", &[0, 255])
            .words("principal", [None, None].into_iter());
        let said = "idem_take('-9223372036854775808', true, E'a''b\\\\c', null, E'\\\\x00ff', '{null}')";
        assert_eq!(rows.call_in_order("idem_take"), said);
    }

    #[test]
    fn what_all_rows_have_is_written_once() {
        let rows = Rows::default()
            .keys("id", [7, 7].into_iter())
            .digests("digest", [&[0_u8, 255] as &[u8], &[0, 255]].into_iter())
            .numbers("tenant", [1, 1].into_iter())
            .maybe("at", [Some(-3), None].into_iter())
            .maybe("never", [None, None].into_iter())
            .flags("gone", [true, false].into_iter())
            .bytes("content", [&[] as &[u8], &[]].into_iter())
            .words("name", [Some("a'b\\c".to_owned()), None].into_iter())
            .words("state", [Some("x".to_owned()), Some("x".to_owned())].into_iter());
        assert_eq!(
            rows.call("idem_take"),
            "idem_take(_id => '{7,7}', _digest => E'{\"\\\\\\\\x00ff\",\"\\\\\\\\x00ff\"}', _tenant => '{1}', _at => '{-3,null}', \
             _never => '{null}', _gone => '{t,f}', _content => E'{\"\\\\\\\\x\"}', _name => array[E'a''b\\\\c',null]::text[], \
             _state => array[E'x']::text[])"
        );
    }
}
