//! The agent's loop: read what the model said, run the calls in it at once, give the results back in the model's format.
//!
//! The model is a transcript here; everything else is what an agent does. It may send a call again when no answer came, as
//! agents do, and must not know what a call does or whether it is safe to send again.

use std::net::SocketAddr;

use anyhow::Context as _;
use reqwest::Client;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::{
    bank,
    session::{Event, emit},
    tool_server::{Answer, CallRequest},
    transcript::{Message, ToolResult, Transcript, tool_result_messages},
};

/// An agent in one conversation.
#[derive(Debug, Clone)]
pub struct Agent {
    http: Client,
    tools: String,
    conversation: String,
    resends: u32,
}

impl Agent {
    /// Uses the tools at `tools`, and sends a call up to `resends` times more when no answer comes.
    pub fn new(tools: SocketAddr, conversation: &str, resends: u32) -> anyhow::Result<Self> {
        let http = bank::client().context("failed to build an HTTP client")?;
        let tools = format!("http://{tools}/call");
        Ok(Self { http, tools, conversation: conversation.to_owned(), resends })
    }

    /// Plays a transcript to its end, and returns the conversation as it then stands, tool results included.
    pub async fn play(&self, transcript: Transcript) -> anyhow::Result<Vec<Value>> {
        let mut conversation = Vec::new();
        for Message { message, calls } in transcript.messages {
            let turn = u64::try_from(conversation.len()).context("too long a conversation")?;
            conversation.push(message);
            if calls.is_empty() {
                continue;
            }
            let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
            let running: Vec<JoinHandle<Answer>> = calls
                .into_iter()
                .map(|call| CallRequest { conversation: self.conversation.clone(), turn, call })
                .map(|request| {
                    let agent = self.clone();
                    tokio::spawn(async move { agent.call(&request).await })
                })
                .collect();
            let mut answers = Vec::with_capacity(running.len());
            for answer in running {
                answers.push(answer.await.context("a call ended the agent")?);
            }
            let results: Vec<ToolResult> = ids.into_iter().zip(&answers).map(result).collect();
            conversation.extend(tool_result_messages(transcript.format, &results));
            emit(&Event::Told(answers));
        }
        Ok(conversation)
    }

    async fn call(&self, request: &CallRequest) -> Answer {
        let mut resends = self.resends;
        loop {
            match self.send(request).await {
                Ok(answer) => return answer,
                Err(_) if resends > 0 => resends -= 1,
                Err(_) => {
                    return Answer::failure("no answer", "the connection was closed before the tool answered");
                }
            }
        }
    }

    async fn send(&self, request: &CallRequest) -> reqwest::Result<Answer> {
        let response = self.http.post(&self.tools).json(request).send().await?;
        response.error_for_status()?.json().await
    }
}

fn result((id, answer): (String, &Answer)) -> ToolResult {
    ToolResult { id, text: answer.text.clone(), is_error: answer.is_error }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Mutex};

    use serde_json::json;

    use super::*;
    use crate::{
        bank::Bank,
        link::{Fault, Link},
        tool_server::{self, Tools},
        transcript::{Format, ToolUse},
    };

    /// Writes down the calls that arrive, and answers each with its id.
    struct Notes(&'static Mutex<Vec<CallRequest>>);

    impl Tools for Notes {
        async fn open(_: &Path, _: Bank) -> anyhow::Result<Self> {
            anyhow::bail!("made by the test")
        }

        async fn call(&self, request: CallRequest) -> Answer {
            let text = request.call.id.clone();
            self.0.lock().unwrap().push(request);
            Answer { status: "succeeded".to_owned(), replayed: false, is_error: false, text }
        }
    }

    /// Two calls in one message, after which the model says it is done.
    fn script() -> Transcript {
        let call = |id: &str| ToolUse { id: id.to_owned(), name: "send_refund".to_owned(), arguments: json!({}) };
        let message = |role: &str, calls| Message { message: json!({"role": role}), calls };
        Transcript {
            format: Format::OpenAi,
            messages: vec![
                message("user", vec![]),
                message("assistant", vec![call("a"), call("b")]),
                message("assistant", vec![]),
            ],
        }
    }

    async fn played(fault: Fault, resends: u32) -> (Vec<Value>, Vec<CallRequest>) {
        let notes: &Mutex<Vec<CallRequest>> = Box::leak(Box::default());
        let server = tool_server::serve(Notes(notes)).await.unwrap();
        let wire = Link::to(server, fault).await.unwrap();
        let agent = Agent::new(wire.address(), "c-1", resends).unwrap();
        let conversation = agent.play(script()).await.unwrap();
        (conversation, notes.lock().unwrap().clone())
    }

    #[tokio::test]
    async fn results_stand_in_the_order_of_the_calls_and_the_turn_is_the_message() {
        let (conversation, calls) = played(Fault::None, 0).await;
        let ids: Vec<&Value> = conversation.iter().filter_map(|message| message.get("tool_call_id")).collect();
        assert_eq!(ids, ["a", "b"]);
        assert_eq!(conversation[3], json!({"role": "tool", "tool_call_id": "b", "content": "b"}));
        assert_eq!(conversation.len(), 5);
        assert!(calls.iter().all(|call| call.turn == 1 && call.conversation == "c-1"));
    }

    #[tokio::test]
    async fn a_lost_answer_is_asked_for_again() {
        let (conversation, calls) = played(Fault::LoseFirst, 1).await;
        assert_eq!(calls.len(), 3, "the tool ran although its first answer was lost");
        assert_eq!([&conversation[2]["content"], &conversation[3]["content"]], ["a", "b"]);
    }

    #[tokio::test]
    async fn without_another_try_the_model_is_told_that_no_answer_came() {
        let (conversation, calls) = played(Fault::LoseFirst, 0).await;
        assert_eq!(calls.len(), 2);
        let told = [&conversation[2]["content"], &conversation[3]["content"]];
        assert!(told.iter().any(|text| text.as_str().unwrap().contains("closed before")), "{told:?}");
    }
}
