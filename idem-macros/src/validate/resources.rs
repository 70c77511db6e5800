//! What the operation changes: `resource = "…"` against the parameters.
//!
//! It must not know the language: it gets the templates read.

use crate::attribute::Attribute;
use crate::key::{self, Part};
use crate::mistakes::Mistakes;
use crate::model::TemplatePart;
use crate::path::ValuePath;
use crate::words::RESULT;

use super::identity::Parts;

/// Reads and checks all of them; what they name of the arguments goes to `parts`.
pub(super) fn read(attribute: &Attribute, parts: &mut Parts<'_>, mistakes: &mut Mistakes) -> Vec<Vec<TemplatePart>> {
    let mut resources = Vec::new();
    let mut written: Vec<String> = Vec::new();
    for text in attribute.texts("resource", mistakes) {
        let trimmed = text.as_str().trim().to_owned();
        if written.contains(&trimmed) {
            let message = format!("resource `{trimmed}` is given twice");
            mistakes.at(text.span(), message, format!("remove the second `{trimmed}`"));
            continue;
        }
        written.push(trimmed);
        if let Some(template) = key::read_resource(&text, mistakes) {
            resources.push(template.into_iter().filter_map(|part| modelled(part, parts, mistakes)).collect());
        }
    }
    resources
}

fn modelled(part: Part, parts: &mut Parts<'_>, mistakes: &mut Mistakes) -> Option<TemplatePart> {
    match part {
        Part::Text(text) => Some(TemplatePart::Text(text)),
        Part::Value(path) if path.root == RESULT => result(&path, parts, mistakes),
        Part::Value(path) => {
            parts.need(&path, "a resource", true, mistakes);
            Some(TemplatePart::Value(path.text))
        }
    }
}

/// `{result.path}`: told of what the body gives, so a parameter of that name cannot be meant.
fn result(path: &ValuePath, parts: &Parts<'_>, mistakes: &mut Mistakes) -> Option<TemplatePart> {
    if parts.parameters.names(|_| true).iter().any(|name| name == RESULT) {
        let message = format!(
            "`{}` in a resource: `{RESULT}` is what the tool gives, so a parameter `{RESULT}` cannot be named",
            path.text
        );
        mistakes.at(path.span, message, format!("write another name for the parameter `{RESULT}`"));
        return None;
    }
    Some(TemplatePart::Result(path.fields.join(".")))
}
