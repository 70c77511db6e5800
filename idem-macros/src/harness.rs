//! `harness!(Billing::send_refund, refund_fixture)`: the module of tests of a tool that the attribute cannot put beside it.
//!
//! Input: where the runtime is, then what the user wrote. Output: `suite!(send_refund_harness,
//! Billing::__idem_send_refund_subject, refund_fixture)` under `cfg(test)`. It must not know the tool.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, Path, Token};

use crate::expand::harness::{function, module, seen_from_inside};
use crate::expand::placed;
use crate::mistakes::Mistakes;

/// How it is typed.
const WRITE: &str = "write `idem_runtime::harness!(Billing::send_refund, refund_fixture);`";

/// The module, or what is wrong.
pub(crate) fn expand(tokens: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::new();
    let written = |input: ParseStream<'_>| {
        let runtime: Path = input.parse()?;
        input.parse::<Token![;]>()?;
        Ok((runtime, Punctuated::<Expr, Token![,]>::parse_terminated(input)?))
    };
    let suite = match written.parse2(tokens) {
        Ok((runtime, written)) => suite(&runtime, written, &mut mistakes),
        Err(error) => {
            mistakes.at(error.span(), error, WRITE);
            None
        }
    };
    mistakes.beside(suite.unwrap_or_default())
}

fn suite(runtime: &Path, written: Punctuated<Expr, Token![,]>, mistakes: &mut Mistakes) -> Option<TokenStream> {
    let mut parts = written.into_iter();
    let Some(tool) = parts.next() else {
        mistakes.at(Span::call_site(), "`harness!` names no tool", WRITE);
        return None;
    };
    let Some(fixture) = parts.next() else {
        mistakes.on(tool, "`harness!` names no fixture: with which arguments is the tool called?", WRITE);
        return None;
    };
    if let Some(third) = parts.next() {
        mistakes.on(third, "`harness!` takes a tool and the function that makes its fixture, no more", WRITE);
    }
    let tool = path(tool, "the first argument of `harness!` is the path of a tool", mistakes);
    let fixture = path(fixture, "the second argument of `harness!` is the path of a function", mistakes);
    let (mut tool, fixture) = (tool?, fixture?);
    let last = tool.segments.last_mut()?;
    let name = last.ident.clone();
    last.ident = format_ident!("{}", function(&name), span = name.span());
    let private = quote!(#runtime::__private);
    // With the place of the name, so that a feature that is off is told there.
    let harnessed = placed(quote!(#private::harnessed), Span::call_site().located_at(name.span()));
    let (module, subject, fixture) = (module(&name), seen_from_inside(&tool), seen_from_inside(&fixture));
    Some(quote! {
        #[cfg(test)]
        #harnessed! { #private::suite!(#module, #subject, #fixture); }
    })
}

fn path(written: Expr, message: &str, mistakes: &mut Mistakes) -> Option<Path> {
    match written {
        Expr::Group(group) => path(*group.expr, message, mistakes),
        Expr::Path(path) if path.qself.is_none() && path.attrs.is_empty() => Some(path.path),
        other => {
            mistakes.on(other, message, WRITE);
            None
        }
    }
}
