//! The tools of an agent, by name.
//!
//! It must not know how they are called.

use std::{collections::BTreeMap, fmt};

use super::entry::{Entry, callable};

/// Tools that a model can call. Made by [`tools!`](crate::tools), or of [entries](Entry). Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    /// In the order in which they were given: models read the first ones best.
    entries: Vec<Entry>,
    by_name: BTreeMap<String, usize>,
}

/// Two tools of one name: a model could not say which one it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwoOfOne {
    name: String,
    places: [&'static str; 2],
}

impl fmt::Display for TwoOfOne {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, places: [one, other] } = self;
        write!(f, "two tools are called `{name}`, at {one} and at {other}: give one of them another `name = \"…\"`")
    }
}

impl std::error::Error for TwoOfOne {}

impl ToolSet {
    /// These tools.
    ///
    /// # Errors
    /// [`TwoOfOne`], when two of them have one name.
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Result<Self, TwoOfOne> {
        let mut set = Self::default();
        for entry in entries {
            let name = entry.name().to_owned();
            if let Some(known) = set.by_name.insert(name.clone(), set.entries.len()) {
                return Err(TwoOfOne { name, places: [set.entries[known].place(), entry.place()] });
            }
            set.entries.push(entry);
        }
        Ok(set)
    }

    /// The tool of this name: as a model calls it, or as its attribute says.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(*self.by_name.get(&callable(name))?)
    }

    /// The tools, in the order in which they were given.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.entries.iter()
    }
}
