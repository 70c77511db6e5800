//! The attribute for rmcp's tools: where its code looks for the runtime, and beside which functions a description stands.

use proc_macro2::TokenStream;
use quote::quote;

use super::expansion::check_tokens;
use crate::expand_for;
use crate::model::Home;

fn expand(item: TokenStream) -> TokenStream {
    expand_for(Home::Rmcp, quote!(scope = "tenant"), item)
}

/// Whether the description of `refund` can be asked for.
fn is_shown(item: TokenStream) -> bool {
    let text = expand(item).to_string();
    assert!(!text.contains("compile_error"), "{text}");
    text.contains("fn refund_spec")
}

#[test]
fn above_rmcp_s_attribute() {
    let item = quote! {
        #[tool(description = "Gives money back")]
        async fn refund(
            &self,
            call: ToolCall,
            Parameters(Order { order_id, .. }): Parameters<Order>,
            #[idem(state)] RequestId(id): RequestId,
        ) -> Result<Json<Receipt>, ErrorData> {
            self.bank.pay(call.provider_key("refund"), order_id).await
        }
    };
    check_tokens("rmcp", "above_rmcp_s_attribute", &expand(item));
}

#[test]
fn a_description_stands_where_a_second_function_may() {
    let body = quote!({ Ok(()) });
    let boxed = quote!({ Box::pin(async move { Ok(()) }) });
    let future = quote!(::std::pin::Pin<Box<dyn ::std::future::Future<Output = Result<(), E>> + Send + '_>>);
    assert!(is_shown(quote!(#[rmcp::tool] async fn refund(&self, order: Parameters<Order>) -> Result<(), E> #body)));
    assert!(is_shown(quote!(pub async fn refund(&self, order: Parameters<Order>) -> Result<(), E> #body)));
    assert!(is_shown(quote!(async fn refund(order: Parameters<Order>) -> Result<(), E> #body)), "a free function");
    assert!(is_shown(quote!(fn refund(&self, order: Parameters<Order>) -> #future #boxed)), "what rmcp makes of it");
    // These may stand in the impl of a trait.
    assert!(!is_shown(quote!(async fn refund(&self, order: Parameters<Order>) -> Result<(), E> #body)));
    let of_trait =
        quote!(::core::pin::Pin<Box<dyn ::core::future::Future<Output = Result<(), E>> + Send + 'async_trait>>);
    assert!(!is_shown(quote! {
        fn refund<'life0, 'async_trait>(&'life0 self, order: Parameters<Order>) -> #of_trait
        where
            'life0: 'async_trait,
            Self: 'async_trait,
        #boxed
    }));
}

#[test]
fn another_place_can_still_be_named() {
    let item = quote!(
        pub async fn refund(order: Parameters<Order>) -> Result<(), E> {
            Ok(())
        }
    );
    let tokens = expand_for(Home::Rmcp, quote!(scope = "tenant", crate = my::adapter), item).to_string();
    assert!(tokens.contains("my :: adapter :: __private") && !tokens.contains(":: idem_rmcp"), "{tokens}");
}
