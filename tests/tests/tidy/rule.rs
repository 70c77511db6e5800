//! What a rule is, and the one way in which rules are checked and told.
//!
//! It must not know any rule.

use std::fmt::Write;

use super::source::Source;

/// A rule: what it is called, how one mends a breach, and how it is found.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) cure: &'static str,
    pub(super) exceptions: &'static [Exception],
    pub(super) find: fn(&Source) -> Vec<Breach>,
}

/// A breach that stays, for a reason.
pub(super) struct Exception {
    pub(super) file: &'static str,
    /// A part of the breach's words.
    pub(super) what: &'static str,
    pub(super) reason: &'static str,
}

/// One place where a rule is broken.
#[derive(Debug)]
pub(super) struct Breach {
    pub(super) line: usize,
    pub(super) what: String,
}

impl Breach {
    pub(super) fn new(line: usize, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

impl Rule {
    /// Fails when the tree breaks this rule, or keeps an exception that nothing needs.
    pub(super) fn check(&self) {
        let told = self.told(&Source::tree());
        assert!(told.is_empty(), "\n{told}");
    }

    /// The lines of a small text on which this rule is broken.
    pub(super) fn lines(&self, path: &str, text: &str) -> Vec<usize> {
        (self.find)(&Source::new(path, text)).iter().map(|breach| breach.line).collect()
    }

    /// Everything that is wrong with these files, in words; empty when all is well.
    fn told(&self, sources: &[Source]) -> String {
        let mut told = String::new();
        let mut needed = vec![false; self.exceptions.len()];
        for source in sources {
            for Breach { line, what } in (self.find)(source) {
                match self.exceptions.iter().position(|known| known.covers(&source.path, &what)) {
                    Some(known) => needed[known] = true,
                    None => self.tell(&mut told, &format!("{}:{line}", source.path), &what),
                }
            }
        }
        for (exception, _) in self.exceptions.iter().zip(needed).filter(|(_, needed)| !needed) {
            let Exception { file, what, reason } = exception;
            let what = format!("nothing needs the exception for {what} ({reason}): take it out");
            self.tell(&mut told, file, &what);
        }
        told
    }

    fn tell(&self, told: &mut String, place: &str, what: &str) {
        writeln!(told, "{place}: {}: {what}\n    help: {}", self.name, self.cure).expect("a string takes all text");
    }
}

impl Exception {
    fn covers(&self, file: &str, what: &str) -> bool {
        self.file == file && what.contains(self.what)
    }
}

#[cfg(test)]
mod tests {
    //! A rule against the letter `x`.

    use super::*;

    const NO_X: Rule = Rule {
        name: "no x",
        cure: "write y",
        exceptions: &[Exception { file: "old.txt", what: "an x", reason: "history" }],
        find: |source| {
            let lines = source.text.lines().enumerate();
            lines.filter(|(_, text)| text.contains('x')).map(|(at, _)| Breach::new(at + 1, "an x")).collect()
        },
    };

    #[test]
    fn a_breach_is_told_with_place_and_cure_unless_it_is_an_exception() {
        let told = NO_X.told(&[Source::new("old.txt", "x"), Source::new("new.txt", "y\nx")]);
        assert_eq!(told, "new.txt:2: no x: an x\n    help: write y\n");
    }

    #[test]
    fn an_exception_that_nothing_needs_fails() {
        let told = NO_X.told(&[Source::new("old.txt", "y")]);
        assert!(told.starts_with("old.txt: no x: nothing needs the exception"), "{told}");
    }
}
