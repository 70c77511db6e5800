//! A message in, its answers out.
//!
//! It must not know the formats. Every call gets one answer, whatever becomes of it: a tool that panics, too.

use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::{
    entry::Entry,
    set::ToolSet,
    wire::{Message, Reply, Unreadable, Wire, WireCall},
};
use crate::{call::Turn, engine::ToolCall, id::OperationId, outcome::Outcome};

/// What a call is answered with.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What the model reads.
    pub text: String,
    /// The result as JSON, where there is one.
    pub result: Option<Value>,
    /// Whether the text says why there is no result.
    pub is_error: bool,
    /// The operation, where the call of a guarded tool got that far.
    pub operation: Option<OperationId>,
    /// Whether an earlier call's result was given and nothing was run now.
    pub is_replay: bool,
}

impl Answer {
    /// There is no result; nothing was done.
    pub(super) fn refused(text: impl Into<String>) -> Self {
        Self { text: text.into(), result: None, is_error: true, operation: None, is_replay: false }
    }

    pub(super) fn of_value<T: Serialize>(value: &T) -> Self {
        match serde_json::to_value(value) {
            // A text as it is, without quotation marks around it.
            Ok(Value::String(text)) => {
                Self { is_error: false, result: Some(text.clone().into()), ..Self::refused(text) }
            }
            Ok(value) => {
                Self { is_error: false, ..Self { result: Some(value.clone()), ..Self::refused(value.to_string()) } }
            }
            Err(error) => Self::refused(format!("the tool ran; its result cannot be written as JSON: {error}")),
        }
    }

    /// What became of a guarded call. Called by generated code.
    pub fn of_outcome<T: Serialize>(outcome: &Outcome<T>) -> Self {
        let result = outcome.value().and_then(|value| serde_json::to_value(value).ok());
        Self {
            text: outcome.to_model_text(),
            is_error: outcome.value().is_none(),
            operation: outcome.operation(),
            is_replay: outcome.is_replay(),
            result,
        }
    }
}

impl ToolSet {
    /// Carries out the calls of a model's message, and gives what its provider expects next.
    ///
    /// `message` is the response as the provider sent it, or the assistant's message alone. `context` says whose calls they
    /// are: tenant, scopes, deadline, and the [turn](ToolCall::turn), which is the message's place in its conversation
    /// ([`Wire::next_turn`]). A message that is dispatched again under the same turn is the same operations.
    ///
    /// Calls run side by side; answers stand in the order of the calls, one for each. Equal calls in one message are one
    /// effect, unless their tool allows repeats.
    ///
    /// # Errors
    /// [`Unreadable`], when it is no message of this format. What is wrong with one call is told to the model, in its answer.
    pub async fn dispatch(&self, wire: Wire, message: &Value, context: &ToolCall) -> Result<Value, Unreadable> {
        let message = wire.read(message)?;
        let answers = self.run(&message, context).await;
        let replies: Vec<Reply<'_>> =
            message.calls.iter().zip(&answers).map(|(call, answer)| reply(call, answer)).collect();
        Ok(wire.answers(&replies))
    }

    /// Carries out the calls of a message; one answer for each, in their order.
    pub async fn run(&self, message: &Message, context: &ToolCall) -> Vec<Answer> {
        let mut answers: Vec<Option<Answer>> = vec![None; message.calls.len()];
        let mut groups: Vec<Group> = Vec::new();
        for (at, call) in message.calls.iter().enumerate() {
            match self.enter(at, call, &mut groups, context) {
                Ok(()) => {}
                Err(answer) => answers[at] = Some(answer),
            }
        }
        let mut running = JoinSet::new();
        let mut of_task = std::collections::HashMap::new();
        for group in groups {
            let places: Vec<usize> = group.calls.iter().map(|(at, _)| *at).collect();
            of_task.insert(running.spawn(group.run()).id(), places);
        }
        while let Some(ended) = running.join_next_with_id().await {
            match ended {
                Ok((_, done)) => done.into_iter().for_each(|(at, answer)| answers[at] = Some(answer)),
                Err(error) => {
                    for at in of_task.remove(&error.id()).unwrap_or_default() {
                        answers[at] = Some(Answer::refused(PANICKED));
                    }
                }
            }
        }
        answers.into_iter().map(|answer| answer.unwrap_or_else(|| Answer::refused(PANICKED))).collect()
    }

    /// `at` is where its answer stands, whatever the call says of its place.
    fn enter(&self, at: usize, call: &WireCall, groups: &mut Vec<Group>, context: &ToolCall) -> Result<(), Answer> {
        let Some(entry) = self.get(&call.name) else {
            let names: Vec<_> = self.entries().map(|entry| format!("`{}`", entry.name())).collect();
            return Err(Answer::refused(format!("there is no tool `{}`; there is {}", call.name, names.join(", "))));
        };
        let arguments = call.arguments.as_ref().map_err(|misread| Answer::refused(misread.to_string()))?;
        let equal = groups.iter_mut().find(|group| group.entry.name() == entry.name() && group.arguments == *arguments);
        if let Some(group) = equal {
            let again = match group.calls.as_slice() {
                [(_, first), ..] if !entry.allows_repeats() => first.clone(),
                earlier => identified(as_the_nth(context, earlier.len()), call, entry),
            };
            group.calls.push((at, again));
        } else {
            let context = if entry.allows_repeats() { as_the_nth(context, 0) } else { context.clone() };
            let first = identified(context, call, entry);
            groups.push(Group { entry: entry.clone(), arguments: arguments.clone(), calls: vec![(at, first)] });
        }
        Ok(())
    }
}

const PANICKED: &str = "Outcome unknown: the tool did not end as it should, and may have done something. Do not call \
                        again; it has to be checked first.";

fn reply<'a>(call: &'a WireCall, answer: &'a Answer) -> Reply<'a> {
    Reply { call, text: &answer.text, structured: answer.result.as_ref(), is_error: answer.is_error }
}

/// Equal calls of one message.
struct Group {
    entry: Entry,
    arguments: Map<String, Value>,
    calls: Vec<(usize, ToolCall)>,
}

impl Group {
    /// One after the other, so that each finds what the one before it did.
    async fn run(self) -> Vec<(usize, Answer)> {
        let mut answers = Vec::with_capacity(self.calls.len());
        for (at, call) in self.calls {
            answers.push((at, self.entry.call(call, self.arguments.clone()).await));
        }
        answers
    }
}

/// The call under its id. Where the provider gave none, or the tool's name in place of one, and the tool knows nothing else,
/// its place serves as one.
fn identified(context: ToolCall, call: &WireCall, entry: &Entry) -> ToolCall {
    match &call.id {
        Some(id) if id.trim() != entry.name() => context.tool_call_id(id.as_str()),
        _ if entry.goes_by_id_alone() => {
            // With the arguments: a message that the model writes anew may call the same tool at the same place.
            let written = json!([call.position, call.arguments.as_ref().ok()]);
            context.tool_call_id(format!("at {written}"))
        }
        _ => context,
    }
}

/// The `nth` of equal calls that are all meant: an occurrence of its own, in its turn.
fn as_the_nth(context: &ToolCall, nth: usize) -> ToolCall {
    let given = context.context();
    let turn = match &given.turn {
        Some(Turn::Index(index)) => format!("turn {index}, "),
        Some(Turn::Id(id)) => format!("turn {id}, "),
        None => String::new(),
    };
    let outer = given.occurrence.as_deref().map(|outer| format!("{outer}, ")).unwrap_or_default();
    context.clone().occurrence(format!("{outer}{turn}call {}", nth + 1))
}
