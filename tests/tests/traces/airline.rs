//! The airline that the recorded agents called: it answers as recorded, and counts what changed.
//!
//! Must not know the ledger. Each conversation has an airline of its own, as each recorded run had. Bookings, cancellations
//! and certificates add something every time; an update sets a state, so the same one twice in a row changes nothing.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use idem_runtime::{ErrorClass, Refusal, Unsettled, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::recorded::Line;

/// What a write is told when it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The beginning of the answer's text.
    pub(crate) text: String,
    /// The reservation that it is about.
    pub(crate) reservation_id: Option<String>,
}

/// Why a write has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AirlineError {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("{0}")]
    Declined(String),
    #[error("the airline's answer was lost")]
    Lost,
}

/// What the airline declines has not happened, and may be asked for again.
pub(crate) fn classify(error: &AirlineError) -> ErrorClass {
    match error {
        AirlineError::Declined(_) => ErrorClass::Retryable,
        AirlineError::Refused(_) | AirlineError::Lost => ErrorClass::Unknown,
    }
}

/// The airline of one conversation. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Airline(Arc<Mutex<Books>>);

#[derive(Debug, Default)]
struct Books {
    seen: Counts,
    /// What the updates have set, by reservation and tool.
    set: HashMap<(String, &'static str), Value>,
    /// Answers by the key that the request carried.
    answers: HashMap<String, Answer>,
}

/// What an airline saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Requests, with those that it declined.
    pub(crate) requests: usize,
    /// Requests that it carried out.
    pub(crate) effects: usize,
    /// Those that left something other than it was.
    pub(crate) changes: usize,
}

impl Airline {
    pub(crate) fn counts(&self) -> Counts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).seen
    }

    fn change(&self, tool: &'static str, arguments: Value, answer: &Answer, key: String) {
        let mut books = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        books.seen.effects += 1;
        let changes = match (tool.starts_with("update_"), &answer.reservation_id) {
            (true, Some(id)) => books.set.insert((id.clone(), tool), arguments.clone()) != Some(arguments),
            _ => true,
        };
        books.seen.changes += usize::from(changes);
        books.answers.insert(key, answer.clone());
    }
}

/// The airline's desk as one call finds it: which answer was recorded, and whether it gets through.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    pub(crate) airline: Airline,
    pub(crate) recorded: Arc<Line>,
    pub(crate) loses: bool,
}

impl Desk {
    /// What a tool asks of the airline, under the provider's key of its operation.
    pub(crate) fn ask(&self, tool: &'static str, arguments: Value, key: String) -> Result<Answer, AirlineError> {
        self.airline.0.lock().unwrap_or_else(PoisonError::into_inner).seen.requests += 1;
        let text = self.recorded.result.clone();
        let told = if self.recorded.result_is_error {
            Err(AirlineError::Declined(text))
        } else {
            let answer = Answer { reservation_id: reservation(&text), text };
            self.airline.change(tool, arguments, &answer, key);
            Ok(answer)
        };
        if self.loses { Err(AirlineError::Lost) } else { told }
    }
}

/// What became of a write whose answer was lost: the airline notes the key of every request.
pub(crate) async fn find(desk: &Desk, operation: Unsettled) -> Verdict<Answer> {
    let key = operation.provider_key("write").to_string();
    let books = desk.airline.0.lock().unwrap_or_else(PoisonError::into_inner);
    match books.answers.get(&key) {
        Some(answer) => Verdict::applied(answer.clone(), key),
        None => Verdict::not_applied("the airline knows no such request"),
    }
}

/// A reservation's id, from an answer that may be cut: no JSON, but text.
fn reservation(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("\"reservation_id\": \"")?;
    rest.split_once('"').map(|(id, _)| id.to_owned())
}
