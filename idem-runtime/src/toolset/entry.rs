//! A tool as a model sees it: name, description, schema, and the way to call it with what the model wrote.
//!
//! It must not know in which format a call came, nor how the tool is guarded.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{dispatch::Answer, schema::Schema};
use crate::{
    engine::ToolCall,
    ledger::BoxFuture,
    tool::{Effect, KeySource, ToolSpec},
};

/// What the type of an argument has to be, for a tool in a [`ToolSet`](super::ToolSet).
///
/// The lifetime means nothing: it has the bound checked where the tool is put into a set, and not where it is written.
#[diagnostic::on_unimplemented(
    message = "a model cannot give a tool a `{Self}`",
    label = "an argument of a tool in a `ToolSet`",
    note = "derive `serde::Deserialize` and `schemars::JsonSchema` for it, or mark the parameter `#[idem(state)]`"
)]
pub trait Described<'a>: DeserializeOwned + JsonSchema {}

impl<T: DeserializeOwned + JsonSchema> Described<'_> for T {}

/// What the type of a tool's state has to be, for a tool in a [`ToolSet`](super::ToolSet). The lifetime means nothing, as that
/// of [`Described`].
#[diagnostic::on_unimplemented(
    message = "a `ToolSet` cannot keep a `{Self}` as a tool's state",
    label = "the state of a tool in a `ToolSet`",
    note = "it has to be `Clone + Send + Sync + 'static`: an `Arc` of what is `Send + Sync` is"
)]
pub trait Kept<'a>: Clone + Send + Sync + 'static {}

impl<T: Clone + Send + Sync + 'static> Kept<'_> for T {}

/// What the result of a tool in a [`ToolSet`](super::ToolSet) has to be. The lifetime means nothing, as that of [`Described`].
#[diagnostic::on_unimplemented(
    message = "a model cannot be told a `{Self}`",
    label = "the result of a tool in a `ToolSet`",
    note = "derive `serde::Serialize` for it"
)]
pub trait Tellable<'a>: Serialize + Send {}

impl<T: Serialize + Send> Tellable<'_> for T {}

/// Whether equal calls in one message are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repeats {
    /// They are one effect, and each is answered.
    #[default]
    OneEffect,
    /// Each is an effect of its own: dice.
    Allowed,
}

/// One tool of a set. The attribute writes a function that makes one: `send_refund_entry(state)`. Cheap to clone.
#[derive(Clone)]
pub struct Entry {
    spec: &'static ToolSpec,
    name: Arc<str>,
    place: &'static str,
    repeats: Repeats,
    schema: Arc<Value>,
    run: Arc<dyn Fn(ToolCall, Given) -> BoxFuture<'static, Answer> + Send + Sync>,
}

impl Entry {
    /// A tool, at its place in the code, with its arguments and its call. Called by generated code.
    pub fn new(
        spec: &'static ToolSpec,
        place: &'static str,
        arguments: fn(Schema) -> Schema,
        run: impl Fn(ToolCall, Given) -> BoxFuture<'static, Answer> + Send + Sync + 'static,
    ) -> Self {
        let schema = Arc::new(arguments(Schema::new()).finish());
        Self {
            spec,
            name: callable(spec.name()).into(),
            place,
            repeats: Repeats::OneEffect,
            schema,
            run: Arc::new(run),
        }
    }

    /// Equal calls in one message are meant.
    #[must_use]
    pub fn repeats(self, repeats: Repeats) -> Self {
        Self { repeats, ..self }
    }

    /// The name a model calls the tool by: the tool's own, with `_` for what providers do not take in a name, as the dot.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the model is told of it: the tool's doc comment, and what counts as one effect.
    pub fn description(&self) -> String {
        let description = self.spec.description().trim();
        match self.spec.effect_in_words() {
            Some(counts) if !counts.is_empty() => format!("{description}\n\nOne call is {counts}.").trim().to_owned(),
            _ => description.to_owned(),
        }
    }

    /// The tool's effect class.
    pub fn effect(&self) -> Effect {
        self.spec.effect_class()
    }

    /// The arguments as JSON Schema (draft 2020-12), one object. No state, secret or context is in it.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// What the attribute declared.
    pub fn spec(&self) -> &'static ToolSpec {
        self.spec
    }

    pub(super) fn place(&self) -> &'static str {
        self.place
    }

    /// Whether equal calls in one message are each meant: `repeats = "allowed"`.
    pub fn allows_repeats(&self) -> bool {
        self.repeats == Repeats::Allowed
    }

    /// Whether nothing but a tool call id can tell its operations apart.
    pub(super) fn goes_by_id_alone(&self) -> bool {
        self.spec.sources() == [KeySource::ToolCallId]
    }

    pub(super) fn call(&self, call: ToolCall, arguments: Map<String, Value>) -> BoxFuture<'static, Answer> {
        let known = self.schema["properties"].as_object();
        let is_known = |name: &str| known.is_some_and(|known| known.contains_key(name));
        if let Some(name) = arguments.keys().find(|name| !is_known(name)) {
            let names: Vec<_> = known.into_iter().flat_map(Map::keys).map(|name| format!("`{name}`")).collect();
            let takes = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let text = format!("there is no argument `{name}` (there is {takes}); nothing was done");
            return Box::pin(std::future::ready(Answer::refused(text)));
        }
        (self.run)(call, Given(arguments))
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("name", &self.name()).field("place", &self.place).finish_non_exhaustive()
    }
}

/// A name as every provider takes it: ASCII letters, digits, `_` and `-`.
pub(super) fn callable(name: &str) -> String {
    let taken = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    name.chars().map(|letter| if taken(letter) { letter } else { '_' }).collect()
}

/// The arguments of a call, as a model wrote them. Used by generated code.
#[derive(Debug)]
pub struct Given(Map<String, Value>);

impl Given {
    /// An argument as its type.
    ///
    /// # Errors
    /// The [`Answer`] for the model, when it is missing or not what the type takes.
    pub fn take<T: DeserializeOwned>(&mut self, name: &'static str) -> std::result::Result<T, Box<Answer>> {
        let Some(given) = self.0.remove(name) else {
            // An option, or whatever else `null` stands for.
            let nothing = T::deserialize(Value::Null);
            return nothing
                .map_err(|_| Answer::refused(format!("the argument `{name}` is missing; nothing was done")).into());
        };
        T::deserialize(&given).or_else(|error| {
            // `2.0` for an integer is what some models write.
            let whole = whole(given).and_then(|whole| T::deserialize(whole).ok());
            whole.ok_or_else(|| {
                Answer::refused(format!("the argument `{name}`: {}; nothing was done", told(&error))).into()
            })
        })
    }
}

/// The parser's words without the value that it found: a model's arguments may be anybody's, and errors are logged.
fn told(error: &serde_json::Error) -> String {
    let words = error.to_string();
    match words.split_once('`') {
        Some((before, rest)) if words.starts_with("invalid type: ") => {
            let after = rest.split_once('`').map_or("", |(_, after)| after);
            format!("{}{after}", before.trim_end())
        }
        _ => match words.split_once("string \"") {
            Some((before, rest)) if words.starts_with("invalid ") => {
                let after =
                    rest.rsplit_once("\", expected").map_or(String::new(), |(_, after)| format!(", expected{after}"));
                format!("{before}string{after}")
            }
            _ => words,
        },
    }
}

/// Above this the next whole number has no float of its own.
const EXACT_MAX: f64 = 9_007_199_254_740_991.0;

/// The same value with whole numbers as integers, where that is another value.
fn whole(value: Value) -> Option<Value> {
    let mut changed = false;
    let value = integers(value, &mut changed);
    changed.then_some(value)
}

fn integers(value: Value, changed: &mut bool) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() <= EXACT_MAX => {
                *changed = true;
                #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough")]
                let integer = float as i64;
                integer.into()
            }
            _ => Value::Number(number),
        },
        Value::Array(values) => values.into_iter().map(|value| integers(value, changed)).collect(),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, value)| (name, integers(value, changed))).collect())
        }
        other => other,
    }
}

/// What a tool without a guard returns: anything that can be written, and errors in words. The lifetime means nothing, as that of
/// [`Described`].
#[diagnostic::on_unimplemented(
    message = "a model cannot be told a `{Self}`",
    label = "the result of a tool in a `ToolSet`",
    note = "it has to be a `Result<T, E>`; derive `serde::Serialize` for `T`, and `std::fmt::Display` for `E`"
)]
pub trait Result<'a> {
    /// What the model reads.
    fn answer(self) -> Answer;
}

impl<T: Serialize, E: fmt::Display> Result<'_> for std::result::Result<T, E> {
    fn answer(self) -> Answer {
        match self {
            Ok(value) => Answer::of_value(&value),
            Err(error) => Answer::refused(error.to_string()),
        }
    }
}
