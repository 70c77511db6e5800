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

mod asks;
mod batch;
mod budget;
mod calls;
mod detail;
mod dice;
mod doubt;
mod evidence;
mod findings;
mod identity;
mod late;
mod lease;
mod links;
mod listing;
mod model;
mod nonce;
mod operator;
mod purge;
mod reading;
mod references;
mod resources;
mod resume;
mod retention;
mod stand;
mod subject;
mod sweep;
mod tenant;
mod tour;
mod unknown;

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
    "another tenant finds out nothing" => tenant::finds_out_nothing,
    "a record of an attempt finds its own generation" => resume::exact_generation,
    "a record made before the first dispatch is reserved as it says" => resume::prepared,
    "a later generation is found where no earlier one is, and leaves room for that" => resume::later_generation,
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
    "questions that are asked together are answered as if alone" => reading::together,
    "names are kept and told apart whatever their characters" => reading::any_characters,
    "one of two who find out begins, and no caller runs meanwhile" => unknown::begins,
    "finding out begins where the outcome is unknown" => unknown::begins_only_there,
    "what was found to have happened succeeds" => unknown::found_applied,
    "what was found not to have happened may be tried again" => unknown::found_not_applied,
    "what nobody could tell is asked about again, and not too soon" => unknown::found_nothing,
    "a person is asked when answers or passes run out, unless callers can go on" => unknown::exhausted,
    "who finds out and falls silent is counted" => unknown::falls_silent,
    "a stale verdict is evidence" => unknown::stale_verdicts,
    "attempts are heard while somebody finds out" => unknown::late_words,
    "the steps of finding out are kept" => unknown::steps,
    "tokens of attempts and of finding out are one ascending row, also after a purge" => unknown::tokens,
    "what may have been sent is sent again within the key's window" => doubt::sends_again,
    "the key's usable window ends at its instant" => doubt::window_ends,
    "in doubt, no effect of a later attempt proves nothing" => doubt::no_effect_proves_nothing,
    "in doubt, late proof is kept" => doubt::late_proof_is_kept,
    "a verdict, a person and success end doubt" => doubt::who_clears_it,
    "sending again does not begin the passes anew" => doubt::passes_go_on,
    "evidence of success before the record makes the reservation a replay" => evidence::before_the_record,
    "other evidence before the record leaves the reservation as it is" => evidence::before_and_not_proof,
    "evidence and reservations of one batch keep their order" => evidence::in_the_same_batch,
    "each event is weighed once" => evidence::once,
    "evidence of success settles every state, and raises a review after a failure" => evidence::success,
    "evidence of the opposite raises a review of success and moves nothing" => evidence::contradiction,
    "without the required reference evidence proves nothing" => evidence::without_a_reference,
    "proof kept while somebody found out counts once nobody does" => evidence::kept_proof,
    "evidence is forgotten with its record" => evidence::forgotten,
    "a person decides what is unknown" => operator::decides,
    "a person decides nothing else" => operator::decides_only_there,
    "of two decisions on one version the first stands, and the loser is told" => operator::one_of_two,
    "a decision counts on the version that was seen" => operator::on_what_was_seen,
    "a person names the reference where one is required" => operator::needs_a_reference,
    "another tenant's person decides nothing" => operator::other_tenants,
    "who decided, and why, is kept" => operator::is_named,
    "attempts end with the budget, and the last error is kept" => budget::attempts,
    "a caller's budget ends attempts, none leaves it to callers" => budget::attempts_of_a_caller,
    "the budget's deadline ends attempts at its instant" => budget::deadline,
    "every proof of no effect finds the budget" => budget::of_other_proofs,
    "success without the required reference is unknown" => references::required,
    "a reference that comes later settles it, with the result that was held" => references::comes_later,
    "a verdict without the required reference could not tell" => references::of_verdicts,
    "after another success on its resource equal arguments are a new operation" => resources::book_cancel_book,
    "what is on other resources, failed, or began before does not reopen" => resources::others_do_not_reopen,
    "what is unsettled is not reopened, and does not reopen" => resources::unsettled_is_not_reopened,
    "resources count that a result names, and successes however they are told" => resources::named_by_the_result,
    "the next attempt waits for its pause, unless the call has waited" => budget::pause,
    "an operation that its budget ended is reopened as any other" => resources::given_up,
    "resources outlive a purge as long as an operation names them" => resources::purged_in_between,
    "links are shown both ways" => links::both_ways,
    "links are one tenant's" => links::of_one_tenant,
    "links go with a purge" => links::go_with_a_purge,
    "a reservation that is sent again gets the same attempt" => nonce::same_attempt,
    "the same attempt is the last one's caller's" => nonce::of_the_last_attempt,
    "an attempt is not given again after its lease" => nonce::not_after_its_lease,
    "records are listed by state" => listing::by_state,
    "records in review are listed" => listing::in_review,
    "records are listed by how long they have been where they are" => listing::before,
    "pages have no gaps and no doubles" => listing::pages,
    "a first walk finds all that has fallen silent or is due" => sweep::from_the_start,
    "what is unknown is found when it is due" => sweep::unknown_when_due,
    "walks find the named tools' operations only" => sweep::only_named_tools,
    "walks find all tenants' operations" => sweep::all_tenants,
    "later walks find what is new, and what fell silent since" => sweep::later_walks,
    "a walk finds what was sent again since the last one" => sweep::sent_again,
    "small walks come to the end" => sweep::in_small_walks,
    "attempts and history are told in order" => detail::history,
    "a first attempt that succeeded is told by its record" => detail::first_attempt,
    "identities, scope and arguments are told to their tenant" => detail::whose,
    "what is kept of an operation goes in two steps" => detail::until_purged,
    "every legal move is made as `transition` says" => tour::every_move,
    "no move changes the fingerprint" => tour::fingerprints,
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
