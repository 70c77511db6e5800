//! What each parameter is to the operation: its role, from its mark, its type or the attribute.
//!
//! It must not know the languages of scopes and keys.

use proc_macro2::Ident;
use syn::Expr;

use super::paths::LeftOut;
use crate::attribute::{Attribute, example};
use crate::marks::Mark;
use crate::mistakes::Mistakes;
use crate::model::{Described, Input, InputRole, Param};
use crate::path::ValuePath;
use crate::pattern::{self, Binding};
use crate::signature::{Item, Me, Parameter};
use crate::types;

/// The parameters with their roles, and the paths below them that have a role of their own.
#[derive(Debug)]
pub(super) struct Parameters {
    pub(super) entries: Vec<Entry>,
    pub(super) receiver: Option<Me>,
    pub(super) left_out: Vec<LeftOut>,
}

/// A parameter and its role.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) parameter: Parameter,
    pub(super) role: Role,
    /// Names that its pattern binds.
    pub(super) bindings: Vec<Binding>,
}

impl Parameters {
    /// Gives every parameter its role.
    pub(super) fn read(attribute: &Attribute, item: &Item, context: Option<&Expr>, mistakes: &mut Mistakes) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        for parameter in &item.parameters {
            let role = role(parameter, context, mistakes);
            let bindings = parameter.pattern.as_ref().map(pattern::bindings).unwrap_or_default();
            let name = &parameter.name;
            let always = |entry: &Entry| entry.parameter.name == *name && entry.parameter.cfgs.is_empty();
            if parameter.cfgs.is_empty() && entries.iter().any(always) {
                let message = format!("two parameters are `{name}` in the ledger: a pattern is called by its place");
                mistakes.at(parameter.span, message, "write `pair: (u8, u8)`, and take it apart in the body");
            }
            entries.push(Entry { parameter: parameter.clone(), role, bindings });
        }
        if let Some(marked) = item.receiver.as_ref().and_then(|receiver| receiver.mark)
            && marked.mark != Mark::State
        {
            let message = format!("mark `{}` on `self`, which is no argument", marked.mark.word());
            mistakes.at(marked.span, message, "write `#[idem(state)]`");
        }
        let mut parameters = Self { entries, receiver: item.receiver.clone(), left_out: Vec::new() };
        for mark in [Mark::Content, Mark::Volatile, Mark::Secret] {
            for text in attribute.texts(mark.word(), mistakes) {
                match ValuePath::read(text.whole()) {
                    Ok(path) => parameters.leave_out(&path, mark, mistakes),
                    Err(message) => {
                        let help = format!("write `{}`", example(mark.word()));
                        mistakes.at(text.span(), format!("{message} in `{}`", mark.word()), help);
                    }
                }
            }
        }
        parameters
    }

    /// Names in the order of the signature, with those that patterns bind.
    pub(super) fn names(&self, wanted: impl Fn(Role) -> bool) -> Vec<String> {
        let entries = self.entries.iter().filter(|entry| wanted(entry.role));
        let mut names = Vec::new();
        for entry in entries {
            names.push(entry.parameter.name.clone());
            names.extend(entry.bindings.iter().map(|binding| binding.name.clone()));
        }
        names
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &Parameter> {
        self.entries.iter().filter(|entry| entry.role == Role::Call).map(|entry| &entry.parameter)
    }

    /// How many arguments stand before the tool call, with the receiver.
    pub(super) fn before_call(&self) -> usize {
        usize::from(self.receiver.is_some()) + self.entries.iter().take_while(|entry| entry.role != Role::Call).count()
    }

    /// All but the tool call, in the order of the signature.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &Parameter> {
        self.entries.iter().filter(|entry| entry.role != Role::Call).map(|entry| &entry.parameter)
    }

    /// What is marked as state, in the order of the signature.
    pub(super) fn state(&self) -> impl Iterator<Item = &Parameter> {
        self.entries.iter().filter(|entry| entry.input() == Some(InputRole::State)).map(|entry| &entry.parameter)
    }

    /// What can be stored with a record.
    pub(super) fn stored(&self) -> impl Iterator<Item = &Parameter> {
        self.entries.iter().filter(|entry| entry.input() == Some(InputRole::Argument)).map(|entry| &entry.parameter)
    }

    /// Whether there is a parameter that only `ctx` names.
    pub(super) fn has_context(&self) -> bool {
        self.entries.iter().any(|entry| entry.input() == Some(InputRole::Context))
    }

    /// Whether some parameter has such a role.
    pub(super) fn has(&self, wanted: impl Fn(Role) -> bool) -> bool {
        self.entries.iter().any(|entry| wanted(entry.role))
    }

    /// All but the tool call, with what the tool's hooks get of them.
    pub(super) fn into_inputs(self) -> Vec<Input> {
        let input = |entry: Entry| {
            let told = matches!(entry.role, Role::Effect | Role::Content | Role::Volatile);
            entry.input().map(|role| Input { parameter: entry.parameter, role, told })
        };
        self.entries.into_iter().filter_map(input).collect()
    }

    /// What the static description says of them and of the paths below them that have a mark of their own, sorted by
    /// name as the canonical form sorts (UTF-16).
    pub(super) fn described(&self) -> Vec<Param> {
        let described = |name: &str, role: Role, parameter: &Parameter| {
            let mark = role.described()?;
            Some(Param { name: name.to_owned(), mark, cfgs: parameter.cfgs.clone() })
        };
        let whole = self
            .entries
            .iter()
            .filter_map(|Entry { parameter, role, .. }| described(&parameter.name, *role, parameter));
        let below = self.left_out.iter().filter_map(|LeftOut { path, place, role }| {
            described(&path.text, *role, &self.entries[place.entry].parameter)
        });
        let mut params: Vec<Param> = whole.chain(below).collect();
        params.sort_by(|left, right| left.name.encode_utf16().cmp(right.name.encode_utf16()));
        params
    }
}

impl Entry {
    fn input(&self) -> Option<InputRole> {
        match self.role {
            Role::Call => None,
            Role::State if self.parameter.mark.is_some() => Some(InputRole::State),
            Role::State => Some(InputRole::Context),
            Role::Effect | Role::Content | Role::Volatile | Role::Secret => Some(InputRole::Argument),
        }
    }
}

fn role(parameter: &Parameter, context: Option<&Expr>, mistakes: &mut Mistakes) -> Role {
    let is_call = types::takes_call(&parameter.ty).is_some();
    match parameter.mark {
        Some(marked) if is_call => {
            let message = format!("mark `{}` on `{}`, which is the tool call", marked.mark.word(), parameter.name);
            mistakes.at(marked.span, message, format!("remove `#[idem({})]`", marked.mark.word()));
            Role::Call
        }
        None if is_call => Role::Call,
        Some(marked) => marked.mark.into(),
        // `ctx = context` says that `context` is where the call comes from, which makes it no argument.
        None if context.is_some_and(|context| is_name(context, &parameter.ident)) => Role::State,
        None => Role::Effect,
    }
}

impl From<Mark> for Role {
    fn from(mark: Mark) -> Self {
        match mark {
            Mark::Content => Self::Content,
            Mark::Volatile => Self::Volatile,
            Mark::Secret => Self::Secret,
            Mark::State => Self::State,
        }
    }
}

impl Role {
    /// How the static description marks it; state and the call are not described.
    fn described(self) -> Option<Described> {
        match self {
            Self::Effect => Some(Described::Effect),
            Self::Content => Some(Described::Content),
            Self::Volatile => Some(Described::Volatile),
            Self::Secret => Some(Described::Secret),
            Self::State | Self::Call => None,
        }
    }
}

/// What a parameter is to the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Effect,
    Content,
    Volatile,
    Secret,
    State,
    /// The tool call itself.
    Call,
}

fn is_name(expression: &Expr, ident: &Ident) -> bool {
    match expression {
        Expr::Path(path) => path.path.is_ident(ident),
        Expr::Reference(reference) => is_name(&reference.expr, ident),
        _ => false,
    }
}

/// How a message calls it.
pub(super) fn word(role: Role) -> &'static str {
    match role {
        Role::Effect => "an argument",
        Role::Content => "content",
        Role::Volatile => "volatile",
        Role::Secret => "secret",
        Role::State => "state",
        Role::Call => "the tool call",
    }
}
