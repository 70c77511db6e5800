//! A path to a value: `order_id`, `order.id`, `self.merchant`, `pair.0`.
//!
//! It must not know which parameters there are; `validate` looks the root up.

use proc_macro2::Span;

use crate::text::Piece;

/// The word for the receiver.
pub(crate) const RECEIVER: &str = "self";

/// A path as it was written, with its place.
#[derive(Debug, Clone)]
pub(crate) struct ValuePath {
    /// As written, without blanks around it.
    pub(crate) text: String,
    pub(crate) root: String,
    pub(crate) fields: Vec<String>,
    pub(crate) span: Span,
}

impl ValuePath {
    /// Reads a path, or says what is wrong with it.
    pub(crate) fn read(piece: Piece<'_>) -> Result<Self, String> {
        let piece = piece.trim();
        let text = piece.as_str();
        let mut names = text.split('.').map(str::to_owned);
        let root = names.next().unwrap_or_default();
        let fields: Vec<String> = names.collect();
        if text.is_empty() {
            return Err("a path to a value is empty".to_owned());
        }
        if !is_name(&root) || !fields.iter().all(|field| is_name(field) || is_index(field)) {
            return Err(format!("`{text}` is not a path to a value"));
        }
        Ok(Self { text: text.to_owned(), root, fields, span: piece.span() })
    }

    pub(crate) fn is_receiver(&self) -> bool {
        self.root == RECEIVER
    }
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first == '_' || first.is_alphabetic())
        && letters.all(|letter| letter == '_' || letter.is_alphanumeric())
        && text != "_"
}

fn is_index(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit())
}
