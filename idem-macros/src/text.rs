//! A string literal whose every part knows where it stands, for the small languages inside literals.
//!
//! It must not know those languages. Stable compilers give no places inside a literal; then it is the whole literal.

use std::ops::Range;

use proc_macro2::{Literal, Span};
use syn::LitStr;

/// A string literal as it was written.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    value: String,
    literal: Literal,
    /// Bytes of the literal's source before the value; `None` when escapes make positions differ.
    opening: Option<usize>,
}

impl Text {
    pub(crate) fn new(literal: &LitStr) -> Self {
        let value = literal.value();
        let token = literal.token();
        let source = token.to_string();
        let opening = source.find('"').map(|quote| quote + 1).filter(|&start| source[start..].starts_with(&value));
        Self { value, literal: token, opening }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.value
    }

    pub(crate) fn span(&self) -> Span {
        self.literal.span()
    }

    /// All of it, as a piece.
    pub(crate) fn whole(&self) -> Piece<'_> {
        Piece { text: self, start: 0, end: self.value.len() }
    }

    fn span_of(&self, range: Range<usize>) -> Span {
        self.opening
            .and_then(|opening| self.literal.subspan(opening + range.start..opening + range.end))
            .unwrap_or_else(|| self.literal.span())
    }
}

/// A part of a literal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'t> {
    text: &'t Text,
    start: usize,
    end: usize,
}

impl<'t> Piece<'t> {
    pub(crate) fn as_str(&self) -> &'t str {
        &self.text.value[self.start..self.end]
    }

    /// Where it stands; the whole literal for an empty piece, since nothing cannot be underlined.
    pub(crate) fn span(&self) -> Span {
        if self.start == self.end { self.text.span() } else { self.text.span_of(self.start..self.end) }
    }

    /// A part of this part, by bytes.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        Self { text: self.text, start: self.start + range.start, end: self.start + range.end }
    }

    pub(crate) fn trim(&self) -> Self {
        let text = self.as_str();
        let start = text.len() - text.trim_start().len();
        self.part(start..start + text.trim().len())
    }

    /// The pieces between separators, each trimmed.
    pub(crate) fn split(&self, separator: char) -> Vec<Self> {
        let mut start = 0;
        let mut pieces = Vec::new();
        for part in self.as_str().split(separator) {
            pieces.push(self.part(start..start + part.len()).trim());
            start += part.len() + separator.len_utf8();
        }
        pieces
    }
}
