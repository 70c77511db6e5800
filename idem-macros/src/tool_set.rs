//! `tools![…]`: tool functions by their names, as a tool set.
//!
//! Input: `send_refund(bank), Billing::charge(billing)`. Output: `ToolSet::new([send_refund_entry(bank), Billing::charge_entry(billing)])`.
//! It must not know which tools are described: the compiler finds the entry beside each, or tells of the one that has none.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, ExprPath, Token, parenthesized, token};

/// A tool, and its state in parentheses.
struct Named {
    path: ExprPath,
    state: Punctuated<Expr, Token![,]>,
}

impl Parse for Named {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let path = input.call(ExprPath::parse).map_err(|error| {
            syn::Error::new(
                error.span(),
                "expected the name of a tool function\n\nhelp: write `send_refund`, or `send_refund(state)`",
            )
        })?;
        let mut state = Punctuated::new();
        if input.peek(token::Paren) {
            let inside;
            parenthesized!(inside in input);
            state = inside.parse_terminated(Expr::parse, Token![,])?;
        }
        Ok(Self { path, state })
    }
}

/// The expression.
pub(crate) fn expand(tools: TokenStream) -> TokenStream {
    // `crate = path;` in front, as in the attribute.
    let parser = |input: ParseStream<'_>| {
        let mut runtime = quote!(::idem_runtime);
        if input.peek(Token![crate]) && input.peek2(Token![=]) {
            input.parse::<Token![crate]>()?;
            input.parse::<Token![=]>()?;
            let path: syn::Path = input.parse()?;
            input.parse::<Token![;]>()?;
            runtime = quote!(#path);
        }
        Ok((runtime, Punctuated::<Named, Token![,]>::parse_terminated(input)?))
    };
    let (runtime, tools) = match parser.parse2(tools) {
        Ok(read) => read,
        Err(error) => return error.into_compile_error(),
    };
    let entries = tools.into_iter().map(|Named { mut path, state }| {
        if let Some(last) = path.path.segments.last_mut() {
            let span = last.ident.span();
            last.ident = format_ident!("{}_entry", last.ident.unraw(), span = span);
            return quote_spanned!(span=> #path(#state));
        }
        quote!(#path(#state))
    });
    quote!(#runtime::ToolSet::new([#(#entries),*]))
}
