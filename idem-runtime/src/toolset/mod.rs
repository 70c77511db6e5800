//! The tool framework: from a provider's message to guarded calls, and back.
//!
//! In reading order: `wire` (how providers write), `schema` and `entry` (a tool as a model sees it, and how it is
//! called with what a model wrote), `set` (the tools of an agent), `dispatch` (a message in, its answers out), and
//! `define` (the tools as providers want to be told of them).
//!
//! It must not know how a call is guarded: an entry calls the tool as an application would.

mod define;
mod dispatch;
mod entry;
mod schema;
mod set;
mod wire;

pub use dispatch::Answer;
pub use entry::{Described, Entry, Given, Kept, Repeats, Result as ToolResult, Tellable};
pub use schema::Schema;
pub use set::{ToolSet, TwoOfOne};
pub use wire::{Assembler, Message, Misread, Reply, Unreadable, Wire, WireCall, parse};
