//! Which fields one call leaves out, and whether each of them came by. Must not know values, only names.

use super::CanonicalErrorKind;
use super::error::Fault;

/// What to do with a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visit {
    /// Write it.
    Write,
    /// Leave it out, its value unread.
    Skip,
}

/// The fields to leave out; empty for almost every call.
#[derive(Debug, Default)]
pub(super) struct Omitted {
    /// One for every field named.
    paths: Vec<Path>,
    /// How many names lie above the object being written.
    level: usize,
}

/// A field to leave out.
#[derive(Debug)]
struct Path {
    /// As the caller named it.
    text: String,
    /// For every name above that matched, where in the text the next one starts. The path can match in the
    /// object being written only if there is one for every level.
    matched: Vec<usize>,
    /// Whether the field came by, or could not have.
    met: bool,
}

impl Path {
    /// What is left to match.
    fn rest(&self) -> &str {
        self.text.get(self.matched.last().copied().unwrap_or_default()..).unwrap_or_default()
    }
}

impl Omitted {
    /// Starts a call that leaves out `fields`.
    pub(super) fn begin(&mut self, fields: &[&str]) {
        self.clear();
        self.paths.extend(fields.iter().map(|&field| Path { text: field.to_owned(), matched: Vec::new(), met: false }));
    }

    /// Forgets the fields.
    pub(super) fn clear(&mut self) {
        self.paths.clear();
        self.level = 0;
    }

    /// Whether the call leaves out anything.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        !self.paths.is_empty()
    }

    /// A member comes by. If it is to be written, its value comes next, and then [`leave`](Self::leave).
    pub(super) fn enter(&mut self, name: &str) -> Visit {
        let mut visit = Visit::Write;
        let level = self.level;
        for path in self.paths.iter_mut().filter(|path| path.matched.len() == level) {
            let Some(rest) = path.rest().strip_prefix(name) else {
                continue;
            };
            // The whole rest first: a name in serde may itself hold dots.
            if rest.is_empty() {
                path.met = true;
                visit = Visit::Skip;
            } else if rest.starts_with('.') {
                path.matched.push(path.text.len() - rest.len() + 1);
            }
        }
        self.level += 1;
        if visit == Visit::Skip {
            // What lies below goes with it.
            self.excuse();
            self.leave();
        }
        visit
    }

    /// The value of the member is written.
    pub(super) fn leave(&mut self) {
        self.level = self.level.saturating_sub(1);
        self.unwind();
    }

    /// Drops what matched below the object being written.
    fn unwind(&mut self) {
        let level = self.level;
        self.paths.iter_mut().for_each(|path| path.matched.truncate(level));
    }

    /// A field is declared but not serialised this time.
    pub(super) fn declare(&mut self, name: &str) {
        if self.enter(name) == Visit::Write {
            // Nothing below it can come by.
            self.excuse();
            self.leave();
        }
    }

    /// What is written here is null, empty or another variant: a path through it could not come by.
    pub(super) fn excuse(&mut self) {
        let level = self.level;
        for path in self.paths.iter_mut().filter(|path| path.matched.len() == level) {
            path.met = true;
        }
    }

    /// An enum's variant comes by, then its content, then [`leave`](Self::leave). A variant cannot be left out,
    /// only fields below it; paths through other variants are excused.
    pub(super) fn enter_variant(&mut self, variant: &str) {
        let level = self.level;
        for path in self.paths.iter_mut().filter(|path| path.matched.len() == level) {
            match path.rest().strip_prefix(variant).and_then(|rest| rest.strip_prefix('.')) {
                Some(rest) => path.matched.push(path.text.len() - rest.len()),
                None => path.met = true,
            }
        }
        self.level += 1;
    }

    /// Whether every field came by.
    pub(super) fn check(&self) -> Result<(), Fault> {
        match self.paths.iter().find(|path| !path.met) {
            None => Ok(()),
            Some(path) => Err(Fault::new(CanonicalErrorKind::UnknownField(path.text.clone()))),
        }
    }
}
