//! Where faults strike: the checkpoints of a call, the kinds of faults, and the site that makes one happen.
//!
//! Must not know what has to come of a fault.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use idem_runtime::{ErrorClass, Refusal};
use idem_tests::{dice::Dice, timing::Gate};

use super::provider::Provider;
use crate::process;

/// The checkpoints of a call, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Checkpoint {
    /// In the tool's own check.
    Validate,
    /// Before the reservation is committed.
    BeforeReserve,
    /// After it is, before anybody is told.
    Reserved,
    /// In the body, before anything is sent.
    Dispatch,
    /// The effect happened, and no response was sent.
    ProviderCommit,
    /// The response arrived, and the body has not ended.
    ReceiveResponse,
    /// Before the settlement is committed.
    BeforeSettle,
    /// After it is, before anybody is told.
    Settled,
    /// The call has its answer, and nobody has read it.
    Return,
}

impl Checkpoint {
    pub(crate) const ALL: [Self; 9] = [
        Self::Validate,
        Self::BeforeReserve,
        Self::Reserved,
        Self::Dispatch,
        Self::ProviderCommit,
        Self::ReceiveResponse,
        Self::BeforeSettle,
        Self::Settled,
        Self::Return,
    ];

    /// The one with this name.
    pub(crate) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|it| format!("{it:?}") == name).expect("a checkpoint")
    }
}

/// The kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// `kill -9`.
    Kill,
    /// An error that proves that nothing happened: a denial, a provider that is busy, a full disk.
    NoEffect,
    /// A response that cannot be read.
    Corrupt,
    /// A connection that breaks.
    Reset,
    /// No answer in time.
    Timeout,
    /// A panic.
    Panic,
    /// The call's future is dropped where it waits.
    Dropped,
}

impl Fault {
    pub(crate) const ALL: [Self; 7] =
        [Self::Kill, Self::NoEffect, Self::Corrupt, Self::Reset, Self::Timeout, Self::Panic, Self::Dropped];
}

/// How a tool of the drill fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayError {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("the provider is busy")]
    Busy,
    #[error("the response cannot be read")]
    Corrupt,
    #[error("connection reset by peer")]
    Reset,
    #[error("no response in time")]
    Timeout,
}

/// Only one of them says that nothing happened.
pub(crate) fn classify(error: &PayError) -> ErrorClass {
    match error {
        PayError::Busy => ErrorClass::Retryable,
        PayError::Refused(_) | PayError::Corrupt | PayError::Reset | PayError::Timeout => ErrorClass::Unknown,
    }
}

/// What strikes at a site.
#[derive(Debug)]
enum Plan {
    /// This, once.
    One(Option<(Checkpoint, Fault)>),
    /// Drawn at each checkpoint of a body.
    Drawn(Dice),
}

/// The provider of a process, and what strikes on the way there and back.
pub(crate) struct Site {
    pub(crate) provider: Provider,
    plan: Mutex<Plan>,
    /// Where a call, or a commit, is held.
    pub(crate) gate: Gate,
    /// How many checkpoints were passed.
    steps: AtomicU64,
    dies_at: u64,
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Site {
    /// Where nothing strikes.
    pub(crate) fn calm(provider: Provider) -> Arc<Self> {
        Self::new(provider, Plan::One(None), u64::MAX)
    }

    /// Where this strikes, once.
    pub(crate) fn armed(provider: Provider, here: Checkpoint, fault: Fault) -> Arc<Self> {
        Self::new(provider, Plan::One(Some((here, fault))), u64::MAX)
    }

    /// Where anything may strike in a body, and the process stands still for good at its checkpoint of this number.
    pub(crate) fn drawn(provider: Provider, dice: Dice, dies_at: u64) -> Arc<Self> {
        Self::new(provider, Plan::Drawn(dice), dies_at)
    }

    fn new(provider: Provider, plan: Plan, dies_at: u64) -> Arc<Self> {
        Arc::new(Self { provider, plan: Mutex::new(plan), gate: Gate::new(), steps: AtomicU64::new(0), dies_at })
    }

    /// What strikes here, if anything does. Counts as a step; a process that is to be killed says so and stands still.
    pub(crate) fn strikes(&self, here: Checkpoint) -> Option<Fault> {
        self.step();
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = match &mut *plan {
            // A disk that is full stays so: the ledger itself asks once more.
            Plan::One(Some((armed, Fault::NoEffect))) if *armed == here && here == Checkpoint::BeforeReserve => {
                Some(Fault::NoEffect)
            }
            Plan::One(armed) => armed.take_if(|(armed, _)| *armed == here).map(|(_, fault)| fault),
            Plan::Drawn(dice) => drawn(dice, here),
        };
        drop(plan);
        if fault == Some(Fault::Kill) {
            stand();
        }
        fault
    }

    /// From here on nothing strikes.
    pub(crate) fn calms_down(&self) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = Plan::One(None);
    }

    /// One step more, after which this process may be killed.
    pub(crate) fn step(&self) {
        if self.steps.fetch_add(1, Ordering::SeqCst) + 1 == self.dies_at {
            stand();
        }
    }

    /// A checkpoint within the tool.
    pub(crate) async fn pass(&self, here: Checkpoint) -> Result<(), PayError> {
        match self.strikes(here) {
            None | Some(Fault::Kill) => Ok(()),
            Some(Fault::NoEffect) => Err(PayError::Busy),
            Some(Fault::Corrupt) => Err(PayError::Corrupt),
            Some(Fault::Reset) => Err(PayError::Reset),
            Some(Fault::Timeout) => Err(PayError::Timeout),
            // As any panic, but for the words that it would print.
            Some(Fault::Panic) => std::panic::resume_unwind(Box::new(format!("the drill's own panic, {here:?}"))),
            Some(Fault::Dropped) => {
                self.gate.pass().await;
                Ok(())
            }
        }
    }
}

/// Says that this process is to be killed, and does not go on.
fn stand() {
    process::say("here");
    // It ends with its parent, if not before.
    while process::hear().is_some() {}
    std::process::exit(1);
}

/// One in eight bodies meets something on its way.
fn drawn(dice: &mut Dice, here: Checkpoint) -> Option<Fault> {
    let kinds: &[Fault] = match here {
        Checkpoint::Dispatch => &[Fault::NoEffect, Fault::Reset, Fault::Timeout, Fault::Panic],
        Checkpoint::ProviderCommit => &[Fault::Reset, Fault::Timeout, Fault::Panic],
        Checkpoint::ReceiveResponse => &[Fault::Corrupt, Fault::Reset, Fault::Panic],
        _ => return None,
    };
    let drawn = usize::try_from(dice.below(8 * 3)).expect("a small number");
    kinds.get(drawn).copied()
}
