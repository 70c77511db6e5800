//! `#[derive(EffectError)]`: what each error of a type says about the effect.
//!
//! Input: `enum E { #[effect(retryable)] Busy, #[effect(transparent)] Bank(BankError) }`.
//! Output: `impl EffectError for E { fn effect_class(&self) -> ErrorClass { match self { … } } }`.
//! It must not know what a class leads to. `read` finds every mistake at once, `expand` cannot fail.

mod expand;
mod read;

use proc_macro2::{Ident, TokenStream};
use syn::{DeriveInput, Generics, Member, Type};

use crate::mistakes::Mistakes;

/// A type whose every case has an answer.
#[derive(Debug)]
struct EffectError {
    /// `::idem_runtime`, or what `crate = …` says.
    runtime: TokenStream,
    name: Ident,
    generics: Generics,
    cases: Vec<Case>,
}

/// A variant, or the struct itself.
#[derive(Debug)]
struct Case {
    /// `None` for a struct.
    variant: Option<Ident>,
    fields: usize,
    says: Says,
}

/// What a case says of the effect.
#[derive(Debug)]
enum Says {
    Retryable,
    Final,
    Unknown,
    /// What the error in this field says.
    As(Box<Source>),
}

/// The field that a transparent case asks.
#[derive(Debug)]
struct Source {
    member: Member,
    ty: Type,
    /// Whether its type depends on a type parameter, so that the impl has to ask for the trait.
    generic: bool,
}

/// The whole derive on tokens that also exist outside the compiler.
pub(crate) fn derive(item: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut mistakes = Mistakes::new();
    let read = read::read(&input, &mut mistakes);
    // Beside its mistakes the impl stands all the same, so that nothing else goes missing.
    mistakes.beside(read.as_ref().map(expand::tokens).unwrap_or_default())
}
