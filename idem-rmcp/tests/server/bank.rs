//! The outside: a bank that keeps what happened, and answers when it is allowed to.
//!
//! It must not know that its client has a ledger.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::watch;

/// One payment that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) order: String,
    pub(crate) cents: u64,
    pub(crate) key: String,
}

/// A bank. Clones are the same one.
#[derive(Debug, Clone)]
pub(crate) struct Bank {
    effects: Arc<Mutex<Vec<Effect>>>,
    arrived: watch::Sender<usize>,
    open: watch::Sender<bool>,
    turned_away: Arc<AtomicUsize>,
}

impl Bank {
    /// One that answers at once.
    pub(crate) fn new() -> Self {
        Self {
            effects: Arc::default(),
            arrived: watch::Sender::new(0),
            open: watch::Sender::new(true),
            turned_away: Arc::default(),
        }
    }

    /// From here on it pays, and answers nobody.
    pub(crate) fn keep_silent(&self) {
        self.open.send_replace(false);
    }

    /// It answers everybody who waits, and whoever comes.
    pub(crate) fn speak(&self) {
        self.open.send_replace(true);
    }

    /// Waits until it has paid so often.
    pub(crate) async fn paid(&self, times: usize) {
        self.arrived.subscribe().wait_for(|arrived| *arrived >= times).await.expect("the bank is there");
    }

    /// Pays, and gives the payment's id.
    pub(crate) async fn pay(&self, key: &str, order: &str, cents: u64) -> String {
        let reference = {
            let mut effects = self.effects.lock().unwrap_or_else(PoisonError::into_inner);
            effects.push(Effect { order: order.to_owned(), cents, key: key.to_owned() });
            format!("rf_{}", effects.len())
        };
        self.arrived.send_modify(|arrived| *arrived += 1);
        self.open.subscribe().wait_for(|open| *open).await.expect("the bank is there");
        reference
    }

    /// Turns a customer away: nothing happens.
    pub(crate) fn turn_away(&self) {
        self.turned_away.fetch_add(1, Ordering::SeqCst);
    }

    /// How often it turned somebody away.
    pub(crate) fn turned_away(&self) -> usize {
        self.turned_away.load(Ordering::SeqCst)
    }

    /// Everything that happened, in order.
    pub(crate) fn effects(&self) -> Vec<Effect> {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often something happened for this order.
    pub(crate) fn of(&self, order: &str) -> usize {
        self.effects().iter().filter(|effect| effect.order == order).count()
    }
}
