//! Expansions of tools that say what happens when an attempt has failed or may have, one snapshot a case.

use proc_macro2::TokenStream;
use quote::quote;

use super::expansion::check_in;
use crate::expand;

fn check(name: &str, arguments: TokenStream, item: TokenStream) {
    check_in("recovery", name, arguments, item);
}

#[test]
fn retry() {
    check(
        "retry",
        quote!(scope = "tenant", retry(max = 4, base = "100ms", cap = "2s", deadline = "20s")),
        quote! {
            pub async fn send(call: &ToolCall, mut to: String, (a, _): (u8, u8), #[idem(state)] mail: Mail) -> Result<u8, E> {
                mail.send(to, a).await
            }
        },
    );
}

#[test]
fn retry_of_a_validated_method() {
    check(
        "retry_of_a_validated_method",
        quote!(scope = "tenant", retry(), validate = Self::check),
        quote! {
            async fn send(self: &Self, to: &str, #[idem(state)] mail: &Mail) -> Result<u8, E> { self.go(to, mail).await }
        },
    );
}

#[test]
fn retry_of_a_boxed_function() {
    check(
        "retry_of_a_boxed_function",
        quote!(scope = "tenant", key = "tool_call_id", retry(max = 2)),
        quote! {
            fn act<'life0, 'async_trait>(&'life0 self)
                -> ::core::pin::Pin<Box<dyn ::core::future::Future<Output = Result<u8, E>> + ::core::marker::Send + 'async_trait>>
            where
                'life0: 'async_trait,
                Self: 'async_trait,
            {
                Box::pin(async move { self.go().await })
            }
        },
    );
}

#[test]
fn recover_of_a_function_with_state() {
    check(
        "recover_of_a_function_with_state",
        quote!(
            scope = "tenant",
            recover(lookup = bank::find, search = bank::search_refunds, then = operator),
            settles_in = "2m",
            on_unknown = "tell"
        ),
        quote! {
            pub(crate) async fn refund(
                #[idem(state)] bank: &Bank, call: ToolCall, id: String, #[idem(state)] clock: Clock,
                #[idem(state)] limits: &'static Limits,
            ) -> Result<Refund, E> {
                bank.refund(id, clock, limits).await
            }
        },
    );
}

#[test]
fn recover_of_a_method() {
    check(
        "recover_of_a_method",
        quote!(
            scope = "tenant+{self.merchant}",
            recover(search = Self::search, lookup = Self::find),
            on_unknown = "reconcile",
            reference = required
        ),
        quote! {
            /// Sends the money back.
            #[cfg(feature = "billing")]
            pub async fn refund(&self, call: &ToolCall, id: &str, #[idem(state)] bank: &dyn Bank) -> Result<Refund, E> {
                self.go(id, bank).await
            }
        },
    );
}

#[test]
fn recover_by_the_key_alone() {
    check(
        "recover_by_the_key_alone",
        quote!(scope = "tenant", recover(provider_key = "24h", then = operator)),
        quote! {
            pub async fn refund(#[idem(state)] self: Arc<Self>, id: String) -> Result<Refund, E> { self.go(id).await }
        },
    );
}

#[test]
fn recover_of_a_generic_function() {
    check(
        "recover_of_a_generic_function",
        quote!(scope = "tenant", recover(provider_key = "1m", lookup = B::find), store_arguments),
        quote! {
            pub async fn refund<'b, B: Bank + 'b, T, const N: usize>(#[idem(state)] bank: &'b B, ids: [T; N]) -> Result<T, E>
            where
                'b: 'b,
                B: Sync + 'b + for<'x> Fn(&'x T),
                for<'x> &'x T: Copy,
                &'b B: Copy,
                T: Serialize + DeserializeOwned + 'static,
            {
                bank.refund(ids).await
            }
        },
    );
}

#[test]
fn resend_with_stored_arguments() {
    check(
        "resend_with_stored_arguments",
        quote!(scope = "tenant", recover(provider_key = "24h", then = operator), store_arguments),
        quote! {
            pub async fn refund(
                &self, order_id: String, call: &ToolCall, #[idem(state)] clock: Clock, #[cfg(unix)] cents: u64,
                #[idem(state)] bank: &Bank, #[idem(content)] (reason, _): (String, u8),
            ) -> Result<Refund, E> {
                self.go(order_id).await
            }
        },
    );
}

#[test]
fn resend_without_a_parameter_for_the_call() {
    check(
        "resend_without_a_parameter_for_the_call",
        quote!(scope = "tenant", recover(lookup = find, provider_key = "24h"), store_arguments),
        quote!(
            async fn r#loop(r#type: String) -> Result<Refund, E> {
                go(r#type).await
            }
        ),
    );
}

#[test]
fn resend_without_arguments() {
    check(
        "resend_without_arguments",
        quote!(
            scope = "tenant",
            key = "operation_id",
            recover(provider_key = "24h"),
            store_arguments,
            crate = facade::idem
        ),
        quote!(
            pub async fn act(call: facade::idem::ToolCall) -> Result<u8, <Self as Tool>::Error> {
                Self::go(call).await
            }
        ),
    );
}

#[test]
fn resources() {
    check(
        "resources",
        quote!(
            scope = "tenant",
            key = "template:{order.id}",
            resource = "order:{order.id}",
            resource = ["line:{order.id}/{line}", "{{refund||}}:{result.id}", "{result.a.b}{result}"]
        ),
        quote! {
            async fn act(&self, order: Order, line: u8) -> Result<u8, E> { go().await }
        },
    );
}

#[test]
fn reference_required() {
    check(
        "reference_required",
        quote!(scope = "tenant", reference = required, store_arguments = true),
        quote! {
            async fn act(order: Order) -> Result<u8, E> { go().await }
        },
    );
}

#[test]
fn recover_where_nothing_may_stand_beside() {
    check(
        "recover_where_nothing_may_stand_beside",
        quote!(scope = "tenant", recover(lookup = Self::find), retry(max = 2)),
        quote! {
            async fn act(&self, #[idem(state)] bank: Bank<'_>, order: Order) -> Result<u8, Self::Error> { go().await }
        },
    );
}

/// Whether a case's expansion has such tokens.
fn has(arguments: &str, item: &str, part: &str) -> bool {
    let arguments: TokenStream = arguments.parse().expect("tokens");
    let tokens = expand(quote!(scope = "tenant", #arguments), item.parse().expect("tokens")).to_string();
    assert!(!tokens.contains("compile_error"), "{tokens}");
    tokens.contains(part)
}

#[test]
fn only_what_is_stored_whole_is_sent_again() {
    const SOUND: &str = r#"recover(provider_key = "1h"), store_arguments"#;
    let cases = [
        (SOUND, "async fn act(a: A, #[idem(state)] b: &B) -> R {}", true),
        (SOUND, "pub async fn act(&self, a: Cow<'static, str>) -> R {}", true),
        (r#"recover(provider_key = "1h")"#, "async fn act(a: A) -> R {}", false),
        ("recover(lookup = find), store_arguments", "async fn act(a: A) -> R {}", false),
        (r#"recover(provider_key = "1h"), store_arguments, secret = "a.b""#, "async fn act(a: A) -> R {}", false),
        (
            r#"recover(provider_key = "1h"), store_arguments, ctx = c.call"#,
            "async fn act(a: A, #[idem(state)] c: C) -> R {}",
            false,
        ),
        (SOUND, "async fn act(a: A, #[idem(volatile)] b: u8) -> R {}", false),
        (SOUND, "async fn act(a: A, #[idem(secret)] b: u8) -> R {}", false),
        (SOUND, "async fn act(a: &A) -> R {}", false),
        (SOUND, "async fn act(a: &'static str) -> R {}", false),
        (SOUND, "async fn act(a: Cow<'_, str>) -> R {}", false),
        (SOUND, "async fn act(a: impl Serialize) -> R {}", false),
        (SOUND, "async fn act(a: A, #[idem(state)] b: &mut B) -> R {}", false),
        (SOUND, "pub async fn act(self: Arc<Self>, a: A) -> R {}", false),
    ];
    for (arguments, item, expected) in cases {
        assert!(has(arguments, item, "act_tool"), "{arguments} {item}");
        assert_eq!(has(arguments, item, ". resend ("), expected, "{arguments} {item}");
    }
}

#[test]
fn the_function_for_the_reconciler_stands_where_it_may() {
    const KEY: &str = r#"recover(provider_key = "1h")"#;
    let cases = [
        (KEY, "async fn act(a: A) -> R {}", true),
        (KEY, "pub async fn act(&self, a: A) -> R {}", true),
        (KEY, "async fn act(&self, a: A) -> R {}", false),
        (r#"recover(provider_key = "1h"), outcome = false"#, "async fn act(a: A) -> R {}", false),
        ("recover(lookup = Self::find)", "async fn act(a: A) -> R {}", false),
        ("recover(lookup = Self::find)", "pub async fn act(a: A) -> R {}", true),
        ("recover(then = operator)", "async fn act(a: A) -> R {}", false),
        ("retry()", "async fn act(a: A) -> R {}", false),
    ];
    for (arguments, item, expected) in cases {
        assert_eq!(has(arguments, item, "act_tool"), expected, "{arguments} {item}");
        assert_eq!(has(arguments, item, "__idem_act_spec"), expected, "{arguments} {item}");
    }
}
