//! Tests of the macro on tokens: what it makes of a function, and what it says of mistakes.

mod expansion;
mod languages;
mod mistakes;
mod snapshot;
