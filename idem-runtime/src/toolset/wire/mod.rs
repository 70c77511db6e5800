//! How providers write tool calls, and how they want them answered.
//!
//! In reading order: [`Wire`] names a format; [`call`] is what every one of them is read into; [`arguments`] reads what a
//! model wrote; then a file for each format; [`stream`] puts together what came in pieces. Reading forgives what providers
//! and models get wrong, and says so where it cannot; writing is strict.
//!
//! It must not know which tools there are or that calls are guarded.

mod anthropic;
mod arguments;
mod bedrock;
mod call;
mod chat;
mod gemini;
mod mcp;
mod mistral;
mod ollama;
mod responses;
mod stream;

use serde_json::Value;

pub use arguments::{Misread, parse};
pub use call::{Message, Reply, Unreadable, WireCall};
pub use stream::Assembler;

/// A format in which tool calls come and answers go.
///
/// Others write as one of these do: `DeepSeek`, Groq, `OpenRouter`, vLLM and xAI as `OpenAI` Chat Completions, xAI also as Responses,
/// Vertex AI as Gemini.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wire {
    /// `OpenAI` Chat Completions, and whoever speaks it.
    OpenAiChat,
    /// `OpenAI` Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Google Gemini `generateContent`.
    Gemini,
    /// Amazon Bedrock Converse.
    Bedrock,
    /// Mistral chat completions.
    Mistral,
    /// Ollama's own `/api/chat`.
    Ollama,
    /// A `tools/call` request of the Model Context Protocol.
    Mcp,
}

/// What a format has to know. Implementations are values without fields.
trait Format: Sync {
    /// The one message that a body holds: a response as the provider sent it, or the assistant's message alone.
    fn message(&self, body: &Value) -> Result<Message, Unreadable>;

    /// The messages of a conversation as it is sent to the provider (a request, or its list), in order.
    fn conversation<'v>(&self, body: &'v Value) -> Option<&'v Vec<Value>>;

    /// Whether one entry of a conversation is the model's.
    fn is_models(&self, entry: &Value) -> bool;

    /// What the provider expects next: one answer for each call, in their order.
    fn answers(&self, replies: &[Reply<'_>]) -> Value;

    /// Takes the next event of a stream.
    fn push(&self, so_far: &mut Value, event: &Value);

    /// The body as it would have come in one piece.
    fn finish(&self, so_far: Value) -> Value;
}

impl Wire {
    /// Every format.
    pub const ALL: [Self; 8] = [
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::Bedrock,
        Self::Mistral,
        Self::Ollama,
        Self::Mcp,
    ];

    /// The format's name, for logs: `openai_chat` and so on.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai_chat",
            Self::OpenAiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock",
            Self::Mistral => "mistral",
            Self::Ollama => "ollama",
            Self::Mcp => "mcp",
        }
    }

    /// The tool calls of a message: of a response as the provider sent it, or of the assistant's message alone. A message
    /// without calls has none.
    ///
    /// # Errors
    /// [`Unreadable`], when it is no message of this format, or the provider's error.
    pub fn read(self, message: &Value) -> Result<Message, Unreadable> {
        self.format().message(message)
    }

    /// The model's messages in a conversation as it is sent to the provider: a whole request, or its list of messages. Each
    /// stands with its index among the model's messages, which serves as the turn of its calls.
    ///
    /// # Errors
    /// [`Unreadable`], when it is no conversation of this format.
    pub fn read_conversation(self, conversation: &Value) -> Result<Vec<(u64, Message)>, Unreadable> {
        let entries = self.entries(conversation)?;
        let mut messages = Vec::new();
        for entry in self.turns(entries) {
            let mut message = Message::default();
            for part in entry {
                message.join(self.format().message(part)?);
            }
            messages.push((messages.len() as u64, message));
        }
        Ok(messages)
    }

    /// Which turn comes next in a conversation: how many messages the model has written in it.
    ///
    /// # Errors
    /// [`Unreadable`], when it is no conversation of this format.
    pub fn next_turn(self, conversation: &Value) -> Result<u64, Unreadable> {
        Ok(self.turns(self.entries(conversation)?).len() as u64)
    }

    /// What the provider expects next: one answer for each call, in their order.
    pub fn answers(self, replies: &[Reply<'_>]) -> Value {
        self.format().answers(replies)
    }

    /// Puts a streamed message together.
    pub fn assembler(self) -> Assembler {
        Assembler::new(self.format())
    }

    /// A streamed message in one piece, as if it had not been streamed: of server-sent events (`data:` lines) or of JSON
    /// lines, as the provider sent them.
    ///
    /// # Errors
    /// [`Unreadable`], when a line is no JSON.
    pub fn assemble(self, stream: &str) -> Result<Value, Unreadable> {
        let mut assembler = self.assembler();
        for event in stream::events(stream)? {
            assembler.push(&event);
        }
        Ok(assembler.finish())
    }

    fn entries(self, conversation: &Value) -> Result<&Vec<Value>, Unreadable> {
        let entries = conversation.as_array().or_else(|| self.format().conversation(conversation));
        entries.ok_or_else(|| Unreadable::new(self, "there is no list of messages in it"))
    }

    /// What the model wrote without an answer in between is one message of it, however many entries that takes.
    fn turns(self, entries: &[Value]) -> Vec<Vec<&Value>> {
        let (mut turns, mut speaks): (Vec<Vec<&Value>>, bool) = (Vec::new(), false);
        for entry in entries {
            let models = self.format().is_models(entry);
            match turns.last_mut() {
                Some(turn) if models && speaks => turn.push(entry),
                _ if models => turns.push(vec![entry]),
                _ => {}
            }
            speaks = models;
        }
        turns
    }

    fn format(self) -> &'static dyn Format {
        match self {
            Self::OpenAiChat => &chat::Chat,
            Self::OpenAiResponses => &responses::Responses,
            Self::Anthropic => &anthropic::Anthropic,
            Self::Gemini => &gemini::Gemini,
            Self::Bedrock => &bedrock::Bedrock,
            Self::Mistral => &mistral::Mistral,
            Self::Ollama => &ollama::Ollama,
            Self::Mcp => &mcp::Mcp,
        }
    }
}
