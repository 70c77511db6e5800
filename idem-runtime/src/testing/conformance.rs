//! The conformance suite: what every store does, check by check.
//!
//! It speaks to a store as the ledger does, through commands and reads, and must not know which one it is. An
//! adapter for a new database runs it as it stands:
//!
//! ```
//! # #[tokio::main(flavor = "multi_thread")] async fn main() {
//! use idem_runtime::{MemoryStore, testing::conformance};
//!
//! let seed = 7; // print it: the same seed gives the same commands
//! conformance::run(seed, async || MemoryStore::new()).await.expect("a store that keeps its contract");
//! # }
//! ```

mod batch;
mod calls;
mod dice;
mod identity;
mod late;
mod lease;
mod model;
mod purge;
mod resume;
mod retention;
mod subject;
mod tenant;

use std::fmt;

use self::subject::{Checked, Subject, Wrong};
use crate::ledger::{BoxFuture, Store};

/// One thing that every store does.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    name: &'static str,
    run: for<'a> fn(&'a mut Subject) -> BoxFuture<'a, Checked>,
}

impl Check {
    /// What is true of a store that passes.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Carries out this check alone, on a fresh store.
    ///
    /// # Errors
    /// [`Failures`] with what was wrong.
    pub async fn run(&self, seed: u64, store: impl Store) -> Result<(), Failures> {
        let failed = self.fails(seed, store).await.into_iter().collect::<Vec<_>>();
        if failed.is_empty() { Ok(()) } else { Err(Failures { failed, seed }) }
    }

    async fn fails(&self, seed: u64, store: impl Store) -> Option<(&'static str, Wrong)> {
        let mut subject = Subject::new(Box::new(store), seed);
        let checked = (self.run)(&mut subject).await;
        subject.close();
        checked.err().map(|wrong| (self.name, wrong))
    }
}

/// Pairs each name with its function.
macro_rules! checks {
    ($($name:literal => $check:path,)+) => {
        &[$(Check { name: $name, run: |subject| Box::pin($check(subject)) }),+]
    };
}

/// Every check, in the order in which [`run`] carries them out.
pub const CHECKS: &[Check] = checks! {
    "an operation is created with everything that was asked" => identity::created,
    "one of many callers is granted an absent operation" => identity::one_of_many,
    "either identity finds the operation" => identity::either,
    "identities that lead to two operations are refused" => identity::split,
    "drift names the parameters that differ" => identity::drift,
    "a call that does not fit changes nothing" => identity::conflicts_change_nothing,
    "an identity that came with a reopening leads to the operation" => identity::alias_of_a_reopening,
    "another tenant sees nothing" => tenant::sees_nothing,
    "another tenant's tally changes nothing" => tenant::tallies_nothing,
    "a record of an attempt finds its own generation" => resume::exact_generation,
    "a record made before the first dispatch is reserved as it says" => resume::prepared,
    "a record of an attempt runs nothing after retention" => resume::after_retention,
    "after proof of no effect another attempt is granted" => lease::reopened,
    "fencing tokens ascend, also after a purge" => lease::fences_ascend,
    "an older holder changes nothing, though the clock stands still" => lease::older_holder,
    "a lease that ended leads to unknown, at its instant and only there" => lease::ended,
    "a renewal extends the lease and tells which are lost" => lease::renewed,
    "late success settles an unknown outcome" => late::success,
    "late success is kept when nothing new is told with it" => late::success_without_words,
    "late proof of no effect counts from the last attempt alone" => late::no_effect,
    "contradicting evidence raises a review and success stays" => late::contradiction,
    "success after a recorded failure raises a review" => late::success_after_failure,
    "equal arguments mean a finished operation until the window ends" => retention::window,
    "a late retry finds its own operation, whatever equal arguments led to since" => retention::late_retry,
    "a record answers with its result until retention ends" => retention::boundary,
    "whatever the instants, retention ends at its own" => retention::random_instants,
    "a tombstone answers the same call, and equal arguments are a new generation" => retention::tombstone,
    "a tool that runs after retention starts anew" => retention::run_again,
    "a purge removes results, then tombstones, at their instants" => purge::in_two_steps,
    "a purge leaves what later occurrences are found by" => purge::keeps_later_occurrences,
    "a purge never touches what is unknown or in progress" => purge::spares,
    "a purge goes on where it stopped" => purge::goes_on,
    "a purge between two reservations leaves both with the truth" => purge::interleaved,
    "a batch keeps its order" => batch::order,
    "replies come one for each command, in order" => batch::replies,
    "counts of drifts add up and are listed, newest first" => batch::tallies,
    "a tallied alias leads to its operation unless it leads elsewhere" => batch::aliases,
    "a reader sees what is committed" => batch::reader,
    "a reader sees no half of a batch" => batch::halves,
    "random commands end as `transition` says" => model::random,
};

/// The checks that a store failed.
#[derive(Debug)]
pub struct Failures {
    failed: Vec<(&'static str, Wrong)>,
    seed: u64,
}

impl Failures {
    /// The names of the failed checks.
    pub fn names(&self) -> Vec<&'static str> {
        self.failed.iter().map(|(name, _)| *name).collect()
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store failed {} of {} checks (seed {})", self.failed.len(), CHECKS.len(), self.seed)?;
        self.failed.iter().try_for_each(|(name, wrong)| write!(f, "\n- {name}: {wrong}"))
    }
}

impl std::error::Error for Failures {}

/// Runs every check, each on a store of its own that `open` gives. `seed` decides what the random commands are.
///
/// Run it on a runtime with several threads: then reads and writes of the checks for readers really overlap.
///
/// # Errors
/// [`Failures`], with every failed check and what was wrong.
pub async fn run<S: Store>(seed: u64, open: impl AsyncFn() -> S) -> Result<(), Failures> {
    let mut failed = Vec::new();
    for check in CHECKS {
        failed.extend(check.fails(seed, open().await).await);
    }
    if failed.is_empty() { Ok(()) } else { Err(Failures { failed, seed }) }
}
