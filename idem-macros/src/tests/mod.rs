//! Tests of the macro on tokens: what it makes of a function, and what it says of mistakes.

mod effect_error;
mod expansion;
mod harness;
mod languages;
mod mistakes;
mod recovery;
mod rmcp;
mod snapshot;
mod tool_set;
