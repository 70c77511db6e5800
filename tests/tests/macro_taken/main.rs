//! What the attribute must take without a word: every module is a way of writing tools that has broken other macros.
//!
//! That it compiles, with every warning an error, is the test; `macro_forms` runs what needs running. These are no
//! trybuild files because those would have the whole tree compiled twice: once checked, and once built for the sake
//! of the files that pass.

#![deny(warnings)]

mod hostile;
mod origin;
mod parameters;
mod renamed;
