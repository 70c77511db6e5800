//! Collects every mistake of one use of the attribute, so that all are reported in one go.
//!
//! It must not know what a mistake is about: it holds a place, a message and a line of help.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The mistakes found so far.
#[derive(Debug)]
pub(crate) struct Mistakes {
    errors: Vec<syn::Error>,
}

impl Mistakes {
    pub(crate) fn new() -> Self {
        Self { errors: Vec::new() }
    }

    /// A mistake at one place. `help` can be typed as it stands.
    pub(crate) fn at(&mut self, span: Span, message: impl Display, help: impl Display) {
        self.errors.push(syn::Error::new(span, words(message, help)));
    }

    /// A mistake that several tokens make together.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: impl Display, help: impl Display) {
        self.errors.push(syn::Error::new_spanned(tokens, words(message, help)));
    }

    /// What syn says of code that is not Rust (yet).
    pub(crate) fn syntax(&mut self, error: syn::Error) {
        self.errors.push(error);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// How many there are: a check compares before and after.
    pub(crate) fn count(&self) -> usize {
        self.errors.len()
    }

    /// The mistakes as `compile_error!`s beside the user's item, so that nothing else goes missing.
    pub(crate) fn beside(self, item: TokenStream) -> TokenStream {
        let mut tokens: TokenStream = self.errors.into_iter().map(syn::Error::into_compile_error).collect();
        tokens.extend(item);
        tokens
    }
}

fn words(message: impl Display, help: impl Display) -> String {
    format!("{message}\n\nhelp: {help}")
}
