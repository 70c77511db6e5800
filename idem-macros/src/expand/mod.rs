//! Turns the model into one call of the runtime. Nothing here can fail.
//!
//! It must not know how the attribute was worded.

mod call;
mod descriptor;
mod entry;
pub(crate) mod harness;
mod hooks;
mod sibling;
mod spec;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::Attribute;

use crate::model::{Shape, Tool};

/// The guarded function, and what stands beside it.
pub(crate) fn expand(tool: &Tool) -> TokenStream {
    let Tool { attrs, vis, sig, .. } = tool;
    let spec = (!spec::is_lent(tool)).then(|| spec::tokens(tool));
    let lending = spec::is_lent(tool).then(|| spec::lending(tool));
    let sibling = sibling::tokens(tool);
    let descriptor = descriptor::tokens(tool);
    let harness = harness::tokens(tool);
    let entry = entry::tokens(tool);
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
        #lending
        #descriptor
        #harness
        #entry
    }
}

/// A tool that only reads: the function as it is, and what stands beside it.
pub(crate) fn expand_reader(tool: &Tool, plain: &TokenStream) -> TokenStream {
    let entry = tool.entry.is_some().then(|| entry::of_reader(tool));
    quote!(#plain #entry)
}

/// `::idem_runtime::__private`: the only module that generated code names, beside `::core`.
fn private(tool: &Tool) -> TokenStream {
    let runtime = &tool.runtime;
    quote!(#runtime::__private)
}

/// The conditions under which the tool is there at all.
fn kept(tool: &Tool) -> impl Iterator<Item = &Attribute> {
    tool.attrs.iter().filter(|attr| attr.path().is_ident("cfg"))
}

/// A name that no user's code can see or be seen by.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The tokens at another place; what they name stays.
pub(crate) fn placed(tokens: TokenStream, place: Span) -> TokenStream {
    let tokens = tokens.into_iter().map(|mut token| {
        token.set_span(token.span().located_at(place));
        token
    });
    tokens.collect()
}

/// The name at another place.
pub(crate) fn name_at(name: &Ident, place: Span) -> Ident {
    let mut name = name.clone();
    name.set_span(name.span().located_at(place));
    name
}
