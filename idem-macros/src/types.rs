//! Questions about types: does it borrow, is it the tool call, is it a boxed future?
//!
//! It looks at tokens only: an alias or a path from elsewhere is what it is called.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{
    GenericArgument, Lifetime, ParenthesizedGenericArguments, PathArguments, PathSegment, Type, TypeFnPtr,
    TypeImplTrait, TypeParamBound, TypeReference,
};

/// The name of the type that carries a call.
const TOOL_CALL: &str = "ToolCall";

/// Where a type borrows, if it does: the first reference or lifetime that is not `'static`.
pub(crate) fn borrow(ty: &Type) -> Option<TokenStream> {
    let mut search = Search::default();
    search.visit_type(ty);
    search.borrow
}

/// Whether a type borrows for change.
pub(crate) fn borrows_for_change(ty: &Type) -> bool {
    let mut search = Search::default();
    search.visit_type(ty);
    search.for_change
}

/// Where `impl Trait` stands in a type, if it does.
pub(crate) fn impl_trait(ty: &Type) -> Option<TokenStream> {
    let mut search = Search::default();
    search.visit_type(ty);
    search.impl_trait
}

#[derive(Default)]
struct Search {
    borrow: Option<TokenStream>,
    for_change: bool,
    /// Whether there is a reference at all, `'static` or not.
    refers: bool,
    impl_trait: Option<TokenStream>,
}

impl<'ast> Visit<'ast> for Search {
    fn visit_type_reference(&mut self, reference: &'ast TypeReference) {
        if reference.lifetime.as_ref().is_none_or(|lifetime| lifetime.ident != "static") {
            self.borrow.get_or_insert_with(|| reference.to_token_stream());
        }
        self.refers = true;
        self.for_change |= reference.mutability.is_some();
        visit::visit_type_reference(self, reference);
    }

    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident != "static" {
            self.borrow.get_or_insert_with(|| lifetime.to_token_stream());
        }
    }

    fn visit_type_impl_trait(&mut self, written: &'ast TypeImplTrait) {
        self.impl_trait.get_or_insert_with(|| written.to_token_stream());
        visit::visit_type_impl_trait(self, written);
    }

    // What a function takes and gives is no borrow of the function itself.
    fn visit_type_fn_ptr(&mut self, _: &'ast TypeFnPtr) {}
    fn visit_parenthesized_generic_arguments(&mut self, _: &'ast ParenthesizedGenericArguments) {}
}

/// Names that no `Result` goes by. The compiler would tell of other types too, but many times over.
const NO_RESULTS: [&str; 20] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128",
    "usize", "str", "Option", "String", "Vec",
];

/// The type without the invisible groups that `macro_rules!` leaves, and without parentheses.
fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        other => other,
    }
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match bare(ty) {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

/// Whether a type is `&Self`.
pub(crate) fn is_borrowed_self(ty: &Type) -> bool {
    let Some(reference) = as_reference(ty).filter(|reference| reference.mutability.is_none()) else {
        return false;
    };
    matches!(bare(&reference.elem), Type::Path(path) if path.qself.is_none() && path.path.is_ident("Self"))
}

/// Whether a type is `Arc<Self>`, however it is qualified.
pub(crate) fn is_shared_self(ty: &Type) -> bool {
    let inner = last_segment(ty).and_then(|segment| only_argument(segment, "Arc"));
    matches!(inner.map(bare), Some(Type::Path(path)) if path.qself.is_none() && path.path.is_ident("Self"))
}

/// The type as a reference, if it is one.
pub(crate) fn as_reference(ty: &Type) -> Option<&TypeReference> {
    match bare(ty) {
        Type::Reference(reference) => Some(reference),
        _ => None,
    }
}

/// What a type refers to for a while, and the reconciler's state has to share. What lives for good can stay as it is.
pub(crate) fn shared(ty: &Type) -> Option<&Type> {
    let for_good = |reference: &TypeReference| reference.lifetime.as_ref().is_some_and(|life| life.ident == "static");
    as_reference(ty).filter(|reference| !for_good(reference)).map(|reference| bare(&reference.elem))
}

/// Whether a value of the type can be made from what is stored: it has a name, and no reference in it.
pub(crate) fn can_be_read(ty: &Type) -> bool {
    let mut search = Search::default();
    search.visit_type(ty);
    search.borrow.is_none() && search.impl_trait.is_none() && !search.refers
}

/// How a parameter takes the tool call, if that is what it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakesCall {
    ByReference,
    ByValue,
}

/// `ToolCall` or `&ToolCall`, however it is qualified.
pub(crate) fn takes_call(ty: &Type) -> Option<TakesCall> {
    let (ty, takes) = match bare(ty) {
        Type::Reference(reference) if reference.mutability.is_none() => (&*reference.elem, TakesCall::ByReference),
        other => (other, TakesCall::ByValue),
    };
    last_segment(ty).filter(|segment| segment.ident == TOOL_CALL && segment.arguments.is_none()).map(|_| takes)
}

/// `T` of `Pin<Box<dyn Future<Output = T> + …>>`, which other attributes make of an async function.
pub(crate) fn boxed_output(ty: &Type) -> Option<&Type> {
    let inner = only_argument(last_segment(ty)?, "Pin")?;
    let inner = only_argument(last_segment(inner)?, "Box")?;
    let Type::TraitObject(object) = bare(inner) else {
        return None;
    };
    object.bounds.iter().find_map(output_of_bound)
}

fn output_of_bound(bound: &TypeParamBound) -> Option<&Type> {
    match bound {
        TypeParamBound::Trait(bound) => output_of(bound.path.segments.last()?),
        _ => None,
    }
}

/// `T` of `impl Future<Output = T>`.
pub(crate) fn future_output(ty: &Type) -> Option<&Type> {
    let Type::ImplTrait(written) = bare(ty) else {
        return None;
    };
    written.bounds.iter().find_map(output_of_bound)
}

fn only_argument<'t>(segment: &'t PathSegment, name: &str) -> Option<&'t Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    match arguments.args.first() {
        Some(GenericArgument::Type(ty)) if segment.ident == name && arguments.args.len() == 1 => Some(ty),
        _ => None,
    }
}

fn output_of(segment: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    arguments.args.iter().filter(|_| segment.ident == "Future").find_map(|argument| match argument {
        GenericArgument::AssocType(assoc) if assoc.ident == "Output" => Some(&assoc.ty),
        _ => None,
    })
}

/// Whether a type can be a `Result` under some name: a path, or a macro that makes one.
pub(crate) fn may_be_result(ty: &Type) -> bool {
    match bare(ty) {
        Type::Macro(_) => true,
        Type::Path(path) => {
            !NO_RESULTS.iter().any(|name| path.path.segments.len() == 1 && path.path.segments[0].ident == name)
        }
        _ => false,
    }
}

/// What to write instead of a borrowed parameter type.
pub(crate) fn owned(ty: &Type) -> String {
    let Type::Reference(reference) = bare(ty) else {
        return "an owned type, or `'static` for its lifetime".to_owned();
    };
    match bare(&reference.elem) {
        Type::Slice(slice) => format!("`Vec<{}>`", text(&slice.elem)),
        Type::Path(path) if path.path.is_ident("str") => "`String`".to_owned(),
        elem => format!("`{}`", text(elem)),
    }
}

/// A type as people write it, near enough for a line of help.
pub(crate) fn text(ty: &Type) -> String {
    let spaced = ty.to_token_stream().to_string();
    spaced.replace(" ,", ",").replace(" < ", "<").replace(" >", ">").replace(" :: ", "::").replace("& ", "&")
}
