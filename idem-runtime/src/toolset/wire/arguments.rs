//! Reading the arguments as a model wrote them.
//!
//! Forgiving where there is one meaning, and never guessing where there are two: an object that names a field twice, and
//! one that is cut off, are not arguments. It must not know what a tool takes.

use std::{borrow::Cow, collections::BTreeSet, fmt};

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::call::Unreadable;

/// Why the arguments of a call cannot be read. The words are for the model: they hold none of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misread {
    /// They end in the middle, or the message ended before they began.
    CutOff,
    /// They are no JSON.
    NotJson {
        /// What is wrong, and where.
        why: String,
    },
    /// They are JSON, and no object.
    NoObject {
        /// What they are.
        found: &'static str,
    },
    /// A field stands twice.
    TwoOfOne {
        /// Its name.
        name: String,
    },
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CutOff => {
                f.write_str("the arguments were cut off; nothing was done; call the tool again with complete arguments")
            }
            Self::NotJson { why } => write!(f, "the arguments are not valid JSON ({why}); nothing was done"),
            Self::NoObject { found } => {
                write!(f, "the arguments must be a JSON object, not {found}; nothing was done")
            }
            Self::TwoOfOne { name } => write!(f, "the arguments name `{name}` twice; nothing was done"),
        }
    }
}

impl std::error::Error for Misread {}

/// Arguments that came as text inside of the message. An empty text means none, unless the message was cut off.
pub(super) fn of_text(text: &str, cut_off: bool) -> Result<Map<String, Value>, Misread> {
    if text.trim().is_empty() {
        return if cut_off { Err(Misread::CutOff) } else { Ok(Map::new()) };
    }
    match strict(text) {
        // Some clients write the object as a text once more.
        Ok(Value::String(inner)) => of_object(strict(&inner).map_err(|error| misread(&error))?, cut_off),
        Ok(value) => of_object(value, cut_off),
        Err(error) => Err(misread(&error)),
    }
}

/// Arguments that came as a part of the message itself.
pub(super) fn of_value(value: Option<&Value>, cut_off: bool) -> Result<Map<String, Value>, Misread> {
    match value {
        None => of_object(Value::Null, cut_off),
        Some(Value::String(text)) => of_text(text, cut_off),
        Some(value) => of_object(value.clone(), cut_off),
    }
}

fn of_object(value: Value, cut_off: bool) -> Result<Map<String, Value>, Misread> {
    let found = match value {
        Value::Object(object) => return Ok(object),
        // What models write for "no arguments".
        Value::Null if cut_off => return Err(Misread::CutOff),
        Value::Null => return Ok(Map::new()),
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
    };
    Err(Misread::NoObject { found })
}

fn misread(error: &serde_json::Error) -> Misread {
    if error.is_eof() {
        return Misread::CutOff;
    }
    let words = error.to_string();
    match words.strip_prefix(TWICE).and_then(|rest| rest.split_once('\u{0}')) {
        Some((name, _)) => Misread::TwoOfOne { name: name.to_owned() },
        // The parser's words quote nothing; those about a type do, and there is no type here.
        None => Misread::NotJson { why: words },
    }
}

/// Reads a message. Other than `serde_json`, it takes no object that names a field twice: which of the two was meant?
///
/// # Errors
/// [`Unreadable`], when it is no JSON.
pub fn parse(text: &str) -> Result<Value, Unreadable> {
    strict(text).map_err(|error| Unreadable::of_text(misread(&error).to_string()))
}

/// How the error about a field that stands twice begins; its name ends with a NUL.
const TWICE: &str = "twice ";

fn strict(text: &str) -> Result<Value, serde_json::Error> {
    let value = serde_json::from_str(text)?;
    // A second look, since `serde_json` keeps the last of two fields and says nothing.
    serde_json::from_str::<EachOnce>(text)?;
    Ok(value)
}

/// Any value in which each object names each field once.
struct EachOnce;

impl<'de> Deserialize<'de> for EachOnce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for EachOnce {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self, A::Error> {
        let mut names = BTreeSet::new();
        while let Some((name, _)) = fields.next_entry::<Name<'de>, Self>()? {
            if let Some(Name(name)) = names.replace(name) {
                return Err(A::Error::custom(format_args!("{TWICE}{name}\u{0}")));
            }
        }
        Ok(self)
    }
}

/// A field's name, without a copy where the text holds it as it is.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Name<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(OfName)
    }
}

struct OfName;

impl<'de> Visitor<'de> for OfName {
    type Value = Name<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Borrowed(name)))
    }

    fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Owned(name.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_means_no_arguments_unless_the_message_was_cut_off() {
        for text in ["", "  ", "null", "{}", "\"{}\""] {
            assert_eq!(of_text(text, false), Ok(Map::new()), "{text:?}");
        }
        for text in ["", "null", "{\"summary\": ", "{\"a\":1"] {
            assert_eq!(of_text(text, true), Err(Misread::CutOff), "{text:?}");
        }
        assert_eq!(of_text("{\"a\":", false), Err(Misread::CutOff));
        assert_eq!(of_value(None, false), Ok(Map::new()));
        assert_eq!(of_value(None, true), Err(Misread::CutOff));
    }

    #[test]
    fn what_is_no_object_is_told_by_its_kind() {
        for (text, found) in [("7", "a number"), ("[1]", "a list"), ("true", "a boolean"), ("\"\\\"x\\\"\"", "a text")]
        {
            assert_eq!(of_text(text, false), Err(Misread::NoObject { found }), "{text}");
        }
        assert!(matches!(of_text("{'a': 1}", false), Err(Misread::NotJson { .. })));
        assert!(matches!(of_text("{\"a\": 1} and so on", false), Err(Misread::NotJson { .. })));
    }

    #[test]
    fn a_field_that_stands_twice_is_named_at_any_depth() {
        let named = |name: &str| Err(Misread::TwoOfOne { name: name.to_owned() });
        assert_eq!(of_text(r#"{"cents": 49, "cents": 94}"#, false), named("cents"));
        assert_eq!(of_text(r#"{"to": [{"a": 1, "a": 1}]}"#, false), named("a"));
        assert_eq!(of_text(r#"{"a": {"a": 1}}"#, false).map(Value::Object), Ok(json!({ "a": { "a": 1 } })));
        assert!(parse(r#"{"choices": [], "choices": []}"#).is_err());
    }
}
