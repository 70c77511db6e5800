//! Every limit of the runtime, as a number with a reason.
//!
//! Must not know who keeps to them. Limits that a deployment may change are fields of [`Config`]; the
//! others are constants, because stored data depends on them.

use std::time::Duration;

/// The longest id (tenant, scope value, tool call id, turn, occurrence …), in bytes. The longest id seen in
/// recorded provider messages has 64.
pub(crate) const ID_BYTES_MAX: usize = 512;

/// The longest reason or evidence in a person's or a webhook's words, in bytes: what a page of a ticket has.
pub(crate) const WORDS_BYTES_MAX: usize = 4 * 1024;

/// How many commands the ledger commits together. More would only lengthen the wait of the first.
pub(crate) const BATCH_MAX: usize = 512;

/// The least time a call's deadline must leave: below it the reservation alone would use it up.
pub(crate) const DEADLINE_LEFT_MIN: Duration = Duration::from_millis(5);

/// How much of a lease may have passed between its reservation and the body's start. A worker that was
/// suspended longer does not start: another may have taken over.
pub(crate) const LEASE_START_SHARE: u32 = 2;

/// What a deployment may set. [`Config::default`] states the defaults.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// How long an owner may stay silent before its operation counts as unknown. Renewed three times a lease
    /// while the owner lives. Default 30 s; a tool's `lease` overrides it.
    pub lease: Duration,
    /// How long a body may run with a renewed lease; after it renewal stops and the operation ends as unknown.
    /// Default 1 h.
    pub run_max: Duration,
    /// How long a duplicate waits for the first when its call has no deadline. Default 30 s.
    pub wait: Duration,
    /// How long a finished record answers with its result. Default 30 days; a tool's `retain` overrides it.
    pub retain: Duration,
    /// How long after that a tombstone still answers the same call. Default 90 days, longer than any provider's
    /// key window in use.
    pub tombstone: Duration,
    /// The largest canonical form of a call's arguments, in bytes. Default 256 KiB.
    pub arguments_bytes_max: usize,
    /// The largest stored result, in bytes. Default 1 MiB. A larger one is given to its caller and recorded as
    /// succeeded without a stored result.
    pub result_bytes_max: usize,
    /// How much memory finished records may take in the replay cache, in bytes. Default 64 MiB.
    pub cache_bytes: usize,
    /// How often counts of replays and drifts are written when nothing else is. Default 1 s.
    pub tally_every: Duration,
    /// How long one look-up of a tool may take before it counts as unanswered. Default 10 s.
    pub lookup_timeout: Duration,
    /// How often a provider may answer without telling, before a person is asked. Default 8: with growing pauses some
    /// minutes.
    pub reconcile_answers_max: u32,
    /// How often an operation is asked about in all, answered or not, before a person is. Default 64: with the pauses
    /// below some hours, so that an outage of a provider does not flag everything.
    pub reconcile_passes_max: u32,
    /// How often a reconciler looks whether anything is due. Default 1 s.
    pub reconcile_every: Duration,
    /// How long a reconciler waits at most after its first pass over an operation; twice as long after each further one.
    /// Default 1 s.
    pub reconcile_base: Duration,
    /// How long it waits at most after any. Default 5 min.
    pub reconcile_cap: Duration,
    /// How many items of one batch run at the same time ([`bulk()`](crate::bulk())). Default 16: as many as a provider's limit of
    /// requests usually bears.
    pub items_at_once: usize,
    /// Whether an idle ledger may commit on the caller's own thread. Default [`InlineCommit::WhenIdle`].
    pub inline_commit: InlineCommit,
}

/// Whether a single caller may commit on its own thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InlineCommit {
    /// Yes, when no other call is under way: it saves two thread switches a commit and holds one worker of a
    /// multi-threaded runtime for the time of one sync.
    WhenIdle,
    /// No: every commit happens on the ledger's thread.
    Never,
}

impl Default for Config {
    fn default() -> Self {
        const DAY: Duration = Duration::from_hours(24);
        Self {
            lease: Duration::from_secs(30),
            run_max: Duration::from_hours(1),
            wait: Duration::from_secs(30),
            retain: DAY * 30,
            tombstone: DAY * 90,
            arguments_bytes_max: 256 * 1024,
            result_bytes_max: 1024 * 1024,
            cache_bytes: 64 * 1024 * 1024,
            tally_every: Duration::from_secs(1),
            lookup_timeout: Duration::from_secs(10),
            reconcile_answers_max: 8,
            reconcile_passes_max: 64,
            reconcile_every: Duration::from_secs(1),
            reconcile_base: Duration::from_secs(1),
            reconcile_cap: Duration::from_mins(5),
            items_at_once: 16,
            inline_commit: InlineCommit::WhenIdle,
        }
    }
}
