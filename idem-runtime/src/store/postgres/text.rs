//! Text as a column can hold it: PostgreSQL has none with a NUL in it.
//!
//! Must not know whose words these are. What somebody said or is called must not keep a settlement out, and two names must
//! not become one: so it is written reversibly, and read as it was given.

use std::{borrow::Cow, sync::Arc};

use sqlx::{Error, postgres::PgRow};

use super::read::get;

/// Stands before what stands for a NUL, and for itself: the sign for "a character that cannot be shown".
const MARK: char = '\u{1a}';

/// A NUL and the mark, as they are written.
const WRITTEN: [(char, &str); 2] = [(MARK, "\u{1a}1"), ('\0', "\u{1a}0")];

/// `words` as a column holds them.
pub(super) fn text(words: &str) -> Cow<'_, str> {
    if !words.contains(['\0', MARK]) {
        return Cow::Borrowed(words);
    }
    Cow::Owned(WRITTEN.iter().fold(words.to_owned(), |words, (char, written)| words.replace(*char, written)))
}

/// The words that a column holds.
fn words(column: &str) -> Arc<str> {
    if !column.contains(MARK) {
        return column.into();
    }
    WRITTEN
        .iter()
        .rev()
        .fold(column.to_owned(), |words, (char, written)| words.replace(written, &char.to_string()))
        .into()
}

/// The words in a column.
pub(super) fn said(row: &PgRow, name: &str) -> Result<Arc<str>, Error> {
    get::<&str>(row, name).map(words)
}

/// The words in a column, if there are any.
pub(super) fn maybe_said(row: &PgRow, name: &str) -> Result<Option<Arc<str>>, Error> {
    get::<Option<&str>>(row, name).map(|column| column.map(words))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn words_are_read_as_they_were_given() {
        let parts = ["\0", "\u{1a}", "0", "1", "é"];
        let mut seen = HashSet::new();
        for (one, two, three, four) in (0..625).map(|nth| (nth % 5, nth / 5 % 5, nth / 25 % 5, nth / 125)) {
            let given = [parts[one], parts[two], parts[three], parts[four]].concat();
            let written = text(&given);
            assert!(!written.contains('\0'), "{given:?}");
            assert_eq!(&*words(&written), given);
            assert!(seen.insert(written.into_owned()), "{given:?} is written as another one is");
        }
    }

    #[test]
    fn plain_words_are_written_as_they_are() {
        assert!(matches!(text("acme"), Cow::Borrowed("acme")));
    }
}
