//! Worker processes that share one PostgreSQL and are killed at random.
//!
//! In reading order: the [`provider`] outside, whose books outlive every worker; the [`tools`] with their ways of recovery;
//! one worker, the [`child`] that is killed; the [`run`] that starts, kills and listens; the [`audit`] of what came of it.

pub(crate) mod audit;
pub(crate) mod child;
pub(crate) mod provider;
pub(crate) mod run;
pub(crate) mod tools;
