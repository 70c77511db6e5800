//! Where paths to values lead: below which parameter, and whether they may decide what is a repeat.
//!
//! It must not know the languages that the paths were written in.

use super::parameters::{Entry, Parameters, Role, word};
use super::steps::member;
use crate::marks::Mark;
use crate::mistakes::Mistakes;
use crate::model::{Root, Step, Tells, Value};
use crate::path::ValuePath;
use crate::pattern::Field;
use crate::words::{instead, near_miss};

/// A path that an argument of the attribute takes out of the arguments.
#[derive(Debug)]
pub(super) struct LeftOut {
    /// As written.
    pub(super) path: ValuePath,
    pub(super) place: Place,
    pub(super) role: Role,
}

/// A path from the parameter itself; a path may begin at a name inside its pattern.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) entry: usize,
    pub(super) fields: Vec<Field>,
}

/// Where a path leads.
pub(super) enum Found {
    /// A whole parameter, which the runtime finds by its name.
    Whole,
    /// Something below the receiver or a parameter; several steps when `#[cfg]` chooses between parameters.
    Below(Vec<Step>),
}

impl Parameters {
    /// `content = "order.note"` and the like.
    pub(super) fn leave_out(&mut self, path: &ValuePath, mark: Mark, mistakes: &mut Mistakes) {
        let word = mark.word();
        let places = self.places(path);
        if places.is_empty() {
            return self.tell_unknown(path, &format!("`{word}`"), mistakes);
        }
        let taken = places.iter().find_map(|place| {
            let entry = &self.entries[place.entry];
            let earlier = self.left_out.iter().find(|earlier| overlap(&earlier.place, place));
            let marked = (entry.role != Role::Effect).then(|| entry.parameter.name.clone());
            earlier.map(|earlier| earlier.path.text.clone()).or(marked)
        });
        if let Some(name) = taken {
            let message = format!("`{}` is named twice: `{name}` has a mark of its own", path.text);
            return mistakes.at(path.span, message, format!("remove `{}` from `{word}`", path.text));
        }
        for place in places {
            if place.fields.is_empty() {
                self.entries[place.entry].role = mark.into();
            } else {
                self.left_out.push(LeftOut { path: path.clone(), place, role: mark.into() });
            }
        }
    }

    /// Follows a path from `args(…)`, a template or a scope; `braces` allow state.
    pub(super) fn follow(&self, path: &ValuePath, site: &str, braces: bool, mistakes: &mut Mistakes) -> Option<Found> {
        if path.is_receiver() {
            return self.follow_receiver(path, site, braces, mistakes);
        }
        let places = self.places(path);
        if places.is_empty() {
            self.tell_unknown(path, site, mistakes);
            return None;
        }
        for place in &places {
            self.refuse_role(path, place, site, braces, mistakes)?;
        }
        if places.iter().all(|place| place.fields.is_empty()) {
            return Some(Found::Whole);
        }
        let steps = places.iter().map(|place| self.step(&path.text, path.span, place, Tells::Part)).collect();
        Some(Found::Below(steps))
    }

    /// Tells when the value at that place must not decide what is a repeat.
    fn refuse_role(
        &self,
        path: &ValuePath,
        place: &Place,
        site: &str,
        braces: bool,
        mistakes: &mut Mistakes,
    ) -> Option<()> {
        let Entry { parameter, role, .. } = &self.entries[place.entry];
        let text = &path.text;
        let why = match role {
            Role::Effect => None,
            Role::State if braces && !place.fields.is_empty() => None,
            Role::Call => Some("the tool call, which `tool_call_id` and the scope stand for".to_owned()),
            Role::State => Some("state, which is no argument".to_owned()),
            other => Some(format!("{}, which must not decide what is a repeat", word(*other))),
        };
        if let Some(why) = why {
            let names = self.names(|role| role == Role::Effect);
            let help = names.first().map_or_else(
                || format!("remove `{text}`"),
                |first| {
                    if braces { format!("write `{{{first}}}`") } else { format!("write `args({first})`") }
                },
            );
            mistakes.at(path.span, format!("`{text}` in {site}: `{}` is {why}", parameter.name), help);
            return None;
        }
        let hidden = self.left_out.iter().find(|hidden| !place.fields.is_empty() && overlap(&hidden.place, place));
        if let Some(hidden) = hidden {
            let message = format!("`{text}` in {site}: `{}` is {}", hidden.path.text, word(hidden.role));
            mistakes.at(path.span, message, format!("remove `{text}`"));
            return None;
        }
        Some(())
    }

    fn follow_receiver(&self, path: &ValuePath, site: &str, braces: bool, mistakes: &mut Mistakes) -> Option<Found> {
        let text = &path.text;
        let Some(receiver) = self.receiver.as_ref().filter(|_| braces && !path.fields.is_empty()) else {
            let (why, help) = match &self.receiver {
                None => ("the function takes no `self`", format!("remove `{text}`")),
                Some(_) if !braces => ("`self` is no argument", "write `template:{self.merchant}`".to_owned()),
                Some(_) => ("`self` as a whole is no value", "write `{self.merchant}`".to_owned()),
            };
            mistakes.at(path.span, format!("`{text}` in {site}: {why}"), help);
            return None;
        };
        let fields = path.fields.iter().map(|field| member(field, path.span)).collect();
        let value = Value { name: text.clone(), root: Root::Receiver(receiver.token), fields, span: path.span };
        Some(Found::Below(vec![Step { cfgs: Vec::new(), value, tells: Tells::Part }]))
    }

    /// Where a path leads: to parameters of its root's name, or else through a name inside a pattern.
    fn places(&self, path: &ValuePath) -> Vec<Place> {
        let written = || path.fields.iter().map(|name| Field { name: name.clone(), transparent: false });
        let entries = || self.entries.iter().enumerate();
        let named: Vec<Place> = entries()
            .filter(|(_, entry)| entry.parameter.name == path.root)
            .map(|(index, _)| Place { entry: index, fields: written().collect() })
            .collect();
        if !named.is_empty() {
            return named;
        }
        let bound = entries().flat_map(|(index, entry)| entry.bindings.iter().map(move |binding| (index, binding)));
        bound
            .filter(|(_, binding)| binding.name == path.root)
            .map(|(index, binding)| Place {
                entry: index,
                fields: binding.fields.iter().cloned().chain(written()).collect(),
            })
            .collect()
    }

    fn tell_unknown(&self, path: &ValuePath, site: &str, mistakes: &mut Mistakes) {
        let names = self.names(|role| role != Role::Call);
        let root = &path.root;
        let help = match (near_miss(root, &names), names.first()) {
            (Some(near), _) => {
                let below: String = path.fields.iter().flat_map(|field| [".", field]).collect();
                format!("write `{near}{below}`")
            }
            // What is below a parameter is known only where the parameter is.
            (None, Some(first)) => format!("write `{first}`"),
            (None, None) => format!("remove `{}`", path.text),
        };
        let message = format!("unknown parameter `{root}` in {site}{}", instead(root, "parameters", &names));
        mistakes.at(path.span, message, help);
    }
}

impl LeftOut {
    /// Its path below the parameter, as serde writes it.
    pub(super) fn below(&self) -> String {
        let fields = self.place.fields.iter().filter(|field| !field.transparent);
        fields.map(|field| field.name.as_str()).collect::<Vec<_>>().join(".")
    }
}

/// Whether one path leads into the other.
fn overlap(left: &Place, right: &Place) -> bool {
    let mut both = left.fields.iter().zip(&right.fields);
    left.entry == right.entry && both.all(|(left, right)| left.name == right.name)
}
