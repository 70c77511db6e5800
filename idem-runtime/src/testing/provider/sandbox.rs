//! Where effects are counted: at a provider, and nowhere else.

use super::{Provider, request::Effect};

/// What a harness has to be able to do at a provider: at ours, or at the sandbox of a real one.
pub trait Sandbox: Send + Sync {
    /// Sets this run's effects apart from those of every other one: a tag, an account, a prefix of references.
    fn run_id(&self) -> String;

    /// Every effect of this run, in the order in which they happened, by asking the provider.
    ///
    /// # Errors
    /// Words, when the provider cannot be asked: nothing is counted then, and the case fails.
    fn effects(&self) -> Result<Vec<Effect>, String>;

    /// Takes back, or removes, whatever this run left.
    ///
    /// # Errors
    /// Words, when something was left behind.
    fn clean_up(&self) -> Result<(), String>;
}

impl Sandbox for Provider {
    fn run_id(&self) -> String {
        Self::run_id(self)
    }

    fn effects(&self) -> Result<Vec<Effect>, String> {
        Ok(self.contents().map_err(|error| error.to_string())?.effects)
    }

    fn clean_up(&self) -> Result<(), String> {
        self.clear().map_err(|error| error.to_string())
    }
}
