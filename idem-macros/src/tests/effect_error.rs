//! What the derive makes of a type, and what it says of mistakes.

use std::fmt::Write;

use proc_macro2::TokenStream;
use quote::quote;

use super::mistakes::told_in;
use super::snapshot;
use crate::effect_error::derive;

fn check(name: &str, item: TokenStream) {
    let tokens = derive(item);
    assert!(!tokens.to_string().contains("compile_error"), "{tokens}");
    let file = syn::parse2(tokens.clone()).unwrap_or_else(|error| panic!("{error} in {tokens}"));
    let text = format!(
        "//! What `#[derive(EffectError)]` makes of the case `{name}` in src/tests/effect_error.rs; `IDEM_BLESS=1` writes it anew.\n\n{}",
        prettyplease::unparse(&file)
    );
    snapshot::check(&format!("{name}.rs"), &text);
}

#[test]
fn effect_error_of_an_enum() {
    check(
        "effect_error_of_an_enum",
        quote! {
            pub enum PaymentError {
                #[effect(retryable)]
                Busy,
                #[effect(final)]
                Declined { code: u16, text: String },
                #[effect(unknown)]
                Lost(u8, u8),
                Unmarked,
                #[effect(transparent)]
                Only(BankError),
                #[effect(transparent)]
                Named { bank: Box<BankError> },
                #[effect(transparent)]
                From(#[from] BankError, Backtrace),
                #[effect(transparent)]
                Source { at: u8, #[source] #[effect(source)] r#type: BankError },
                #[effect(transparent)]
                Ours { #[source] of_another: u8, #[effect(source)] bank: BankError },
            }
        },
    );
}

#[test]
fn effect_error_of_a_struct_with_generics() {
    check(
        "effect_error_of_a_struct_with_generics",
        quote! {
            #[derive(Debug)]
            #[effect(transparent, crate = facade::idem)]
            pub struct Wrapped<'a, T: Debug + ?Sized = dyn Error, const N: usize = 0>
            where
                T: Send,
            {
                text: &'a [u8; N],
                #[effect(source)]
                inner: Box<T>,
            }
        },
    );
}

#[test]
fn effect_error_of_an_enum_with_generics() {
    check(
        "effect_error_of_an_enum_with_generics",
        quote! {
            enum Either<L, R> {
                #[effect(transparent)]
                Left(L),
                #[effect(retryable)]
                Right(R),
                #[effect(transparent)]
                Plain(BankError),
            }
        },
    );
}

#[test]
fn effect_error_of_nothing() {
    check(
        "effect_error_of_nothing",
        quote!(
            enum Never {}
        ),
    );
}

#[test]
fn effect_error_of_a_unit() {
    check(
        "effect_error_of_a_unit",
        quote!(
            #[effect(crate = "facade")]
            #[effect(final)]
            struct Closed;
        ),
    );
}

const MISTAKES: &[(&str, &str)] = &[
    ("near miss", "enum E { #[effect(retriable)] A }"),
    ("unknown mark", "#[effect(fatal)] struct E;"),
    ("mark twice", "enum E { #[effect(final, final)] A, #[effect(final)] #[effect(final)] B }"),
    ("marks that contradict", "enum E { #[effect(final)] #[effect(retryable)] A }"),
    ("mark with a value", "enum E { #[effect(final = true)] A }"),
    ("mark with a list", "enum E { #[effect(final(x))] A }"),
    ("empty mark", "enum E { #[effect] A, #[effect()] B, #[effect = \"final\"] C }"),
    ("mark on an enum", "#[effect(retryable)] enum E { A }"),
    ("crate on a variant", "enum E { #[effect(crate = x)] A }"),
    ("crate without a path", "#[effect(crate)] struct E;"),
    ("transparent without a field", "enum E { #[effect(transparent)] A, #[effect(transparent)] B() }"),
    ("transparent with several fields", "#[effect(transparent)] struct E { a: A, b: B }"),
    ("transparent with several sources", "enum E { #[effect(transparent)] A(#[source] A, #[from] B) }"),
    ("class on a field", "enum E { #[effect(transparent)] A(#[effect(retryable)] A) }"),
    ("source that is not asked", "enum E { #[effect(final)] A(#[effect(source)] A), B(#[effect(source)] A) }"),
    ("union", "union E { a: u8 }"),
    (
        "several at once",
        "#[effect(final)] enum E { #[effect(fnal)] A, #[effect(transparent)] B, #[effect(final, unknown)] C }",
    ),
];

#[test]
fn messages() {
    let mut text =
        String::from("What the derive says of mistakes, and under which tokens. `IDEM_BLESS=1` writes it anew.\n");
    for (name, item) in MISTAKES {
        let told = told_in(derive(item.parse().expect("tokens")));
        assert!(!told.is_empty(), "{name}: no mistake found");
        write!(text, "\n== {name}\n{item}\n").expect("a string");
        for (place, message) in told {
            let (words, help) = message.split_once("\n\nhelp: ").expect("a message has help");
            assert!(!help.contains('\n') && help.contains('`') && !words.contains('\n'), "{message}");
            write!(text, "\n  under `{place}`\n    {words}\n    help: {help}\n").expect("a string");
        }
    }
    snapshot::check("effect_error_mistakes.txt", &text);
}

#[test]
fn the_impl_stands_beside_its_mistakes() {
    let tokens = derive(quote!(
        enum E {
            #[effect(fnal)]
            A,
            #[effect(final)]
            B,
        }
    ))
    .to_string();
    assert!(
        tokens.contains("compile_error") && tokens.contains("impl :: idem_runtime :: EffectError for E"),
        "{tokens}"
    );
}
