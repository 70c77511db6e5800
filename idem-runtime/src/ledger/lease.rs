//! The owner's side of a lease: while a [`Holding`] lives, its lease is renewed; when it is dropped without a
//! word, the ledger is told what that means.
//!
//! Must not know what runs under the lease.

use std::{fmt, sync::Arc, time::Duration};

use super::{
    command::{Command, Ending, Grant, Reserve, Settle, Settled},
    error::LedgerError,
    record::{Stored, StoredKind},
    shared::{Shared, UnderWay},
};
use crate::{config::LEASE_START_SHARE, identity::Digest};

/// A granted attempt in the hands of its owner.
pub(crate) struct Holding {
    shared: Arc<Shared>,
    reserve: Arc<Reserve>,
    grant: Grant,
    /// When the grant was asked for, by a clock that counts suspend.
    asked: Duration,
    stage: Stage,
    /// The call is under way for as long as its attempt is held.
    _under_way: UnderWay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Granted,
    Started,
    Settled,
}

/// The attempt came too late to start: whoever took over decides.
#[derive(Debug)]
pub(crate) struct TooLate;

impl Holding {
    pub(super) fn new(shared: Arc<Shared>, reserve: Arc<Reserve>, grant: Grant, asked: Duration) -> Self {
        let under_way = UnderWay::begin(&shared);
        Self { shared, reserve, grant, asked, stage: Stage::Granted, _under_way: under_way }
    }

    pub(crate) fn grant(&self) -> &Grant {
        &self.grant
    }

    /// The body starts now. From here on, silence means that the outcome is not known.
    ///
    /// Refused when so much of the lease has passed since it was asked for (the process was suspended, say) that
    /// another worker may have taken over: then nothing has happened yet, and nothing must.
    pub(crate) fn start(&mut self) -> Result<(), TooLate> {
        if self.shared.clock().uptime().saturating_sub(self.asked) > self.reserve.lease / LEASE_START_SHARE {
            return Err(TooLate);
        }
        self.stage = Stage::Started;
        Ok(())
    }

    /// Records how the attempt ended. On an error the ledger goes on trying for as long as the process lives.
    pub(crate) async fn settle(mut self, end: End) -> Result<Settled, LedgerError> {
        self.stage = Stage::Settled;
        let settle = self.settlement(end);
        self.shared.settle(settle).await
    }

    fn settlement(&self, end: End) -> Settle {
        let Reserve { tenant, budget, resources, needs_reference, .. } = &*self.reserve;
        let unproved = *needs_reference && end.reference.is_none();
        Settle {
            tenant: tenant.clone(),
            row: self.grant.row,
            fence: self.grant.fence,
            attempt: self.grant.attempt,
            ending: end.ending,
            reference: end.reference,
            stored: end.stored,
            retain: end.retain,
            pause: end.pause,
            budget: *budget,
            looks: unproved || !resources.is_empty() || !end.resources.is_empty(),
            resources: end.resources,
        }
    }
}

/// How an attempt ended, and what is to be kept of it.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) ending: Ending,
    pub(crate) reference: Option<Arc<str>>,
    pub(crate) stored: Option<Stored>,
    pub(crate) retain: Duration,
    /// How long the next attempt is to wait.
    pub(crate) pause: Duration,
    /// Digests of the resources that the result names.
    pub(crate) resources: Arc<[Digest]>,
}

impl End {
    /// Nobody stayed to say.
    fn silent(ending: Ending, words: &str) -> Self {
        let stored = Stored { kind: StoredKind::Text, bytes: words.as_bytes().into() };
        Self {
            ending,
            reference: None,
            stored: Some(stored),
            retain: Duration::ZERO,
            pause: Duration::ZERO,
            resources: Arc::default(),
        }
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        let end = match self.stage {
            Stage::Settled => return,
            Stage::Granted => End::silent(Ending::NotStarted, "dropped before its body had started"),
            Stage::Started if std::thread::panicking() => End::silent(Ending::Unknown, "its body panicked"),
            Stage::Started => End::silent(Ending::Unknown, "dropped while its body was running"),
        };
        self.shared.tell(Command::Settle(self.settlement(end)));
    }
}

impl fmt::Debug for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holding").field("grant", &self.grant).field("stage", &self.stage).finish_non_exhaustive()
    }
}
