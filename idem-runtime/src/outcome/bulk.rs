//! What became of a batch: its items' outcomes, and what they come to.
//!
//! Must not know how the items were run. Nothing is left out of it: an item without a result says why.

use std::{fmt::Write, sync::Arc};

use serde::Serialize;
use serde_json::{Value, json};

use super::{Outcome, RefusalKind};

/// What became of a bulk tool's items, in the order in which they were given.
#[derive(Debug, Clone)]
#[must_use = "a batch may be done in part"]
pub struct Bulk<T> {
    items: Vec<BulkItem<T>>,
}

/// What became of one item.
#[derive(Debug, Clone)]
pub struct BulkItem<T> {
    /// Its child key.
    pub key: Arc<str>,
    /// What its caller is told.
    pub outcome: Outcome<T>,
}

/// What the items come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkState {
    /// The effect of every item happened, now or earlier.
    Complete,
    /// Some items are done, or may be, and others are not.
    Partial,
    /// It is proved for every item that nothing happened for it.
    NotDone,
}

/// How many items are how far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BulkCounts {
    /// The effect happened, now or earlier.
    pub done: usize,
    /// Of these: nothing was run now.
    pub replayed: usize,
    /// The effect may have happened, or may still.
    pub open: usize,
    /// Nothing happened for the item.
    pub not_done: usize,
}

impl BulkState {
    /// The state's name, as the model sees it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::NotDone => "not_done",
        }
    }
}

/// How far one item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Far {
    Done,
    Open,
    NotDone,
}

impl<T> BulkItem<T> {
    fn far(&self) -> Far {
        let Outcome::Refused(refusal) = &self.outcome else { return Far::Done };
        match refusal.kind() {
            RefusalKind::ResultNotHeld | RefusalKind::ResultUnreadable { .. } => Far::Done,
            // It finished, and how is no longer held.
            RefusalKind::RetentionEnded
            | RefusalKind::InProgress { .. }
            | RefusalKind::Unknown
            | RefusalKind::LedgerUnavailable => Far::Open,
            RefusalKind::Invalid
            | RefusalKind::Denied
            | RefusalKind::FailedRetryable
            | RefusalKind::FailedFinal
            | RefusalKind::Drift { .. }
            | RefusalKind::Split { .. }
            | RefusalKind::ContractChanged { .. }
            | RefusalKind::OtherPrincipal => Far::NotDone,
        }
    }
}

impl<T> Bulk<T> {
    pub(crate) fn new(items: Vec<BulkItem<T>>) -> Self {
        Self { items }
    }

    /// Every item, in the order given.
    pub fn items(&self) -> &[BulkItem<T>] {
        &self.items
    }

    /// The items themselves.
    pub fn into_items(self) -> Vec<BulkItem<T>> {
        self.items
    }

    /// How many items are how far.
    pub fn counts(&self) -> BulkCounts {
        let mut counts = BulkCounts::default();
        for item in &self.items {
            counts.replayed += usize::from(item.outcome.is_replay());
            *match item.far() {
                Far::Done => &mut counts.done,
                Far::Open => &mut counts.open,
                Far::NotDone => &mut counts.not_done,
            } += 1;
        }
        counts
    }

    /// What the items come to. A batch of nothing is complete.
    pub fn state(&self) -> BulkState {
        match self.counts() {
            BulkCounts { open: 0, not_done: 0, .. } => BulkState::Complete,
            BulkCounts { done: 0, open: 0, .. } => BulkState::NotDone,
            _ => BulkState::Partial,
        }
    }
}

impl<T: Serialize> Bulk<T> {
    /// What the model reads: how far the batch is, then every item in a line.
    pub fn to_model_text(&self) -> String {
        let BulkCounts { done, replayed, open, not_done } = self.counts();
        let all = self.items.len();
        let mut text = format!("{done} of {all} items are done ({replayed} of them earlier)");
        text.push_str(match self.state() {
            BulkState::Complete => ".",
            BulkState::Partial | BulkState::NotDone => {
                "; the same call, made again, runs none of these twice. Do not split it or word it anew."
            }
        });
        // Writing to a string cannot fail.
        if open + not_done > 0 {
            let _ = write!(text, " Not done: {not_done}. Open: {open}, to be found out first.");
        }
        for BulkItem { key, outcome } in &self.items {
            let _ = write!(text, "\n{key}: {}", outcome.to_model_text());
        }
        text
    }

    /// The same as JSON: `outcome` (the state's name), `done`, `replayed`, `open`, `not_done`, and `items`, each as
    /// [`Outcome::to_json`] writes it, with its `item`.
    pub fn to_json(&self) -> Value {
        let BulkCounts { done, replayed, open, not_done } = self.counts();
        let items = self.items.iter().map(|item| {
            let mut fields = item.outcome.to_json();
            fields["item"] = (*item.key).into();
            fields
        });
        json!({
            "outcome": self.state().name(),
            "done": done,
            "replayed": replayed,
            "open": open,
            "not_done": not_done,
            "items": items.collect::<Vec<_>>(),
        })
    }
}
