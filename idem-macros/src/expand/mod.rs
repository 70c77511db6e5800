//! Turns the model into one call of the runtime. Nothing here can fail.
//!
//! It must not know how the attribute was worded.

mod call;
mod sibling;
mod spec;

use proc_macro2::TokenStream;
use quote::quote;

use crate::model::{Shape, Tool};

/// The guarded function, and its sibling.
pub(crate) fn expand(tool: &Tool) -> TokenStream {
    let Tool { attrs, vis, sig, .. } = tool;
    let spec = spec::tokens(tool);
    let sibling = sibling::tokens(tool);
    let guarded = match &tool.shape {
        Shape::Async { body } => {
            let call = call::tokens(tool, body);
            quote!(#spec #call)
        }
        Shape::Boxed { pin, body } => {
            let call = call::tokens(tool, body);
            quote!(#pin(async move { #spec #call }))
        }
    };
    quote! {
        #(#attrs)*
        #vis #sig {
            #guarded
        }
        #sibling
    }
}

/// `::idem_runtime::__private`: the only module that generated code names, beside `::core`.
fn private(tool: &Tool) -> TokenStream {
    let runtime = &tool.runtime;
    quote!(#runtime::__private)
}
