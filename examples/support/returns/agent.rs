//! The agent: it plans a return from the start whenever it is started, and remembers nothing of an earlier run.
//!
//! It goes on to the next step only after it was told that the one before succeeded. It must not know what a call does,
//! or whether it is safe to make again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call of one of the three tools, as the model asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", content = "arguments", rename_all = "snake_case")]
pub enum Call {
    /// Money back for a return.
    SendRefund {
        /// The return.
        rma: String,
        /// How much.
        cents: u64,
    },
    /// A ticket about it.
    OpenTicket {
        /// The return.
        rma: String,
        /// The refund that the ticket belongs to.
        refund: String,
    },
    /// An email to the customer.
    SendEmail {
        /// The return.
        rma: String,
        /// The refund that it confirms.
        refund: String,
        /// The ticket that it names.
        ticket: String,
        /// To whom.
        to: String,
        /// What the model wrote.
        body: String,
    },
}

impl Call {
    /// The tool's name.
    pub const fn tool(&self) -> &'static str {
        match self {
            Self::SendRefund { .. } => "send_refund",
            Self::OpenTicket { .. } => "open_ticket",
            Self::SendEmail { .. } => "send_email",
        }
    }
}

/// What an agent is to do, and how the model words the email this time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Errand {
    /// The return.
    pub rma: String,
    /// The email's text.
    pub words: String,
}

/// Refund, ticket, email: as far as they succeed. `call` runs a call and gives what the agent is told.
pub async fn handle(call: impl AsyncFn(Call) -> Value, errand: &Errand) {
    let rma = || errand.rma.clone();
    let told = call(Call::SendRefund { rma: rma(), cents: 4_900 }).await;
    let Some(refund) = id(&told) else { return };
    let told = call(Call::OpenTicket { rma: rma(), refund: refund.clone() }).await;
    let Some(ticket) = id(&told) else { return };
    let (to, body) = ("ann@example.org".to_owned(), errand.words.clone());
    call(Call::SendEmail { rma: rma(), refund, ticket, to, body }).await;
}

/// The id in the result of a call that succeeded.
fn id(told: &Value) -> Option<String> {
    Some(told.get("result")?.get("id")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::json;

    use super::*;

    /// The calls of an agent whose first so many succeed.
    async fn calls(succeed: usize) -> Vec<Call> {
        let made = RefCell::new(Vec::new());
        let call = async |call| {
            made.borrow_mut().push(call);
            let number = made.borrow().len();
            if number > succeed { json!({"outcome": "x"}) } else { json!({"result": {"id": number.to_string()}}) }
        };
        handle(call, &Errand { rma: "R".to_owned(), words: "w".to_owned() }).await;
        made.into_inner()
    }

    #[tokio::test]
    async fn a_step_is_taken_only_after_the_one_before_succeeded() {
        for (succeed, made) in [(0, 1), (1, 2), (2, 3), (3, 3)] {
            assert_eq!(calls(succeed).await.len(), made, "{succeed} succeed");
        }
    }

    #[tokio::test]
    async fn the_email_names_what_the_two_before_it_made() {
        let calls = calls(3).await;
        let Call::SendEmail { refund, ticket, .. } = &calls[2] else { panic!("{calls:?}") };
        assert_eq!((refund.as_str(), ticket.as_str()), ("1", "2"));
    }
}
