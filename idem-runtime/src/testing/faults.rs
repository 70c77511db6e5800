//! Where faults strike and what kinds there are: the checkpoints of a call, and the line on which one is made to happen.
//!
//! Must not know what has to come of a fault. Production code has no place for faults: a line stands around a store, a
//! provider or a body.

use std::{
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde::{Deserialize, Serialize};

use super::{gate::Gate, process};

/// The checkpoints of a call, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checkpoint {
    /// Before anything is reserved: the ledger is read, the tool checks its arguments.
    Validate,
    /// The reservation is committed.
    Reserve,
    /// The body runs, and nothing has arrived at the provider.
    Dispatch,
    /// The effect happened, and no response was sent.
    ProviderCommit,
    /// The response arrived, and the body has not ended.
    ReceiveResponse,
    /// The result is committed.
    PersistResult,
    /// The call has its answer, and nobody has read it.
    Return,
}

/// The kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// An error that proves that nothing happened: a provider that is busy, a disk that is full.
    Error,
    /// No answer in time.
    Timeout,
    /// A connection that breaks.
    Reset,
    /// What was asked is carried out, and the answer is lost.
    LostResponse,
    /// An answer that cannot be read.
    CorruptResponse,
    /// What was sent arrives twice.
    DuplicateDelivery,
    /// A panic.
    Panic,
    /// The caller goes away: its future is dropped where it waits.
    Cancel,
    /// `kill -9` of the process.
    Kill,
}

impl Checkpoint {
    /// Every checkpoint, in order.
    pub const ALL: [Self; 7] = [
        Self::Validate,
        Self::Reserve,
        Self::Dispatch,
        Self::ProviderCommit,
        Self::ReceiveResponse,
        Self::PersistResult,
        Self::Return,
    ];

    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Validate => "validate",
            Self::Reserve => "reserve",
            Self::Dispatch => "dispatch",
            Self::ProviderCommit => "provider_commit",
            Self::ReceiveResponse => "receive_response",
            Self::PersistResult => "persist_result",
            Self::Return => "return",
        }
    }
}

impl Fault {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Error,
        Self::Timeout,
        Self::Reset,
        Self::LostResponse,
        Self::CorruptResponse,
        Self::DuplicateDelivery,
        Self::Panic,
        Self::Cancel,
        Self::Kill,
    ];

    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::LostResponse => "lost_response",
            Self::CorruptResponse => "corrupt_response",
            Self::DuplicateDelivery => "duplicate_delivery",
            Self::Panic => "panic",
            Self::Cancel => "cancel",
            Self::Kill => "kill",
        }
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What strikes where, and how often still.
#[derive(Debug, Clone, Copy)]
struct Plan {
    at: Checkpoint,
    fault: Fault,
    left: usize,
}

/// A line between a caller and what it calls. Faults are made to happen on it.
#[derive(Debug, Default)]
pub(crate) struct Line {
    plan: Mutex<Option<Plan>>,
    struck: AtomicUsize,
    /// Where a call that is to be cancelled stands.
    pub(crate) gate: Gate,
}

impl Line {
    /// From here on `fault` strikes at `at`, so many times.
    pub(crate) fn arm(&self, at: Checkpoint, fault: Fault, times: usize) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = Some(Plan { at, fault, left: times });
    }

    /// From here on nothing strikes.
    pub(crate) fn calm(&self) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// How often something struck.
    pub(crate) fn struck(&self) -> usize {
        self.struck.load(Ordering::SeqCst)
    }

    /// What is armed for this checkpoint, without letting it strike.
    pub(crate) fn armed(&self, at: Checkpoint) -> Option<Fault> {
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.filter(|plan| plan.at == at && plan.left > 0).map(|plan| plan.fault)
    }

    /// What strikes here, if anything does. A process that is to be killed says so and does not go on.
    pub(crate) fn strikes(&self, at: Checkpoint) -> Option<Fault> {
        let fault = {
            let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
            let plan = plan.as_mut().filter(|plan| plan.at == at && plan.left > 0)?;
            plan.left -= 1;
            plan.fault
        };
        self.struck.fetch_add(1, Ordering::SeqCst);
        if fault == Fault::Kill {
            process::stand_still();
        }
        Some(fault)
    }
}
