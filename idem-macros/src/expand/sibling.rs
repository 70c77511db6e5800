//! `…_outcome`: the function beside the tool that answers with the whole outcome.
//!
//! Input: `fn refund(call: &ToolCall, id: String)`. Output: `fn refund_outcome(…) -> Outcome<…> { outcome(refund(call, id)).await }`.
//! It must not know how the tool is guarded.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{FnArg, GenericParam, Pat, Signature};

use super::{kept, private};
use crate::model::{Sibling, Standing, Tool};

/// The sibling, when there is one.
pub(super) fn tokens(tool: &Tool) -> Option<TokenStream> {
    let name = &tool.sig.ident;
    if tool.sibling == Sibling::None {
        return None;
    }
    let function = match tool.standing {
        Standing::Free => quote!(#name),
        Standing::Associated => quote!(Self::#name),
        Standing::Method => {
            let receiver = tool.receiver.map(|receiver| receiver.token);
            quote!(#receiver.#name)
        }
    };
    let private = private(tool);
    let vis = &tool.vis;
    let result = &tool.result;
    let kept = kept(tool);
    let generics = turbofish(&tool.sig);
    let arguments = tool.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => {
            let cfgs = typed.attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
            let name = passed(&typed.pat);
            Some(quote!(#(#cfgs)* #name))
        }
        FnArg::Receiver(_) => None,
    });
    let sig = Signature {
        asyncness: Some(syn::Token![async](name.span())),
        ident: format_ident!("{}_outcome", name),
        output: syn::ReturnType::Type(
            syn::Token![->](name.span()),
            Box::new(syn::Type::Verbatim(quote!(#private::Outcome<<#result as #private::IsResult>::Ok>))),
        ),
        ..tool.sig.clone()
    };
    let doc = format!(" What happened, and why: the structured answer of `{}`.", tool.spec.function);
    Some(quote! {
        #[doc = #doc]
        #(#kept)*
        #[allow(dead_code, deprecated, clippy::all, clippy::pedantic, reason = "written by `#[idempotent]`")]
        #vis #sig {
            #private::outcome(#function #generics(#(#arguments),*)).await
        }
    })
}

/// The parameter's name: the model's signature has only names.
fn passed(pattern: &Pat) -> TokenStream {
    quote!(#pattern)
}

/// Types and constants that the arguments may not tell.
pub(super) fn turbofish(sig: &Signature) -> Option<TokenStream> {
    let names: Vec<&Ident> = sig
        .generics
        .params
        .iter()
        .filter_map(|param| match param {
            GenericParam::Type(param) => Some(&param.ident),
            GenericParam::Const(param) => Some(&param.ident),
            GenericParam::Lifetime(_) => None,
        })
        .collect();
    (!names.is_empty()).then(|| quote!(::<#(#names),*>))
}
