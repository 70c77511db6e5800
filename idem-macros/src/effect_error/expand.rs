//! Writes the impl. Nothing here can fail.
//!
//! It must not know how the marks were worded.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::{Case, EffectError, Says, Source};
use crate::expand::{name_at, placed};

/// The impl.
pub(super) fn tokens(error: &EffectError) -> TokenStream {
    let EffectError { runtime, name, generics, cases } = error;
    let (params, arguments, clause) = generics.split_for_impl();
    let written = clause.iter().flat_map(|clause| &clause.predicates).map(|predicate| quote!(#predicate));
    let asked = cases.iter().filter_map(|case| match &case.says {
        Says::As(source) if source.generic => {
            let ty = &source.ty;
            Some(quote!(#ty: #runtime::EffectError))
        }
        _ => None,
    });
    let predicates: Vec<TokenStream> = written.chain(asked).collect();
    let clause = (!predicates.is_empty()).then(|| quote!(where #(#predicates),*));
    let arms = cases.iter().map(|case| arm(runtime, case));
    // An enum without variants has no reference that could be looked at.
    let looked = if cases.is_empty() { quote!(*self) } else { quote!(self) };
    quote! {
        #[automatically_derived]
        #[allow(
            deprecated,
            unreachable_patterns,
            clippy::all,
            clippy::pedantic,
            clippy::nursery,
            reason = "written by `#[derive(EffectError)]`"
        )]
        impl #params #runtime::EffectError for #name #arguments #clause {
            fn effect_class(&self) -> #runtime::ErrorClass {
                match #looked {
                    #(#arms)*
                }
            }
        }
    }
}

fn arm(runtime: &TokenStream, case: &Case) -> TokenStream {
    let variant = case.variant.as_ref().map(|variant| quote!(::#variant));
    let class = match &case.says {
        Says::Retryable => quote!(Retryable),
        Says::Final => quote!(Final),
        Says::Unknown => quote!(Unknown),
        Says::As(source) => {
            let Source { member, ty, .. } = &**source;
            let field = Ident::new("__idem_source", Span::mixed_site());
            let others = (case.fields > 1).then(|| quote!(, ..));
            // With the place of the type, so that one that says nothing of the effect is told there.
            let place = Span::call_site().located_at(ty.span());
            let (asked, lent) = (placed(quote!(#runtime::EffectError::effect_class), place), name_at(&field, place));
            let asked = quote_spanned!(place=> #asked(#lent));
            return quote!(Self #variant { #member: #field #others } => #asked,);
        }
    };
    quote!(Self #variant { .. } => #runtime::ErrorClass::#class,)
}
