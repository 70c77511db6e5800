//! A store whose commits are checkpoints.
//!
//! Must not decide anything: what it lets through, the real store behind it carries out.

use std::sync::Arc;

use idem_runtime::{
    Timestamp,
    ledger::{Aftermath, BoxFuture, Command, Flow, Reply, Reserved, Store, StoreError, StoreErrorKind},
};

use super::site::{Checkpoint, Fault, Site};

/// A store at a site.
#[derive(Debug)]
pub(crate) struct Standing<S> {
    inner: S,
    site: Arc<Site>,
}

impl<S: Store> Standing<S> {
    pub(crate) fn new(inner: S, site: &Arc<Site>) -> Self {
        Self { inner, site: Arc::clone(site) }
    }

    async fn standing(&mut self, commands: &[Command], now: Timestamp) -> Result<Vec<Reply>, StoreError> {
        let reserves = commands.iter().any(|command| matches!(command, Command::Reserve(_)));
        let settles = commands.iter().any(|command| matches!(command, Command::Settle(_)));
        if reserves {
            strike(&self.site, self.inner.flow(), Checkpoint::BeforeReserve).await?;
        }
        if settles {
            strike(&self.site, self.inner.flow(), Checkpoint::BeforeSettle).await?;
        }
        let replies = self.inner.apply(commands, now).await?;
        if replies.iter().any(|reply| matches!(reply, Reply::Reserved(Reserved::Granted(_)))) {
            strike(&self.site, self.inner.flow(), Checkpoint::Reserved).await?;
        }
        if settles {
            strike(&self.site, self.inner.flow(), Checkpoint::Settled).await?;
        }
        Ok(replies)
    }
}

/// What strikes beside a commit: before it nothing was applied, after it the answer is lost.
async fn strike(site: &Site, flow: Flow, here: Checkpoint) -> Result<(), StoreError> {
    match site.strikes(here) {
        None | Some(Fault::Kill) => Ok(()),
        Some(Fault::NoEffect) => {
            Err(StoreError::new(StoreErrorKind::Full, Aftermath::Nothing, "no space left on the device"))
        }
        Some(Fault::Reset) => {
            Err(StoreError::new(StoreErrorKind::Other, Aftermath::Unknown, "connection reset by peer"))
        }
        Some(Fault::Timeout | Fault::Dropped) => {
            // The disk hangs until the test lets it go on; only the ledger's own thread waits for it.
            match flow {
                Flow::Driven => site.gate.pass().await,
                Flow::Blocking => {
                    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
                    runtime.block_on(site.gate.pass());
                }
            }
            Ok(())
        }
        Some(fault @ (Fault::Corrupt | Fault::Panic)) => panic!("{fault:?} does not strike a store in this drill"),
    }
}

impl<S: Store> Store for Standing<S> {
    fn apply<'a>(
        &'a mut self,
        commands: &'a [Command],
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Reply>, StoreError>> {
        Box::pin(self.standing(commands, now))
    }

    idem_tests::behind!(inner);
}
