//! `#[tool]` and `tools!`: what they make, and what they say of mistakes.

use proc_macro2::TokenStream;
use quote::quote;

use super::mistakes::told_in;
use super::snapshot;
use crate::{expand_tool, tool_set};

fn check(name: &str, tokens: &TokenStream) {
    let file = syn::parse2(tokens.clone()).unwrap_or_else(|error| panic!("{error} in {tokens}"));
    let text = format!(
        "//! The case `{name}` of src/tests/tool_set.rs; `IDEM_BLESS=1` writes it anew.\n\n{}",
        prettyplease::unparse(&file)
    );
    snapshot::check(&format!("{name}.rs"), &text);
}

#[test]
fn a_reader_stays_as_it_is() {
    let item = quote! {
        /// Lists orders.
        pub async fn list_orders(
            &self,
            /// Whose.
            customer: String,
            #[idem(secret)] token: Token,
        ) -> Result<Vec<String>, E> {
            self.orders(customer, token).await
        }
    };
    let tokens = expand_tool(quote!(effect = "read", name = "orders.list"), item);
    check("reader", &quote!(impl Shop { #tokens }));
}

#[test]
fn a_set_names_the_entry_beside_each_tool() {
    let tokens = tool_set::expand(
        quote!(crate = facade::idem; send_refund(bank, &limits), list_orders, Billing::r#move(billing.clone()),),
    );
    check("tool_set", &quote!(fn set() { #tokens }));
}

#[test]
fn a_tool_with_an_effect_is_guarded() {
    let item = quote!(
        async fn act(a: u8) -> Result<u8, E> {
            go(a).await
        }
    );
    let arguments = quote!(effect = "irreversible", scope = "tenant");
    assert_eq!(
        expand_tool(arguments.clone(), item.clone()).to_string(),
        crate::expand(arguments, item).to_string(),
        "both attributes say the same"
    );
}

/// Arguments, and what is said under which word.
const MISTAKES: [(&str, &str, &str); 5] = [
    (
        "",
        "the attribute",
        "tool function `act` does not say whether it changes anything\n\nhelp: write `#[tool(effect = \"read\")]`, or `#[idempotent(scope = \"conversation\")]`",
    ),
    (
        r#"effect = "irreversible""#,
        "effect",
        "tool function `act` has an effect (`irreversible`), and no scope to guard it in\n\nhelp: add `scope = \"conversation\"`",
    ),
    (
        r#"effect = "raed""#,
        r#""raed""#,
        "unknown word `raed` for `effect`: did you mean `read`? the words are `irreversible`, `reversible`, `set`, `trigger`, `audited_read`, `read`\n\nhelp: write `effect = \"read\"`",
    ),
    (
        r#"effect = "read", key = "args""#,
        "key",
        "`key` on a tool that only reads, which has no ledger\n\nhelp: remove `key`",
    ),
    (
        r#"effect = "read", entry = "no""#,
        r#""no""#,
        "argument `entry` takes `true` or `false`\n\nhelp: write `entry = false`",
    ),
];

#[test]
fn mistakes_are_told_with_what_to_add() {
    for (arguments, place, words) in MISTAKES {
        let item = "async fn act(a: u8) -> Result<u8, E> { go(a).await }".parse().expect("tokens");
        let told = told_in(expand_tool(arguments.parse().expect("tokens"), item));
        assert_eq!(told, [(place.to_owned(), words.to_owned())], "{arguments}");
    }
}

#[test]
fn what_is_no_tool_in_a_set_is_told() {
    let told = told_in(tool_set::expand("send_refund(bank), 7".parse().expect("tokens")));
    let words = "expected the name of a tool function\n\nhelp: write `send_refund`, or `send_refund(state)`";
    assert_eq!(told, [("7".to_owned(), words.to_owned())]);
}
