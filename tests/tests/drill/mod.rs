//! The drill: a fault at each checkpoint of a call, and after it each way to find out what happened.
//!
//! In reading order: the [`provider`] with its own log, the [`site`] where faults strike, the [`tools`] with their ways of
//! recovery, the [`store`] whose commits are checkpoints, the [`matrix`] that says what has to come of each fault, one
//! [`cell`] of it, the [`child`] that is killed, and the [`random`] part.

pub(crate) mod cell;
pub(crate) mod child;
pub(crate) mod matrix;
pub(crate) mod provider;
pub(crate) mod random;
pub(crate) mod site;
pub(crate) mod store;
pub(crate) mod tools;
