//! Reads `#[idem(…)]` on parameters.
//!
//! It must not know what else is said about the parameter.

use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Token};

use crate::mistakes::Mistakes;
use crate::words::{MARKS, instead, list, near_miss};

/// What a parameter is to the operation, when it says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Content,
    Volatile,
    Secret,
    State,
}

impl Mark {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Volatile => "volatile",
            Self::Secret => "secret",
            Self::State => "state",
        }
    }

    fn of(word: &str) -> Option<Self> {
        [Self::Content, Self::Volatile, Self::Secret, Self::State].into_iter().find(|mark| mark.word() == word)
    }
}

/// A mark and where it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marked {
    pub(crate) mark: Mark,
    pub(crate) span: Span,
}

/// Takes the `#[idem(…)]` attributes out and gives the mark, if there is one.
pub(crate) fn take(attrs: &mut Vec<Attribute>, mistakes: &mut Mistakes) -> Option<Marked> {
    let marks: Vec<Attribute> = attrs.extract_if(.., |attr| attr.path().is_ident("idem")).collect();
    let mut marked: Option<Marked> = None;
    let words: Vec<(String, Span)> = marks.iter().flat_map(|attr| words(attr, mistakes)).collect();
    for (word, span) in words {
        let Some(mark) = Mark::of(&word) else {
            let cure = near_miss(&word, MARKS).unwrap_or(MARKS[0]);
            let message = format!("unknown mark `{word}`{}", instead(&word, "marks", MARKS));
            mistakes.at(span, message, format!("write `#[idem({cure})]`"));
            continue;
        };
        match marked {
            Some(earlier) if earlier.mark == mark => {
                mistakes.at(span, format!("mark `{word}` is given twice"), format!("write `#[idem({word})]` once"));
            }
            Some(earlier) => {
                let first = earlier.mark.word();
                let message = format!("mark `{word}` contradicts `{first}` on the same parameter");
                mistakes.at(span, message, format!("write `#[idem({first})]` alone"));
            }
            None => marked = Some(Marked { mark, span }),
        }
    }
    marked
}

/// The words of one `#[idem(…)]`.
fn words(attr: &Attribute, mistakes: &mut Mistakes) -> Vec<(String, Span)> {
    let parsed = attr.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    let words: Option<Vec<(String, Span)>> = parsed.ok().and_then(|metas| {
        metas
            .iter()
            .map(|meta| match meta {
                Meta::Path(path) => path.get_ident().map(|ident| (ident.to_string(), ident.span())),
                _ => None,
            })
            .collect()
    });
    match words {
        Some(words) if !words.is_empty() => words,
        _ => {
            mistakes.on(attr, format!("a mark is one of {}", list(MARKS)), "write `#[idem(content)]`");
            Vec::new()
        }
    }
}
