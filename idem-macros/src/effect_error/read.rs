//! Reads the type and its marks, and finds every mistake.
//!
//! It must not know how the impl is written.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, Field, Fields, Generics, Index, Member};

use super::{Case, EffectError, Says, Source};
use crate::attribute::{Attribute, Written};
use crate::mistakes::Mistakes;
use crate::words::{EFFECT_OF_FIELD, EFFECT_OF_TYPE, EFFECT_OF_VARIANT, Table};

/// The word for a class that a field has.
const TRANSPARENT: &str = "transparent";

/// The type; a case with a mistake is unknown. `None` for what can be no error.
pub(super) fn read(input: &DeriveInput, mistakes: &mut Mistakes) -> Option<EffectError> {
    let marks = marks(&input.attrs, &EFFECT_OF_TYPE, mistakes);
    let runtime = marks.path("crate", mistakes).map_or_else(|| quote!(::idem_runtime), |path| quote!(#path));
    let reader = Reader { generics: &input.generics };
    let cases = match &input.data {
        Data::Struct(data) => vec![reader.case(None, &input.ident, &data.fields, &marks, mistakes)],
        Data::Enum(data) => {
            refuse_class_of_enum(&marks, mistakes);
            let read = data.variants.iter().map(|variant| {
                let marks = self::marks(&variant.attrs, &EFFECT_OF_VARIANT, mistakes);
                reader.case(Some(&variant.ident), &variant.ident, &variant.fields, &marks, mistakes)
            });
            read.collect()
        }
        Data::Union(data) => {
            let message = format!("`EffectError` on union `{}`, which cannot tell what it holds", input.ident);
            mistakes.on(data.union_token, message, "write an `enum`");
            return None;
        }
    };
    Some(EffectError { runtime, name: input.ident.clone(), generics: input.generics.clone(), cases })
}

/// All `#[effect(…)]` of one place, read as one.
fn marks(attrs: &[syn::Attribute], table: &'static Table, mistakes: &mut Mistakes) -> Attribute {
    let mut tokens = TokenStream::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("effect")) {
        let list = attr.meta.require_list().map(|list| &list.tokens).ok().filter(|list| !list.is_empty());
        let Some(list) = list else {
            mistakes.on(attr, "`#[effect]` without a mark", format!("write `{}`", table.known[0].example));
            continue;
        };
        let open = tokens.clone().into_iter().last();
        if !matches!(open, None | Some(TokenTree::Punct(_))) {
            tokens.extend(quote!(,));
        }
        tokens.extend(list.clone());
    }
    let marks = Attribute::read_as(table, tokens, Span::call_site(), mistakes);
    for mark in marks.arguments().filter(|mark| mark.name != "crate" && !matches!(mark.written, Written::Bare)) {
        let message = format!("mark `{}` takes no value", mark.name);
        mistakes.on(mark.place(), message, format!("write `#[effect({})]`", mark.name));
    }
    marks
}

fn refuse_class_of_enum(marks: &Attribute, mistakes: &mut Mistakes) {
    for mark in classes(marks) {
        let message = format!("mark `{mark}` on an enum, whose variants have each their own");
        mistakes.at(mark.span(), message, format!("write `#[effect({mark})]` on a variant"));
    }
}

fn classes(marks: &Attribute) -> impl Iterator<Item = &Ident> {
    marks.arguments().map(|argument| &argument.name).filter(|name| *name != "crate")
}

struct Reader<'i> {
    generics: &'i Generics,
}

impl Reader<'_> {
    fn case(
        &self,
        variant: Option<&Ident>,
        name: &Ident,
        fields: &Fields,
        marks: &Attribute,
        mistakes: &mut Mistakes,
    ) -> Case {
        let sources = sources(fields, mistakes);
        let mut classes = classes(marks);
        let first = classes.next();
        for (second, first) in classes.zip(first.iter().cycle()) {
            let message = format!("mark `{second}` contradicts `{first}` on `{name}`");
            mistakes.at(second.span(), message, format!("write `#[effect({first})]` alone"));
        }
        let asks = first.is_some_and(|mark| mark == TRANSPARENT);
        for (_, span) in sources.iter().filter_map(|(member, own)| Some((member, (*own)?))).filter(|_| !asks) {
            let message = format!("mark `source` on a field of `{name}`, which asks none");
            mistakes.at(
                span,
                message,
                format!("write `#[effect(transparent)]` on `{name}`, or remove `#[effect(source)]`"),
            );
        }
        let says = match first {
            Some(mark) if mark == "retryable" => Says::Retryable,
            Some(mark) if mark == "final" => Says::Final,
            Some(mark) if asks => self.asked(mark, name, fields, &sources, mistakes).map_or(Says::Unknown, Says::As),
            _ => Says::Unknown,
        };
        Case { variant: variant.cloned(), fields: fields.len(), says }
    }

    /// The only field, or the only one that is marked as the source.
    fn asked(
        &self,
        mark: &Ident,
        name: &Ident,
        fields: &Fields,
        sources: &[(usize, Option<Span>)],
        mistakes: &mut Mistakes,
    ) -> Option<Box<Source>> {
        let chosen = match (fields.len(), sources) {
            (1, _) => 0,
            (_, [(index, _)]) => *index,
            (0, _) => {
                let message = format!("`transparent` on `{name}`, which has no field to ask");
                mistakes.at(mark.span(), message, "write `#[effect(unknown)]`");
                return None;
            }
            (count, []) => {
                let message = format!("`transparent` on `{name}`, which has {count} fields: which one is asked?");
                mistakes.at(mark.span(), message, "write `#[effect(source)]` on one of them");
                return None;
            }
            (_, several) => {
                let message =
                    format!("`transparent` on `{name}`, which has {} sources: which one is asked?", several.len());
                mistakes.at(mark.span(), message, "write `#[effect(source)]` on one of them");
                return None;
            }
        };
        let field = fields.iter().nth(chosen)?;
        Some(Box::new(Source { member: member(chosen, field), ty: field.ty.clone(), generic: self.is_generic(field) }))
    }

    fn is_generic(&self, field: &Field) -> bool {
        let params: Vec<&Ident> = self.generics.type_params().map(|param| &param.ident).collect();
        mentions(field.ty.to_token_stream(), &params)
    }
}

/// Fields that are a source: ours before those of other derives. The place is that of our mark.
fn sources(fields: &Fields, mistakes: &mut Mistakes) -> Vec<(usize, Option<Span>)> {
    let mut own = Vec::new();
    let mut others = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let marks = marks(&field.attrs, &EFFECT_OF_FIELD, mistakes);
        let other = field.attrs.iter().any(|attr| attr.path().is_ident("source") || attr.path().is_ident("from"));
        match marks.find("source") {
            Some(mark) => own.push((index, Some(mark.name.span()))),
            None if other => others.push((index, None)),
            None => {}
        }
    }
    if own.is_empty() { others } else { own }
}

fn member(index: usize, field: &Field) -> Member {
    let numbered =
        || Member::Unnamed(Index { index: u32::try_from(index).unwrap_or(u32::MAX), span: Span::call_site() });
    field.ident.clone().map_or_else(numbered, Member::Named)
}

fn mentions(tokens: TokenStream, names: &[&Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => names.contains(&&ident),
        TokenTree::Group(group) => mentions(group.stream(), names),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
