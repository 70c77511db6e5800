//! What is told of the arguments at run time, as statements in order.
//!
//! It must not know how a statement is written.

use proc_macro2::{Ident, Span};
use syn::{Index, Member};

use super::parameters::{Entry, Parameters, Role};
use super::paths::{LeftOut, Place};
use crate::model::{Root, Step, Tells, Value};

impl Parameters {
    /// What is told of them: effect arguments sorted by name, then content, then paths that only must exist.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut effects = Vec::new();
        let mut contents = Vec::new();
        let mut checks = Vec::new();
        for (index, entry) in self.entries.iter().enumerate() {
            let Entry { parameter, role, .. } = entry;
            let whole = Place { entry: index, fields: Vec::new() };
            let step = |tells| self.step(&parameter.name, parameter.ident.span(), &whole, tells);
            let hidden: Vec<String> =
                self.left_out.iter().filter(|hidden| hidden.place.entry == index).map(LeftOut::below).collect();
            match role {
                Role::Effect if hidden.is_empty() => effects.push(step(Tells::Effect)),
                Role::Effect => effects.push(step(Tells::EffectWithout(hidden))),
                Role::Content => contents.push(step(Tells::Content)),
                Role::Volatile | Role::Secret | Role::State | Role::Call => {}
            }
        }
        for LeftOut { path, place, role } in &self.left_out {
            if *role == Role::Content {
                contents.push(self.step(&path.text, path.span, place, Tells::Content));
            } else {
                checks.push(self.step(&path.text, path.span, place, Tells::Exists));
            }
        }
        for steps in [&mut effects, &mut contents] {
            steps.sort_by(|left, right| left.value.name.encode_utf16().cmp(right.value.name.encode_utf16()));
        }
        effects.into_iter().chain(contents).chain(checks).collect()
    }

    /// One statement about the value at that place.
    pub(super) fn step(&self, name: &str, span: Span, place: &Place, tells: Tells) -> Step {
        let parameter = &self.entries[place.entry].parameter;
        let root = Root::Parameter(parameter.ident.clone());
        let fields = place.fields.iter().map(|field| member(&field.name, span)).collect();
        let value = Value { name: name.to_owned(), root, fields, span };
        Step { cfgs: parameter.cfgs.clone(), value, tells }
    }
}

/// A field with the place of its path, so that the compiler's own error stands under it.
pub(super) fn member(field: &str, span: Span) -> Member {
    let place = Span::call_site().located_at(span);
    if let Ok(index) = field.parse() {
        return Member::Unnamed(Index { index, span: place });
    }
    // A keyword can only be a field as `r#type`.
    let ident = syn::parse_str::<Ident>(field).map_or_else(
        |_| Ident::new_raw(field, place),
        |mut ident| {
            ident.set_span(place);
            ident
        },
    );
    Member::Named(ident)
}
