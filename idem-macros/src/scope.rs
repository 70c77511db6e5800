//! The language of scopes: `conversation`, `named:cart`, `tenant+{self.merchant}`, `{region}`.
//!
//! It must not know which parameters there are.

use proc_macro2::Span;

use crate::mistakes::Mistakes;
use crate::path::ValuePath;
use crate::text::{Piece, Text};
use crate::words::{Choice, NAMED_SCOPE, SCOPES, TOO_NARROW, instead, near_miss, words_of};

/// The kind of a scope.
#[derive(Debug, Clone)]
pub(crate) enum ScopeKind {
    /// One of the words that every call carries.
    Word(Choice),
    /// A name of the application's own.
    Named(String),
}

/// A scope as it was written.
#[derive(Debug)]
pub(crate) struct ScopeWords {
    pub(crate) kind: ScopeKind,
    pub(crate) paths: Vec<ValuePath>,
}

/// Reads a scope: what could be read, after the mistakes were told.
pub(crate) fn read(text: &Text, mistakes: &mut Mistakes) -> Option<ScopeWords> {
    let mut kind = None;
    let mut paths = Vec::new();
    for (index, piece) in text.whole().split('+').into_iter().enumerate() {
        let written = piece.as_str();
        if let Some(inner) = written.strip_prefix('{') {
            match inner.strip_suffix('}') {
                Some(inner) => paths.extend(read_path(piece, inner.len(), mistakes)),
                None => mistakes.at(
                    piece.span(),
                    format!("unclosed brace in scope `{}`", text.as_str()),
                    format!("write `scope = \"{}}}\"`", text.as_str()),
                ),
            }
        } else if index == 0 {
            kind = read_kind(piece, mistakes);
        } else {
            mistakes.at(
                piece.span(),
                format!("`{written}` in a scope: after `+` stands a value in braces"),
                format!("write `{{{}}}`", if written.is_empty() { "order_id" } else { written }),
            );
        }
    }
    // A scope of values alone separates within the tenant, which every call has.
    let kind = kind.or_else(|| word("tenant").map(ScopeKind::Word))?;
    Some(ScopeWords { kind, paths })
}

/// A path of that length in braces.
fn read_path(piece: Piece<'_>, length: usize, mistakes: &mut Mistakes) -> Option<ValuePath> {
    ValuePath::read(piece.part(1..1 + length))
        .map_err(|message| {
            mistakes.at(piece.span(), format!("{message} in a scope"), "write `{order_id}`");
        })
        .ok()
}

fn read_kind(piece: Piece<'_>, mistakes: &mut Mistakes) -> Option<ScopeKind> {
    let written = piece.as_str();
    if let Some(name) = written.strip_prefix(NAMED_SCOPE) {
        return read_name(name, piece.span(), mistakes);
    }
    if let Some(choice) = word(written) {
        return Some(ScopeKind::Word(choice));
    }
    tell_unknown(written, piece.span(), mistakes);
    None
}

fn word(written: &str) -> Option<Choice> {
    SCOPES.iter().find(|choice| choice.word == written).copied()
}

fn read_name(name: &str, span: Span, mistakes: &mut Mistakes) -> Option<ScopeKind> {
    let allowed = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    if !name.is_empty() && name.chars().all(allowed) {
        return Some(ScopeKind::Named(name.to_owned()));
    }
    mistakes.at(
        span,
        format!("`{name}` is not a name of a scope: it needs letters, digits, `_`, `-` or `.`"),
        "write `scope = \"named:cart\"`",
    );
    None
}

fn tell_unknown(written: &str, span: Span, mistakes: &mut Mistakes) {
    let words = words_of(SCOPES);
    if let Some((_, reason)) = TOO_NARROW.iter().find(|(word, _)| *word == written) {
        mistakes.at(
            span,
            format!("scope `{written}` is too narrow: {reason}, so nothing would be recognised as a repeat"),
            "write `scope = \"conversation\"`",
        );
        return;
    }
    let cure = near_miss(written, &words).unwrap_or("conversation");
    let what = if written.is_empty() { "a scope is empty".to_owned() } else { format!("unknown scope `{written}`") };
    mistakes.at(
        span,
        format!("{what}{}, `{NAMED_SCOPE}…` and values in braces", instead(written, "scopes", &words)),
        format!("write `scope = \"{cure}\"`"),
    );
}
