//! Reads the function under the attribute. Its body stays unparsed, so that a half-typed one still expands.
//!
//! It must not know what the attribute says.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{
    Attribute, Expr, ExprLit, FnArg, Lit, Meta, Pat, PatType, Receiver, ReceiverKind, Signature, Token, Type,
    Visibility, token,
};

use crate::marks::{self, Marked};
use crate::mistakes::Mistakes;
use crate::types;

/// What stood under the attribute.
pub(crate) enum Reading {
    Function(Box<Item>),
    /// Not a function with a body: its tokens, after the mistake was told.
    Other(TokenStream),
}

/// A function as it was written, its parameters' marks taken out.
#[derive(Debug)]
pub(crate) struct Item {
    /// Without `r#`.
    pub(crate) name: String,
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: Group,
    pub(crate) receiver: Option<Me>,
    pub(crate) parameters: Vec<Parameter>,
}

/// The receiver.
#[derive(Debug, Clone)]
pub(crate) struct Me {
    /// The user's own `self`: another one would not be found in a body from `macro_rules!`.
    pub(crate) token: Token![self],
    pub(crate) written: TokenStream,
    pub(crate) takes: TakesSelf,
    /// Whether it is `&self`, however that is written.
    pub(crate) plain: bool,
    /// Whether it is `self: Arc<Self>`.
    pub(crate) shared: bool,
    pub(crate) mark: Option<Marked>,
}

/// How a method takes its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakesSelf {
    ByReference,
    ByValue,
    ForChange,
    MutableBinding,
}

/// A parameter other than the receiver.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    /// The name in the ledger: the user's, or `argN` for a pattern.
    pub(crate) name: String,
    /// The name in the signature that is emitted.
    pub(crate) ident: Ident,
    /// Bound again in the body when it is more than a name.
    pub(crate) pattern: Option<Pat>,
    pub(crate) ty: Type,
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) mark: Option<Marked>,
    /// Its doc comment, which rustc would refuse: for the model.
    pub(crate) description: Option<String>,
    /// Where the user's pattern stands.
    pub(crate) span: Span,
}

impl Item {
    /// The user's function as it was, for the side of a mistake.
    pub(crate) fn unguarded(&self) -> TokenStream {
        let Self { attrs, vis, sig, body, .. } = self;
        quote!(#(#attrs)* #vis #sig #body)
    }

    /// The signature that is emitted: every parameter has a name.
    pub(crate) fn named_signature(&self) -> Signature {
        let mut sig = self.sig.clone();
        let typed = sig.inputs.iter_mut().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(typed),
            FnArg::Receiver(_) => None,
        });
        for (typed, parameter) in typed.zip(&self.parameters) {
            if parameter.pattern.is_some() {
                let ident = &parameter.ident;
                *typed.pat = Pat::Verbatim(quote!(#ident));
            }
        }
        sig
    }
}

/// Reads the item.
pub(crate) fn read(tokens: TokenStream, mistakes: &mut Mistakes) -> Reading {
    let mut written = match syn::parse2::<Written>(tokens.clone()) {
        Ok(written) => written,
        Err(error) => {
            tell_no_function(&tokens, error, mistakes);
            return Reading::Other(tokens);
        }
    };
    let name = written.sig.ident.unraw().to_string();
    let receiver = written.sig.inputs.iter_mut().find_map(|input| match input {
        FnArg::Receiver(receiver) => Some(me(receiver, mistakes)),
        FnArg::Typed(_) => None,
    });
    let mut parameters = Vec::new();
    for (index, input) in written.sig.inputs.iter_mut().enumerate() {
        if let FnArg::Typed(typed) = input {
            parameters.push(parameter(index, typed, mistakes));
        }
    }
    let Written { attrs, vis, sig, body } = written;
    let Some(body) = body else {
        let help = format!("put `#[idempotent(…)]` on the `{name}` of each implementation");
        mistakes.on(&sig.ident, format!("tool function `{name}` has no body to guard"), help);
        return Reading::Other(quote!(#(#attrs)* #vis #sig;));
    };
    Reading::Function(Box::new(Item { name, attrs, vis, sig, body, receiver, parameters }))
}

struct Written {
    attrs: Vec<Attribute>,
    vis: Visibility,
    sig: Signature,
    body: Option<Group>,
}

impl Parse for Written {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let sig = input.parse()?;
        if input.peek(Token![;]) {
            input.parse::<Token![;]>()?;
            return Ok(Self { attrs, vis, sig, body: None });
        }
        if !input.peek(token::Brace) {
            return Err(input.error("expected the function's body"));
        }
        match input.parse()? {
            TokenTree::Group(body) => Ok(Self { attrs, vis, sig, body: Some(body) }),
            other => Err(syn::Error::new(other.span(), "expected the function's body")),
        }
    }
}

/// What the attribute stands on instead of a function, in the user's words.
fn tell_no_function(tokens: &TokenStream, error: syn::Error, mistakes: &mut Mistakes) {
    let (what, help) = match syn::parse2::<syn::Item>(tokens.clone()) {
        Ok(syn::Item::Impl(_)) => ("an impl block", "put `#[idempotent(…)]` on each of its methods that has an effect"),
        Ok(syn::Item::Trait(_)) => ("a trait", "put `#[idempotent(…)]` on the methods of each implementation"),
        Ok(syn::Item::Mod(_)) => ("a module", "put `#[idempotent(…)]` on each of its functions that has an effect"),
        Ok(syn::Item::Struct(_) | syn::Item::Enum(_)) => {
            ("a type", "put `#[idempotent(…)]` on the function that has the effect")
        }
        _ => return mistakes.syntax(error),
    };
    let place = tokens.clone().into_iter().find(|token| matches!(token, TokenTree::Ident(_)));
    let place = place.map_or_else(Span::call_site, |token| token.span());
    mistakes.at(place, format!("`#[idempotent]` stands on {what}, it belongs on an async function"), help);
}

fn me(receiver: &mut Receiver, mistakes: &mut Mistakes) -> Me {
    let mark = marks::take(&mut receiver.attrs, mistakes);
    let takes = match &receiver.kind {
        ReceiverKind::Reference(_, _, Some(_)) => TakesSelf::ForChange,
        ReceiverKind::Reference(_, _, None) => TakesSelf::ByReference,
        ReceiverKind::Typed(_, ty) if types::borrows_for_change(ty) => TakesSelf::ForChange,
        _ if receiver.mutability.is_some() => TakesSelf::MutableBinding,
        ReceiverKind::Typed(_, ty) if types::borrow(ty).is_some() => TakesSelf::ByReference,
        _ => TakesSelf::ByValue,
    };
    let plain = match &receiver.kind {
        ReceiverKind::Reference(_, _, mutability) => mutability.is_none(),
        ReceiverKind::Typed(_, ty) => types::is_borrowed_self(ty),
        _ => false,
    };
    let shared = matches!(&receiver.kind, ReceiverKind::Typed(_, ty) if types::is_shared_self(ty));
    Me { token: receiver.self_token, written: receiver.to_token_stream(), takes, plain, shared, mark }
}

fn parameter(index: usize, typed: &mut PatType, mistakes: &mut Mistakes) -> Parameter {
    let mark = marks::take(&mut typed.attrs, mistakes);
    let docs: Vec<Attribute> = typed.attrs.extract_if(.., |attr| attr.path().is_ident("doc")).collect();
    let cfgs = typed.attrs.iter().filter(|attr| attr.path().is_ident("cfg")).cloned().collect();
    let (name, ident, pattern) = match &*typed.pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => {
            let name = boxed_name(&pat.ident);
            // Clippy (`used_underscore_binding`) would hold our use of such a name against the user.
            if name.starts_with('_') {
                (name, format_ident!("__idem_arg{index}"), Some((*typed.pat).clone()))
            } else {
                (name, pat.ident.clone(), pat.mutability.map(|_| (*typed.pat).clone()))
            }
        }
        pat => (format!("arg{index}"), format_ident!("__idem_arg{index}"), Some(pat.clone())),
    };
    let (ty, description) = ((*typed.ty).clone(), description(&docs));
    Parameter { name, ident, pattern, ty, cfgs, mark, description, span: typed.pat.span() }
}

/// The doc comments among the attributes, as text.
pub(crate) fn description(attrs: &[Attribute]) -> Option<String> {
    let docs = attrs.iter().filter(|attr| attr.path().is_ident("doc"));
    let lines = docs.filter_map(|attr| match &attr.meta {
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<String> = lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned()).collect();
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The name of a parameter; `async_trait` above us has already renamed patterns to `__argN`.
fn boxed_name(ident: &Ident) -> String {
    let name = ident.unraw().to_string();
    let index = name.strip_prefix("__arg").filter(|index| index.parse::<usize>().is_ok());
    index.map_or_else(|| name.clone(), |index| format!("arg{index}"))
}

/// What is inside `Box::pin(async move { … })`, when that is all a body is: the tokens before the call's parentheses,
/// and the block.
pub(crate) fn boxed_block(body: &Group) -> Option<(TokenStream, Group)> {
    let mut tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    let Some(TokenTree::Group(call)) = tokens.pop() else {
        return None;
    };
    if !matches!(tokens.last(), Some(TokenTree::Ident(name)) if name == "pin") {
        return None;
    }
    let mut inside = call.stream().into_iter();
    let (first, second, third) = (inside.next()?, inside.next()?, inside.next()?);
    match (first, second, third, inside.next()) {
        (TokenTree::Ident(a), TokenTree::Ident(b), TokenTree::Group(block), None) if a == "async" && b == "move" => {
            Some((tokens.into_iter().map(|token| token.to_token_stream()).collect(), block))
        }
        _ => None,
    }
}
