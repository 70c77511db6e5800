//! Plans: what is done in a case, in words that are small enough to be shrunk and read.
//!
//! Must not know tokens, versions or instants: the driver fills them in.

use std::time::Duration;

use idem_runtime::ledger::Ending;
use proptest::{collection::vec, prelude::*, sample::select};

pub(crate) const NANO: Duration = Duration::from_nanos(1);
pub(crate) const LEASE: Duration = Duration::from_secs(30);
pub(crate) const AGAIN: Duration = Duration::from_mins(1);
pub(crate) const DEADLINE: Duration = Duration::from_mins(20);
pub(crate) const KEY_WINDOW: Duration = Duration::from_hours(1);
pub(crate) const WINDOW: Duration = Duration::from_mins(45);
pub(crate) const RETAIN: Duration = Duration::from_hours(24);
pub(crate) const TOMBSTONE: Duration = Duration::from_hours(48);

/// How many operations there are at a time.
pub(crate) const SLOTS: usize = 3;

/// One case.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Operations of this slot succeed with a reference only.
    pub(crate) strict: [bool; SLOTS],
    /// Operations of this slot change the case's one resource.
    pub(crate) shares: [bool; SLOTS],
    pub(crate) batches: Vec<Batch>,
}

/// Commands at one instant.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    /// How much time goes by before it.
    pub(crate) pause: Duration,
    pub(crate) steps: Vec<Step>,
}

/// One command.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) slot: usize,
    pub(crate) what: What,
}

/// Which token a command names.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Token {
    Last,
    /// One of those before it.
    Older(usize),
    /// One that is nobody's.
    Foreign,
}

/// What is said to have happened, or was found out.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Found {
    Applied { result: bool, reference: bool },
    NotApplied,
    Inconclusive,
}

/// How far a command looks ahead.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Decided {
    Succeeded { result: bool, reference: bool },
    Retryable,
    Final,
}

/// What a command is, apart from what it names.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    Reserve {
        anew: bool,
        new_id: bool,
        resend: bool,
        budget: Option<u32>,
        nonce: u64,
    },
    Settle {
        token: Token,
        ending: Ending,
        reference: bool,
        stored: bool,
        budget: Option<u32>,
    },
    Renew {
        token: Token,
    },
    EndLease {
        stale: bool,
    },
    Begin {
        stale: bool,
        by_hand: bool,
    },
    Verdict {
        token: Token,
        found: Found,
        counted: bool,
        last: bool,
        spare: bool,
        budget: Option<u32>,
        steps: usize,
    },
    Resolve {
        stale: bool,
        decided: Decided,
    },
    Evidence {
        event: usize,
        found: Found,
    },
    Purge {
        few: bool,
    },
    /// One step towards what is seldom reached: in doubt where `resend`, and before a person.
    Deeper {
        resend: bool,
        anew: bool,
    },
}

fn budget() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![6 => Just(None), 1 => Just(Some(2)), 1 => Just(Some(4))]
}

fn rarely() -> impl Strategy<Value = bool> {
    proptest::bool::weighted(0.15)
}

fn token() -> impl Strategy<Value = Token> {
    prop_oneof![5 => Just(Token::Last), 3 => (0..4_usize).prop_map(Token::Older), 1 => Just(Token::Foreign)]
}

fn found() -> impl Strategy<Value = Found> {
    let applied = (any::<bool>(), any::<bool>()).prop_map(|(result, reference)| Found::Applied { result, reference });
    prop_oneof![2 => applied, 2 => Just(Found::NotApplied), 3 => Just(Found::Inconclusive)]
}

fn decided() -> impl Strategy<Value = Decided> {
    let succeeded = (any::<bool>(), any::<bool>());
    let succeeded = succeeded.prop_map(|(result, reference)| Decided::Succeeded { result, reference });
    prop_oneof![2 => succeeded, 1 => Just(Decided::Retryable), 1 => Just(Decided::Final)]
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        3 => Just(Ending::Ok),
        3 => Just(Ending::Retryable),
        2 => Just(Ending::Final),
        5 => Just(Ending::Unknown),
        1 => Just(Ending::NotStarted),
    ]
}

fn what() -> impl Strategy<Value = What> {
    let reserve = (any::<bool>(), rarely(), any::<bool>(), budget(), 0..3_u64);
    let reserve =
        reserve.prop_map(|(anew, new_id, resend, budget, nonce)| What::Reserve { anew, new_id, resend, budget, nonce });
    let settle = (token(), ending(), any::<bool>(), any::<bool>(), budget());
    let settle = settle.prop_map(|(token, ending, reference, stored, budget)| What::Settle {
        token,
        ending,
        reference,
        stored,
        budget,
    });
    let begin = (rarely(), any::<bool>()).prop_map(|(stale, by_hand)| What::Begin { stale, by_hand });
    let verdict = (token(), found(), any::<bool>(), any::<bool>(), rarely(), budget(), 0..3_usize);
    let verdict = verdict.prop_map(|(token, found, counted, last, spare, budget, steps)| What::Verdict {
        token,
        found,
        counted,
        last,
        spare,
        budget,
        steps,
    });
    let resolve = (rarely(), decided()).prop_map(|(stale, decided)| What::Resolve { stale, decided });
    let evidence = (0..6_usize, found()).prop_map(|(event, found)| What::Evidence { event, found });
    let deeper = (proptest::bool::weighted(0.7), proptest::bool::weighted(0.3));
    let deeper = deeper.prop_map(|(resend, anew)| What::Deeper { resend, anew });
    prop_oneof![
        10 => reserve,
        14 => settle,
        1 => token().prop_map(|token| What::Renew { token }),
        5 => rarely().prop_map(|stale| What::EndLease { stale }),
        6 => begin,
        9 => verdict,
        7 => resolve,
        8 => evidence,
        1 => any::<bool>().prop_map(|few| What::Purge { few }),
        18 => deeper,
    ]
}

/// Nothing mostly, and else what just reaches a boundary or just does not.
fn pause() -> impl Strategy<Value = Duration> {
    let ends = [
        LEASE,
        AGAIN,
        DEADLINE,
        WINDOW,
        // The end of the part of the key's window that may be used.
        (KEY_WINDOW * 47 / 48).saturating_sub(LEASE),
        RETAIN,
        RETAIN + TOMBSTONE,
    ];
    let around = |end: Duration| [end.saturating_sub(NANO), end];
    let short: Vec<Duration> = ends[..2].iter().copied().flat_map(around).collect();
    let long: Vec<Duration> = ends[2..].iter().copied().flat_map(around).collect();
    prop_oneof![8 => Just(Duration::ZERO), 2 => Just(NANO), 6 => select(short), 1 => select(long)]
}

fn batch() -> impl Strategy<Value = Batch> {
    let step = (0..SLOTS, what()).prop_map(|(slot, what)| Step { slot, what });
    (pause(), vec(step, 1..36)).prop_map(|(pause, steps)| Batch { pause, steps })
}

/// Every case.
pub(crate) fn plans() -> impl Strategy<Value = Plan> {
    let flags = || any::<[bool; SLOTS]>();
    let plan = (flags(), flags(), vec(batch(), 1..7));
    plan.prop_map(|(strict, shares, batches)| Plan { strict, shares, batches })
}
