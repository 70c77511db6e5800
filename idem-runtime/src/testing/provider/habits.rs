//! How a provider behaves, all of the time. What goes wrong once is a fault.

use std::time::Duration;

/// What a provider can do, and what it forgets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Habits {
    /// How long it remembers keys; `None` where it has none.
    pub(crate) keys: Option<Duration>,
    pub(crate) lookup: bool,
    pub(crate) search: bool,
    /// How long its index does not see a new effect.
    pub(crate) lag: Duration,
    /// It tells its id of an effect.
    pub(crate) references: bool,
    /// Why it says no to every request.
    pub(crate) declines: Option<String>,
}

impl Default for Habits {
    /// No keys; it can be asked, and knows at once.
    fn default() -> Self {
        Self { keys: None, lookup: true, search: true, lag: Duration::ZERO, references: true, declines: None }
    }
}

impl Habits {
    /// It has one effect for each key, for so long after the first request.
    #[must_use]
    pub fn keyed(self, window: Duration) -> Self {
        Self { keys: Some(window), ..self }
    }

    /// It does as it is told, as often as it is told.
    #[must_use]
    pub fn unkeyed(self) -> Self {
        Self { keys: None, ..self }
    }

    /// It cannot be asked for a key or a reference.
    #[must_use]
    pub fn without_lookup(self) -> Self {
        Self { lookup: false, ..self }
    }

    /// It cannot be searched.
    #[must_use]
    pub fn without_search(self) -> Self {
        Self { search: false, ..self }
    }

    /// Its index sees a new effect only after so long.
    #[must_use]
    pub fn lags(self, lag: Duration) -> Self {
        Self { lag, ..self }
    }

    /// It tells no id of an effect.
    #[must_use]
    pub fn without_references(self) -> Self {
        Self { references: false, ..self }
    }

    /// It says no to every request, for this reason.
    #[must_use]
    pub fn declines(self, why: impl Into<String>) -> Self {
        Self { declines: Some(why.into()), ..self }
    }

    /// It says no to nothing.
    #[must_use]
    pub fn accepts(self) -> Self {
        Self { declines: None, ..self }
    }
}
