//! The small languages inside literals: tables of what they mean, and that nothing written in them makes the macro panic.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::LitStr;

use crate::duration::{self, Length};
use crate::effect_error;
use crate::expand;
use crate::text::Text;
use crate::words::near_miss;

fn text(value: &str) -> Text {
    Text::new(&syn::parse_quote!(#value))
}

#[test]
fn durations() {
    let cases = [
        ("30s", 30, 0),
        ("1h30m", 5_400, 0),
        (" 1d 12h ", 129_600, 0),
        ("1500ms", 1, 500_000_000),
        ("2us3ns", 0, 2_003),
        ("30s30s", 60, 0),
    ];
    for (written, seconds, nanoseconds) in cases {
        let length = Length { seconds, nanoseconds };
        assert_eq!(duration::read(&text(written)), Ok(length), "{written}");
    }
    for (length, written) in [(5_400, "1h30m"), (86_400, "1d"), (61, "1m1s")] {
        assert_eq!(duration::text(Length { seconds: length, nanoseconds: 2_000_003 }), format!("{written}2ms3ns"));
    }
    let wrong = ["", " ", "10", "m", "10 m", "1.5h", "-1s", "0d0h", "1w", "1M", "18446744073709551616s"];
    for written in wrong {
        assert!(duration::read(&text(written)).is_err(), "{written}");
    }
}

#[test]
fn near_misses() {
    let words = ["conversation", "workflow", "user", "tenant", "global"];
    for (written, meant) in [
        ("conversaton", Some("conversation")),
        ("Conversation", Some("conversation")),
        ("teh", None),
        ("usr", Some("user")),
        ("usre", Some("user")),
        ("tenent", Some("tenant")),
        ("shop", None),
        ("", None),
    ] {
        assert_eq!(near_miss(written, &words), meant, "{written}");
    }
}

#[test]
fn places_inside_a_literal() {
    for source in [r#""ab{cd}""#, r##"r#"ab{cd}"#"##] {
        let literal: LitStr = syn::parse_str(source).expect("a literal");
        let place = Text::new(&literal).whole().part(2..6).span().source_text();
        assert_eq!(place.as_deref(), Some("{cd}"), "{source}");
    }
    let source = r#""a\u{62}{cd}""#;
    let literal: LitStr = syn::parse_str(source).expect("a literal");
    let place = Text::new(&literal).whole().part(2..6).span().source_text();
    assert_eq!(place.as_deref(), Some(source), "escapes: the whole literal");
}

/// Pieces of the languages in any order: the macro answers with a guard or with mistakes.
#[test]
fn anything_may_be_written() {
    const PIECES: &[&str] = &[
        "tool_call_id",
        "args",
        "args(",
        "template:",
        "named:",
        "tenant",
        "order",
        "self",
        ".",
        "id",
        "{",
        "}",
        "{{",
        "}}",
        "(",
        ")",
        "|",
        "||",
        "+",
        ",",
        " ",
        "ä",
        "0",
        "30",
        "d",
        "ms",
        "\u{202e}",
        "\"",
    ];
    let mut next = numbers(0x1de3);
    for round in 0..6_000 {
        let mut literal = || {
            let length = next(9);
            let written: String = (0..length).map(|_| PIECES[next(PIECES.len())]).collect();
            Literal::string(&written)
        };
        let (scope, key, window, content) = (literal(), literal(), literal(), literal());
        let (resource, settles) = (literal(), literal());
        let arguments = match round % 6 {
            0 => quote!(scope = #scope),
            1 => quote!(scope = "tenant", key = #key),
            2 => quote!(scope = "tenant", window = #window),
            3 => quote!(scope = "tenant", resource = #resource, resource = [#key, #scope]),
            4 => quote!(scope = "tenant", settles_in = #settles, recover(provider_key = #window, lookup = find)),
            _ => quote!(scope = #scope, key = #key, content = #content),
        };
        let item = quote!(
            async fn act(&self, order: Order, id: u8) -> Result<u8, E> {
                go().await
            }
        );
        answers(arguments, item);
    }
}

/// Numbers below a limit, the same for the same seed.
fn numbers(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |limit| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).expect("31 bits") % limit
    }
}

/// Tokens of the lists and of the derive's marks in any order.
#[test]
fn any_list_may_be_written() {
    const PIECES: &str = "max base cap then operator provider_key lookup search final retryable transparent source crate \
        = = = , , , 3 1 \"5s\" \"24h\" find :: (find) [3] true find(3)";
    let pieces: Vec<&str> = PIECES.split_whitespace().collect();
    let mut next = numbers(0x1de3);
    for _ in 0..2_000 {
        let mut tokens = || {
            let length = next(8);
            let written: Vec<&str> = (0..length).map(|_| pieces[next(pieces.len())]).collect();
            written.join(" ").parse::<TokenStream>().expect("tokens")
        };
        let (retry, recover, mark, field) = (tokens(), tokens(), tokens(), tokens());
        let item = quote!(
            pub async fn act(&self, order: Order, #[idem(state)] bank: &Bank) -> Result<u8, E> {
                go().await
            }
        );
        answers(quote!(scope = "tenant", retry(#retry)), item.clone());
        answers(quote!(scope = "tenant", recover(#recover), store_arguments), item);
        let told = effect_error::derive(quote!(
            #[effect(#recover)]
            enum E {
                #[effect(#mark)]
                A(#[effect(#field)] B, C),
            }
        ));
        assert!(told.to_string().contains("effect_class"), "{told}");
        if let Err(error) = syn::parse2::<syn::File>(told.clone()) {
            panic!("{error} in {told}");
        }
    }
}

fn answers(arguments: TokenStream, item: TokenStream) {
    let written = arguments.to_string();
    let told = expand(arguments, item).to_string();
    let (refused, guarded) = (told.contains("compile_error"), told.contains("Guard :: new"));
    assert!(refused != guarded, "{written}: {told}");
    if let Err(error) = syn::parse_str::<syn::File>(&told) {
        panic!("{written}: {error} in {told}");
    }
}
