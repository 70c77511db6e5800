//! Expansions of tools with generated tests, one snapshot a case, and the module that `harness!` writes.

use proc_macro2::TokenStream;
use quote::quote;

use super::expansion::check_in;
use super::mistakes::told_in;
use super::snapshot;
use crate::harness::expand;

fn check(name: &str, arguments: TokenStream, item: TokenStream) {
    check_in("harness", name, arguments, item);
}

#[test]
fn harness_of_a_function() {
    check(
        "harness_of_a_function",
        quote!(scope = "tenant", recover(lookup = bank::find), harness = refund_fixture),
        quote! {
            /// Sends the money back.
            pub async fn send_refund(
                #[idem(state)] bank: &Bank, call: &ToolCall, order_id: String, #[idem(state)] limits: Limits, cents: u64,
            ) -> Result<Refund, E> {
                bank.refund(order_id, cents).await
            }
        },
    );
}

#[test]
fn harness_of_a_method() {
    check(
        "harness_of_a_method",
        quote!(scope = "tenant", recover(provider_key = "24h"), harness),
        quote! {
            #[cfg(feature = "billing")]
            async fn send_refund(&self, order_id: String, call: ToolCall) -> Result<Refund, E> { self.go(order_id).await }
        },
    );
}

#[test]
fn harness_of_a_shared_method() {
    check(
        "harness_of_a_shared_method",
        quote!(scope = "tenant", key = "tool_call_id", outcome = false, harness, crate = facade::idem),
        quote! {
            pub(crate) async fn act(self: Arc<Self>) -> Result<u8, E> { self.go().await }
        },
    );
}

#[test]
fn harness_of_conditional_parameters() {
    check(
        "harness_of_conditional_parameters",
        quote!(scope = "tenant", harness = super::fixtures::act),
        quote! {
            async fn act(#[cfg(unix)] a: u8, (b, _): (u8, u8), call: &ToolCall, #[cfg(x)] #[cfg(y)] mut c: u8) -> Result<u8, E> {
                go(b).await
            }
        },
    );
}

#[test]
fn harness_of_a_context() {
    check(
        "harness_of_a_context",
        quote!(scope = "tenant", ctx = context, harness = self::act_fixture),
        quote! {
            async fn act(context: &Context, a: u8) -> Result<u8, E> { go(context, a).await }
        },
    );
}

fn module(written: &TokenStream) -> String {
    expand(quote!(::idem_runtime; #written)).to_string()
}

#[test]
fn a_module_stands_beside_an_impl_block() {
    let cases = [
        quote!(Billing::send_refund, refund_fixture),
        quote!(Billing::<Fake, { 1 + 1 }>::r#loop, crate::fixtures::refund,),
        quote!(self::Billing::send_refund, super::refund_fixture),
        quote!(send_refund, ::fixtures::refund),
    ];
    let mut text = String::from("What `harness!` makes of its arguments. `IDEM_BLESS=1` writes it anew.\n");
    for written in cases {
        text.extend(["\n", &written.to_string(), "\n  ", &module(&written), "\n"]);
    }
    for written in ["", "Billing::send_refund", "Billing::send_refund, 3", "a, b, c", "<B as T>::send, f", "a b"] {
        text.extend(["\nharness!(", written, ")\n"]);
        for (place, message) in told_in(expand(format!("::idem_runtime; {written}").parse().expect("tokens"))) {
            text.extend(["  under `", &place, "`\n    ", &message.replace("\n\n", "\n    "), "\n"]);
        }
    }
    snapshot::check("harness.txt", &text);
}
