//! The generated harness, tried on tools that are right and on tools that are not.

#[path = "harness/arms.rs"]
mod arms;
#[path = "harness/files.rs"]
mod files;
#[path = "harness/fixtures.rs"]
mod fixtures;
#[path = "harness/provider.rs"]
mod provider;
#[path = "harness/tools.rs"]
mod tools;
