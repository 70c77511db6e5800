//! The provider's own record of what happened: one line an effect, on the disk before the provider answers.
//!
//! It outlives a `kill -9` of anyone, and several processes append to it at once.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

/// An append-only file of effects.
#[derive(Debug, Clone)]
pub(crate) struct Effects(PathBuf);

impl Effects {
    pub(crate) fn at(path: impl AsRef<Path>) -> Self {
        Self(path.as_ref().to_owned())
    }

    /// An effect happens, and is durable when this returns.
    pub(crate) fn happen(&self, what: &str) {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).expect("the effect log");
        file.write_all(format!("{what}\n").as_bytes()).expect("an effect is written");
        file.sync_data().expect("an effect is durable");
    }

    /// How often it happened.
    pub(crate) fn count(&self, what: &str) -> usize {
        let log = fs::read_to_string(&self.0).unwrap_or_default();
        log.lines().filter(|line| *line == what).count()
    }
}
